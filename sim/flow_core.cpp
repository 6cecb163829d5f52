#include "sim/flow_core.hpp"

#include <algorithm>
#include <cmath>

#include "sim/error.hpp"
#include "sim/executor.hpp"

namespace trainyard {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

bool due(double date, double now) { return date <= now + rounding_of(now); }

}  // namespace

FlowCore::FlowCore(const std::vector<double>& capacities)
    : solver_(capacities), carried_(capacities.size(), 0.0) {}

std::size_t FlowCore::new_slot() {
  if (free_.empty()) {
    slots_.emplace_back();
    return slots_.size() - 1;
  }
  const std::size_t slot = free_.back();
  free_.pop_back();
  slots_[slot] = Slot();
  return slot;
}

void FlowCore::start_pause(OpId op, double seconds) {
  const std::size_t slot = new_slot();
  slots_[slot].op = op;
  slots_[slot].date = now_ + seconds;
  if (pause_of_op_.size() <= op.index()) pause_of_op_.resize(op.index() + 1);
  pause_of_op_[op.index()] = slot;
  push(slot);
}

void FlowCore::restart_pause(OpId op, double seconds) {
  require(op.index() < pause_of_op_.size(), "restart of a pause that never began");
  const std::size_t slot = pause_of_op_[op.index()];
  require(slots_[slot].op == op && slots_[slot].state == State::kPause,
          "restart of a pause that is over");
  move_to(slot, now_ + seconds);
}

void FlowCore::start_flow(OpId op, const FlowPath& path, double bytes) {
  const std::size_t slot = new_slot();
  Slot& s = slots_[slot];
  s.op = op;
  s.path = &path;
  s.bytes = bytes;
  s.left = bytes;
  // Nothing holds it back: it moves in no time.
  if (path.shares.empty() && path.bound.si() == kNever) s.left = 0;
  s.state = State::kLatency;
  s.date = now_ + path.latency.si();
  if (path.latency.si() <= 0 && s.left > 0) {
    begin_flowing(slot);
  }
  push(slot);
}

void FlowCore::begin_flowing(std::size_t slot) {
  Slot& s = slots_[slot];
  s.state = State::kFlowing;
  s.since = now_;
  s.rate = 0;
  s.date = kNever;
  s.flow = solver_.add(s.path->shares, s.path->fairness, s.path->bound.si());
  if (slot_of_flow_.size() <= s.flow.index()) slot_of_flow_.resize(s.flow.index() + 1);
  slot_of_flow_[s.flow.index()] = slot;
  changed_ = true;
}

// Carried bytes are counted whole at the end, not in pieces as rates change: exact, and cheaper.
void FlowCore::end_flow(Slot& s) {
  for (const Share& share : s.path->shares)
    carried_[share.resource.index()] += share.weight * s.bytes;
  solver_.remove(s.flow);
  changed_ = true;
}

double FlowCore::next_date() {
  settle();
  return heap_.empty() ? kNever : slots_[heap_.front()].date;
}

void FlowCore::settle() {
  if (!changed_) return;
  changed_ = false;
  for (const FlowId flow : solver_.solve()) {
    const std::size_t slot = slot_of_flow_[flow.index()];
    Slot& s = slots_[slot];
    s.left = std::max(0.0, s.left - (now_ - s.since) * s.rate);
    s.since = now_;
    s.rate = solver_.rate(flow);
    move_to(slot, now_ + s.left / s.rate);
  }
}

void FlowCore::pass_to(double date) {
  if (date == now_) return;
  require(date >= now_ && date <= next_date(), "time must not pass over an event");
  now_ = date;
}

void FlowCore::advance(double date) {
  require(date >= now_, "time must not run backwards");
  now_ = date;
  ended_.clear();
  while (!heap_.empty() && due(slots_[heap_.front()].date, now_)) {
    const std::size_t slot = heap_.front();
    Slot& s = slots_[slot];
    if (s.state == State::kLatency && s.left > 0) {
      begin_flowing(slot);
      sift_down(0);
      continue;
    }
    if (s.state == State::kFlowing) end_flow(s);
    ended_.push_back(s.op);
    s.op = OpId();
    pop_top();
    free_.push_back(slot);
  }
  std::sort(ended_.begin(), ended_.end());
}

bool FlowCore::earlier(std::size_t a, std::size_t b) const {
  const Slot& x = slots_[a];
  const Slot& y = slots_[b];
  return x.date != y.date ? x.date < y.date : x.op < y.op;
}

void FlowCore::push(std::size_t slot) {
  slots_[slot].at = heap_.size();
  heap_.push_back(slot);
  sift_up(heap_.size() - 1);
}

void FlowCore::move_to(std::size_t slot, double date) {
  const bool later = date > slots_[slot].date;
  slots_[slot].date = date;
  if (later) {
    sift_down(slots_[slot].at);
  } else {
    sift_up(slots_[slot].at);
  }
}

void FlowCore::pop_top() {
  const std::size_t last = heap_.back();
  heap_.pop_back();
  if (heap_.empty()) return;
  heap_.front() = last;
  slots_[last].at = 0;
  sift_down(0);
}

// A 4-ary heap: half the levels of a binary one, and its four children share a cache line.
void FlowCore::sift_up(std::size_t at) {
  const std::size_t slot = heap_[at];
  while (at > 0) {
    const std::size_t parent = (at - 1) / 4;
    if (!earlier(slot, heap_[parent])) break;
    heap_[at] = heap_[parent];
    slots_[heap_[at]].at = at;
    at = parent;
  }
  heap_[at] = slot;
  slots_[slot].at = at;
}

void FlowCore::sift_down(std::size_t at) {
  const std::size_t slot = heap_[at];
  while (true) {
    const std::size_t first = at * 4 + 1;
    if (first >= heap_.size()) break;
    std::size_t best = first;
    for (std::size_t c = first + 1; c < std::min(first + 4, heap_.size()); ++c) {
      if (earlier(heap_[c], heap_[best])) best = c;
    }
    if (!earlier(heap_[best], slot)) break;
    heap_[at] = heap_[best];
    slots_[heap_[at]].at = at;
    at = best;
  }
  heap_[at] = slot;
  slots_[slot].at = at;
}

}  // namespace trainyard
