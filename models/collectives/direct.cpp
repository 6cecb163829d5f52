// Direct all_to_all: every rank sends its S/n to every other at once, over its own NIC or NVLink,
// as NCCL's grouped send and receive does. A rank's part for itself crosses no link.
//
// Messages of one latency are one bundle: a single flow with the sum of their weights on every
// resource, which moves as fast as each of them. For messages that start together this ends when
// the last of them does, on any network. They have equal bytes, so in every message simulated those
// over the resource with the most bytes per capacity have the least max-min rate from the first
// byte on, keep it while others end before them, and end last; the bundle has that rate throughout.
// (Bertsekas and Gallager, Data Networks, 6.5.2: the first bottleneck of max-min fairness.)
#include <algorithm>
#include <map>

#include "models/collectives/phases.hpp"

namespace trainyard {
namespace {

/// The messages of one latency, and what a byte of each of them takes together.
struct Bundle {
  bool local = false;         ///< inside servers
  Seconds latency;            ///< of the way, without the protocol's step
  std::vector<Share> shares;  ///< at a payload share of 1
};

/// Adds up the n(n-1) messages of a group in flat arrays, a few per latency, nothing per pair.
class BundleBuilder {
 public:
  BundleBuilder(const Group& group, const Routes& routes) : group_(group), routes_(routes) {
    add_fabric();
    for (Sum& sum : sums_) add_endpoints(sum);
    add_local();
  }

  std::vector<Bundle> bundles() const {
    std::vector<Bundle> all;
    for (const Sum& sum : sums_) {
      Bundle bundle{sum.local, sum.latency, {}};
      for (std::size_t r = 0; r < sum.weight.size(); ++r) {
        if (sum.weight[r] > 0) bundle.shares.push_back({ResourceId(r), sum.weight[r]});
      }
      all.push_back(std::move(bundle));
    }
    return all;
  }

 private:
  struct Sum {
    bool local;
    Seconds latency;
    std::vector<double> weight;          ///< by resource
    std::vector<double> sent, received;  ///< messages between servers, by position in the group
  };

  // A network has few latencies: one per number of switches on the way.
  Sum& at(bool local, Seconds latency) {
    for (Sum& sum : sums_) {
      if (sum.local == local && sum.latency == latency) return sum;
    }
    const std::vector<double> none(group_.size());
    sums_.push_back(
        {local, latency, std::vector<double>(routes_.topology().resource_count()), none, none});
    return sums_.back();
  }

  NodeId nic(Rank rank) const {
    const Topology& topology = routes_.topology();
    return topology.nic_node(topology.server_of(rank), routes_.nic_of(rank));
  }

  // The links between NICs, which differ from pair to pair.
  void add_fabric() {
    const Topology& topology = routes_.topology();
    std::vector<NodeId> nics;
    for (const Rank rank : group_.ranks) nics.push_back(nic(rank));
    const double wire = routes_.wire_bytes(1);
    for (std::size_t s = 0; s < group_.servers(); ++s) {
      const std::size_t begin = group_.server_begin[s], end = group_.server_begin[s + 1];
      for (std::size_t from = begin; from < end; ++from) {
        for (std::size_t to = end % nics.size(); to != begin; to = (to + 1) % nics.size()) {
          const Route links = topology.route(nics[from], nics[to]);
          Seconds latency;
          for (const ResourceId link : links) latency += topology.latency_of(link);
          Sum& sum = at(false, latency + routes_.endpoint_latency());
          for (const ResourceId link : links) sum.weight[link.index()] += wire;
          ++sum.sent[from];
          ++sum.received[to];
        }
      }
    }
  }

  // What a message takes on its servers is the same whatever the other end.
  void add_endpoints(Sum& sum) const {
    for (std::size_t i = 0; i < group_.size(); ++i) {
      const Rank rank = group_.ranks[i];
      PathBuilder out, in;
      routes_.send_side(rank, routes_.nic_of(rank), out);
      routes_.receive_side(rank, routes_.nic_of(rank), in);
      add(std::move(out).build(), sum.sent[i], sum);
      add(std::move(in).build(), sum.received[i], sum);
    }
  }

  void add_local() {
    for (std::size_t s = 0; s < group_.servers(); ++s) {
      const std::size_t begin = group_.server_begin[s], end = group_.server_begin[s + 1];
      for (std::size_t from = begin; from < end; ++from) {
        for (std::size_t to = begin; to < end; ++to) {
          if (from == to) continue;
          const FlowPath path = routes_.message(group_.ranks[from], group_.ranks[to]);
          add(path, 1, at(true, path.latency));
        }
      }
    }
  }

  static void add(const FlowPath& path, double messages, Sum& sum) {
    for (const Share& share : path.shares)
      sum.weight[share.resource.index()] += messages * share.weight;
  }

