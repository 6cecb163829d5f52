// The levels of FlowSolver.
//
// Invariant between solves: the saturation level of every contended resource is what evaluate()
// gives, and the level of every flow the least of its limit and of those saturation levels. During
// a solve every resource that may violate it is queued, with a key no higher than the lesser of its
// old and its right saturation level. Taking the lowest key first makes what lies below final,
// since evaluate() reads nothing above its result:
// - right < old: `lower` settles the resource for good.
// - right > old: `raise` withdraws the old level, and the flows that it held go up with it.
#include <algorithm>
#include <limits>
#include <utility>

#include "sim/flow_solver.hpp"

namespace trainyard {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNotQueued = -1;

/// A sum that carries its rounding error (Knuth's TwoSum), so that the order of its terms does not
/// show in the result: equal situations then get equal rates, and a re-evaluated level its old
/// bits.
struct ExactSum {
  double high = 0, low = 0;
  void add(double x) {
    const double sum = high + x;
    const double rest = sum - high;
    low += (high - (sum - rest)) + (x - rest);
    high = sum;
  }
  double value() const { return high + low; }
  double subtracted_from(double x) const {
    ExactSum rest = *this;
    rest.add(-x);
    return -rest.value();
  }
};

/// Orders a heap by lowest key, then lowest resource.
constexpr auto kLater = [](const auto& a, const auto& b) {
  return a.key != b.key ? a.key > b.key : a.resource > b.resource;
};

}  // namespace

void FlowSolver::relevel() {
  for (const Index flow : relimits_) relimit(flow);
  relimits_.clear();
  if (mode_ == Relevel::kChanged && repair()) return;
  relevel_components();
}

/// Re-levels what the changes move. False, with the levels half repaired, where starting over is
/// cheaper (measured on random traffic): an eighth of the contended resources lost the level they
/// had, or the repair evaluates twice as many as there are.
bool FlowSolver::repair() {
  std::size_t lost = 0;
  for (const Index r : dirty_) {
    const double saturation = resources_[r].saturation;
    if (consider(r) && saturation < kInfinity) ++lost;
  }
  const bool settled = lost <= 16 + contended_count_ / 8 && settle(64 + 2 * contended_count_);
  for (const Index r : raises_) resources_[r].raised = false;
  raises_.clear();
  if (!settled) abandon_queue();
  return settled;
}

void FlowSolver::abandon_queue() {
  for (const Due& due : queue_) resources_[due.resource].due_key = kNotQueued;
  queue_.clear();
}

void FlowSolver::relevel_components() {
  ++counters_.component_solves;
  ++walk_;
  for (const Index r : dirty_) collect_component(r);
  for (const Index r : component_) consider(r);
  component_.clear();
  from_scratch_ = true;
  settle(std::numeric_limits<std::uint64_t>::max());
  from_scratch_ = false;
}

/// Appends to component_ what is connected to the resource through flows, and takes all its levels
/// back to what the flows' bounds allow. component_ is also the list of what is left to walk: a
/// recursion would be as deep as the component.
void FlowSolver::collect_component(Index resource) {
  std::size_t next = component_.size();
  const auto reach = [this](Index r) {
    if (std::exchange(resources_[r].walk, walk_) == walk_) return;
    resources_[r].saturation = kInfinity;
    component_.push_back(r);
  };
  if (!contended(resources_[resource])) return;
  for (reach(resource); next < component_.size(); ++next) {
    for (const Use& use : uses(resources_[component_[next]])) {
      const Index flow = use.flow;
      if (std::exchange(flow_walk_[flow], walk_) == walk_) continue;
      note(flow);
      Flow& f = flows_[flow];
      f.level = f.limit;
      f.bottleneck = kNone;
      for (const Entry& e : contended(f)) reach(e.resource);
    }
  }
}

/// Processes queue_ until no saturation level is wrong. False when that takes more evaluations than
/// `budget` and levels were withdrawn: until then, starting over would only repeat the work.
bool FlowSolver::settle(std::uint64_t budget) {
  for (std::uint64_t evaluated = 0; !queue_.empty();) {
    const auto [key, index] = queue_.front();
    Resource& r = resources_[index];
    std::pop_heap(queue_.begin(), queue_.end(), kLater);
    queue_.pop_back();
    if (r.due_key != key) continue;  // queued again with a lower key, or done
    if (!r.fresh) {
      evaluate(index);
      // The filling level does not fall, whatever the sums of an ill-conditioned resource say.
      if (from_scratch_) r.candidate = std::max(r.candidate, key);
      if (++evaluated > budget && !raises_.empty()) {
        push(index, key);  // abandon_queue() is to find it
        return false;
      }
    }
    r.due_key = kNotQueued;
    const double right = r.candidate;
    if (right == r.saturation) continue;
    const double due = std::min(right, r.saturation);
    if (!queue_.empty() && queue_.front().key < due) {
      push(index, due);
    } else if (right < r.saturation) {
      lower(index, right);
    } else {
      raise(index, right);
    }
  }
  return true;
}

/// Queues a resource that a change from outside may have made inconsistent; true if it has.
bool FlowSolver::consider(Index resource) {
  Resource& r = resources_[resource];
  // One that is nobody's or somebody's own keeps its last level: what comes back finds it right.
  if (!contended(r)) return false;
  evaluate(resource);
  if (r.candidate == r.saturation) return false;
  push(resource, std::min(r.candidate, r.saturation));
  return true;
}

