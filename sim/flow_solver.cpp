#include "sim/flow_solver.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <utility>

#include "sim/error.hpp"

namespace trainyard {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

bool positive(double x) { return x > 0 && x < kInfinity; }

}  // namespace

FlowSolver::FlowSolver(std::vector<double> capacities, Relevel relevel)
    : capacity_(std::move(capacities)), mode_(relevel) {
  const std::size_t n = capacity_.size();
  require(n < kNone, "FlowSolver: too many resources");
  require(std::all_of(capacity_.begin(), capacity_.end(), positive),
          "FlowSolver: a capacity is not positive and finite");
  load_.assign(n, 0);
  saturation_.assign(n, kInfinity);
  uses_.resize(n);
  due_key_.assign(n, -1);
  candidate_.assign(n, kInfinity);
  fresh_.assign(n, 0);
  raised_.assign(n, 0);
  dirty_mark_.assign(n, 0);
  load_mark_.assign(n, 0);
  resource_walk_.assign(n, 0);
  free_places_.fill(kNone);
}

FlowId FlowSolver::add(std::span<const Share> shares, double fairness, double bound) {
  require(positive(fairness), "FlowSolver::add: fairness is not positive and finite");
  require(bound > 0, "FlowSolver::add: bound is not positive");
  require(!shares.empty() || bound < kInfinity, "FlowSolver::add: nothing limits the flow");
  for (const Share& s : shares) {
    require(s.resource.index() < capacity_.size(), "FlowSolver::add: no such resource");
    require(positive(s.weight), "FlowSolver::add: a weight is not positive and finite");
  }
  const Index flow = take_slot();
  flows_[flow].shares = shares.data();
  flows_[flow].share_count = static_cast<Index>(shares.size());
  flows_[flow].ceiling = bound / fairness;
  fairness_[flow] = fairness;
  bound_[flow] = bound;
  rate_[flow] = 0;
  link(flow);
  assign_level(flows_[flow]);
  note(flow);
  return FlowId(flow);
}

void FlowSolver::remove(FlowId id) {
  require(id.index() < fairness_.size() && fairness_[id.index()] > 0,
          "FlowSolver::remove: no such flow");
  const auto flow = static_cast<Index>(id.index());
  unlink(flow);
  fairness_[flow] = 0;
  free_slots_.push_back(flow);
}

std::span<const FlowId> FlowSolver::solve() {
  ++counters_.solves;
  relevel();
  publish();
  return changed_;
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
  first_place_.push_back(kNone);
  noted_.push_back(0);
  flow_walk_.push_back(0);
  return static_cast<Index>(slot);
}

FlowSolver::Index FlowSolver::take_places(std::size_t count) {
  if (count == 0) return kNone;
  const int power = std::bit_width(count - 1);
  const Index reused = free_places_[static_cast<std::size_t>(power)];
  if (reused != kNone) {
    free_places_[static_cast<std::size_t>(power)] = places_[reused];
    return reused;
  }
  const std::size_t first = places_.size();
  require(first + (std::size_t{1} << power) < kNone, "FlowSolver: too many shares");
  places_.resize(first + (std::size_t{1} << power));
  return static_cast<Index>(first);
}

void FlowSolver::give_places(Index first, std::size_t count) {
  if (count == 0) return;
  const auto power = static_cast<std::size_t>(std::bit_width(count - 1));
  places_[first] = std::exchange(free_places_[power], first);
}

void FlowSolver::link(Index flow) {
  const Index first = take_places(flows_[flow].share_count);
  first_place_[flow] = first;
  for (Index i = 0; i < flows_[flow].share_count; ++i) {
    const Share& share = flows_[flow].shares[i];
    const auto r = flows_[flow].resource(i);
    if (uses_[r].empty()) ++resources_in_use_;
    places_[first + i] = static_cast<Index>(uses_[r].size());
    uses_[r].push_back({share.weight * fairness_[flow], flow, i});
    mark_dirty(r);
  }
}

void FlowSolver::unlink(Index flow) {
  const Index first = first_place_[flow];
  for (Index i = 0; i < flows_[flow].share_count; ++i) {
    const auto r = flows_[flow].resource(i);
    const Index place = places_[first + i];
    const Use moved = uses_[r].back();
    uses_[r][place] = moved;
    places_[first_place_[moved.flow] + moved.share] = place;
    uses_[r].pop_back();
    if (uses_[r].empty()) --resources_in_use_;
    mark_dirty(r);
  }
  give_places(first, flows_[flow].share_count);
}

void FlowSolver::mark_dirty(Index resource) {
  if (std::exchange(dirty_mark_[resource], 1) == 0) dirty_.push_back(resource);
}

void FlowSolver::mark_loaded(Index resource) {
  if (std::exchange(load_mark_[resource], 1) == 0) loaded_.push_back(resource);
}

void FlowSolver::publish() {
  changed_.clear();
  std::size_t visited = 0;
  for (const Index flow : touched_) {
    noted_[flow] = 0;
    if (fairness_[flow] == 0) continue;  // added and removed since the last solve
    ++visited;
    publish_flow(flow);
  }
  touched_.clear();
  std::sort(changed_.begin(), changed_.end());
  for (const Index r : dirty_) {
    dirty_mark_[r] = 0;
    mark_loaded(r);
  }
  dirty_.clear();
  for (const Index r : loaded_) refresh_load(r);
  loaded_.clear();
  counters_.flows_visited += visited;
  counters_.flows_changed += changed_.size();
  counters_.largest_component = std::max(counters_.largest_component, visited);
}

void FlowSolver::publish_flow(Index flow) {
  const bool bounded = flows_[flow].bottleneck == kNone;
  const double rate = bounded ? bound_[flow] : fairness_[flow] * flows_[flow].level;
  if (rate == rate_[flow]) return;
  rate_[flow] = rate;
  changed_.push_back(FlowId(flow));
  for (Index i = 0; i < flows_[flow].share_count; ++i) {
    mark_loaded(flows_[flow].resource(i));
  }
}

/// From scratch each time, so that no error accumulates over a long run.
void FlowSolver::refresh_load(Index resource) {
  load_mark_[resource] = 0;
  double load = 0;
  for (const Use& use : uses_[resource]) {
    load += flows_[use.flow].shares[use.share].weight * rate_[use.flow];
  }
  load_[resource] = load;
}

}  // namespace trainyard
