// From workload to op graph: what generators call to add compute, messages and collectives.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "sim/collective.hpp"
#include "sim/folding.hpp"

namespace trainyard {

/// What was decided for one kind of collective call; listed in the result.
struct CollectiveChoice {
  CollectiveOp op;
  Bytes bytes;
  std::size_t ranks = 0, servers = 0;
  std::string algorithm, protocol;
  Seconds estimate;     ///< closed form on an idle network
  std::string refused;  ///< "sharp: reason; …" for algorithms that could not be used
  std::size_t calls = 0;
};

/// A call of a collective, as the operations that it became remember it.
struct LoweredCall {
  CollectiveOp op;
  Bytes bytes;
  std::size_t ranks = 0;
  std::string algorithm, protocol;
  friend bool operator==(const LoweredCall&, const LoweredCall&) = default;
};

/// What of a run is simulated once for several (engine.fold), and why not more.
struct Folded {
  std::optional<Folding> folding;  ///< of the flows; empty: nothing was folded
  int tensor_ranks = 1;            ///< of a group, for which one is simulated
  int rails = 1;                   ///< that the first of them stands for: numbers of NICs
  int replicas = 1;                ///< of a stage
  int replica_classes = 1;         ///< of which one each is simulated
  /// Servers that are simulated, with how many servers each stands for; empty: all are.
  std::map<ServerId, double> servers;
  /// By folded flow: the path of the one that stands for all, over its own servers.
  std::unordered_map<OpId, PathId> own_paths;
  std::vector<std::string> reasons;
};

class Lowering {
 public:
  /// `fidelity` is that of collectives, `tensor_fidelity` that of tensor-parallel ones.
  Lowering(const Cluster& cluster, const Topology& topology, Fidelity fidelity,
           Fidelity tensor_fidelity);

  OpGraph& graph() { return graph_; }
  const OpGraph& graph() const { return graph_; }
  const Routes& routes() const { return routes_; }
  const Cluster& cluster() const { return routes_.cluster(); }
  Fidelity fidelity() const { return fidelity_; }
  Fidelity tensor_fidelity() const { return tensor_fidelity_; }
  /// Of everything random in the run; 1 until set.
  std::uint64_t seed() const { return seed_; }
  void set_seed(std::uint64_t seed) { seed_ = seed; }

  /// From now on collectives and messages are only noted, for writing what a generator adds as a
  /// trace (sim/trace_capture.hpp): a collective is one join of all its ranks.
  void set_capturing() { capturing_ = true; }
  /// A collective or a message that was noted.
  struct Noted {
    OpId op;
    CollectiveCall call;  ///< without a group: a message
    Rank from, to;
    Bytes bytes;
    std::string name;
  };
  /// In the order of operations.
  const std::vector<Noted>& noted() const { return noted_; }

  /// The interned group of these ranks. They must be distinct, and those of one server adjacent.
  const Group& group(std::vector<Rank> ranks);

  /// A point-to-point message; a join when from = to. Occupies no SMs (a copy engine moves it).
  OpId send(Rank from, Rank to, Bytes bytes, OpRole role, std::string_view label,
            std::uint32_t number = 0);

  /// Whether generators may simulate one of several that do exactly the same (engine.fold, where
  /// the executor takes weighted flows); false until set.
  bool folds() const { return folds_; }
  void set_folds(bool folds) { folds_ = folds; }
  /// What was folded; filled by the generator.
  Folded& folded() { return folded_; }
  const Folded& folded() const { return folded_; }
  /// Flows that run beside what generators add. Each is a folding class of its own, numbered from
  /// 0. Announced before the generator runs; returns the number.
  std::size_t announce(FlowPath path);
  const std::vector<FlowPath>& background() const { return background_; }
  /// The path on which background flow `i` runs.
  FlowPath background_path(std::size_t i) const;

  /// A collective by the library's algorithm and protocol (see CollectiveLibrary), or the cheapest
  /// by closed form. A forced algorithm that cannot be used here falls back to the cheapest other,
  /// and the choice says why. entry and result are per rank of the group, as in Collective::lower.
  std::vector<OpId> collective(const CollectiveCall& call, std::span<const OpId> entry,
                               Fidelity fidelity);
  std::vector<OpId> collective(const CollectiveCall& call, std::span<const OpId> entry) {
    return collective(call, entry, fidelity_);
  }
  /// What collective() would add, without adding it: the path of each of its flows, and for each of
  /// its pauses one whose latency is the pause.
  struct Tried {
    std::vector<FlowPath> flows;
    bool ends_together = true;  ///< all ranks have their results at once, with one operation
  };
  Tried try_collective(const CollectiveCall& call, Fidelity fidelity);
  /// Collective::follows_routes of what collective() would use.
  bool follows_routes(const CollectiveCall& call) {
    return call.group->size() == 1 || choose(call).algorithm->follows_routes();
  }
  /// The closed form of the call as collective() would run it. Zero for groups of one.
  Seconds estimate(const CollectiveCall& call);

  /// The call of a collective that the operation is part of; null where it is of none.
  const LoweredCall* call_of(OpId op) const;

  /// Every distinct choice, in order of first use.
  std::vector<CollectiveChoice> choices() const;

 private:
  /// Operation, bytes, ranks, servers: groups of one shape use one algorithm.
  using Shape = std::tuple<CollectiveOp, double, std::size_t, std::size_t>;
  using Key = std::tuple<CollectiveOp, double, std::size_t>;  ///< operation, bytes, group
  /// Operations first … last-1 are of one call.
  struct CallOps {
    std::size_t first = 0, last = 0;
    const LoweredCall* call = nullptr;
  };
  struct Chosen {
    CollectiveChoice choice;
    const LoweredCall* call = nullptr;  ///< as its operations remember it
    const Collective* algorithm = nullptr;
    Protocol protocol;
  };
  Chosen& choose(const CollectiveCall& call);
  Chosen choose_anew(const CollectiveCall& call);
  const LoweredCall* remember(const CollectiveChoice& choice);
  std::vector<OpId> lower(const CollectiveCall& call, OpGraph& graph, const Chosen& chosen,
                          std::span<const OpId> entry, Fidelity fidelity);
  CollectiveContext context(OpGraph& graph, const Protocol& protocol, Fidelity fidelity);

  OpGraph graph_;
  Routes routes_;
  SharpTrees sharp_;
  Fidelity fidelity_, tensor_fidelity_;
  std::uint64_t seed_ = 1;
  bool folds_ = false;
  bool capturing_ = false;
  std::vector<Noted> noted_;
  std::map<std::vector<Rank>, std::unique_ptr<Group>> groups_;
  std::map<std::string, std::unique_ptr<Collective>> algorithms_;
  Folded folded_;
  std::vector<FlowPath> background_;
  std::map<Shape, Chosen> by_shape_;
  std::map<Key, Chosen> chosen_;
  std::map<std::pair<Rank, Rank>, PathId> messages_;
  std::vector<Key> order_;
  std::deque<LoweredCall> calls_;  ///< distinct
  std::vector<CallOps> call_ops_;  ///< in the order of the operations
};

}  // namespace trainyard
