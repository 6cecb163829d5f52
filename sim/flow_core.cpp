#include "sim/flow_core.hpp"

#include <algorithm>
#include <limits>
#include <tuple>

#include "sim/error.hpp"
#include "sim/executor.hpp"

namespace trainyard {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

bool due(double date, double now) { return date <= now + rounding_of(now); }

}  // namespace

FlowCore::FlowCore(const std::vector<double>& capacities)
    : solver_(capacities), carried_(capacities.size(), 0.0) {}

ResourceId FlowCore::add_resource(double capacity) {
  carried_.push_back(0);
  return solver_.add_resource(capacity);
}

FlowCore::Index FlowCore::new_slot(OpId op) {
  Index slot = static_cast<Index>(slots_.size());
  if (free_.empty()) {
    require(slots_.size() < kNone, "FlowCore: too much runs at once");
    slots_.emplace_back();
  } else {
    slot = free_.back();
    free_.pop_back();
    slots_[slot] = Slot();
  }
  slots_[slot].op = op;
  return slot;
}

void FlowCore::free_slot(Index slot) {
  ended_.push_back(slots_[slot].op);
  slots_[slot].op = OpId();
  free_.push_back(slot);
}

void FlowCore::start_pause(OpId op, double seconds) {
  const Index slot = new_slot(op);
  slots_[slot].date = now_ + seconds;
  if (pause_of_op_.size() <= op.index()) pause_of_op_.resize(op.index() + 1, kNone);
  pause_of_op_[op.index()] = slot;
  calendar_.set(slot, slots_[slot].date);
}

void FlowCore::restart_pause(OpId op, double seconds) {
  require(op.index() < pause_of_op_.size() && pause_of_op_[op.index()] != kNone,
          "restart of a pause that never began");
  const Index slot = pause_of_op_[op.index()];
  Slot& s = slots_[slot];
  require(s.op == op && s.phase == Phase::kPause, "restart of a pause that is over");
  s.date = now_ + seconds;
  calendar_.set(slot, s.date);
}

void FlowCore::start_flow(OpId op, const FlowPath& path, double bytes) {
  const Index slot = new_slot(op);
  Slot& s = slots_[slot];
  s.phase = Phase::kLatency;
  s.date = now_ + path.latency.si();
  // Where nothing holds it back it moves in no time.
  if (bytes > 0 && !(path.shares.empty() && path.bound.si() == kNever)) {
    s.bytes = bytes;
    s.group = group_of(path);
    if (groups_[s.group].users++ == 0) ++used_groups_;
    if (path.latency.si() <= 0) return begin_flowing(slot);
  }
  calendar_.set(slot, s.date);
}

double FlowCore::next_date() {
  settle();
  return calendar_.empty() ? kNever : calendar_.first_date();
}

void FlowCore::settle() {
  if (touched_.empty()) return;
  bool changed = false;
  for (const Index g : touched_) changed |= tell_solver(groups_[g]);
  if (changed) {
    for (const FlowId flow : solver_.solve()) {
      set_rate(groups_[group_of_flow_[flow.index()]], solver_.rate(flow));
    }
  }
  for (const Index g : touched_) {
    groups_[g].touched = false;
    if (groups_[g].flowing > 0) enter(groups_[g]);
  }
  touched_.clear();
  forget_unused();
}

void FlowCore::pass_to(double date) {
  if (date == now_) return;
  require(date >= now_ && date <= next_date(), "time must not pass over an event");
  now_ = date;
}

void FlowCore::advance(double date) {
  require(date >= now_, "time must not run backwards");
  if (date > now_) settle();
  now_ = date;
  ended_.clear();
  while (!calendar_.empty() && due(calendar_.first_date(), now_)) {
    const Index slot = calendar_.first();
    if (slots_[slot].phase == Phase::kFlowing) {
      end_first(slots_[slot].group);
      continue;
    }
    calendar_.pop();
    if (slots_[slot].group == kNone) {
      free_slot(slot);
    } else {
      begin_flowing(slot);
    }
  }
  std::sort(ended_.begin(), ended_.end());
}

/// The group's first flow is through. It need not be the one in the calendar: one that has joined
/// at this date may have even less to move.
void FlowCore::end_first(Index group) {
  Group& g = groups_[group];
  const Index ended = g.first;
  g.carried += slots_[ended].bytes;
  take_first(g);
  free_slot(ended);
  --g.flowing;
  if (--g.users == 0) --used_groups_;
  touch(group);
  if (g.flowing > 0) {
    enter(g);
  } else {
    calendar_.pop();
    g.queued = kNone;
  }
}

std::vector<FlowCore::Running> FlowCore::running() const {
  std::vector<std::pair<double, Running>> found;
  for (Index i = 0; i < slots_.size(); ++i) {
    const Slot& s = slots_[i];
    if (!s.op.valid()) continue;
    if (s.phase == Phase::kFlowing) {
      const Group& g = groups_[s.group];
      found.push_back({end_of(g, i), {s.op, s.phase, left_of(g, s), g.rate}});
    } else {
      found.push_back({s.date, {s.op, s.phase, s.date - now_, 0}});
    }
  }
  std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) {
    return std::tie(a.second.op, a.first) < std::tie(b.second.op, b.first);
  });
  std::vector<Running> result;
  result.reserve(found.size());
  for (const auto& [date, running] : found) result.push_back(running);
  return result;
}

std::vector<double> FlowCore::carried() const {
  std::vector<double> carried = carried_;
  for (const Group& g : groups_) {
    if (g.carried == 0) continue;
    for (const Share& s : g.path->shares) carried[s.resource.index()] += s.weight * g.carried;
  }
  return carried;
}

}  // namespace trainyard
