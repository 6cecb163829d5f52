#include "sim/trace_capture.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <queue>
#include <set>

#include "sim/lowering.hpp"
#include "sim/trace_builder.hpp"

namespace trainyard {
namespace {

/// An iteration of an operation; numbered through all of them.
using Record = std::uint32_t;

class Capture {
 public:
  Capture(const Lowering& lowering, std::span<const Rank> ranks)
      : graph_(lowering.graph()),
        lowering_(lowering),
        builder_("trainyard", {}),
        noted_(graph_.size(), kNothing) {
    for (std::size_t i = 0; i < ranks.size(); ++i)
      place_.emplace(ranks[i], static_cast<std::uint32_t>(i));
    for (std::size_t i = 0; i < lowering.noted().size(); ++i)
      noted_[lowering.noted()[i].op.index()] = static_cast<std::uint32_t>(i);
    Record next = 0;
    for (std::size_t i = 0; i < graph_.size(); ++i) {
      first_.push_back(next);
      next += graph_.iterations(OpId(i));
      op_of_.insert(op_of_.end(), graph_.iterations(OpId(i)), static_cast<std::uint32_t>(i));
    }
    programs_.resize(ranks.size());
  }

  CapturedTrace take() {
    collect_edges();
    const std::vector<Record> order = ordered();
    needs_.resize(op_of_.size());
    for (const Record record : order) add(record);
    needs_ = {};
    CapturedTrace captured;
    for (std::size_t rank = 0; rank < programs_.size(); ++rank) {
      builder_.begin(rank, fmt::format("rank {}", rank));
      for (const Op& op : programs_[rank]) builder_.add(op.op, op.needs);
    }
    builder_.trace().alone = true;
    builder_.trace().ranks = programs_.size();
    captured.trace = builder_.finish();
    if (left_out_ > 0)
      captured.notes.push_back(
          fmt::format("{} transfers from and to storage are left out.", left_out_));
    return captured;
  }

 private:
  static constexpr std::uint32_t kNothing = 0xffffffffU;
  struct Op {
    TraceOp op;
    std::vector<TraceNeedById> needs;
  };

  // By record: those that wait for it.
  void collect_edges() {
    after_.resize(op_of_.size());
    waits_.resize(op_of_.size());
    for (Record record = 0; record < op_of_.size(); ++record) {
      const OpId op(op_of_[record]);
      const std::uint32_t iteration = record - first_[op.index()];
      const bool last = iteration + 1 == graph_.iterations(op);
      for (const OpEdge& edge : graph_.successors(op)) {
        const std::uint32_t count = graph_.iterations(edge.op);
        std::int64_t k = std::int64_t{iteration} + edge.shift;
        if (edge.shift <= OpEdge::kLastAfterLast) {
          if (!last) continue;
          k = edge.shift == OpEdge::kAfterLast ? 0 : count - 1;
        }
        if (k < 0 || k >= count) continue;
        const Record other = first_[edge.op.index()] + static_cast<Record>(k);
        after_[record].push_back(other);
        ++waits_[other];
      }
    }
  }

  // What waits for nothing first, of those the one that was added first.
  std::vector<Record> ordered() {
    std::vector<Record> order;
    std::vector<std::uint32_t> missing = waits_;
    std::priority_queue<Record, std::vector<Record>, std::greater<>> ready;
    for (Record record = 0; record < missing.size(); ++record) {
      if (missing[record] == 0) ready.push(record);
    }
    while (!ready.empty()) {
      const Record record = ready.top();
      ready.pop();
      order.push_back(record);
      for (const Record other : after_[record]) {
        if (--missing[other] == 0) ready.push(other);
      }
    }
    require(order.size() == missing.size(), "a captured graph with a cycle");
    return order;
  }

