// Double binary tree: each half of the buffer goes up one of two binary trees of servers, is added
// on the way, and comes down again; inside a server it goes along a chain of the GPUs. Pieces
// follow each other, so all links work at once.
//
// Closed form: base + 2 · (chain · a + depth · A) + fill + S/b, a and A the latencies of a step
// inside and between servers; b: the rate at which the most loaded link carries all that passes it
// (a port: S out and S in on two servers, 2 S on more). The fill is what the first level has passed
// on before the last has anything (PipelineFill). Source: Sanders et al. 2009; NCCL's trees.
#include <algorithm>
#include <map>

#include "models/collectives/binary_trees.hpp"
#include "models/collectives/streams.hpp"

namespace trainyard {
namespace {

class DoubleBinaryTree {
 public:
  DoubleBinaryTree(const CollectiveCall& call, const CollectiveContext& context)
      : call_(call), context_(context) {
    const Group& group = *call.group;
    const std::vector<BinaryTree> trees = two_trees(group.servers());
    depth_ = trees.front().depth;
    for (std::size_t s = 0; s < group.servers(); ++s)
      chain_ = std::max(chain_, group.server_begin[s + 1] - group.server_begin[s] - 1);
    const std::size_t channels =
        group.servers() == 1 || group.one_rank_per_server()
            ? 1
            : static_cast<std::size_t>(context.routes.cluster().server.nics);
    const double part = 1 / (2 * static_cast<double>(channels));
    for (std::size_t channel = 0; channel < channels; ++channel) {
      for (const BinaryTree& tree : trees) add(tree, channel, channels, part);
    }
    latency_ = context.protocol.base_latency +
               2 * (static_cast<double>(chain_) * inside_ + static_cast<double>(depth_) * between_);
  }

  PhaseFlow flow() const {
    PhaseFlow flow = flow_of(streams_, call_.bytes, Seconds());
    // A rank passes the buffer on twice, up and down.
    flow.path.bound = BytesPerSecond::of(context_.protocol_rate(depth_ == 0) / 2);
    flow.path.latency = latency(idle_rate(flow.path, context_.capacities()));
    return flow;
  }
  const std::vector<Stream>& streams() const { return streams_; }

 private:
  Seconds latency(double rate) const { return latency_ + fill_time(context_, call_.bytes, rate); }

  // Of a server's ranks, in the order of one channel: the first has the tree's NIC.
  std::vector<std::size_t> order(std::size_t server, std::size_t channel,
                                 std::size_t channels) const {
    const Group& group = *call_.group;
    const std::size_t begin = group.server_begin[server],
                      count = group.server_begin[server + 1] - begin;
    std::vector<std::size_t> all;
    for (std::size_t i = 0; i < count; ++i)
      all.push_back(begin + (channel * count / channels + i) % count);
    return all;
  }

  void add(const BinaryTree& tree, std::size_t channel, std::size_t channels, double part) {
    const double levels = 2 * static_cast<double>(chain_ + depth_);
    for (std::size_t s = 0; s < tree.parent.size(); ++s) {
      const std::vector<std::size_t> here = order(s, channel, channels);
      for (std::size_t i = 1; i < here.size(); ++i)
        add_link(here[i], here[i - 1], part, static_cast<double>(chain_ - i) / levels);
      if (tree.parent[s] == s) continue;
      const std::size_t above = order(tree.parent[s], channel, channels).front();
      add_link(here.front(), above, part, static_cast<double>(chain_) / levels);
    }
  }

  // Of the network's rate. NCCL's cost model takes 0.92, and of LL128 between 1 and 32 MiB 0.6 to
  // 0.9 of that.
  double network_share() const {
    constexpr double kBelieved = 0.92, kBelievedLl128 = 0.8;
    if (!context_.believed) return context_.library->tree_efficiency;
    return context_.protocol.efficiency < 1 ? kBelieved * kBelievedLl128 : kBelieved;
  }

  // There and back between two positions of the group.
  void add_link(std::size_t low, std::size_t high, double part, double progress) {
    const Rank a = call_.group->ranks[low], b = call_.group->ranks[high];
    const bool local = context_.routes.same_server(a, b);
    const int nic = local || call_.group->one_rank_per_server() ? -1 : context_.routes.nic_of(b);
    const double payload = context_.protocol.efficiency;
    FlowPath up = context_.routes.message(a, b, payload, nic);
    FlowPath down = context_.routes.message(b, a, payload, nic);
    for (FlowPath* path : {&up, &down})
      slow_links(*path, context_.routes.topology(), network_share());
    Seconds& latency = local ? inside_ : between_;
    latency = std::max(latency, up.latency + context_.tree_latency(local));
    streams_.push_back({std::move(up), part, progress, a, "tree up"});
    streams_.push_back({std::move(down), part, 1 - progress, b, "tree down"});
  }

  const CollectiveCall& call_;
  const CollectiveContext& context_;
  std::vector<Stream> streams_;
  std::size_t chain_ = 0, depth_ = 0;  ///< links inside a server, between servers
  Seconds inside_, between_, latency_;
};

class TreeCollective : public Collective {
 public:
  bool does(CollectiveOp op) const override { return op == CollectiveOp::kAllReduce; }
  std::string refuses(const CollectiveCall&, const CollectiveContext&) const override { return {}; }

  Seconds estimate(const CollectiveCall& call, const CollectiveContext& context) const override {
    return flow(call, context).time(context.capacities());
  }

  std::vector<OpId> lower(const CollectiveCall& call, const CollectiveContext& context,
                          std::span<const OpId> entry) const override {
    const double slowdown = context.library->slowdown;
    switch (context.fidelity) {
      case Fidelity::kSteps:
        return lower_as_streams(call, context, DoubleBinaryTree(call, context).streams(),
                                flow(call, context), slowdown, entry);
      case Fidelity::kFlow:
        return lower_as_flow(call, context, flow(call, context), "tree", slowdown, entry);
      case Fidelity::kAnalytic:
        break;
    }
    return lower_as_pause(call, context, estimate(call, context), "tree", slowdown, entry);
  }

 private:
  const PhaseFlow& flow(const CollectiveCall& call, const CollectiveContext& context) const {
    const auto [it, is_new] = flows_.try_emplace(phase_key(call, context));
    if (is_new) it->second = DoubleBinaryTree(call, context).flow();
    return it->second;
  }

  mutable std::map<PhaseKey, PhaseFlow> flows_;  ///< of one Lowering, which owns this object
};

const Registration<Collective, TreeCollective> registered{
    "tree", "double binary tree of servers, chains inside them; all_reduce"};

}  // namespace
}  // namespace trainyard
