// The programs of a workload of AICB and SimAI: one per pipeline stage, each that of the stage's
// first rank.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>

#include "models/workloads/trace_aicb.hpp"

namespace trainyard {
namespace {

constexpr std::size_t kGroups = 5;
constexpr std::size_t index_of(AicbGroup group) { return static_cast<std::size_t>(group); }

// A small file can ask for many stages, and stages for any number of rows.
constexpr std::size_t kMostOps = 16'000'000;

/// Writes the program of one stage.
class Stage {
 public:
  Stage(const AicbWorkload& workload, std::size_t number, TraceBuilder& builder)
      : workload_(workload), stage_(number), builder_(builder) {
    rank_ = stage_ * workload_.tp * workload_.dp;
    define_groups();
    builder_.begin(rank_, workload_.file);
  }

  void forward(const AicbRange& rows) {
    for (std::size_t row = rows.begin; row < rows.end; ++row) forward(workload_.rows[row], row);
  }
  void backward(const AicbRange& rows) {
    for (std::size_t row = rows.end; row > rows.begin; --row) backward(rows, row - 1);
  }
  void one_by_one() {
    for (const AicbRow& row : workload_.rows) add_last(collective(row.weight_grad_comm, row.name));
  }
  void pipeline(const AicbBlocks& blocks);
  /// The step ends when the gradients are there.
  void end();
  bool recomputes_less() const { return recomputes_less_; }

 private:
  static constexpr std::int32_t kMain = 0;
  /// The stream of what a kind of group does beside the kernels.
  static std::int32_t beside(AicbGroup group) {
    return 1 + static_cast<std::int32_t>(index_of(group));
  }
  static constexpr std::int32_t kInputGrads = 1 + kGroups, kBottom = 2 + kGroups;

  void define_groups();
  std::vector<std::uint32_t> spread(std::size_t count, std::size_t stride) const;
  void forward(const AicbRow& row, std::size_t number);
  void backward(const AicbRange& rows, std::size_t number);
  void recompute(const AicbRange& rows, std::size_t number);
  /// Returns whether its collective runs beside what follows.
  bool input_grad(const AicbRow& row, std::size_t number);
  void weight_grad(const AicbRow& row);
  void pass(const AicbBlocks& blocks, const PipelinePass& pass);
  void message(TraceKind kind, bool to_next, const PipelinePass& pass, std::size_t chunk);

  void compute(double seconds, std::uint32_t name);
  /// Nothing where there are no bytes.
  std::optional<TraceOp> collective(const AicbCollective& what, std::uint32_t name) const;
  /// Adds to the main stream, behind all that it waits for.
  void add_last(std::optional<TraceOp> op);
  /// Adds what runs beside the main stream from now on. Returns whether it is anything.
  bool add_beside(std::optional<TraceOp> op, std::int32_t stream);
  std::uint64_t add(TraceOp op, std::span<const TraceNeedById> needs);
  std::vector<TraceNeedById> all_so_far() const;

