// The calendar of running flows and pauses, with rates from the max-min solver. No SimGrid in it.
#pragma once

#include <limits>
#include <vector>

#include "sim/flow_solver.hpp"
#include "sim/ids.hpp"
#include "sim/path.hpp"

namespace trainyard {

/// Time moves only by advance(): to the date that next_date() gave, where everything due ends at
/// once. Dates are absolute doubles and never accumulate: a flow whose rate never changed ends at
/// start + latency + bytes / rate to the last bit.
class FlowCore {
 public:
  explicit FlowCore(const std::vector<double>& capacities);

  void start_flow(OpId op, const FlowPath& path, double bytes);
  void start_pause(OpId op, double seconds);
  void restart_pause(OpId op, double seconds);

  /// The next date at which something ends, infinity when nothing runs. Re-levels the rates first.
  double next_date();
  /// Moves to `date` (at least now, at most next_date()) and puts what ended into ended(),
  /// ascending. May have to be called again at the same date when what is started there takes no
  /// time.
  void advance(double date);
  /// Moves to `date` (at least now, before next_date()), where nothing ends: for what is started
  /// between two events.
  void pass_to(double date);
  const std::vector<OpId>& ended() const { return ended_; }
  double now() const { return now_; }
  bool idle() const { return heap_.empty(); }
  /// Bytes × weight that ended flows carried over each resource, by resource index.
  const std::vector<double>& carried() const { return carried_; }
  const FlowSolver& solver() const { return solver_; }

 private:
  enum class State : unsigned char { kPause, kLatency, kFlowing };
  struct Slot {
    OpId op;
    State state = State::kPause;
    FlowId flow;                     ///< in the solver, while flowing
    const FlowPath* path = nullptr;  ///< for flows
    double bytes = 0;                ///< in all
    double left = 0;                 ///< bytes left at `since`
    double rate = 0;
    double since = 0;
    double date = 0;     ///< when it ends, or its latency does
    std::size_t at = 0;  ///< position in the heap
  };

  std::size_t new_slot();
  void push(std::size_t slot);
  void move_to(std::size_t slot, double date);
  void pop_top();
  bool earlier(std::size_t a, std::size_t b) const;
  void sift_up(std::size_t at);
  void sift_down(std::size_t at);
  void settle();
  void begin_flowing(std::size_t slot);
  void end_flow(Slot& slot);

  FlowSolver solver_;
  std::vector<Slot> slots_;
  std::vector<std::size_t> free_;
  std::vector<std::size_t> heap_;          ///< slots by (date, op)
  std::vector<std::size_t> slot_of_flow_;  ///< by FlowId
  std::vector<std::size_t> pause_of_op_;   ///< by OpId, for restart_pause
  std::vector<double> carried_;
  std::vector<OpId> ended_;
  double now_ = 0;
  bool changed_ = false;
};

}  // namespace trainyard