  // Adds what the record is, and passes itself (or, of a join, what it waits for) on.
  void add(Record record) {
    std::vector<Record> needs = std::move(needs_[record]);
    std::sort(needs.begin(), needs.end());
    needs.erase(std::unique(needs.begin(), needs.end()), needs.end());
    const OpId op(op_of_[record]);
    if (noted_[op.index()] != kNothing) {
      const Lowering::Noted& noted = lowering_.noted()[noted_[op.index()]];
      if (noted.call.group != nullptr) {
        add_collective(record, noted, needs);
      } else {
        add_message(record, noted, needs);
      }
      needs = {record};
    } else if (graph_.kind(op) == OpKind::kCompute || graph_.kind(op) == OpKind::kDelay) {
      add_work(record, op, needs);
      needs = {record};
    } else if (graph_.kind(op) == OpKind::kFlow) {
      ++left_out_;
    }
    for (const Record other : after_[record])
      needs_[other].insert(needs_[other].end(), needs.begin(), needs.end());
  }

  // A pause of a group of ranks (a launch that all wait for) is one on each of them, after they
  // have met.
  void add_work(Record record, OpId op, const std::vector<Record>& needs) {
    const std::uint32_t rank = place_.at(graph_.rank(op));
    TraceOp one;
    one.kind = graph_.kind(op) == OpKind::kCompute ? TraceKind::kCompute : TraceKind::kHost;
    one.duration = graph_.work(op, record - first_[op.index()]);
    one.name = builder_.name(graph_.label_of(op));
    std::set<std::uint32_t> ranks{rank};
    if (graph_.kind(op) == OpKind::kDelay) {
      add_ranks_of(needs, ranks);
      add_ranks_behind(record, ranks);
    }
    if (ranks.size() == 1) return append(record, rank, one, needs, true);
    if (!needs.empty()) meet(record, ranks, needs);
    for (const std::uint32_t other : ranks) {
      std::vector<TraceNeedById> after;
      if (!needs.empty()) after.push_back({programs_[other].back().op.id, TraceNeed::Kind::kData});
      push(record, other, one, std::move(after));
    }
  }

  // Where what is waited for happens; of a collective or a message one place is enough.
  void add_ranks_of(const std::vector<Record>& needs, std::set<std::uint32_t>& ranks) const {
    for (const Record need : needs) {
      const std::vector<std::uint32_t>& on = ranks_of_.at(need);
      const bool ours = std::any_of(on.begin(), on.end(),
                                    [&](std::uint32_t rank) { return ranks.count(rank) > 0; });
      if (!ours) ranks.insert(on.back());
    }
  }

  // Where kernels and pauses wait for it.
  void add_ranks_behind(Record record, std::set<std::uint32_t>& ranks) const {
    for (const Record other : after_[record]) {
      const OpId op(op_of_[other]);
      if (noted_[op.index()] != kNothing) continue;
      if (graph_.kind(op) == OpKind::kJoin) {
        add_ranks_behind(other, ranks);
      } else if (graph_.kind(op) != OpKind::kFlow) {
        ranks.insert(place_.at(graph_.rank(op)));
      }
    }
  }

  // A collective of no bytes.
  void meet(Record record, const std::set<std::uint32_t>& ranks, const std::vector<Record>& needs) {
    TraceOp one;
    one.kind = TraceKind::kCollective;
    one.name = builder_.name("meet");
    one.group = group_of({ranks.begin(), ranks.end()});
    for (const std::uint32_t rank : ranks) push(record, rank, one, needs_on(rank, needs));
  }

  void add_collective(Record record, const Lowering::Noted& noted,
                      const std::vector<Record>& needs) {
    std::vector<std::uint32_t> ranks;
    for (const Rank rank : noted.call.group->ranks) ranks.push_back(place_.at(rank));
    TraceOp one;
    one.kind = TraceKind::kCollective;
    one.name = builder_.name(noted.name);
    one.bytes = noted.bytes.si();
    one.group = group_of(ranks);
    for (std::size_t i = 0; i <= static_cast<std::size_t>(TraceCollective::kBarrier); ++i) {
      if (trace_collective_name(static_cast<TraceCollective>(i)) == noted.name)
        one.collective = static_cast<TraceCollective>(i);
    }
    for (const std::uint32_t rank : ranks) append(record, rank, one, needs, false);
  }