/// The resource saturates at `level`, lower than was thought: so do the flows that are above.
void FlowSolver::lower(Index resource, double level) {
  resources_[resource].saturation = level;
  for (const Use& use : uses(resources_[resource])) {
    Flow& flow = flows_[use.flow];
    if (flow.level <= level) {
      if (flow.bottleneck != kNone) resources_[flow.bottleneck].fresh = false;
      continue;
    }
    flow.level = level;
    flow.bottleneck = resource;
    note(use.flow);
    for (const Entry& e : contended(flow)) {
      if (e.resource != resource) relieve(e.resource, level);
    }
  }
}

/// A flow on the resource now stops at `level`. That can only raise the resource's own saturation
/// level, so what it is now will do as a key, and one that is not saturated stays so.
void FlowSolver::relieve(Index resource, double level) {
  resources_[resource].fresh = false;
  const double saturation = resources_[resource].saturation;
  if (saturation > level && saturation < kInfinity && !from_scratch_) enqueue(resource, saturation);
}

/// The resource saturates higher than was thought. `level` is right unless its other flows rise
/// as well; the first time in a solve we count on that, the second we withdraw the level
/// altogether, so that the number of raises stays bounded.
void FlowSolver::raise(Index resource, double level) {
  Resource& r = resources_[resource];
  const bool withdraw = std::exchange(r.raised, true);
  if (!withdraw) raises_.push_back(resource);
  const double old = std::exchange(r.saturation, withdraw ? kInfinity : level);
  if (withdraw && level < kInfinity) push(resource, level);
  for (const Use& use : uses(r)) {
    Flow& flow = flows_[use.flow];
    if (flow.bottleneck == resource) {
      assign_level(flow);
      if (flow.level > old) {
        note(use.flow);
        disturb_others(flow, resource, old);
      }
    }
    if (flow.bottleneck != kNone && flow.bottleneck != resource) {
      resources_[flow.bottleneck].fresh = false;
    }
  }
}

/// The flow went on from `level`: wherever it is, others may have to stop earlier, but above
/// `level`.
void FlowSolver::disturb_others(const Flow& flow, Index resource, double level) {
  for (const Entry& e : contended(flow)) {
    const Index other = e.resource;
    if (other == resource) continue;
    resources_[other].fresh = false;
    if (resources_[other].saturation > level) enqueue(other, level);
  }
}

/// Makes sure that the resource is looked at again when the level reaches `key`.
void FlowSolver::enqueue(Index resource, double key) {
  Resource& r = resources_[resource];
  r.fresh = false;
  if (r.due_key == kNotQueued || key < r.due_key) push(resource, key);
}

void FlowSolver::push(Index resource, double key) {
  resources_[resource].due_key = key;
  queue_.push_back({key, resource});
  std::push_heap(queue_.begin(), queue_.end(), kLater);
}

void FlowSolver::evaluate(Index resource) {
  ++counters_.evaluations;
  Resource& r = resources_[resource];
  contenders_.clear();
  for (const Use& use : uses(r)) {
    const Flow& flow = flows_[use.flow];
    const bool held_here = flow.bottleneck == resource;
    contenders_.push_back({held_here ? level_without(flow, resource) : flow.level, use.demand});
  }
  r.candidate = saturation_level(r.capacity);
  r.fresh = true;
}

/// The level at which contenders_ fill the capacity, those with a lower limit taking what they get
/// there; infinity when all of them have. Consumes contenders_.
/// Newton's iteration on a concave piecewise linear function: each pass drops the contenders whose
/// limit is below the level found so far, which can only raise it, and few passes are needed. The
/// level never falls, however ill-conditioned the sums: so it is positive.
double FlowSolver::saturation_level(double capacity) {
  ExactSum held;  // what the dropped contenders take
  ExactSum open;  // what the others take per unit of level
  for (const Contender& c : contenders_) open.add(c.demand);
  double level = 0;
  while (!contenders_.empty()) {
    level = std::max(level, held.subtracted_from(capacity) / open.value());
    open = {};
    std::size_t kept = 0;
    for (const Contender c : contenders_) {
      if (c.limit < level) {
        held.add(c.demand * c.limit);
      } else {
        open.add(c.demand);
        contenders_[kept++] = c;
      }
    }
    if (kept == contenders_.size()) return level;
    contenders_.resize(kept);
  }
  return kInfinity;
}

void FlowSolver::assign_level(Flow& flow) const {
  flow.level = flow.limit;
  flow.bottleneck = kNone;
  for (const Entry& e : contended(flow)) {
    if (resources_[e.resource].saturation >= flow.level) continue;
    flow.level = resources_[e.resource].saturation;
    flow.bottleneck = e.resource;
  }
}

/// What would limit the flow if the resource did not.
double FlowSolver::level_without(const Flow& flow, Index resource) const {
  double level = flow.limit;
  for (const Entry& e : contended(flow)) {
    if (e.resource != resource) level = std::min(level, resources_[e.resource].saturation);
  }
  return level;
}

void FlowSolver::note(Index flow) {
  if (std::exchange(noted_[flow], 1) == 0) touched_.push_back(flow);
}

}  // namespace trainyard
