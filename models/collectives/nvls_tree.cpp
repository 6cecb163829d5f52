// NVLS inside servers, double binary trees between them (NCCL's NVLSTree): each rank's share of the
// buffer is added up in NVSwitch, goes over the tree of its rail, and is copied by NVSwitch.
//
// Closed form: latency + 2 · depth · A + fill + S/b; b: the least of NVLink's (n+1)/n · S at
// nvls_efficiency · nvls_tree_efficiency and the ports' trees at tree_efficiency (tree.cpp).
#include <algorithm>
#include <map>

#include "models/collectives/binary_trees.hpp"
#include "models/collectives/nvls.hpp"

namespace trainyard {
namespace {

class NvlsTreeCollective : public Collective {
 public:
  bool does(CollectiveOp op) const override { return op == CollectiveOp::kAllReduce; }
  bool applies(const Group& group) const override {
    return group.servers() > 1 && !group.one_rank_per_server();
  }
  bool speaks(std::string_view protocol) const override { return protocol == "simple"; }

  std::string refuses(const CollectiveCall& call, const CollectiveContext& context) const override {
    const Group& group = *call.group;
    if (group.servers() == 1) return "all its ranks are in one server";
    if (!group.even()) return "its servers hold different numbers of its ranks";
    return nvls_refuses(group, context);
  }

  Seconds estimate(const CollectiveCall& call, const CollectiveContext& context) const override {
    return plan(call, context).flow.time(context.capacities());
  }

  std::vector<OpId> lower(const CollectiveCall& call, const CollectiveContext& context,
                          std::span<const OpId> entry) const override {
    const double slowdown = context.library->sharp_slowdown;
    const Plan& whole = plan(call, context);
    switch (context.fidelity) {
      case Fidelity::kSteps:
        return lower_as_streams(call, context, whole.streams, whole.flow, slowdown, entry);
      case Fidelity::kFlow:
        return lower_as_flow(call, context, whole.flow, "nvls tree", slowdown, entry);
      case Fidelity::kAnalytic:
        break;
    }
    return lower_as_pause(call, context, whole.flow.time(context.capacities()), "nvls tree",
                          slowdown, entry);
  }

 private:
  struct Plan {
    std::vector<Stream> streams;
    PhaseFlow flow;
  };

  const Plan& plan(const CollectiveCall& call, const CollectiveContext& context) const {
    const auto [it, is_new] = plans_.try_emplace(phase_key(call, context));
    if (is_new) it->second = make(call, context);
    return it->second;
  }

  static Plan make(const CollectiveCall& call, const CollectiveContext& context) {
    const Group& group = *call.group;
    const CollectiveLibrary& library = *context.library;
    Plan plan;
    plan.streams = nvls_streams(group, context,
                                context.routes.cluster().server.nvlink.nvls_efficiency *
                                    (context.believed ? 1 : library.nvls_tree_efficiency));
    Seconds hop;
    const std::vector<BinaryTree> trees = two_trees(group.servers());
    const std::size_t local = group.size() / group.servers();
    const double part = 1 / (2 * static_cast<double>(local));
    const double reached = context.believed ? 1 : library.tree_efficiency;
    for (std::size_t rail = 0; rail < local; ++rail) {
      for (const BinaryTree& tree : trees) {
        for (std::size_t s = 0; s < tree.parent.size(); ++s) {
          if (tree.parent[s] == s) continue;
          const Rank a = group.ranks[s * local + rail],
                     b = group.ranks[tree.parent[s] * local + rail];
          FlowPath up = context.routes.message(a, b), down = context.routes.message(b, a);
          for (FlowPath* path : {&up, &down}) slow_links(*path, context.routes.topology(), reached);
          hop = std::max(hop, up.latency + context.tree_latency(false));
          plan.streams.push_back({std::move(up), part, 0, a, "tree up"});
          plan.streams.push_back({std::move(down), part, 1, b, "tree down"});
        }
      }
    }
    plan.flow = flow_of(plan.streams, call.bytes, Seconds());
    const double rate = idle_rate(plan.flow.path, context.capacities());
    plan.flow.path.latency = library.nvls_latency +
                             2 * static_cast<double>(trees.front().depth) * hop +
                             fill_time(context, call.bytes, rate);
    return plan;
  }

  mutable std::map<PhaseKey, Plan> plans_;  ///< of one Lowering, which owns this object
};

const Registration<Collective, NvlsTreeCollective> registered{
    "nvls_tree", "NVSwitch reduces inside servers, double binary trees between them; all_reduce"};

}  // namespace
}  // namespace trainyard