  void add_message(Record record, const Lowering::Noted& noted, const std::vector<Record>& needs) {
    const std::uint32_t from = place_.at(noted.from), to = place_.at(noted.to);
    TraceOp one;
    one.kind = TraceKind::kSend;
    one.name = builder_.name(noted.name);
    one.bytes = noted.bytes.si();
    one.peer = static_cast<std::int32_t>(to);
    append(record, from, one, needs, false);
    one.kind = TraceKind::kReceive;
    one.peer = static_cast<std::int32_t>(from);
    append(record, to, one, needs, false);
  }

  // After the needs that are on this rank. With `all`, there may be no others.
  void append(Record record, std::uint32_t rank, TraceOp op, const std::vector<Record>& needs,
              bool all) {
    std::vector<TraceNeedById> found = needs_on(rank, needs);
    if (all && found.size() < needs.size())
      throw DesignError("",
                        fmt::format("rank {} waits for another without a message ({})", rank,
                                    graph_.describe(OpId(op_of_[record]))),
                        "this workload cannot be written as a trace");
    push(record, rank, op, std::move(found));
  }

  std::vector<TraceNeedById> needs_on(std::uint32_t rank, const std::vector<Record>& needs) const {
    std::vector<TraceNeedById> found;
    for (const Record need : needs) {
      const auto it = ids_.find({need, rank});
      if (it != ids_.end()) found.push_back({it->second, TraceNeed::Kind::kData});
    }
    return found;
  }

  // What waits for the record waits for the last that it was written as on its rank.
  void push(Record record, std::uint32_t rank, TraceOp op, std::vector<TraceNeedById> needs) {
    op.id = programs_[rank].size();
    ids_[{record, rank}] = op.id;
    ranks_of_[record].push_back(rank);
    programs_[rank].push_back({op, std::move(needs)});
  }

  // Numbered from 1, as Chakra's readers want it.
  std::uint32_t group_of(const std::vector<std::uint32_t>& ranks) {
    bool everyone = ranks.size() == programs_.size();
    for (std::size_t i = 0; everyone && i < ranks.size(); ++i) everyone = ranks[i] == i;
    if (everyone) return 0;
    const auto [it, is_new] = groups_.try_emplace(ranks, 0);
    if (is_new) it->second = builder_.define_group(std::to_string(groups_.size()), ranks);
    return it->second;
  }

  const OpGraph& graph_;
  const Lowering& lowering_;
  TraceBuilder builder_;
  std::map<Rank, std::uint32_t> place_;
  std::vector<std::uint32_t> noted_;  ///< by op
  std::vector<Record> first_;         ///< by op
  std::vector<std::uint32_t> op_of_;  ///< by record
  std::vector<std::vector<Record>> after_, needs_;
  std::vector<std::uint32_t> waits_;
  std::vector<std::vector<Op>> programs_;
  std::map<std::pair<Record, std::uint32_t>, std::uint64_t> ids_;
  std::map<Record, std::vector<std::uint32_t>> ranks_of_;
  std::map<std::vector<std::uint32_t>, std::uint32_t> groups_;
  std::size_t left_out_ = 0;
};

}  // namespace

CapturedTrace capture_trace(const LoadedScenario& loaded) {
  const Scenario& scenario = loaded.scenario;
  if (scenario.jobs.empty())
    throw ScenarioError(
        Diagnostic{loaded.file, "/jobs", "is empty: there is nothing to write", "add a job"});
  const std::unique_ptr<Topology> topology = build_design(loaded);
  const Job& job = scenario.jobs.front();
  // In full: each collective of each layer is one of the trace.
  Lowering lowering(scenario.cluster, *topology, Fidelity::kFlow, Fidelity::kFlow);
  lowering.set_seed(static_cast<std::uint64_t>(scenario.engine.seed));
  lowering.set_capturing();
  const std::vector<Rank> ranks = job.ranks(scenario.cluster);
  job.workload->lower(lowering, ranks);
  lowering.graph().freeze();
  CapturedTrace captured = Capture(lowering, ranks).take();
  if (scenario.jobs.size() > 1)
    captured.notes.push_back(
        fmt::format("Only the first of {} jobs is in the trace.", scenario.jobs.size()));
  if (job.training)
    captured.notes.emplace_back("The trace is one iteration: no loading of data, no checkpoints.");
  return captured;
}

}  // namespace trainyard
