// When everything happened in a run.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "sim/opgraph.hpp"

namespace trainyard {

/// Start and end of every iteration that was simulated, in seconds since the start of the run.
///
/// Where the run found that its state recurs, it simulated one period for several (sim/
/// recurrence.hpp). `stretch` then pulls that period apart to the length of all that it stands for:
/// every sum of durations is what it would be with each of them simulated.
class Timeline {
 public:
  static constexpr std::uint32_t kNone = 0xffffffffU;
  Timeline() = default;
  explicit Timeline(const OpGraph& graph);

  /// How many iterations of the operation were simulated: all, unless a period was skipped.
  std::uint32_t iterations(OpId op) const { return recorded_[op.index()]; }
  /// The same of all operations together.
  std::uint64_t iterations() const;
  /// The number of an iteration's record. Records of one operation follow each other.
  std::size_t record(OpId op, std::uint32_t iteration = 0) const {
    return first_[op.index()] + iteration;
  }
  double start(std::size_t record) const { return start_[record]; }
  double finish(std::size_t record) const { return finish_[record]; }
  /// The record of what ended last of all that an iteration waited for; kNone if it waited for
  /// nothing.
  std::uint32_t cause(std::size_t record) const { return cause_[record]; }
  /// Of the first iteration.
  double start(OpId op) const { return start_[record(op)]; }
  /// Of the last iteration.
  double finish(OpId op) const { return finish_[record(op, iterations(op) - 1)]; }
  /// Which operation a record is of.
  OpId op_of(std::size_t record) const;
  /// Bytes × weight that each resource carried that carried any, by resource.
  const std::vector<Share>& carried() const { return carried_; }
  /// The same of one resource.
  double carried(ResourceId resource) const;
  /// The last finish of all.
  double end() const { return end_; }
  /// Periods that stand for several, and for how many each.
  struct Repeat {
    double begin, end;  ///< as simulated
    double times;       ///< how often more the period happened
  };
  const std::vector<Repeat>& repeats() const { return repeats_; }

  // Writing, by the engine.
  void started(OpId op, std::uint32_t iteration, double now, std::uint32_t cause);
  void finished(OpId op, std::uint32_t iteration, double now);
  /// `fewer` iterations of an operation will not be simulated.
  void leave_out(OpId op, std::uint32_t fewer) { recorded_[op.index()] -= fewer; }
  void repeat(const Repeat& repeat) { repeats_.push_back(repeat); }
  /// Once, at the end: dates as they would be with every repeat simulated, and what was carried.
  void complete(const OpGraph& graph);

 private:
  std::vector<std::size_t> first_;
  std::vector<std::uint32_t> recorded_;
  // Not initialized: the records of what is not simulated take no memory.
  std::unique_ptr<double[]> start_, finish_;
  std::unique_ptr<std::uint32_t[]> cause_;
  std::vector<Repeat> repeats_;
  std::vector<Share> carried_;
  double end_ = 0;
};

}  // namespace trainyard
