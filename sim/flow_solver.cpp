#include "sim/flow_solver.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "sim/error.hpp"

namespace trainyard {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

bool positive(double x) { return x > 0 && x < kInfinity; }

}  // namespace

FlowSolver::FlowSolver(const std::vector<double>& capacities, Relevel relevel)
    : mode_(relevel), own_size_(relevel == Relevel::kChanged ? 1 : 0) {
  resources_.reserve(capacities.size());
  for (const double capacity : capacities) add_resource(capacity);
}

ResourceId FlowSolver::add_resource(double capacity) {
  require(resources_.size() < kNone, "FlowSolver: too many resources");
  require(positive(capacity), "FlowSolver: a capacity is not positive and finite");
  resources_.push_back({.capacity = capacity});
  return ResourceId(resources_.size() - 1);
}

FlowId FlowSolver::add(std::span<const Share> shares, double fairness, double bound,
                       std::uint32_t members) {
  require(positive(fairness), "FlowSolver::add: fairness is not positive and finite");
  require(bound > 0, "FlowSolver::add: bound is not positive");
  require(!shares.empty() || bound < kInfinity, "FlowSolver::add: nothing limits the flow");
  for (const Share& s : shares) {
    require(s.resource.index() < resources_.size(), "FlowSolver::add: no such resource");
    require(positive(s.weight), "FlowSolver::add: a weight is not positive and finite");
  }
  const Index flow = take_slot();
  Flow& f = flows_[flow];
  f = {};
  f.shares = shares.data();
  f.share_count = static_cast<Index>(shares.size());
  f.ceiling = f.limit = f.level = bound / fairness;
  if (!shares.empty()) f.first_entry = entries_.take(RunPool<Entry>::power_for(shares.size()));
  for (Index i = 0; i < f.share_count; ++i) {
    entries_[f.first_entry + i] = {static_cast<Index>(shares[i].resource.index()), 0, i};
  }
  fairness_[flow] = fairness;
  bound_[flow] = bound;
  rate_[flow] = 0;
  total_[flow] = 0;
  set_members(FlowId(flow), members);
  return FlowId(flow);
}

void FlowSolver::set_members(FlowId id, std::uint32_t members) {
  require(id.index() < fairness_.size() && fairness_[id.index()] > 0,
          "FlowSolver::set_members: no such flow");
  const auto flow = static_cast<Index>(id.index());
  Flow& f = flows_[flow];
  if (members == f.members) return;
  f.members = members;
  note(flow);
  if (members > 0) {
    attach_all(flow);
    queue_relimit(flow);
  } else if (mode_ == Relevel::kChanged) {
    detach_contended(flow);
  } else {
    detach_all(flow);
  }
}

void FlowSolver::remove(FlowId id) {
  require(id.index() < fairness_.size() && fairness_[id.index()] > 0,
          "FlowSolver::remove: no such flow");
  const auto flow = static_cast<Index>(id.index());
  detach_all(flow);
  Flow& f = flows_[flow];
  if (f.share_count > 0) entries_.give(f.first_entry, RunPool<Entry>::power_for(f.share_count));
  f.members = 0;
  fairness_[flow] = 0;
  free_slots_.push_back(flow);
}

std::span<const FlowId> FlowSolver::solve() {
  ++counters_.solves;
  relevel();
  publish();
  return changed_;
}

double FlowSolver::load(ResourceId resource) const {
  const Resource& r = resources_[resource.index()];
  double load = r.departed;
  for (Index i = 0; i < r.size; ++i) {
    const Use& use = uses_[r.first + i];
    const Flow& f = flows_[use.flow];
    load += f.shares[entries_[f.first_entry + use.entry].share].weight * total_[use.flow];
  }
  return load;
}

FlowSolver::Index FlowSolver::take_slot() {
  if (!free_slots_.empty()) {
    const Index slot = free_slots_.back();
    free_slots_.pop_back();
    return slot;
  }
  const std::size_t slot = fairness_.size();
  require(slot < kNone, "FlowSolver: too many flows");
  flows_.emplace_back();
  fairness_.push_back(0);
  bound_.push_back(0);
  rate_.push_back(0);
  total_.push_back(0);
  noted_.push_back(0);
  relimited_.push_back(0);
  flow_walk_.push_back(0);
  return static_cast<Index>(slot);
}

void FlowSolver::mark_dirty(Index resource) {
  if (!std::exchange(resources_[resource].dirty, true)) dirty_.push_back(resource);
}

void FlowSolver::publish() {
  changed_.clear();
  std::size_t visited = 0;
  for (const Index flow : touched_) {
    noted_[flow] = 0;
    if (fairness_[flow] == 0) continue;  // added and removed since the last solve
    ++visited;
    const Flow& f = flows_[flow];
    const double awake = f.level == f.ceiling ? bound_[flow] : fairness_[flow] * f.level;
    const double rate = f.members == 0 ? 0 : awake;
    total_[flow] = rate * f.members;
    if (std::exchange(rate_[flow], rate) != rate) changed_.push_back(FlowId(flow));
  }
  touched_.clear();
  std::sort(changed_.begin(), changed_.end());
  for (const Index index : dirty_) {
    resources_[index].dirty = false;
    resources_[index].departed = 0;
  }
  dirty_.clear();
  counters_.flows_visited += visited;
  counters_.flows_changed += changed_.size();
  counters_.largest_component = std::max(counters_.largest_component, visited);
}

}  // namespace trainyard
