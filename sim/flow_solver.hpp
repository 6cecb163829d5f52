// Weighted max-min fair sharing of resources among flows: how fast everything moves at one instant.
//
// A flow uses several resources at once, each with a weight (bytes on a link per byte of the flow,
// core-seconds per byte …). All rates rise together, each as fairness * level, until a flow meets
// its bound or one of its resources saturates; it then stays there and the others go on. The result
// is the unique allocation in which every flow is at its bound or has a bottleneck: a saturated
// resource on which no flow has a higher level.
//
// How: every resource has a *saturation level*, the level at which it fills (infinity when it never
// does), and every flow the least of its bound's level and its resources' saturation levels. A
// saturation level depends only on flows whose level is below it, so levels settle from low to
// high, as in Dijkstra's algorithm. A change re-levels only the resources whose saturation level it
// moves (as Lifelong Planning A* repairs shortest paths): sim/flow_solver_relevel.cpp.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sim/ids.hpp"

namespace trainyard {

/// One resource that a flow uses, and how much of its capacity one byte of the flow takes.
struct Share {
  ResourceId resource;
  double weight = 1;
};

/// Deterministic: the same calls give the same bits. Single-threaded.
class FlowSolver {
 public:
  /// What solve() looks at. Both give the same rates to within rounding.
  enum class Relevel {
    kChanged,    ///< what a change moves, and its whole component where most of that would move
    kComponent,  ///< always the whole connected component: slower, the reference for tests
  };

  /// For --profile; counted since construction.
  struct Counters {
    std::uint64_t solves = 0;            ///< calls of solve()
    std::uint64_t component_solves = 0;  ///< those that re-levelled whole components
    std::uint64_t flows_visited = 0;     ///< flows levelled again, summed over solves
    std::uint64_t flows_changed = 0;     ///< flows reported, summed over solves
    std::uint64_t evaluations = 0;       ///< saturation levels computed
    std::size_t largest_component = 0;   ///< most flows levelled again by one solve
  };

  /// capacities[resource] in bytes/s (or the resource's own unit per second), each > 0 and finite.
  explicit FlowSolver(std::vector<double> capacities, Relevel relevel = Relevel::kChanged);

  /// Starts a flow; its rate is 0 until the next solve().
  /// - shares: must stay alive and unchanged until remove() (they are interned paths). Resources
  ///   are distinct, weights > 0 and finite.
  /// - fairness: the rate is fairness * level; > 0 and finite.
  /// - bound: rate cap > 0, infinity for none. A flow without shares needs a finite bound.
  FlowId add(std::span<const Share> shares, double fairness, double bound);

  /// Ends a flow. Its id may come back from the next add().
  void remove(FlowId flow);

  /// Re-levels what add() and remove() changed since the last call. Returns the flows whose rate is
  /// not bit for bit what it was, new ones included, in ascending order; valid until the next call.
  std::span<const FlowId> solve();

  /// Bytes/s, as of the last solve().
  double rate(FlowId flow) const { return rate_[flow.index()]; }
  /// The sum of weight * rate over the flows on the resource, as of the last solve().
  double load(ResourceId resource) const { return load_[resource.index()]; }
  double capacity(ResourceId resource) const { return capacity_[resource.index()]; }
  const Counters& counters() const { return counters_; }

 private:
  using Index = std::uint32_t;
  static constexpr Index kNone = 0xffffffffU;

  /// What levelling reads of a flow, together because it reads flows in no order.
  struct Flow {
    const Share* shares = nullptr;  ///< not owned
    double ceiling = 0;             ///< bound / fairness, the level at which the bound is met
    double level = 0;               ///< min of ceiling and the saturation levels of its resources
    Index share_count = 0;
    Index bottleneck = kNone;  ///< a resource that sets level; kNone when the bound does
    Index resource(Index share) const { return static_cast<Index>(shares[share].resource.index()); }
  };
  /// A flow as its resource sees it.
  struct Use {
    double demand;  ///< weight * fairness: what the flow takes per unit of level
    Index flow;
    Index share;  ///< which of the flow's shares this is
  };
  /// A resource whose saturation level may be wrong, due when the level reaches `key`.
  struct Due {
    double key;
    Index resource;
  };
  /// A flow on the resource being evaluated, which its bound and the others hold at `limit`.
  struct Contender {
    double limit;
    double demand;
  };

