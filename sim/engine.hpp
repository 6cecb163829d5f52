// Runs an op graph: starts what is ready, slows compute beside communication, records the timeline.
#pragma once

#include <functional>
#include <vector>

#include "sim/executor.hpp"
#include "sim/opgraph.hpp"

namespace trainyard {

/// When each operation started and ended, in seconds since the start of the run, by op index.
struct Timeline {
  std::vector<double> start, finish;
  double end = 0;               ///< the last finish
  std::vector<double> carried;  ///< per resource: bytes × weight over the run
};

class Engine : private Executor::Listener {
 public:
  /// Told now and then how many operations have ended.
  using Progress = std::function<void(std::size_t done, std::size_t total)>;
  Engine(const OpGraph& graph, Executor& executor, std::size_t ranks, Progress progress = {});
  /// Runs to the end. Throws StuckError when operations are left that can never start.
  Timeline run();

 private:
  struct Compute {
    OpId op;          ///< running on the rank's compute stream, or invalid
    double left = 0;  ///< seconds of work left at `since`
    double rate = 1;  ///< work done per second
    double since = 0;
    std::vector<double> slowdowns;  ///< of the communication kernels running on the rank
  };

  void ended(const std::vector<OpId>& ops, double now) override;
  void start(OpId op, double now);
  void start_ready();
  void finish(OpId op, double now);
  void occupy(const Occupancy& occupancy, bool begins, double now);
  void rescale(Compute& compute, double now);
  [[noreturn]] void throw_stuck() const;

  const OpGraph& graph_;
  Executor& executor_;
  std::vector<std::uint32_t> waits_;
  std::vector<Compute> computes_;  ///< by rank
  std::vector<OpId> ready_;
  std::size_t finished_ = 0;
  Progress progress_;
  Timeline timeline_;
};

}  // namespace trainyard
