#include "sim/recurrence.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "sim/engine.hpp"

namespace trainyard {
namespace {

constexpr std::uint32_t kNone = 0xffffffffU;
/// Fewer iterations are not worth the looking.
constexpr std::uint32_t kFewest = 48;
/// By how much what is left may differ, as a share of the whole: rounding, and nothing else.
constexpr double kTolerance = 1e-12;

}  // namespace

Recurrence::Recurrence(const OpGraph& graph, Executor& executor, RunState& state,
                       Timeline& timeline)
    : graph_(graph),
      executor_(executor),
      state_(state),
      timeline_(timeline),
      loop_of_(graph.size(), kNone) {
  for (std::size_t i = 0; i < graph.size(); ++i) {
    if (graph.iterations(OpId(i)) == 1) continue;
    random_ = random_ || graph.has_own_delays(OpId(i));
    loop_of_[i] = static_cast<std::uint32_t>(loops_.size());
    loops_.emplace_back(i);
    if (!beat_.valid() || graph.iterations(OpId(i)) > graph.iterations(beat_)) beat_ = OpId(i);
  }
  if (random_ || (beat_.valid() && graph.iterations(beat_) < kFewest)) beat_ = OpId();
}

// The state is kept at beats 1, 2, 4, 8 …, so that both the time before it recurs and its period
// may be of any length (Brent's way of finding a cycle).
void Recurrence::look(double now) {
  if (!beat_.valid()) return;
  const std::uint32_t beat = state_.done[beat_.index()];
  if (beat == last_beat_) return;
  last_beat_ = beat;
  Snapshot seen;
  if (!take(now, seen)) {
    beat_ = OpId();
    return;
  }
  if (kept_.date >= 0 && same(seen)) {
    if (const std::uint32_t more = periods(seen); more > 0) {
      skip(more, seen);
      kept_.date = -1;
      next_keep_ = 1;
      return;
    }
  }
  if (--next_keep_ > 0) return;
  next_keep_ = std::max(beat, 1U);
  kept_ = std::move(seen);
}

bool Recurrence::take(double now, Snapshot& snapshot) {
  snapshot.date = now;
  snapshot.single_done = state_.all_done;
  snapshot.next.reserve(loops_.size());
  snapshot.done.reserve(loops_.size());
  for (const OpId op : loops_) {
    snapshot.next.push_back(state_.next[op.index()]);
    snapshot.done.push_back(state_.done[op.index()]);
    snapshot.single_done -= state_.done[op.index()];
  }
  return executor_.in_progress(snapshot.in_progress);
}

// Whether kept_ and `now` differ only by a shift of the iteration numbers.
bool Recurrence::same(const Snapshot& now) const {
  if (now.single_done != kept_.single_done) return false;
  for (std::size_t i = 0; i < loops_.size(); ++i) {
    if (now.next[i] - now.done[i] != kept_.next[i] - kept_.done[i]) return false;
  }
  return same_in_progress(now);
}

bool Recurrence::same_in_progress(const Snapshot& now) const {
  const auto& a = kept_.in_progress;
  const auto& b = now.in_progress;
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [&](const auto& x, const auto& y) {
    if (x.op != y.op || x.flowing != y.flowing) return false;
    const double whole = graph_.kind(x.op) == OpKind::kFlow && !x.flowing
                             ? graph_.path(x.op).latency.si()
                             : graph_.work(x.op);
    const double rounding = x.flowing ? 0 : 2 * rounding_of(now.date);
    return std::abs(x.left - y.left) <= kTolerance * whole + rounding;
  });
}

// How many more periods surely follow: until one before which some operation would come to an
// iteration at which other conditions hold. 0 where that cannot be said.
std::uint32_t Recurrence::periods(const Snapshot& now) const {
  std::uint32_t more = kNone;
  for (std::size_t i = 0; i < loops_.size(); ++i) {
    const std::uint32_t advance = now.done[i] - kept_.done[i];
    if (advance > 0) {
      // The last iteration has conditions of its own, and is what others wait for.
      const std::uint32_t left = state_.count[loops_[i].index()] - now.next[i];
      if (left < 2) return 0;
      more = std::min(more, (left - 2) / advance);
      if (single_waits(i)) return 0;
    }
    for (const OpEdge& edge : graph_.predecessors(loops_[i])) {
      if (edge.shift > OpEdge::kLastAfterLast) more = std::min(more, periods_of(i, edge, now));
    }
  }
  return more == kNone ? 0 : more;
}

// Whether an operation of one iteration waits for one of the loop that was still to come.
bool Recurrence::single_waits(std::size_t loop) const {
  const auto edges = graph_.successors(loops_[loop]);
  return std::any_of(edges.begin(), edges.end(), [&](const OpEdge& edge) {
    return edge.shift > OpEdge::kLastAfterLast && loop_of_[edge.op.index()] == kNone &&
           -std::int64_t{edge.shift} >= kept_.done[loop];
  });
}

// For how many periods the condition of the loop's next iteration stays what it was; kNone: for
// ever.
std::uint32_t Recurrence::periods_of(std::size_t loop, const OpEdge& edge,
                                     const Snapshot& now) const {
  const std::size_t op = loops_[loop].index(), before = edge.op.index();
  const bool over = state_.next[op] == state_.count[op],
             met = state_.done[before] == state_.count[before];
  const std::uint32_t from = loop_of_[before];
  const std::uint32_t advance = now.done[loop] - kept_.done[loop],
                      before_advance = from == kNone ? 0 : now.done[from] - kept_.done[from];
  if (over || (met && before_advance == 0)) return kNone;
  const std::int64_t then = std::int64_t{kept_.next[loop]} - edge.shift,
                     needed = std::int64_t{now.next[loop]} - edge.shift,
                     count = state_.count[before];
  if (advance == 0 && before_advance == 0) return kNone;
  if (advance == 0) {
    // Its later iterations will ask for iterations of `before`, whose numbers skipping changes:
    // safe only where all of those have ended, or are none of `before`.
    const std::int64_t last = std::int64_t{state_.count[op]} - 1 - edge.shift;
    return last < kept_.done[from] || needed >= count ? kNone : 0;
  }
  if (then >= count) return kNone;
  if (advance != before_advance || then < 0 || needed >= count) return 0;
  return static_cast<std::uint32_t>(count - 1 - needed) / advance;
}

void Recurrence::skip(std::uint32_t periods, const Snapshot& now) {
  for (std::size_t i = 0; i < loops_.size(); ++i) {
    const std::uint32_t fewer = periods * (now.done[i] - kept_.done[i]);
    state_.count[loops_[i].index()] -= fewer;
    timeline_.leave_out(loops_[i], fewer);
    state_.all -= fewer;
    skipped_ += fewer;
  }
  timeline_.repeat({kept_.date, now.date, static_cast<double>(periods)});
}

}  // namespace trainyard
