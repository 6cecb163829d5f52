// In-network reduction (SHARP): every rank sends its buffer up a tree of switches that add, and the
// result comes down again, streaming: S/bandwidth + the latency of the way up and down.
//
// One rank per server goes over the tree itself; a group with several ranks in each server reduces
// inside first, then along one tree per rail: in NVSwitch, all of it at once, where that reduces
// (an all_reduce with NVLS), else by rings. Trees are granted within the limits of each switch.
#include <algorithm>

#include "models/collectives/hierarchical.hpp"
#include "models/collectives/nvls.hpp"

namespace trainyard {
namespace {

// What part of the buffer passes a tree edge upwards (downwards): all of it, but an all_gather
// carries up only what the leaves below contribute, and a reduce_scatter brings down only theirs.
struct EdgeVolume {
  double up = 1, down = 1;
};
EdgeVolume volume(CollectiveOp op, int leaves, std::size_t n) {
  const double part = static_cast<double>(leaves) / static_cast<double>(n);
  if (op == CollectiveOp::kAllGather) return {part, 1};
  if (op == CollectiveOp::kReduceScatter) return {1, part};
  return {1, 1};
}

class SharpCollective : public Collective {
 public:
  SharpCollective() : levels_(*this) {}

  bool applies(const Group& group) const override { return group.servers() > 1; }
  bool follows_routes() const override { return false; }  // each tree has a root of its own

  std::string refuses(const CollectiveCall& call, const CollectiveContext& context) const override {
    if (call.group->servers() == 1) return "all its ranks are in one server";
    if (call.group->one_rank_per_server()) {
      const Group* whole = call.group;
      return context.sharp.refusal({&whole, 1}, call.bytes);
    }
    std::string shape = levels_.refuses(call, context);
    if (!shape.empty()) return shape;
    const auto [groups, bytes] = levels_.rails(call, context);
    return context.sharp.refusal(groups, bytes);
  }

  bool speaks(std::string_view protocol) const override { return protocol == "simple"; }

  Seconds estimate(const CollectiveCall& call, const CollectiveContext& context) const override {
    if (by_rings(call, context)) return levels_.estimate(call, context);
    return plan(call, context).flow.time(context.capacities());
  }

  std::vector<OpId> lower(const CollectiveCall& call, const CollectiveContext& context,
                          std::span<const OpId> entry) const override {
    if (by_rings(call, context)) return levels_.lower(call, context, entry);
    const Plan whole = plan(call, context);
    for (const Group* group : whole.groups) {
      const auto& grant = context.sharp.grant(*group, call.bytes / whole.parts);
      require(grant.tree != nullptr, "a reduction tree that was not granted");
    }
    const double slowdown = context.library->sharp_slowdown;
    switch (context.fidelity) {
      case Fidelity::kSteps:
        return lower_as_streams(call, context, whole.streams, whole.flow, slowdown, entry);
      case Fidelity::kFlow:
        return lower_as_flow(call, context, whole.flow, "sharp", slowdown, entry);
      case Fidelity::kAnalytic:
        break;
    }
    return lower_as_pause(call, context, whole.flow.time(context.capacities()), "sharp", slowdown,
                          entry);
  }

 private:
  /// Trees over `groups`, each for one of `parts` of the buffer.
  struct Plan {
    std::vector<const Group*> groups;
    double parts = 1;
    std::vector<Stream> streams;
    PhaseFlow flow;
  };

  static bool by_rings(const CollectiveCall& call, const CollectiveContext& context) {
    return !call.group->one_rank_per_server() &&
           (call.op != CollectiveOp::kAllReduce || !nvls_refuses(*call.group, context).empty());
  }

  // One variable over everything: streaming aggregation moves at the pace of its slowest link.
  Plan plan(const CollectiveCall& call, const CollectiveContext& context) const {
    Plan plan;
    Seconds latency = context.protocol.base_latency;
    if (call.group->one_rank_per_server()) {
      plan.groups = {call.group};
    } else {
      plan.groups = levels_.rails(call, context).first;
      plan.parts = static_cast<double>(plan.groups.size());
      const NvLink& nvlink = context.routes.cluster().server.nvlink;
      plan.streams = nvls_streams(
          *call.group, context,
          nvlink.nvls_efficiency * (context.believed ? 1 : context.library->nvls_tree_efficiency));
      latency += context.library->nvls_latency;
    }
    Seconds longest;
    for (const Group* group : plan.groups) {
      add_tree(*group, call, context, 1 / plan.parts, plan.streams);
      longest = std::max(longest, tree_latency(context.sharp.tree_of(*group), context));
    }
    plan.flow = flow_of(plan.streams, call.bytes, latency + longest);
    if (plan.parts > 1) {
      plan.flow.path.latency +=
          fill_time(context, call.bytes, idle_rate(plan.flow.path, context.capacities()));
    }
    return plan;
  }

  static const Sharp& device(const AggregationTree& tree, const CollectiveContext& context) {
    return context.routes.topology().switch_at(tree.switches.front()).sharp;
  }

  static Seconds tree_latency(const AggregationTree& tree, const CollectiveContext& context) {
    return tree.latency + tree.depth * device(tree, context).aggregation_latency +
           context.routes.endpoint_latency() + context.protocol.network_latency;
  }

  // Every edge of a group's tree, up and down, for `scale` of the buffer; the lowest ones with what
  // their rank's server takes.
  static void add_tree(const Group& group, const CollectiveCall& call,
                       const CollectiveContext& context, double scale,
                       std::vector<Stream>& streams) {
    const AggregationTree& tree = context.sharp.tree_of(group);
    const double wire = 1 / device(tree, context).efficiency;
    std::size_t member = 0;
    for (const TreeEdge& edge : tree.edges) {
      const EdgeVolume v = volume(call.op, edge.leaves, group.size());
      const double progress = static_cast<double>(edge.level) / (2 * tree.depth);
      const Rank rank = group.ranks[edge.level == 0 ? member : 0];
      PathBuilder up, down;
      if (edge.level == 0) {
        context.routes.send_side(rank, context.routes.nic_of(rank), up);
        context.routes.receive_side(rank, context.routes.nic_of(rank), down);
        ++member;
      }
      up.use(edge.up, wire);
      down.use(edge.down, wire);
      streams.push_back({std::move(up).build(), v.up * scale, progress, rank, "sharp up"});
      streams.push_back(
          {std::move(down).build(), v.down * scale, 1 - progress, rank, "sharp down"});
    }
  }

  Levels levels_;
};

const Registration<Collective, SharpCollective> registered{
    "sharp", "reduction in the switches, after a reduction inside each server"};

}  // namespace
}  // namespace trainyard
