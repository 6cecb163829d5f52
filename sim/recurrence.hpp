// Repetition in time: a run whose state comes back repeats itself from then on, so one period can
// stand for all that follow.
//
// A pipeline in its steady state, or a ring in lockstep, is in the same state again after each
// micro-batch or round: the same operations in progress with as much left, and the same conditions
// open, with every iteration number higher by a constant. What follows is then the same too, since
// the engine is deterministic, until an operation comes to its last iterations. Everything random
// (delays of their own for each iteration) or in progress beside it keeps the state from recurring.
#pragma once

#include <vector>

#include "sim/executor.hpp"
#include "sim/opgraph.hpp"
#include "sim/timeline.hpp"

namespace trainyard {

struct RunState;

class Recurrence {
 public:
  Recurrence(const OpGraph& graph, Executor& executor, RunState& state, Timeline& timeline);
  /// Called when everything that ends at `now` has ended and what follows has started. Where the
  /// state is one that was, shortens the operations by as many periods as fit.
  void look(double now);
  std::uint64_t skipped() const { return skipped_; }

 private:
  struct Snapshot {
    double date = -1;
    std::vector<std::uint32_t> next, done;  ///< of loops_
    std::uint64_t single_done = 0;          ///< operations of one iteration that had ended
    std::vector<Executor::InProgress> in_progress;
  };
  bool take(double now, Snapshot& snapshot);
  bool same(const Snapshot& now) const;
  bool same_in_progress(const Snapshot& now) const;
  std::uint32_t periods(const Snapshot& now) const;
  bool single_waits(std::size_t loop) const;
  std::uint32_t periods_of(std::size_t loop, const OpEdge& edge, const Snapshot& now) const;
  void skip(std::uint32_t periods, const Snapshot& now);

  const OpGraph& graph_;
  Executor& executor_;
  RunState& state_;
  Timeline& timeline_;
  std::vector<OpId> loops_;             ///< operations of several iterations
  std::vector<std::uint32_t> loop_of_;  ///< by op: its place in loops_, or none
  bool random_ = false;                 ///< iterations of a loop differ
  OpId beat_;                           ///< the one with the most iterations: looked at after each
  std::uint32_t last_beat_ = 0, next_keep_ = 1;
  Snapshot kept_;
  std::uint64_t skipped_ = 0;
};

}  // namespace trainyard
