// From workload to op graph: what generators call to add compute, messages and collectives.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "sim/collective.hpp"

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

  /// The interned group of these ranks. They must be distinct, and those of one server adjacent.
  const Group& group(std::vector<Rank> ranks);

  /// A point-to-point message; a join when from = to. Occupies no SMs (a copy engine moves it).
  OpId send(Rank from, Rank to, Bytes bytes, OpRole role, std::string_view label,
            std::uint32_t number = 0);

  /// Whether the messages from[i] -> to[i] are alike: equal latency and an equal load on each link
  /// that any of them takes, so that together they run as one at equal rates.
  bool alike(const std::vector<Rank>& from, const std::vector<Rank>& to) const {
    return together(from, to).has_value();
  }
  /// Messages of `bytes` each from every from[i] to to[i], which are alike, as one flow.
  OpId send_together(const std::vector<Rank>& from, const std::vector<Rank>& to, Bytes bytes,
                     OpRole role, std::string_view label, std::uint32_t number = 0);
  /// Whether generators may simulate one of several that do exactly the same (engine.fold, where
  /// the executor takes weighted flows); false until set.
  bool folds() const { return folds_; }
  void set_folds(bool folds) { folds_ = folds; }

  /// A collective by the library's algorithm and protocol (see CollectiveLibrary), or the cheapest
  /// by closed form. A forced algorithm that cannot be used here falls back to the cheapest other,
  /// and the choice says why. entry and result are per rank of the group, as in Collective::lower.
  std::vector<OpId> collective(const CollectiveCall& call, std::span<const OpId> entry,
                               Fidelity fidelity);
  std::vector<OpId> collective(const CollectiveCall& call, std::span<const OpId> entry) {
    return collective(call, entry, fidelity_);
  }
  /// The closed form of the call as collective() would run it. Zero for groups of one.
  Seconds estimate(const CollectiveCall& call);

  /// Every distinct choice, in order of first use.
  std::vector<CollectiveChoice> choices() const;

 private:
  using Key = std::tuple<CollectiveOp, double, std::size_t>;
  struct Chosen {
    CollectiveChoice choice;
    const Collective* algorithm = nullptr;
    Protocol protocol;
  };
  Chosen& choose(const CollectiveCall& call);
  std::optional<FlowPath> together(const std::vector<Rank>& from,
                                   const std::vector<Rank>& to) const;
  CollectiveContext context(const Protocol& protocol, Fidelity fidelity);

  OpGraph graph_;
  Routes routes_;
  SharpTrees sharp_;
  Fidelity fidelity_, tensor_fidelity_;
  std::uint64_t seed_ = 1;
  bool folds_ = false;
  std::map<std::vector<Rank>, std::unique_ptr<Group>> groups_;
  std::map<std::string, std::unique_ptr<Collective>> algorithms_;
  std::map<Key, Chosen> chosen_;
  std::map<std::pair<Rank, Rank>, PathId> messages_;
  std::vector<Key> order_;
};

}  // namespace trainyard
