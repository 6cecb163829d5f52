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
// moves (as Lifelong Planning A* repairs shortest paths): sim/flow_solver_relevel.cpp. What only
// one flow uses is not levelled at all: sim/flow_solver_links.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "sim/flow_pool.hpp"
#include "sim/ids.hpp"

namespace trainyard {

/// One resource that a flow uses, and how much of its capacity one byte of the flow takes.
struct Share {
  ResourceId resource;
  double weight = 1;
  friend bool operator==(const Share&, const Share&) = default;
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
  explicit FlowSolver(const std::vector<double>& capacities, Relevel relevel = Relevel::kChanged);
  /// One more resource; returns its id, the next one.
  ResourceId add_resource(double capacity);

  /// Starts a flow, or `members` of them that are alike: its rate is that of one, and 0 until the
  /// next solve(). Without members it rests.
  /// - shares: must stay alive and unchanged until remove() (they are interned paths). Resources
  ///   are distinct, weights > 0 and finite.
  /// - fairness: the rate is fairness * level; > 0 and finite.
  /// - bound: rate cap > 0, infinity for none. A flow without shares needs a finite bound.
  FlowId add(std::span<const Share> shares, double fairness, double bound,
             std::uint32_t members = 1);

  /// How many alike flows this one stands for now. With none it rests: it takes nothing and its
  /// rate is 0. One that had its resources to itself costs next to nothing to rest and to wake.
  void set_members(FlowId flow, std::uint32_t members);

  std::uint32_t members(FlowId flow) const { return flows_[flow.index()].members; }

  /// Ends a flow. Its id may come back from the next add().
  void remove(FlowId flow);

  /// Re-levels what add(), set_members() and remove() changed since the last call. Returns the
  /// flows whose rate is not bit for bit what it was, new ones included, in ascending order; valid
  /// until the next call.
  std::span<const FlowId> solve();

  /// Bytes/s of each member, as of the last solve().
  double rate(FlowId flow) const { return rate_[flow.index()]; }
  /// The sum of weight * rate over the flows on the resource, as of the last solve(). Adds it up
  /// when asked, so that no error accumulates over a long run.
  double load(ResourceId resource) const;
  double capacity(ResourceId resource) const { return resources_[resource.index()].capacity; }
  const Counters& counters() const { return counters_; }

 private:
  using Index = std::uint32_t;
  static constexpr Index kNone = 0xffffffffU;

  /// What levelling reads of a flow: a cache line, because it reads flows in no order.
  struct alignas(64) Flow {
    const Share* shares = nullptr;  ///< not owned
    double ceiling = 0;             ///< bound / fairness, the level at which the bound is met
    double limit = 0;               ///< what bound and resources allow it alone, as a level
    double level = 0;               ///< min of limit and its contended resources' saturation levels
    Index share_count = 0;
    Index bottleneck = kNone;   ///< the contended resource that sets level, if one does
    Index members = 0;          ///< 0 while it rests
    Index placed = 0;           ///< the members that its demands stand for
    Index contended = 0;        ///< its entries up to here are contended …
    Index attached = 0;         ///< … those up to here its own, and the others absent
    Index first_entry = kNone;  ///< its entries are entries_[first_entry] …
  };
  /// A resource as its flow sees it.
  struct Entry {
    Index resource;
    Index place;  ///< which of the resource's uses this is
    Index share;  ///< which of the flow's shares
  };
  /// A flow as its resource sees it.
  struct Use {
    double demand;  ///< weight * fairness * members: what it takes per unit of level
    Index flow;
    Index entry;  ///< which of the flow's entries this is
  };
  struct alignas(64) Resource {
    double capacity = 0;
    double saturation = std::numeric_limits<double>::infinity();  ///< infinity: not saturated
    double candidate = 0;    ///< the last evaluated saturation level
    double due_key = -1;     ///< its key in queue_; negative when not queued
    double departed = 0;     ///< load at the last solve() of flows that left since
    Index first = 0;         ///< its uses are uses_[first] …, in no order that means anything
    Index size = 0;          ///< how many
    Index walk = 0;          ///< walk_ when it was last put in component_
    std::uint8_t power = 0;  ///< its run of uses_ has 2^power places, if size > 0
    bool fresh = false;      ///< candidate is up to date; meaningful while queued
    bool raised = false;     ///< was raised in this solve
    bool dirty = false;      ///< is in dirty_
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

  // flow_solver.cpp: flows and what solve() reports.
  Index take_slot();
  void mark_dirty(Index resource);
  void publish();

  // flow_solver_links.cpp: where flows and resources meet.
  void attach_all(Index flow);
  void detach_contended(Index flow);
  void detach_all(Index flow);
  void attach(Index flow);
  void detach(Index flow, Index entry);
  void move_uses(Resource& resource, std::uint8_t power);
  void become_contended(Index flow, Index entry);
  void become_own(Index flow, Index entry);
  void swap_entries(const Flow& flow, Index a, Index b);
  double demand(Index flow, const Entry& entry) const;
  void queue_relimit(Index flow);
  void place(Index flow);
  void relimit(Index flow);
  /// Whether flows may disturb each other there. To the reference all resources are contended.
  bool contended(const Resource& r) const { return r.size > own_size_; }
  std::span<Use> uses(const Resource& r) {
    return r.size == 0 ? std::span<Use>() : std::span<Use>(&uses_[r.first], r.size);
  }
  /// Those of a flow's entries that are contended.
  std::span<const Entry> contended(const Flow& f) const {
    return f.contended == 0 ? std::span<const Entry>()
                            : std::span<const Entry>(&entries_[f.first_entry], f.contended);
  }

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
  bool consider(Index resource);
  void evaluate(Index resource);
  double saturation_level(double capacity);
  void assign_level(Flow& flow) const;
  double level_without(const Flow& flow, Index resource) const;
  void note(Index flow);

  std::vector<Resource> resources_;  ///< by ResourceId
  RunPool<Use> uses_;                ///< the flows on each resource

  // Flows, by FlowId.
  std::vector<Flow> flows_;
  std::vector<double> fairness_;  ///< 0 for a free slot
  std::vector<double> bound_;
  std::vector<double> rate_;
  std::vector<double> total_;            ///< rate of all members at the last solve()
  std::vector<std::uint8_t> noted_;      ///< is in touched_
  std::vector<std::uint8_t> relimited_;  ///< is in relimits_
  std::vector<Index> flow_walk_;         ///< walk_ when it was last met
  std::vector<Index> free_slots_;
  RunPool<Entry> entries_;  ///< one for each share of each flow

  // Work lists, kept for their memory.
  std::vector<Index> dirty_;      ///< resources whose level a change since the last solve may move
  std::vector<Index> touched_;    ///< flows to publish
  std::vector<Index> relimits_;   ///< flows whose limit may have changed since the last solve
  std::vector<Index> raises_;     ///< resources with `raised` set
  std::vector<Index> component_;  ///< resources of the components being re-levelled
  std::vector<Due> queue_;        ///< min-heap; an entry counts when its key is due_key
  std::vector<Contender> contenders_;
  std::vector<FlowId> changed_;

  Relevel mode_;
  Index own_size_;                   ///< a resource with so many uses or fewer is its flow's own
  bool from_scratch_ = false;        ///< re-levelling components: a settled resource stays settled
  Index walk_ = 0;                   ///< numbers the walks over components
  std::size_t contended_count_ = 0;  ///< contended resources
  Counters counters_;
};

}  // namespace trainyard
