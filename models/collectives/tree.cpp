// Parallel trees: ceil(log2 n) rounds, each moving what the recursion has gathered so far, for any
// n.
//
// Every rank is the root of one tree over S/n of the buffer and all trees run at once (Bruck's
// pattern; NCCL's PAT). all_gather: round r sends min(2^r, n - 2^r) blocks of S/n to the rank 2^r
// away; reduce_scatter runs it backwards; all_reduce is one after the other. Closed form:
// R · (latency) + (n-1)/n · S/bandwidth with R = ceil(log2 n), twice that for all_reduce: the
// ring's bytes in logarithmically many steps. NCCL's double binary tree moves up to n/(n-1) times
// as much.
#include <algorithm>
#include <map>

#include "models/collectives/phases.hpp"

namespace trainyard {
namespace {

struct Round {
  std::size_t distance;  ///< rank i sends to (i + distance) mod n
  std::size_t blocks;    ///< of S/n
};

std::vector<Round> rounds_of(CollectiveOp op, std::size_t n) {
  std::vector<Round> gather;
  for (std::size_t d = 1; d < n; d *= 2) gather.push_back({d, std::min(d, n - d)});
  std::vector<Round> scatter;
  for (auto it = gather.rbegin(); it != gather.rend(); ++it)
    scatter.push_back({n - it->distance, it->blocks});
  if (op == CollectiveOp::kAllGather) return gather;
  if (op == CollectiveOp::kAllReduce) scatter.insert(scatter.end(), gather.begin(), gather.end());
  return scatter;
}

class TreeCollective : public Collective {
 public:
  std::string refuses(const CollectiveCall&, const CollectiveContext&) const override { return {}; }

  Seconds estimate(const CollectiveCall& call, const CollectiveContext& context) const override {
    Seconds total;
    for (const PhaseFlow& flow : flows(call, context)) total += flow.time(context.capacities());
    return total;
  }

  std::vector<OpId> lower(const CollectiveCall& call, const CollectiveContext& context,
                          std::span<const OpId> entry) const override {
    const double slowdown = context.library->slowdown;
    if (context.fidelity == Fidelity::kAnalytic) {
      return lower_as_pause(call, context, estimate(call, context), "tree", slowdown, entry);
    }
    if (context.fidelity == Fidelity::kSteps) return messages(call, context, entry);
    std::vector<OpId> exits(entry.begin(), entry.end());
    for (const PhaseFlow& flow : flows(call, context))
      exits = lower_as_flow(call, context, flow, "tree round", slowdown, exits);
    return exits;
  }

 private:
  const std::vector<PhaseFlow>& flows(const CollectiveCall& call,
                                      const CollectiveContext& context) const {
    const auto [it, is_new] = flows_.try_emplace(phase_key(call, context));
    if (is_new) {
      for (const Round& round : rounds_of(call.op, call.group->size()))
        it->second.push_back(round_flow(call, context, round));
    }
    return it->second;
  }

  static Bytes round_bytes(const CollectiveCall& call, const Round& round) {
    return call.bytes *
           (static_cast<double>(round.blocks) / static_cast<double>(call.group->size()));
  }

  static FlowPath message(const CollectiveCall& call, const CollectiveContext& context,
                          std::size_t from, const Round& round, Seconds& latency) {
    const Rank a = call.group->ranks[from],
               b = call.group->ranks[(from + round.distance) % call.group->size()];
    FlowPath path = context.routes.message(a, b, context.protocol.efficiency);
    latency = path.latency + context.step_latency(context.routes.same_server(a, b));
    return path;
  }

  static PhaseFlow round_flow(const CollectiveCall& call, const CollectiveContext& context,
                              const Round& round) {
    PathBuilder all;
    Seconds slowest;
    for (std::size_t i = 0; i < call.group->size(); ++i) {
      Seconds latency;
      all.add(message(call, context, i, round, latency), 1);
      slowest = std::max(slowest, latency);
    }
    PhaseFlow flow{std::move(all).build(), round_bytes(call, round)};
    pay_latency(flow.path, slowest, flow.bytes, context.protocol);
    return flow;
  }

  std::vector<OpId> messages(const CollectiveCall& call, const CollectiveContext& context,
                             std::span<const OpId> entry) const {
    OpGraph& graph = context.graph;
    const std::size_t n = call.group->size();
    const std::uint32_t label = graph.label("tree send");
    // A rank goes on when it has sent and received.
    std::vector<OpId> done(entry.begin(), entry.end());
    std::uint32_t number = 0;
    for (const Round& round : rounds_of(call.op, n)) {
      std::vector<OpId> sends;
      for (std::size_t i = 0; i < n; ++i) {
        Seconds latency;
        FlowPath path = message(call, context, i, round, latency);
        pay_latency(path, latency, round_bytes(call, round), context.protocol);
        const std::size_t to = (i + round.distance) % n;
        const OpId op = graph.add_flow(call.group->ranks[i], graph.add_path(std::move(path)),
                                       round_bytes(call, round), call.role, label, number);
        graph.add_edge(done[i], op);
        graph.add_edge(done[to], op);
        occupy(graph, op, {call.group->ranks[i], call.group->ranks[to]}, context.library->slowdown);
        sends.push_back(op);
      }
      for (std::size_t i = 0; i < n; ++i) {
        done[i] = graph.add_join(call.role);
        graph.add_edge(sends[i], done[i]);
        graph.add_edge(sends[(i + n - round.distance) % n], done[i]);
      }
      ++number;
    }
    return done;
  }

  mutable std::map<PhaseKey, std::vector<PhaseFlow>>
      flows_;  ///< of one Lowering, which owns this object
};

const Registration<Collective, TreeCollective> registered{"tree",
                                                          "parallel trees, ceil(log2 n) rounds"};

}  // namespace
}  // namespace trainyard
