// Collective operations: the plug-in interface and what an algorithm may use to lower itself.
#pragma once

#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/cluster.hpp"
#include "sim/opgraph.hpp"
#include "sim/routes.hpp"

namespace trainyard {

enum class CollectiveOp {
  kAllReduce,
  kAllGather,
  kReduceScatter,
  kAllToAll,
  kBroadcast,  ///< from the first rank of the group
  kReduce      ///< to the first rank of the group
};
std::string_view collective_name(CollectiveOp op);  ///< "all_reduce", as nccl-tests writes it
/// All of them, in the order of the enumeration.
std::vector<std::string_view> collective_names();
/// The operation of that name, or nothing.
std::optional<CollectiveOp> collective_op(std::string_view name);
/// Bus bandwidth / algorithm bandwidth as nccl-tests defines it: 2(n-1)/n for all_reduce, 1 for
/// broadcast and reduce, else (n-1)/n.
double bus_factor(CollectiveOp op, std::size_t n);

/// How finely a collective is simulated.
enum class Fidelity {
  kSteps,     ///< every message
  kFlow,      ///< one weighted flow per phase
  kAnalytic,  ///< its closed form, as a pause: shares nothing with anything
};

/// An interned set of ranks in ring order; ranks of one server stand together.
struct Group {
  std::size_t id = 0;
  std::vector<Rank> ranks;
  std::vector<std::size_t> server_begin;  ///< where each server's run of ranks begins, and the end
  std::size_t size() const { return ranks.size(); }
  std::size_t servers() const { return server_begin.size() - 1; }
  bool one_rank_per_server() const { return servers() == size(); }
  /// Whether every server holds as many of its ranks.
  bool even() const {
    for (std::size_t s = 0; s < servers(); ++s) {
      if ((server_begin[s + 1] - server_begin[s]) * servers() != size()) return false;
    }
    return true;
  }
};

struct CollectiveCall {
  CollectiveOp op = CollectiveOp::kAllReduce;
  /// The whole buffer: what every rank ends with (all_reduce, all_gather, broadcast) or starts
  /// with. Of an all_to_all buffer each of the n ranks gets 1/n, the own one included.
  Bytes bytes;
  const Group* group = nullptr;
  OpRole role = OpRole::kCollective;
  std::uint32_t number = 0;
  std::uint32_t groups = 1;  ///< that do the same, for which this one is simulated
};

/// Which switches hold reduction trees for which groups (one per group for the whole run, as a
/// communicator does), within the limits of each switch.
class SharpTrees {
 public:
  explicit SharpTrees(const Routes& routes) : routes_(routes) {}
  struct Grant {
    const AggregationTree* tree = nullptr;  ///< null when refused
    std::string reason;                     ///< why, when refused
  };
  /// The tree of a group of one rank per server for messages of that size. The first call for a
  /// group takes the slots; a group that found none is refused from then on.
  const Grant& grant(const Group& group, Bytes bytes);
  /// Why these groups could not all be granted trees now, or an empty string. Takes no slots.
  std::string refusal(std::span<const Group* const> groups, Bytes bytes);
  /// The tree that the group would use, whether granted or not.
  const AggregationTree& tree_of(const Group& group);

 private:
  struct Use {
    int streaming = 0, low_latency = 0;
  };
  bool low_latency(const AggregationTree& tree, Bytes bytes) const;
  using Uses = std::map<NodeId, Use>;
  std::string limits(const AggregationTree& tree, bool is_low_latency, const Uses& used) const;
  static void take(const AggregationTree& tree, bool is_low_latency, Uses& used);

  const Routes& routes_;
  Uses used_;
  std::map<std::pair<std::size_t, bool>, Grant> grants_;
  std::map<std::size_t, AggregationTree> trees_;  ///< by group id
};

/// What lowering a collective works on.
struct CollectiveContext {
  OpGraph& graph;
  const Routes& routes;
  SharpTrees& sharp;
  Fidelity fidelity = Fidelity::kFlow;
  Protocol protocol;  ///< the chosen one
  const CollectiveLibrary* library = nullptr;
  std::map<std::vector<Rank>, std::unique_ptr<Group>>* groups = nullptr;
  /// How many groups do the same on the same servers at once (the rails of a hierarchical one):
  /// each gets that part of what a server shares among them.
  int siblings = 1;
  /// What the library's own cost model believes, not what happens: without what only measurements
  /// show (messages of proxy threads, thread blocks, pipelines that fill).
  bool believed = false;
  Seconds proxy_latency;    ///< of the library, or nothing where believed
  BytesPerSecond cta_rate;  ///< the same
  /// Interns a group. Ranks must be distinct.
  const Group& group(std::vector<Rank> ranks) const;
  /// By resource index: what one of the siblings finds when all run.
  Capacities capacities() const { return routes.capacities(siblings); }
  Seconds step_latency(bool same_server) const {
    return same_server ? protocol.intra_latency : protocol.network_latency;
  }
  /// The same of a tree's step.
  Seconds tree_latency(bool same_server) const {
    return same_server ? protocol.tree_intra_latency.value_or(protocol.intra_latency)
                       : protocol.tree_network_latency.value_or(protocol.network_latency);
  }
  /// The most that a rank passes on by the protocol, as bus bandwidth.
  double protocol_rate(bool same_server) const {
    const BytesPerSecond most = same_server ? protocol.intra_rate : protocol.network_rate;
    return most > BytesPerSecond() ? most.si() : std::numeric_limits<double>::infinity();
  }
  /// Thread blocks of a kernel that share a NIC; 0: without limit.
  double ctas_per_nic() const {
    return static_cast<double>(library->ctas) / routes.cluster().server.nics;
  }
  /// The same call as the library's cost model sees it.
  CollectiveContext as_believed() const {
    CollectiveContext other = *this;
    other.believed = true;
    other.protocol.law = "additive";
    other.proxy_latency = {};
    other.cta_rate = {};
    return other;
  }
};

class Collective {
 public:
  static constexpr std::string_view kInterface = "collective";
  virtual ~Collective() = default;

  /// Whether the algorithm does that operation at all. Where it does not, it is no candidate, and
  /// nothing is said about it unless it was asked for by name.
  virtual bool does(CollectiveOp op) const { return op <= CollectiveOp::kReduceScatter; }
  /// Whether the algorithm is another than a simpler one on a group of this shape. Where it is not,
  /// it is no candidate, and nothing is said about it unless it was asked for by name.
  virtual bool applies(const Group&) const { return true; }
  /// Whether its traffic follows from its ranks' messages alone: groups along rails that are alike
  /// then load them alike (Topology::rails_alike).
  virtual bool follows_routes() const { return true; }
  /// Why this algorithm cannot do the call (of an operation that it does) here, or an empty string.
  virtual std::string refuses(const CollectiveCall&, const CollectiveContext&) const = 0;
  /// Whether it moves bytes by that protocol. In-network reductions have no flags in their data.
  virtual bool speaks(std::string_view /*protocol*/) const { return true; }
  /// Whether NCCL has the algorithm for such a call, and so its cost model a time for it.
  virtual bool in_nccl(const CollectiveCall&) const { return true; }
  /// The closed form on an idle network.
  virtual Seconds estimate(const CollectiveCall&, const CollectiveContext&) const = 0;
  /// Adds the operations. entry[i] (may be invalid) ends before rank i takes part; the result's
  /// i-th operation ends when rank i has its result.
  virtual std::vector<OpId> lower(const CollectiveCall&, const CollectiveContext&,
                                  std::span<const OpId> entry) const = 0;
};

}  // namespace trainyard