  const AicbWorkload& workload_;
  std::size_t stage_ = 0, rank_ = 0, chunks_ = 1;
  TraceBuilder& builder_;
  std::array<std::uint32_t, kGroups> groups_{};
  std::uint64_t next_id_ = 0;
  std::optional<std::uint64_t> last_;     ///< on the main stream
  std::vector<TraceNeedById> awaited_;    ///< of the next one on the main stream
  std::vector<TraceNeedById> unawaited_;  ///< that the end waits for
  std::optional<std::uint64_t> bottom_;   ///< the all-to-all of the first row, forward
  bool recomputes_less_ = false;
};

std::vector<std::uint32_t> Stage::spread(std::size_t count, std::size_t stride) const {
  std::vector<std::uint32_t> ranks(count);
  for (std::size_t i = 0; i < count; ++i) ranks[i] = static_cast<std::uint32_t>(rank_ + i * stride);
  return ranks;
}

// Tensor ranks are neighbours, then replicas; the ranks of an expert group are neighbouring
// replicas.
void Stage::define_groups() {
  const AicbWorkload& w = workload_;
  const std::size_t tensor = w.policy->data_first ? w.dp : 1;
  const std::size_t data = w.policy->data_first ? 1 : w.tp;
  const auto define = [&](AicbGroup group, std::string_view kind, std::size_t count,
                          std::size_t stride) {
    groups_[index_of(group)] =
        builder_.define_group(fmt::format("{} of stage {}", kind, stage_), spread(count, stride));
  };
  define(AicbGroup::kTp, "tp", w.tp, tensor);
  define(AicbGroup::kEp, "ep", w.ep, data);
  define(AicbGroup::kDp, "dp", w.dp, data);
  define(AicbGroup::kDpEp, "dp_ep", w.dp / w.ep, data * w.ep);
  const bool all_tensor = w.dp * w.pp == 1, all_data = w.tp * w.pp == 1;
  groups_[index_of(AicbGroup::kAll)] = all_tensor ? groups_[index_of(AicbGroup::kTp)]
                                       : all_data ? groups_[index_of(AicbGroup::kDp)]
                                                  : builder_.group("");
}

std::uint64_t Stage::add(TraceOp op, std::span<const TraceNeedById> needs) {
  if (next_id_ >= kMostOps / workload_.pp)
    builder_.fail(
        workload_.file, "line 1",
        fmt::format("{} stages of these rows are more than {} operations", workload_.pp, kMostOps),
        "fewer stages, micro-batches or checkpoints");
  op.id = next_id_++;
  builder_.add(op, needs);
  return op.id;
}

std::vector<TraceNeedById> Stage::all_so_far() const {
  std::vector<TraceNeedById> needs = awaited_;
  if (last_) needs.push_back({*last_, TraceNeed::Kind::kData});
  return needs;
}

void Stage::add_last(std::optional<TraceOp> op) {
  if (!op) return;
  op->stream = kMain;
  last_ = add(*op, all_so_far());
  awaited_.clear();
}

bool Stage::add_beside(std::optional<TraceOp> op, std::int32_t stream) {
  if (!op) return false;
  op->stream = stream;
  unawaited_.push_back({add(*op, all_so_far()), TraceNeed::Kind::kData});
  return true;
}

void Stage::compute(double seconds, std::uint32_t name) {
  if (seconds == 0) return;
  TraceOp op;
  op.kind = TraceKind::kCompute;
  op.duration = seconds;
  op.name = name;
  add_last(op);
}

std::optional<TraceOp> Stage::collective(const AicbCollective& what, std::uint32_t name) const {
  if (what.bytes == 0) return {};
  TraceOp op;
  op.kind = TraceKind::kCollective;
  op.collective = what.op;
  op.bytes = what.bytes;
  op.group = groups_[index_of(what.group)];
  op.name = name;
  if (what.op == TraceCollective::kBroadcast) op.peer = static_cast<std::int32_t>(rank_);
  return op;
}

void Stage::forward(const AicbRow& row, std::size_t number) {
  compute(row.forward, row.name);
  const std::optional<TraceOp> comm = collective(row.forward_comm, row.name);
  if (workload_.policy->order != AicbPolicy::Order::kBottomRows) return add_last(comm);
  if (add_beside(comm, kBottom)) {
    if (number == 0) bottom_ = unawaited_.back().id;
  } else if (number == workload_.last_bottom && bottom_) {
    awaited_.push_back({*bottom_, TraceNeed::Kind::kData});
  }
}

bool Stage::input_grad(const AicbRow& row, std::size_t number) {
  compute(row.input_grad, row.name);
  const std::optional<TraceOp> comm = collective(row.input_grad_comm, row.name);
  if (workload_.policy->backward == AicbPolicy::Backward::kBlocking) {
    add_last(comm);
    return false;
  }
  // The first row has nobody to give its input's gradient to.
  return number > 0 && add_beside(comm, kInputGrads);
}

void Stage::weight_grad(const AicbRow& row) {
  compute(row.weight_grad, row.name);
  add_beside(collective(row.weight_grad_comm, row.name), beside(row.weight_grad_comm.group));
}

void Stage::backward(const AicbRange& rows, std::size_t number) {
  const AicbRow& row = workload_.rows[number];
  const AicbWorkload& w = workload_;
  if (w.policy->backward == AicbPolicy::Backward::kWeightFirst) {
    weight_grad(row);
    if (number > 0) compute(row.input_grad, row.name);
    // The gradients of the first row's output are complete behind the bottom rows.
    if (w.policy->order == AicbPolicy::Order::kBottomRows && number == w.last_bottom + 1)
      add_beside(collective(w.rows[0].input_grad_comm, w.rows[0].name), kBottom);
    return;
  }
  if (std::binary_search(w.initiates.begin(), w.initiates.end(), number)) recompute(rows, number);
  const bool overlaps = input_grad(row, number);
  if (overlaps) {
    const TraceNeedById input = unawaited_.back();
    unawaited_.pop_back();
    weight_grad(row);
    awaited_.push_back(input);
  } else {
    weight_grad(row);
  }
}

// The checkpoint is the last one at or before the row; none further back than this pass began.
void Stage::recompute(const AicbRange& rows, std::size_t number) {
  const std::vector<std::size_t>& kept = workload_.checkpoints;
  const auto after = std::upper_bound(kept.begin(), kept.end(), number);
  const bool inside = after != kept.begin() && *std::prev(after) >= rows.begin;
  recomputes_less_ = recomputes_less_ || !inside;
  forward({inside ? *std::prev(after) : rows.begin, number});
}

// Tags tell apart micro-batches, the receiver's chunks, and directions.
void Stage::message(TraceKind kind, bool to_next, const PipelinePass& pass, std::size_t chunk) {
  const std::size_t stages = workload_.pp, per_stage = workload_.tp * workload_.dp;
  const bool send = kind == TraceKind::kSend;
  const bool peer_is_next = to_next == send;
  const std::size_t peer = (stage_ + (peer_is_next ? 1 : stages - 1)) % stages;
  TraceOp op;
  op.kind = kind;
  op.bytes = workload_.pp_comm;
  op.peer = static_cast<std::int32_t>(peer * per_stage);
  op.tag = static_cast<std::int32_t>(2 * (pass.micro_batch * chunks_ + chunk) + (to_next ? 0 : 1));
  op.name =
      builder_.name(fmt::format("{}_{}", send ? "send" : "recv", to_next ? "forward" : "backward"));
  if (send) {
    add(op, all_so_far());
  } else {
    awaited_.push_back({add(op, {}), TraceNeed::Kind::kData});
  }
}

void Stage::pass(const AicbBlocks& blocks, const PipelinePass& pass) {
  const std::size_t stages = workload_.pp;
  const AicbRange& rows = blocks.chunks[pass.micro_batch][pass.chunk];
  const bool is_first = stage_ == 0 && pass.chunk == 0;
  const bool is_last = stage_ + 1 == stages && pass.chunk + 1 == chunks_;
  if (!(pass.backward ? is_last : is_first))
    message(TraceKind::kReceive, !pass.backward, pass, pass.chunk);
  if (pass.backward) {
    backward(rows);
    if (!is_first)
      message(TraceKind::kSend, false, pass, stage_ == 0 ? pass.chunk - 1 : pass.chunk);
  } else {
    forward(rows);
    if (!is_last)
      message(TraceKind::kSend, true, pass, stage_ + 1 == stages ? pass.chunk + 1 : pass.chunk);
  }
}

// What is once per step goes forward before and after the micro-batches, and back in reverse.
void Stage::pipeline(const AicbBlocks& blocks) {
  chunks_ = blocks.chunks.front().size();
  forward(blocks.before);
  for (const PipelinePass& next :
       pipeline_passes(stage_, workload_.pp, blocks.chunks.size(), chunks_))
    pass(blocks, next);
  forward(blocks.after);
  backward(blocks.after);
  backward(blocks.before);
}

void Stage::end() {
  if (unawaited_.empty() && awaited_.empty()) return;
  std::vector<TraceNeedById> needs = all_so_far();
  needs.insert(needs.end(), unawaited_.begin(), unawaited_.end());
  TraceOp op;
  op.name = builder_.name("end of step");
  op.stream = kMain;
  add(op, needs);
}

void describe(const AicbWorkload& w, const std::vector<std::string>& notes, Trace& trace) {
  Json& facts = trace.attributes;
  facts["policy"] = Json(w.policy->name);
  for (const auto& [name, value] :
       {std::pair{"tp", w.tp}, {"ep", w.ep}, {"dp", w.dp}, {"pp", w.pp}})
    facts[name] = Json(value);
  if (w.pp > 1) {
    facts["vpp"] = Json(w.vpp);
    facts["micro_batches"] = Json(w.micro_batches);
    facts["pp_comm_bytes"] = Json(w.pp_comm);
  }
  facts["notes"] = Json::array();
  for (const std::string& note : notes) facts["notes"].push_back(Json(note));
}

bool schedule_stage(const AicbWorkload& workload, const AicbBlocks& blocks, std::size_t number,
                    TraceBuilder& builder) {
  Stage stage(workload, number, builder);
  const AicbRange all{0, workload.rows.size()};
  if (workload.pp > 1) {
    stage.pipeline(blocks);
  } else if (workload.policy->order == AicbPolicy::Order::kOneByOne) {
    stage.one_by_one();
  } else {
    stage.forward(all);
    if (workload.policy->backward != AicbPolicy::Backward::kNone) stage.backward(all);
  }
  stage.end();
  return stage.recomputes_less();
}

}  // namespace

void schedule_aicb(const AicbWorkload& workload, TraceBuilder& builder) {
  Trace& trace = builder.trace();
  trace.ranks = workload.ranks;
  trace.representative = true;
  trace.alone = true;  // AICB measures kernels one by one
  AicbBlocks blocks;
  if (workload.pp > 1) blocks = aicb_blocks(workload, builder);
  bool recomputes_less = false;
  for (std::size_t stage = 0; stage < workload.pp; ++stage)
    recomputes_less = schedule_stage(workload, blocks, stage, builder) || recomputes_less;
  std::vector<std::string> notes = std::move(blocks.notes);
  if (workload.pp > 1)
    notes.emplace_back(
        "each stage runs every row, with the embedding and the loss: the file describes one rank");
  if (recomputes_less)
    notes.emplace_back(
        "rows without a checkpoint before them in their chunk are recomputed from "
        "where the chunk begins");
  describe(workload, notes, trace);
}

}  // namespace trainyard