  const Group& group_;
  const Routes& routes_;
  std::vector<Sum> sums_;
};

class DirectCollective : public Collective {
 public:
  bool does(CollectiveOp op) const override { return op == CollectiveOp::kAllToAll; }
  std::string refuses(const CollectiveCall&, const CollectiveContext&) const override { return {}; }

  // A resource is busy from the first byte that reaches it to the last. From the moment that the
  // messages of some latency begin, it has at least these and all that begin later to carry.
  Seconds estimate(const CollectiveCall& call, const CollectiveContext& context) const override {
    std::vector<PhaseFlow> all = flows(call, context);
    std::stable_sort(all.begin(), all.end(), [](const PhaseFlow& a, const PhaseFlow& b) {
      return a.path.latency > b.path.latency;
    });
    const Capacities capacities = context.capacities();
    std::vector<double> busy(capacities.size());
    Seconds end;
    for (const PhaseFlow& flow : all) {
      Seconds wire = flow.bytes / flow.path.bound;
      for (const Share& share : flow.path.shares) {
        double& seconds = busy[share.resource.index()];
        seconds += flow.bytes.si() * share.weight / capacities[share.resource.index()];
        wire = std::max(wire, Seconds::of(seconds));
      }
      end = std::max(end, flow.path.latency + wire);
    }
    return end;
  }

  std::vector<OpId> lower(const CollectiveCall& call, const CollectiveContext& context,
                          std::span<const OpId> entry) const override {
    const double slowdown = context.library->slowdown;
    if (context.fidelity == Fidelity::kSteps) return messages(call, context, entry);
    if (context.fidelity == Fidelity::kAnalytic) {
      return lower_as_pause(call, context, estimate(call, context), "all-to-all", slowdown, entry);
    }
    const OpId begin = join_of(context.graph, call.role, entry);
    const OpId end = context.graph.add_join(call.role);
    for (const PhaseFlow& flow : flows(call, context)) {
      const auto exits = lower_as_flow(call, context, flow, "all-to-all", slowdown, {&begin, 1});
      context.graph.add_edge(exits.front(), end);
    }
    return std::vector<OpId>(call.group->size(), end);
  }

 private:
  static Bytes part(const CollectiveCall& call) {
    return call.bytes / static_cast<double>(call.group->size());
  }

  // The bundles of a group are the same for every size and protocol.
  const std::vector<Bundle>& bundles(const CollectiveCall& call,
                                     const CollectiveContext& context) const {
    const auto [it, is_new] = bundles_.try_emplace(call.group->id);
    if (is_new) it->second = BundleBuilder(*call.group, context.routes).bundles();
    return it->second;
  }

  std::vector<PhaseFlow> flows(const CollectiveCall& call, const CollectiveContext& context) const {
    std::vector<PhaseFlow> all;
    for (const Bundle& bundle : bundles(call, context)) {
      PhaseFlow flow{{}, part(call)};
      flow.path.shares = bundle.shares;
      for (Share& share : flow.path.shares) share.weight /= context.protocol.efficiency;
      pay_latency(flow.path, bundle.latency + context.step_latency(bundle.local), flow.bytes,
                  context.protocol);
      all.push_back(std::move(flow));
    }
    return all;
  }

  static std::vector<OpId> messages(const CollectiveCall& call, const CollectiveContext& context,
                                    std::span<const OpId> entry) {
    OpGraph& graph = context.graph;
    const std::vector<Rank>& ranks = call.group->ranks;
    const std::uint32_t label = graph.label("all-to-all send");
    std::vector<OpId> exits;
    for (std::size_t i = 0; i < ranks.size(); ++i) exits.push_back(graph.add_join(call.role));
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      for (std::size_t k = 1; k < ranks.size(); ++k) {
        const std::size_t to = (i + k) % ranks.size();
        const bool local = context.routes.same_server(ranks[i], ranks[to]);
        FlowPath path = context.routes.message(ranks[i], ranks[to], context.protocol.efficiency);
        pay_latency(path, path.latency + context.step_latency(local), part(call), context.protocol);
        const OpId op = graph.add_flow(ranks[i], graph.add_path(std::move(path)), part(call),
                                       call.role, label, static_cast<std::uint32_t>(k));
        for (const std::size_t end : {i, to}) {
          graph.add_edge(entry[end], op);
          graph.add_edge(op, exits[end]);
        }
        occupy(graph, op, {ranks[i], ranks[to]}, context.library->slowdown);
      }
    }
    return exits;
  }

  mutable std::map<std::size_t, std::vector<Bundle>>
      bundles_;  ///< by group id, of one Lowering, which owns this object
};

const Registration<Collective, DirectCollective> registered{
    "direct", "all_to_all: every rank sends to every other at once"};

}  // namespace
}  // namespace trainyard
