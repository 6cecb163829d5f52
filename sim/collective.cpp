#include "sim/collective.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace trainyard {
namespace {

constexpr std::array<std::pair<CollectiveOp, std::string_view>, 6> kNames{{
    {CollectiveOp::kAllReduce, "all_reduce"},
    {CollectiveOp::kAllGather, "all_gather"},
    {CollectiveOp::kReduceScatter, "reduce_scatter"},
    {CollectiveOp::kAllToAll, "all_to_all"},
    {CollectiveOp::kBroadcast, "broadcast"},
    {CollectiveOp::kReduce, "reduce"},
}};

}  // namespace

std::string_view collective_name(CollectiveOp op) {
  for (const auto& [known, name] : kNames) {
    if (known == op) return name;
  }
  return "";
}

std::vector<std::string_view> collective_names() {
  std::vector<std::string_view> names;
  names.reserve(kNames.size());
  for (const auto& [op, name] : kNames) names.push_back(name);
  return names;
}

std::optional<CollectiveOp> collective_op(std::string_view name) {
  for (const auto& [op, known] : kNames) {
    if (known == name) return op;
  }
  return std::nullopt;
}

double bus_factor(CollectiveOp op, std::size_t n) {
  if (op == CollectiveOp::kBroadcast || op == CollectiveOp::kReduce) return 1;
  const double share = static_cast<double>(n - 1) / static_cast<double>(n);
  return op == CollectiveOp::kAllReduce ? 2 * share : share;
}

const Group& CollectiveContext::group(std::vector<Rank> ranks) const {
  auto& slot = (*groups)[ranks];
  if (slot) return *slot;
  slot = std::make_unique<Group>();
  slot->id = groups->size() - 1;
  slot->ranks = std::move(ranks);
  for (std::size_t i = 0; i < slot->ranks.size(); ++i) {
    if (i == 0 || !routes.same_server(slot->ranks[i - 1], slot->ranks[i]))
      slot->server_begin.push_back(i);
  }
  slot->server_begin.push_back(slot->ranks.size());
  return *slot;
}

bool SharpTrees::low_latency(const AggregationTree& tree, Bytes bytes) const {
  return bytes <= routes_.topology().switch_at(tree.switches.front()).sharp.low_latency_max;
}

const AggregationTree& SharpTrees::tree_of(const Group& group) {
  const auto it = trees_.find(group.id);
  if (it != trees_.end()) return it->second;
  const Topology& topology = routes_.topology();
  std::vector<NodeId> nics;
  for (const Rank rank : group.ranks)
    nics.push_back(topology.nic_node(topology.server_of(rank), routes_.nic_of(rank)));
  // Groups of other rails and other servers get other roots.
  const Rank first = group.ranks.front();
  const std::size_t spread =
      static_cast<std::size_t>(routes_.nic_of(first)) +
      topology.server_of(first).index() * static_cast<std::size_t>(topology.nics_per_server());
  return trees_.emplace(group.id, topology.aggregation_tree(nics, spread)).first->second;
}

std::string SharpTrees::limits(const AggregationTree& tree, bool is_low_latency,
                               const Uses& used) const {
  if (!routes_.cluster().transport->rdma()) {
    return fmt::format("SHARP needs RDMA, and the transport is \"{}\"",
                       routes_.cluster().transport->kind());
  }
  for (const NodeId node : tree.switches) {
    const Sharp& sharp = routes_.topology().switch_at(node).sharp;
    if (!sharp.enabled) return "its switches do not reduce (sharp.enabled is false)";
    if (sharp.radix > 0 && tree.widest > sharp.radix) {
      return fmt::format(
          "the tree needs {} children at one switch, more than its aggregation radix {}",
          tree.widest, sharp.radix);
    }
    const auto it = used.find(node);
    const Use use = it == used.end() ? Use() : it->second;
    if (is_low_latency ? use.low_latency >= sharp.low_latency_trees
                       : use.streaming >= sharp.streaming_trees) {
      return fmt::format("a switch of its tree holds no more {} trees",
                         is_low_latency ? "low-latency" : "streaming");
    }
  }
  return {};
}

void SharpTrees::take(const AggregationTree& tree, bool is_low_latency, Uses& used) {
  for (const NodeId node : tree.switches)
    ++(is_low_latency ? used[node].low_latency : used[node].streaming);
}

std::string SharpTrees::refusal(std::span<const Group* const> groups, Bytes bytes) {
  Uses used = used_;
  for (const Group* group : groups) {
    const AggregationTree& tree = tree_of(*group);
    const bool small = low_latency(tree, bytes);
    const auto it = grants_.find({group->id, small});
    std::string reason = it != grants_.end() ? it->second.reason : limits(tree, small, used);
    if (!reason.empty()) return reason;
    if (it == grants_.end()) take(tree, small, used);
  }
  return {};
}

const SharpTrees::Grant& SharpTrees::grant(const Group& group, Bytes bytes) {
  const AggregationTree& tree = tree_of(group);
  const bool small = low_latency(tree, bytes);
  const auto [it, is_new] = grants_.try_emplace({group.id, small});
  Grant& grant = it->second;
  if (!is_new) return grant;
  grant.reason = limits(tree, small, used_);
  if (!grant.reason.empty()) return grant;
  take(tree, small, used_);
  grant.tree = &tree;
  return grant;
}

}  // namespace trainyard
