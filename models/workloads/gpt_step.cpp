#include "models/workloads/gpt_step.hpp"

#include <algorithm>

namespace trainyard {
namespace {

constexpr double kElement = 2;  // bytes of a BF16 activation

}  // namespace

double GptPlan::parameters_per_rank(int stage) const {
  double all = layers_per_stage * model.layer_parameters();
  if (stage == 0 || stage == layout.pipeline - 1) all += model.embedding_parameters();
  return all / layout.tensor;
}

GptStep::GptStep(const GptPlan& plan, Lowering& lowering, std::span<const Rank> ranks)
    : plan_(plan),
      lowering_(lowering),
      graph_(lowering.graph()),
      ranks_(ranks),
      gpu_(lowering.cluster().loaded_gpu()),
      jitter_(lowering.cluster().load().jitter),
      random_(plan.seed),
      lanes_(plan.layout.tensor) {
  fold();
  buckets_.assign(flat_index(plan.layout.pipeline * lanes_, plan.buckets, 0),
                  std::vector<OpId>(replicas_.size()));
  reduced_.resize(flat_index(plan.layout.pipeline, lanes_, 0));
}

void GptStep::lower() {
  const int stages = plan_.layout.pipeline;
  for (int stage = 0; stage < stages; ++stage) {
    for (int replica = 0; replica < simulated_replicas(); ++replica)
      stages_.push_back(schedule(stage, replica));
  }
  for (int stage = 0; stage + 1 < stages; ++stage) {
    for (int replica = 0; replica < simulated_replicas(); ++replica) connect(stage, replica);
  }
  reduce_gradients();
  for (int stage = 0; stage < stages; ++stage) {
    for (int replica = 0; replica < simulated_replicas(); ++replica) step_optimizer(stage, replica);
  }
}

std::vector<std::pair<Rank, double>> GptStep::simulated() const {
  std::vector<std::pair<Rank, double>> all;
  for (int stage = 0; stage < plan_.layout.pipeline; ++stage) {
    for (int replica = 0; replica < simulated_replicas(); ++replica) {
      for (int lane = 0; lane < lanes_; ++lane)
        all.emplace_back(rank(stage, replica_at(replica), lane), stands_for(replica));
    }
  }
  return all;
}

Rank GptStep::rank(int stage, int replica, int tensor) const {
  const GptLayout& l = plan_.layout;
  return ranks_[flat_index(stage * l.data + replica, l.tensor, tensor)];
}

std::vector<Rank> GptStep::tensor_ranks(int stage, int replica) const {
  std::vector<Rank> members(static_cast<std::size_t>(plan_.layout.tensor));
  for (std::size_t i = 0; i < members.size(); ++i) {
    members[i] = rank(stage, replica, static_cast<int>(i));
  }
  return members;
}

const Group& GptStep::tensor_group(int stage, int replica) {
  return lowering_.group(tensor_ranks(stage, replica));
}

const Group& GptStep::data_group(int stage, int tensor) {
  std::vector<Rank> members(static_cast<std::size_t>(plan_.layout.data));
  for (std::size_t d = 0; d < members.size(); ++d)
    members[d] = rank(stage, static_cast<int>(d), tensor);
  return lowering_.group(std::move(members));
}

// Per half layer: one all_reduce, or with sequence parallelism an all_gather before and a
// reduce_scatter after, of s·b·h activations (Korthikanti et al. 2022, figures 4 and 5).
std::vector<GptStep::Piece> GptStep::forward_layer() const {
  const TransformerSplit& split = plan_.split;
  const LayerTime time = layer_forward(plan_.model, split, gpu_, *lowering_.cluster().kernels);
  const Bytes bytes =
      Bytes::of(kElement * plan_.model.sequence * split.micro_batch * plan_.model.hidden);
  if (!split.sequence_parallel) {
    return {{time.attention, CollectiveOp::kAllReduce, bytes, {}},
            {time.mlp, CollectiveOp::kAllReduce, bytes, {}}};
  }
  return {{Seconds(), CollectiveOp::kAllGather, bytes, {}},
          {time.attention, CollectiveOp::kReduceScatter, bytes, {}},
          {Seconds(), CollectiveOp::kAllGather, bytes, {}},
          {time.mlp, CollectiveOp::kReduceScatter, bytes, {}}};
}

// The mirror of forward, and before it the forward again when everything is recomputed.
std::vector<GptStep::Piece> GptStep::backward_layer() const {
  TransformerSplit split = plan_.split;
  std::vector<Piece> pieces;
  if (split.recompute == "full") {
    pieces = forward_layer();
    split.recompute = "none";
  }
  const LayerTime time = layer_backward(plan_.model, split, gpu_, *lowering_.cluster().kernels);
  const std::vector<Piece> forward = forward_layer();
  for (auto it = forward.rbegin(); it != forward.rend(); ++it) pieces.push_back(*it);
  bool mlp = true;  // comes first
  for (auto it = pieces.end() - static_cast<std::ptrdiff_t>(forward.size()); it != pieces.end();
       ++it) {
    if (it->compute == Seconds()) continue;
    it->compute = mlp ? time.mlp : time.attention;
    mlp = false;
  }
  return pieces;
}

// Analytic: all the layers' kernels as one, then all their collectives as one pause.
void GptStep::repeat(const std::vector<Piece>& layer, int count, const Group& group,
                     std::vector<Piece>& out) {
  if (plan_.tensor_fidelity != Fidelity::kAnalytic && group.size() > 1) {
    for (int i = 0; i < count; ++i) out.insert(out.end(), layer.begin(), layer.end());
    return;
  }
  Piece all;
  for (const Piece& piece : layer) {
    all.compute += count * piece.compute;
    all.pause +=
        count * lowering_.estimate({piece.op, piece.bytes, &group, OpRole::kTensorComm, 0});
  }
  out.push_back(all);
}

// The pieces of `layers` layers of a stage, from `first_layer` in the order the pass takes them.
std::vector<GptStep::Piece> GptStep::pass(int stage, const Group& group, bool backward,
                                          int first_layer, int layers) {
  std::vector<Piece> pieces;
  const Seconds fixed = backward ? plan_.fixed_backward : plan_.fixed_forward;
  if (fixed > Seconds()) {
    return {{fixed * (static_cast<double>(layers) / plan_.layers_per_stage),
             CollectiveOp::kAllReduce,
             Bytes(),
             {}}};
  }
  const Cluster& cluster = lowering_.cluster();
  const bool has_logits = stage == plan_.layout.pipeline - 1;
  const Piece logits{logits_time(plan_.model, plan_.split, gpu_, *cluster.kernels, backward),
                     CollectiveOp::kAllReduce,
                     Bytes(),
                     {}};
  if (has_logits && backward && first_layer == 0) pieces.push_back(logits);
  repeat(backward ? backward_layer() : forward_layer(), layers, group, pieces);
  if (has_logits && !backward && first_layer + layers == plan_.layers_per_stage)
    pieces.push_back(logits);
  return pieces;
}

// The group goes on together after its first collective, so the latest of its launches counts: the
// maximum of as many exponential delays as there are ranks. Drawn in the order of the schedule.
GptStep::Delays GptStep::launch_delays(const Group& group, int ahead) {
  Delays delays;
  if (jitter_ == Seconds()) return delays;
  const auto draw = [&](std::vector<double>& into) {
    double latest = 0;
    for (std::size_t i = 0; i < group.size(); ++i)
      latest = std::max(latest, random_.exponential(jitter_.si()));
    into.push_back(latest);
  };
  const int all = plan_.layout.micro_batches;
  for (int i = 0; i < ahead; ++i) draw(delays.forward);
  for (int i = ahead; i < all; ++i) {
    draw(delays.forward);
    draw(delays.backward);
  }
  for (int i = 0; i < ahead; ++i) draw(delays.backward);
  return delays;
}

void GptStep::delay_launches(const Group& group, const std::vector<double>& seconds,
                             std::uint32_t number, Span& span) {
  if (seconds.empty()) return;
  const OpId delay = graph_.add_delays(group.ranks.front(), seconds, OpRole::kHost,
                                       graph_.label("late launches"), number);
  graph_.set_members(delay, group.ranks);
  for (const OpId before : span.last) graph_.add_edge(before, delay);
  span.first.assign(static_cast<std::size_t>(lanes_), delay);
  span.last = span.first;
}

// One pass, of as many micro-batches as the graph adds iterations.
GptStep::Span GptStep::run(const std::vector<Piece>& pieces, int stage, int replica,
                           const std::vector<double>& delays, std::string_view label,
                           std::uint32_t number, std::vector<OpId> after) {
  const Group& group = tensor_group(stage, replica_at(replica));
  const std::uint32_t name = graph_.label(label),
                      tensor_comm = graph_.label("tensor-parallel collectives");
  const double slowest = lowering_.cluster().slowest_gpu;
  const OpRole role = group.servers() == 1 ? OpRole::kNvLink : OpRole::kTensorComm;
  Span span{{}, std::move(after)};
  span.last.resize(static_cast<std::size_t>(lanes_));
  delay_launches(group, delays, number, span);
  for (const Piece& piece : pieces) {
    if (piece.compute > Seconds() || span.first.empty()) {
      for (std::size_t i = 0; i < span.last.size(); ++i) {
        const OpId op = graph_.add_compute(group.ranks[i], piece.compute * slowest,
                                           OpRole::kCompute, name, number);
        graph_.add_edge(span.last[i], op);
        span.last[i] = op;
      }
      if (span.first.empty()) span.first = span.last;
    }
    if (piece.pause > Seconds()) {
      for (std::size_t i = 0; i < span.last.size(); ++i) {
        const OpId op = graph_.add_delay(group.ranks[i], piece.pause, role, tensor_comm, number);
        graph_.set_purpose(op, OpRole::kTensorComm);
        graph_.add_edge(span.last[i], op);
        span.last[i] = op;
      }
    }
    if (piece.bytes > Bytes() && group.size() > 1) {
      const auto groups = static_cast<std::uint32_t>(stands_for(replica));
      std::vector<OpId> entry = span.last;
      entry.resize(group.size(), span.last.front());
      span.last = collective({piece.op, piece.bytes, &group, OpRole::kTensorComm, number, groups},
                             entry, plan_.tensor_fidelity, tensor_kind(stage, piece.op),
                             static_cast<FlowCollection::Member>(replica_at(replica)));
      span.last.resize(static_cast<std::size_t>(lanes_));
    }
  }
  return span;
}

// `entry` and result: for every rank of the group.
std::vector<OpId> GptStep::collective(const CollectiveCall& call, const std::vector<OpId>& entry,
                                      Fidelity fidelity, FlowCollection::Kind first,
                                      FlowCollection::Member member) {
  const std::size_t begin = graph_.size();
  std::vector<OpId> exits = lowering_.collective(call, entry, fidelity);
  for (std::size_t i = begin; i < graph_.size(); ++i) {
    if (graph_.kind(OpId(i)) != OpKind::kJoin) fold_path(OpId(i), first++, member);
  }
  return exits;
}

GptStep::Stage GptStep::schedule(int stage, int replica) {
  const GptLayout& l = plan_.layout;
  const int ahead = std::min(l.pipeline - 1 - stage, l.micro_batches);
  const auto all = static_cast<std::uint32_t>(l.micro_batches);
  const Group& group = tensor_group(stage, replica_at(replica));
  Delays delays = launch_delays(group, ahead);
  Stage out;
  graph_.set_iterations(all);
  out.forward = run(pass(stage, group, false, 0, plan_.layers_per_stage), stage, replica,
                    delays.forward, "forward", 0);
  std::vector<double> last;
  if (!delays.backward.empty()) {
    last = {delays.backward.back()};
    delays.backward.pop_back();
  }
  if (all > 1) {
    graph_.set_iterations(all - 1);
    out.backward = run(pass(stage, group, true, 0, plan_.layers_per_stage), stage, replica,
                       delays.backward, "backward", 0);
  }
  graph_.set_iterations(1);
  out.last_backward = last_backward(stage, replica, last);
  order(out, ahead);
  return out;
}

// 1F1B: as many forwards ahead as there are stages after this one, then one of each in turn.
void GptStep::order(const Stage& stage, int ahead) {
  const bool many = !stage.backward.first.empty();
  for (std::size_t i = 0; i < static_cast<std::size_t>(lanes_); ++i) {
    const OpId forward = stage.forward.first[i], forward_end = stage.forward.last[i],
               last = stage.last_backward.first[i];
    graph_.add_edge_after_all(forward_end, last);
    if (!many) continue;
    const OpId backward = stage.backward.first[i], backward_end = stage.backward.last[i];
    graph_.add_edge(forward_end, forward, 1);
    graph_.add_edge(backward_end, backward, 1);
    graph_.add_edge(backward_end, forward, ahead + 1);
    if (ahead < plan_.layout.micro_batches) {
      graph_.add_edge(forward_end, backward, -ahead);
    } else {
      graph_.add_edge_after_all(forward_end, backward);
    }
    graph_.add_edge_after_all(backward_end, last);
  }
}

// The last micro-batch's backward in as many parts as there are buckets: a bucket's gradients are
// complete when its layers' last backward is.
GptStep::Span GptStep::last_backward(int stage, int replica, const std::vector<double>& delays) {
  const Group& group = tensor_group(stage, replica_at(replica));
  const auto number = static_cast<std::uint32_t>(plan_.layout.micro_batches - 1);
  Span whole;
  int done = 0;
  for (int b = 0; b < plan_.buckets; ++b) {
    const int until = plan_.layers_per_stage * (b + 1) / plan_.buckets;
    const Span part = run(pass(stage, group, true, done, until - done), stage, replica,
                          b == 0 ? delays : std::vector<double>(), "backward", number, whole.last);
    if (whole.first.empty()) whole.first = part.first;
    whole.last = part.last;
    done = until;
    for (int lane = 0; lane < lanes_; ++lane)
      bucket(stage, lane, b)[static_cast<std::size_t>(replica)] =
          part.last[static_cast<std::size_t>(lane)];
  }
  return whole;
}

Bytes GptStep::message_bytes() const {
  const bool cut = plan_.scatter_gather || plan_.split.sequence_parallel;
  const double whole =
      kElement * plan_.model.sequence * plan_.split.micro_batch * plan_.model.hidden;
  return Bytes::of(whole / (cut ? plan_.layout.tensor : 1));
}

// One message of a lane from a stage to another, for each micro-batch.
OpId GptStep::message(int stage, int other, int replica, int lane, std::string_view label) {
  const int d = replica_at(replica);
  const OpId op = lowering_.send(rank(stage, d, lane), rank(other, d, lane), message_bytes(),
                                 OpRole::kPipelineComm, label);
  fold_path(op, message_kind(stage, other, lane), static_cast<FlowCollection::Member>(d));
  return op;
}

// Activations forward and their gradients backward between two neighbouring stages.
void GptStep::connect(int stage, int replica) {
  const Stage& near = at(stage, replica);
  const Stage& far = at(stage + 1, replica);
  const bool many = !near.backward.first.empty();
  graph_.set_iterations(static_cast<std::uint32_t>(plan_.layout.micro_batches));
  for (int lane = 0; lane < lanes_; ++lane) {
    const auto i = static_cast<std::size_t>(lane);
    const OpId there = message(stage, stage + 1, replica, lane, "activations");
    graph_.add_edge(near.forward.last[i], there);
    graph_.add_edge(there, far.forward.first[i]);
    const OpId back = message(stage + 1, stage, replica, lane, "activation gradients");
    if (many) {
      graph_.add_edge(far.backward.last[i], back);
      graph_.add_edge(back, near.backward.first[i]);
    }
    graph_.add_edge(far.last_backward.last[i], back, OpEdge::kLastAfterLast);
    graph_.add_edge_after_all(back, near.last_backward.first[i]);
  }
  graph_.set_iterations(1);
}

CollectiveCall GptStep::gradient_call(int stage, int tensor, int bucket) {
  const double all = plan_.parameters_per_rank(stage) * plan_.gradient_bytes;
  return {
      CollectiveOp::kAllReduce,           Bytes::of(all / plan_.buckets),
      &data_group(stage, tensor),         OpRole::kDataComm,
      static_cast<std::uint32_t>(bucket), static_cast<std::uint32_t>(plan_.layout.tensor / lanes_)};
}

void GptStep::reduce_gradients() {
  for (int stage = 0; stage < plan_.layout.pipeline; ++stage) {
    for (int lane = 0; lane < lanes_; ++lane) reduce_gradients(stage, lane);
  }
}

void GptStep::reduce_gradients(int stage, int lane) {
  std::vector<OpId> before;  // buckets of one group go one after another
  for (int b = 0; b < plan_.buckets; ++b) {
    std::vector<OpId> ready = bucket(stage, lane, plan_.overlap_gradients ? b : plan_.buckets - 1);
    for (std::size_t d = 0; d < before.size(); ++d) {
      const OpId both = graph_.add_join(OpRole::kDataComm);
      graph_.add_edge(ready[d], both);
      graph_.add_edge(before[d], both);
      ready[d] = both;
    }
    std::vector<OpId> entry;
    for (const int simulated : class_of_replica_)
      entry.push_back(ready[static_cast<std::size_t>(simulated)]);
    const std::vector<OpId> exits =
        collective(gradient_call(stage, lane, b), entry, lowering_.fidelity(),
                   gradient_kind(stage, lane), FlowCollection::kShared);
    before.clear();
    for (const int replica : replicas_) before.push_back(exits[static_cast<std::size_t>(replica)]);
  }
  reduced_[flat_index(stage, lanes_, lane)] = before;
}

// Adam in FP32: reads gradient, master weight and both moments, writes the last three and the BF16
// weight, 30 bytes of memory traffic per parameter.
void GptStep::step_optimizer(int stage, int replica) {
  constexpr double kAdamTraffic = 30;
  const Cluster& cluster = lowering_.cluster();
  const Kernel adam{0, 0, 0, 1, Bytes::of(kAdamTraffic * plan_.parameters_per_rank(stage)), 1};
  const Seconds time = plan_.fixed_forward > Seconds()
                           ? Seconds()
                           : cluster.slowest_gpu * cluster.kernels->time(gpu_, adam);
  const auto r = static_cast<std::size_t>(replica);
  for (int lane = 0; lane < lanes_; ++lane) {
    const OpId op = graph_.add_compute(rank(stage, replica_at(replica), lane), time,
                                       OpRole::kCompute, graph_.label("optimizer"));
    graph_.add_edge(at(stage, replica).last_backward.last[static_cast<std::size_t>(lane)], op);
    graph_.add_edge(reduced_[flat_index(stage, lanes_, lane)][r], op);
  }
}

}  // namespace trainyard