  // flow_solver.cpp: flows, their places on resources, and what solve() reports.
  Index take_slot();
  Index take_places(std::size_t count);
  void give_places(Index first, std::size_t count);
  void link(Index flow);
  void unlink(Index flow);
  void mark_dirty(Index resource);
  void mark_loaded(Index resource);
  void publish();
  void publish_flow(Index flow);
  void refresh_load(Index resource);

  // flow_solver_relevel.cpp: levels.
  void relevel();
  bool repair();
  void relevel_components();
  void collect_component(Index resource);
  void abandon_queue();
  bool settle(std::uint64_t budget);
  void lower(Index resource, double level);
  void raise(Index resource, double level);
  void relieve(Index resource, double level);
  void disturb_others(const Flow& flow, Index resource, double level);
  void enqueue(Index resource, double key);
  void push(Index resource, double key);
  void consider(Index resource);
  void evaluate(Index resource);
  double saturation_level(double capacity);
  void assign_level(Flow& flow) const;
  double level_without(const Flow& flow, Index resource) const;
  void note(Index flow);

  // Resources, by ResourceId.
  std::vector<double> capacity_;
  std::vector<double> load_;
  std::vector<double> saturation_;        ///< saturation level; infinity when not saturated
  std::vector<std::vector<Use>> uses_;    ///< the flows on it, in no order that means anything
  std::vector<double> due_key_;           ///< its key in queue_; negative when not queued
  std::vector<double> candidate_;         ///< the last evaluated saturation level
  std::vector<std::uint8_t> fresh_;       ///< candidate_ is up to date; meaningful while queued
  std::vector<std::uint8_t> raised_;      ///< was raised in this solve
  std::vector<std::uint8_t> dirty_mark_;  ///< is in dirty_
  std::vector<std::uint8_t> load_mark_;   ///< is in loaded_
  std::vector<Index> resource_walk_;      ///< walk_ when it was last put in component_

  // Flows, by FlowId.
  std::vector<Flow> flows_;
  std::vector<double> fairness_;  ///< 0 for a free slot
  std::vector<double> bound_;
  std::vector<double> rate_;
  std::vector<Index> first_place_;
  std::vector<std::uint8_t> noted_;  ///< is in touched_
  std::vector<Index> flow_walk_;     ///< walk_ when it was last met
  std::vector<Index> free_slots_;

  /// places_[first_place_[f] + i] is where flow f's share i stands in uses_. Runs are handed out in
  /// powers of two; free ones are chained through their first element, one chain per power.
  std::vector<Index> places_;
  std::array<Index, 33> free_places_;

  // Work lists, kept for their memory.
  std::vector<Index> dirty_;      ///< resources that add() or remove() touched since the last solve
  std::vector<Index> touched_;    ///< flows to publish
  std::vector<Index> loaded_;     ///< resources whose load changed
  std::vector<Index> raises_;     ///< resources with raised_ set
  std::vector<Index> component_;  ///< resources of the components being re-levelled
  std::vector<Due> queue_;        ///< min-heap; an entry counts when its key is due_key_
  std::vector<Contender> contenders_;
  std::vector<FlowId> changed_;

  Relevel mode_;
  bool from_scratch_ = false;  ///< re-levelling components: a settled resource stays settled
  Index walk_ = 0;             ///< numbers the walks over components
  std::size_t resources_in_use_ = 0;
  Counters counters_;
};

}  // namespace trainyard
