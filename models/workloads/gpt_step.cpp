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
      random_(plan.seed) {
  const GptLayout& l = plan.layout;
  lanes_ = alike() ? 1 : l.tensor;
  buckets_.assign(flat_index(l.pipeline * lanes_, plan.buckets, 0),
                  std::vector<OpId>(static_cast<std::size_t>(l.data)));
  reduced_.resize(flat_index(l.pipeline, l.tensor, 0));
}

// Between every two neighbouring stages, both ways. A group over several servers is not simulated
// as one: what its collectives take of a server is counted where its ranks stand.
bool GptStep::alike() const {
  const GptLayout& l = plan_.layout;
  if (plan_.tensor_fidelity != Fidelity::kAnalytic || !lowering_.folds()) return false;
  for (int stage = 0; stage < l.pipeline; ++stage) {
    for (int replica = 0; replica < l.data; ++replica) {
      const auto near = tensor_ranks(stage, replica);
      for (const Rank one : near) {
        if (!lowering_.routes().same_server(near.front(), one)) return false;
      }
      if (stage + 1 == l.pipeline) continue;
      const auto far = tensor_ranks(stage + 1, replica);
      if (!lowering_.alike(near, far) || !lowering_.alike(far, near)) return false;
    }
  }
  return true;
}

void GptStep::lower() {
  const GptLayout& l = plan_.layout;
  for (int stage = 0; stage < l.pipeline; ++stage) {
    for (int replica = 0; replica < l.data; ++replica) stages_.push_back(schedule(stage, replica));
  }
  for (int stage = 0; stage + 1 < l.pipeline; ++stage) {
    for (int replica = 0; replica < l.data; ++replica) connect(stage, replica);
  }
  reduce_gradients();
  for (int stage = 0; stage < l.pipeline; ++stage) {
    for (int replica = 0; replica < l.data; ++replica) step_optimizer(stage, replica);
  }
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
// maximum of as many exponential delays as there are ranks.
void GptStep::delay_launches(const Group& group, Span& span, std::uint32_t number) {
  if (jitter_ == Seconds()) return;
  double latest = 0;
  for (std::size_t i = 0; i < group.size(); ++i)
    latest = std::max(latest, random_.exponential(jitter_.si()));
  const OpId delay = graph_.add_delay(group.ranks.front(), Seconds::of(latest), OpRole::kHost,
                                      graph_.label("late launches"), number);
  for (const OpId before : span.last) graph_.add_edge(before, delay);
  span.first.assign(span.last.size(), delay);
  span.last.assign(span.last.size(), delay);
}

GptStep::Span GptStep::run(const std::vector<Piece>& pieces, const Group& group,
                           const std::vector<OpId>& after, std::string_view label, int micro_batch,
                           bool delayed) {
  const auto number = static_cast<std::uint32_t>(micro_batch);
  const std::uint32_t name = graph_.label(label),
                      tensor_comm = graph_.label("tensor-parallel collectives");
  const double slowest = lowering_.cluster().slowest_gpu;
  const OpRole role = group.servers() == 1 ? OpRole::kNvLink : OpRole::kTensorComm;
  Span span{{}, after};
  if (delayed) delay_launches(group, span, number);
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
        graph_.add_edge(span.last[i], op);
        span.last[i] = op;
      }
    }
    if (piece.bytes > Bytes() && group.size() > 1) {
      span.last = lowering_.collective({piece.op, piece.bytes, &group, OpRole::kTensorComm, number},
                                       span.last, plan_.tensor_fidelity);
    }
  }
  return span;
}

GptStep::Stage GptStep::schedule(int stage, int replica) {
  const GptLayout& l = plan_.layout;
  const Group& group = tensor_group(stage, replica);
  Stage out;
  out.end.assign(static_cast<std::size_t>(lanes_), OpId());
  const std::vector<Piece> forward = pass(stage, group, false, 0, plan_.layers_per_stage);
  const std::vector<Piece> backward = pass(stage, group, true, 0, plan_.layers_per_stage);
  const auto one_forward = [&] {
    const int i = static_cast<int>(out.forward.size());
    out.forward.push_back(run(forward, group, out.end, "forward", i));
    out.end = out.forward.back().last;
  };
  const auto one_backward = [&] {
    const int i = static_cast<int>(out.backward.size());
    out.backward.push_back(i + 1 < l.micro_batches
                               ? run(backward, group, out.end, "backward", i)
                               : last_backward(stage, replica, group, out.end, i));
    out.end = out.backward.back().last;
  };
  // 1F1B: as many forwards ahead as there are stages after this one, then one of each in turn.
  const int ahead = std::min(l.pipeline - 1 - stage, l.micro_batches);
  for (int i = 0; i < ahead; ++i) one_forward();
  for (int i = ahead; i < l.micro_batches; ++i) {
    one_forward();
    one_backward();
  }
  for (int i = 0; i < ahead; ++i) one_backward();
  return out;
}

