// The flows of one path in FlowCore: one flow of the solver, one clock, one date in the calendar.
#include <algorithm>

#include "sim/flow_core.hpp"

namespace trainyard {

/// Knuth's TwoSum: `low` collects what rounding takes from `high`.
void FlowCore::Bytes2::add(double bytes) {
  const double sum = high + bytes;
  const double rest = sum - high;
  low += (high - (sum - rest)) + (bytes - rest);
  high = sum;
}

FlowCore::Index FlowCore::group_of(const FlowPath& path) {
  const auto [found, is_new] = group_of_path_.try_emplace(&path, kNone);
  if (!is_new) return found->second;
  Index group = static_cast<Index>(groups_.size());
  if (free_groups_.empty()) {
    groups_.emplace_back();
  } else {
    group = free_groups_.back();
    free_groups_.pop_back();
  }
  groups_[group].path = &path;
  found->second = group;
  return group;
}

void FlowCore::touch(Index group) {
  if (groups_[group].touched) return;
  groups_[group].touched = true;
  touched_.push_back(group);
}

/// The latency is over: the flow joins its group.
void FlowCore::begin_flowing(Index slot) {
  Slot& s = slots_[slot];
  Group& g = groups_[s.group];
  if (g.flowing++ == 0) {
    g.clock = {};
    g.since = now_;
  }
  s.phase = Phase::kFlowing;
  s.date = now_;
  s.target = g.clock;
  s.target.add((now_ - g.since) * g.rate);
  s.target.add(s.bytes);
  g.first = meld(g.first, slot);
  touch(s.group);
}

/// The heap of two: the one that ends later goes below the other.
FlowCore::Index FlowCore::meld(Index a, Index b) {
  if (a == kNone) return b;
  if (slots_[b].target.minus(slots_[a].target) < 0) std::swap(a, b);
  slots_[b].sibling = slots_[a].child;
  slots_[a].child = b;
  return a;
}

/// One heap of all below the slot: melded in pairs from the first, then into one from the last.
FlowCore::Index FlowCore::meld_children(Index slot) {
  melds_.clear();
  for (Index a = slots_[slot].child; a != kNone;) {
    const Index b = slots_[a].sibling;
    const Index next = b == kNone ? kNone : slots_[b].sibling;
    slots_[a].sibling = kNone;
    if (b != kNone) slots_[b].sibling = kNone;
    melds_.push_back(b == kNone ? a : meld(a, b));
    a = next;
  }
  Index all = kNone;
  for (auto heap = melds_.rbegin(); heap != melds_.rend(); ++heap) all = meld(all, *heap);
  return all;
}

/// Removes the group's first flow; its place in the calendar stays.
void FlowCore::take_first(Group& g) { g.first = meld_children(g.first); }

/// When the flow ends if the rate stays. One that has known no other rate is held to the last bit.
double FlowCore::end_of(const Group& g, Index slot) const {
  const Slot& s = slots_[slot];
  if (s.date >= g.since) return s.date + s.bytes / g.rate;
  return g.since + std::max(0.0, s.target.minus(g.clock)) / g.rate;
}

double FlowCore::left_of(const Group& g, const Slot& s) const {
  if (s.date >= g.since) return std::max(0.0, s.bytes - (now_ - s.date) * g.rate);
  return std::max(0.0, s.target.minus(g.clock) - (now_ - g.since) * g.rate);
}

/// Enters the end of the group's first flow into the calendar.
void FlowCore::enter(Group& g) {
  if (g.queued != kNone && g.queued != g.first) calendar_.rename(g.queued, g.first);
  g.queued = g.first;
  calendar_.set(g.first, end_of(g, g.first));
}

void FlowCore::set_rate(Group& g, double rate) {
  g.clock.add((now_ - g.since) * g.rate);
  g.since = now_;
  g.rate = rate;
  if (g.flowing > 0 && !g.touched) enter(g);
}

/// Tells the solver how many flows the group has; true if it did not know.
bool FlowCore::tell_solver(Group& g) {
  if (!g.flow.valid()) {
    if (g.flowing == 0) return false;
    g.flow = solver_.add(g.path->shares, g.path->fairness, g.path->bound.si(), g.flowing);
    if (group_of_flow_.size() <= g.flow.index()) group_of_flow_.resize(g.flow.index() + 1);
    group_of_flow_[g.flow.index()] = static_cast<Index>(&g - groups_.data());
    return true;
  }
  if (solver_.members(g.flow) == g.flowing) return false;
  solver_.set_members(g.flow, g.flowing);
  return true;
}

/// Paths come back, step after step, so their groups are kept; but of unused ones no more than some
/// 100 MB hold, or twice as many as were ever in use at once since they were last cleared.
void FlowCore::forget_unused() {
  constexpr std::size_t kKept = 1 << 18;
  most_used_ = std::max(most_used_, used_groups_);
  if (group_of_path_.size() - used_groups_ <= kKept + 2 * most_used_) return;
  for (Index i = 0; i < groups_.size(); ++i) {
    Group& g = groups_[i];
    if (g.path == nullptr || g.users > 0) continue;
    for (const Share& s : g.path->shares) carried_[s.resource.index()] += s.weight * g.carried;
    if (g.flow.valid()) solver_.remove(g.flow);
    group_of_path_.erase(g.path);
    g = {};
    free_groups_.push_back(i);
  }
  most_used_ = used_groups_;
}

}  // namespace trainyard
