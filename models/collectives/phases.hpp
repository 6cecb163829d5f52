// Building blocks that the collective algorithms share: rings, logarithmic rounds, reduction trees.
//
// Each block knows three forms of itself that agree on an idle network: its closed form, one
// weighted flow, and every message.
#pragma once

#include <limits>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "sim/collective.hpp"

namespace trainyard {

/// One flow that stands for a whole phase, and what it carries.
struct PhaseFlow {
  FlowPath path;
  Bytes bytes;
  /// Alone on the network: latency + bytes / rate.
  Seconds time(const Capacities& capacities) const {
    return path.latency + Seconds::of(bytes.si() / idle_rate(path, capacities));
  }
};

/// A ring over a group: `steps` rounds in which every rank passes 1/n of the buffer to the next,
/// on `channels` rings at once. Several channels rotate which NIC a server's ring enters by.
class Ring {
 public:
  /// `rounds`: 2(n-1) for all_reduce, n-1 for the other two.
  Ring(const CollectiveCall& call, const CollectiveContext& context);
  /// Base latency + steps · a step: latency + chunk/bandwidth, or, when cut through,
  /// max(chunk/bandwidth, latency + chunk/bandwidth/slices).
  PhaseFlow flow() const;
  std::vector<OpId> messages(std::span<const OpId> entry) const;
  static std::size_t rounds(CollectiveOp op, std::size_t n) {
    return op == CollectiveOp::kAllReduce ? 2 * (n - 1) : n - 1;
  }

 private:
  struct Edge {
    std::size_t from, to;  ///< positions in the group
    FlowPath path;
  };
  const FlowPath& merged() const;  ///< of all edges of all channels, a share of each
  Seconds step(double pace) const;
  bool cut_through() const;
  double most_pace() const;  ///< bytes a second that thread blocks and protocol pass on a ring
  Seconds proxy_latency(bool local) const;
  double blocks() const;
  static std::vector<std::size_t> entering(const std::vector<Edge>& edges);
  std::vector<OpId> add_round(const std::vector<Edge>& edges, std::uint32_t round,
                              std::span<const OpId> entry, const std::vector<OpId>& before) const;
  void leave(const std::vector<Edge>& edges, const std::vector<OpId>& sends,
             const std::vector<OpId>& exits) const;

  std::vector<std::vector<Edge>> channels_;
  double chunk_;     ///< bytes of one message
  Seconds latency_;  ///< mean of a step
  bool any_network_ = false;
  mutable FlowPath merged_;
  const CollectiveCall& call_;
  const CollectiveContext& context_;
};

/// What the phases of a call depend on: for keeping them, since the same call comes many times
/// (estimated, and once for each bucket of gradients). Within one Lowering.
using PhaseKey = std::tuple<std::size_t, CollectiveOp, Bytes, int, std::string, double, int,
                            Seconds, Seconds, Seconds, bool>;
PhaseKey phase_key(const CollectiveCall& call, const CollectiveContext& context);

/// Adds one phase as a single flow between all the entries and one exit.
std::vector<OpId> lower_as_flow(const CollectiveCall& call, const CollectiveContext& context,
                                const PhaseFlow& flow, std::string_view name, double slowdown,
                                std::span<const OpId> entry);
/// Adds a call as one pause of its closed form.
std::vector<OpId> lower_as_pause(const CollectiveCall& call, const CollectiveContext& context,
                                 Seconds time, std::string_view name, double slowdown,
                                 std::span<const OpId> entry);
/// Makes a message's path pay its step latency as the protocol's law says: before the first byte
/// (additive), or as a least duration (cut-through). `pace`: bytes a second on the idle network.
void pay_latency(FlowPath& path, Seconds latency, Bytes bytes, const Protocol& protocol,
                 double pace = std::numeric_limits<double>::infinity());
/// Where every rank begins: after its entry, or, with a base latency, that long after all entries.
std::vector<OpId> begin(const CollectiveCall& call, const CollectiveContext& context,
                        std::span<const OpId> entry);
/// A join after every entry.
OpId join_of(OpGraph& graph, OpRole role, std::span<const OpId> entry);
/// Takes `slowdown` from the compute of these ranks while the operation runs.
void occupy(OpGraph& graph, OpId op, std::vector<Rank> ranks, double slowdown);

}  // namespace trainyard