// The last micro-batch's backward in as many parts as there are buckets: a bucket's gradients are
// complete when its layers' last backward is.
GptStep::Span GptStep::last_backward(int stage, int replica, const Group& group,
                                     const std::vector<OpId>& after, int micro_batch) {
  Span whole{{}, after};
  int done = 0;
  for (int b = 0; b < plan_.buckets; ++b) {
    const int until = plan_.layers_per_stage * (b + 1) / plan_.buckets;
    const Span part = run(pass(stage, group, true, done, until - done), group, whole.last,
                          "backward", micro_batch, b == 0);
    if (whole.first.empty()) whole.first = part.first;
    whole.last = part.last;
    done = until;
    for (int lane = 0; lane < lanes_; ++lane)
      bucket(stage, lane, b)[static_cast<std::size_t>(replica)] =
          part.last[static_cast<std::size_t>(lane)];
  }
  return whole;
}

// One message of a lane from a stage to another, or those of the whole group as one.
OpId GptStep::message(int stage, int other, int replica, int lane, Bytes bytes,
                      std::string_view label, std::size_t micro_batch) {
  const auto number = static_cast<std::uint32_t>(micro_batch);
  if (lanes_ == plan_.layout.tensor) {
    return lowering_.send(rank(stage, replica, lane), rank(other, replica, lane), bytes,
                          OpRole::kPipelineComm, label, number);
  }
  return lowering_.send_together(tensor_ranks(stage, replica), tensor_ranks(other, replica), bytes,
                                 OpRole::kPipelineComm, label, number);
}

// Activations forward and their gradients backward between two neighbouring stages.
void GptStep::connect(int stage, int replica) {
  const bool cut = plan_.scatter_gather || plan_.split.sequence_parallel;
  const double whole =
      kElement * plan_.model.sequence * plan_.split.micro_batch * plan_.model.hidden;
  const Bytes bytes = Bytes::of(whole / (cut ? plan_.layout.tensor : 1));
  Stage& near = at(stage, replica);
  Stage& far = at(stage + 1, replica);
  for (int lane = 0; lane < lanes_; ++lane) {
    const auto i = static_cast<std::size_t>(lane);
    for (std::size_t m = 0; m < near.forward.size(); ++m) {
      const OpId there = message(stage, stage + 1, replica, lane, bytes, "activations", m);
      graph_.add_edge(near.forward[m].last[i], there);
      graph_.add_edge(there, far.forward[m].first[i]);
      const OpId back = message(stage + 1, stage, replica, lane, bytes, "activation gradients", m);
      graph_.add_edge(far.backward[m].last[i], back);
      graph_.add_edge(back, near.backward[m].first[i]);
    }
  }
}

void GptStep::reduce_gradients() {
  const GptLayout& l = plan_.layout;
  for (int stage = 0; stage < l.pipeline; ++stage) {
    const Bytes bytes =
        Bytes::of(plan_.parameters_per_rank(stage) * plan_.gradient_bytes / plan_.buckets);
    for (int t = 0; t < l.tensor; ++t) {
      std::vector<Rank> members(static_cast<std::size_t>(l.data));
      for (int d = 0; d < l.data; ++d) members[static_cast<std::size_t>(d)] = rank(stage, d, t);
      const Group& group = lowering_.group(std::move(members));
      std::vector<OpId> before;  // buckets of one group go one after another
      for (int b = 0; b < plan_.buckets; ++b) {
        std::vector<OpId> ready =
            bucket(stage, t % lanes_, plan_.overlap_gradients ? b : plan_.buckets - 1);
        for (std::size_t d = 0; d < before.size(); ++d) {
          const OpId both = graph_.add_join(OpRole::kDataComm);
          graph_.add_edge(ready[d], both);
          graph_.add_edge(before[d], both);
          ready[d] = both;
        }
        before = lowering_.collective({CollectiveOp::kAllReduce, bytes, &group, OpRole::kDataComm,
                                       static_cast<std::uint32_t>(b)},
                                      ready);
      }
      reduced_[flat_index(stage, l.tensor, t)] = before;
    }
  }
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
    const OpId op = graph_.add_compute(rank(stage, replica, lane), time, OpRole::kCompute,
                                       graph_.label("optimizer"));
    graph_.add_edge(at(stage, replica).end[static_cast<std::size_t>(lane)], op);
    for (int t = lane; t < plan_.layout.tensor; t += lanes_)
      graph_.add_edge(reduced_[flat_index(stage, plan_.layout.tensor, t)][r], op);
  }
}

}  // namespace trainyard
