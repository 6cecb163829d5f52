// The calendar of running flows and pauses, with rates from the max-min solver. No SimGrid in it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "sim/flow_calendar.hpp"
#include "sim/flow_solver.hpp"
#include "sim/ids.hpp"
#include "sim/path.hpp"

namespace trainyard {

/// Time moves only by advance(): to the date that next_date() gave, where everything due ends at
/// once. Dates are absolute doubles and never accumulate: a flow whose rate never changed ends at
/// start + latency + bytes / rate to the last bit.
///
/// Flows of one path get equal rates. Together they are one flow of the solver, a *group*, with a
/// clock that counts the bytes that each of them moves; a flow is through when the clock shows its
/// target. So a new rate moves one date, that of the group's first flow, however many there are.
class FlowCore {
 public:
  enum class Phase : unsigned char { kPause, kLatency, kFlowing };

  /// Something in progress.
  struct Running {
    OpId op;
    Phase phase = Phase::kPause;
    double left = 0;  ///< bytes while flowing, otherwise seconds
    double rate = 0;  ///< bytes/s while flowing, otherwise 0
    friend bool operator==(const Running&, const Running&) = default;
  };

  explicit FlowCore(const std::vector<double>& capacities);
  /// One more resource; returns its id, the next one.
  ResourceId add_resource(double capacity);

  /// Starts `bytes` over a path, after its latency. The path must live and stay as it is as long as
  /// this object: what is known of it is kept for the next flow of the same path.
  void start_flow(OpId op, const FlowPath& path, double bytes);
  void start_pause(OpId op, double seconds);
  /// Makes a running pause end `seconds` from now instead.
  void restart_pause(OpId op, double seconds);

  /// The next date at which something ends, infinity when nothing runs. Re-levels the rates first.
  double next_date();
  /// Moves to `date` (at least now, at most next_date()) and puts what ended into ended(),
  /// ascending. May have to be called again at the same date when what is started there takes no
  /// time. A flow that ends and one of the same path that starts before the next call of
  /// next_date() are one to the solver.
  void advance(double date);
  /// Moves to `date` (at least now, before next_date()), where nothing ends: for what is started
  /// between two events.
  void pass_to(double date);
  const std::vector<OpId>& ended() const { return ended_; }
  double now() const { return now_; }
  bool idle() const { return slots_.size() == free_.size(); }
  /// Everything in progress, by op and then by the date at which it, or its latency, ends. The
  /// rates are those of the last next_date(), so call that first.
  std::vector<Running> running() const;
  /// Bytes × weight that ended flows carried over each resource, by resource index.
  std::vector<double> carried() const;
  const FlowSolver& solver() const { return solver_; }

 private:
  using Index = std::uint32_t;
  static constexpr Index kNone = 0xffffffffU;

  /// Bytes as the exact sum of two doubles: a flow that joins a group late is as exact as the
  /// first.
  struct Bytes2 {
    double high = 0, low = 0;
    void add(double bytes);
    double minus(const Bytes2& other) const { return (high - other.high) + (low - other.low); }
  };
  /// What runs. The flows of a group are a pairing heap (Fredman et al. 1986) by target.
  struct Slot {
    OpId op;
    Phase phase = Phase::kPause;
    Index group = kNone;    ///< of a flow with bytes to move
    Index child = kNone;    ///< the first of those below it
    Index sibling = kNone;  ///< the next one below the same
    double bytes = 0;       ///< in all
    double date = 0;        ///< when it began to flow; when the pause or latency ends
    Bytes2 target;          ///< what the group's clock shows at the end
  };
  struct Group {
    const FlowPath* path = nullptr;  ///< null for a free one
    FlowId flow;                     ///< in the solver, once it has been there
    Index users = 0;                 ///< flows, those in their latency included
    Index flowing = 0;               ///< flows that move bytes
    Index first = kNone;             ///< the one of them that ends first
    Index queued = kNone;            ///< the one of them that is in the calendar
    bool touched = false;            ///< is in touched_
    double rate = 0;                 ///< of each flow
    double since = 0;                ///< when the rate was set, or the clock began
    Bytes2 clock;                    ///< what it showed then
    double carried = 0;              ///< bytes of flows that ended, not yet in carried_
  };

  // flow_core.cpp: what starts and ends.
  Index new_slot(OpId op);
  void free_slot(Index slot);
  void end_first(Index group);
  void settle();

  // flow_groups.cpp: flows of one path.
  Index group_of(const FlowPath& path);
  void touch(Index group);
  void begin_flowing(Index slot);
  void take_first(Group& group);
  Index meld(Index a, Index b);
  Index meld_children(Index slot);
  double end_of(const Group& group, Index slot) const;
  double left_of(const Group& group, const Slot& slot) const;
  void enter(Group& group);
  void set_rate(Group& group, double rate);
  bool tell_solver(Group& group);
  void forget_unused();

  FlowSolver solver_;
  Calendar calendar_;  ///< of slots: pauses, latencies and the first flow of each group
  std::vector<Slot> slots_;
  std::vector<Index> free_;
  std::vector<Group> groups_;
  std::vector<Index> free_groups_;
  std::unordered_map<const FlowPath*, Index> group_of_path_;  ///< only looked up, never walked
  std::vector<Index> group_of_flow_;                          ///< by FlowId
  std::vector<Index> touched_;  ///< groups that a flow joined or left since the last settle()
  std::vector<Index> melds_;    ///< work list of meld_children()
  std::size_t used_groups_ = 0;
  std::size_t most_used_ = 0;       ///< used_groups_ at its highest since forget_unused()
  std::vector<Index> pause_of_op_;  ///< by OpId, for restart_pause
  std::vector<double> carried_;     ///< by groups that are no more
  std::vector<OpId> ended_;
  double now_ = 0;
};

}  // namespace trainyard
