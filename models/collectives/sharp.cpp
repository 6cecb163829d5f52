// In-network reduction (SHARP): every rank sends its buffer up a tree of switches that add, and the
// result comes down again, streaming: S/bandwidth + the latency of the way up and down.
//
// One rank per server goes over the tree itself; a group with several ranks in each server reduces
// inside first, then along one tree per rail. Trees are granted within the limits of each switch.
#include <algorithm>

#include "models/collectives/hierarchical.hpp"
#include "models/collectives/phases.hpp"

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

  Seconds estimate(const CollectiveCall& call, const CollectiveContext& context) const override {
    if (!call.group->one_rank_per_server()) return levels_.estimate(call, context);
    return whole_tree(call, context).time(context.capacities());
  }

  std::vector<OpId> lower(const CollectiveCall& call, const CollectiveContext& context,
                          std::span<const OpId> entry) const override {
    if (!call.group->one_rank_per_server()) return levels_.lower(call, context, entry);
    const auto& grant = context.sharp.grant(*call.group, call.bytes);
    require(grant.tree != nullptr, "a reduction tree that was not granted");
    const double slowdown = context.library->sharp_slowdown;
    switch (context.fidelity) {
      case Fidelity::kSteps:
        return streams(call, context, entry);
      case Fidelity::kFlow:
        return lower_as_flow(call, context, whole_tree(call, context), "sharp", slowdown, entry);
      case Fidelity::kAnalytic:
        break;
    }
    return lower_as_pause(call, context, estimate(call, context), "sharp", slowdown, entry);
  }

 private:
  static const Sharp& device(const AggregationTree& tree, const CollectiveContext& context) {
    return context.routes.topology().switch_at(tree.switches.front()).sharp;
  }

  static Seconds latency(const AggregationTree& tree, const CollectiveContext& context) {
    return tree.latency + tree.depth * device(tree, context).aggregation_latency +
           context.routes.endpoint_latency() + context.protocol.network_latency;
  }

  // One variable over the whole tree: streaming aggregation moves at the pace of its slowest link.
  static PhaseFlow whole_tree(const CollectiveCall& call, const CollectiveContext& context) {
    const AggregationTree& tree = context.sharp.tree_of(*call.group);
    const double wire = 1 / device(tree, context).efficiency;
    PathBuilder path;
    for (const TreeEdge& edge : tree.edges) {
      const EdgeVolume v = volume(call.op, edge.leaves, call.group->size());
      path.use(edge.up, wire * v.up);
      path.use(edge.down, wire * v.down);
    }
    for (const Rank rank : call.group->ranks) endpoint(rank, call, context, path);
    path.delay(latency(tree, context));
    return {std::move(path).build(), call.bytes};
  }

  static void endpoint(Rank rank, const CollectiveCall& call, const CollectiveContext& context,
                       PathBuilder& path) {
    const EdgeVolume v = volume(call.op, 1, call.group->size());
    const int nic = context.routes.nic_of(rank);
    PathBuilder sending, receiving;
    context.routes.send_side(rank, nic, sending);
    context.routes.receive_side(rank, nic, receiving);
    path.add(std::move(sending).build(), v.up);
    path.add(std::move(receiving).build(), v.down);
  }

  // Every tree edge as a stream of its own, each starting when the first bytes get there. A switch
  // adds as the bytes come and holds back who is ahead, so alone none is faster than the slowest.
  static std::vector<OpId> streams(const CollectiveCall& call, const CollectiveContext& context,
                                   std::span<const OpId> entry) {
    OpGraph& graph = context.graph;
    const AggregationTree& tree = context.sharp.tree_of(*call.group);
    const OpId begin = join_of(graph, call.role, entry);
    const OpId end = graph.add_join(call.role);
    // The last byte that went up still has the whole way to go.
    const OpId last_byte = graph.add_delay(call.group->ranks.front(), latency(tree, context),
                                           call.role, graph.label("sharp last byte"));
    graph.add_edge(last_byte, end);
    const double wire = 1 / device(tree, context).efficiency;
    const Seconds all = latency(tree, context);
    const double pace = idle_rate(whole_tree(call, context).path, context.capacities());
    std::size_t member = 0;
    const auto stream = [&](ResourceId link, double part, double progress, PathBuilder path,
                            Rank rank, std::string_view name) {
      path.use(link, wire);
      path.delay(all * progress);
      FlowPath paced = std::move(path).build();
      paced.bound = BytesPerSecond::of(pace * part);
      const OpId op = graph.add_flow(rank, graph.add_path(std::move(paced)), call.bytes * part,
                                     call.role, graph.label(name));
      graph.add_edge(begin, op);
      graph.add_edge(op, progress == 0 ? last_byte : end);
      occupy(graph, op, {rank}, context.library->sharp_slowdown);
    };
    for (const TreeEdge& edge : tree.edges) {
      const EdgeVolume v = volume(call.op, edge.leaves, call.group->size());
      const double up = static_cast<double>(edge.level) / (2 * tree.depth);
      PathBuilder sending, receiving;
      const Rank rank = call.group->ranks[edge.level == 0 ? member : 0];
      if (edge.level == 0) {
        context.routes.send_side(rank, context.routes.nic_of(rank), sending);
        context.routes.receive_side(rank, context.routes.nic_of(rank), receiving);
        ++member;
      }
      stream(edge.up, v.up, up, std::move(sending), rank, "sharp up");
      stream(edge.down, v.down, 1 - up, std::move(receiving), rank, "sharp down");
    }
    return std::vector<OpId>(call.group->size(), end);
  }

  Levels levels_;
};

const Registration<Collective, SharpCollective> registered{
    "sharp", "reduction in the switches, after a reduction inside each server"};

}  // namespace
}  // namespace trainyard
