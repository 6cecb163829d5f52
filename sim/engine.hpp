// Runs an op graph: starts what is ready, slows compute beside communication, records the timeline.
#pragma once

#include <functional>
#include <memory>
#include <queue>
#include <vector>

#include "sim/executor.hpp"
#include "sim/opgraph.hpp"
#include "sim/timeline.hpp"

namespace trainyard {

class Recurrence;

/// How far a run has come; what sim/recurrence.hpp compares.
struct RunState {
  explicit RunState(const OpGraph& graph);
  std::vector<std::uint32_t> count;  ///< iterations that are to be simulated, by op
  std::vector<std::uint32_t> next;   ///< iterations started, by op
  std::vector<std::uint32_t> done;   ///< iterations ended, by op
  std::uint64_t all_done = 0;        ///< iterations ended, of all
  std::uint64_t all = 0;             ///< iterations that are to be simulated, of all
};

class Engine : private Executor::Listener {
 public:
  /// Told now and then how many iterations of operations have ended.
  using Progress = std::function<void(std::size_t done, std::size_t total)>;
  Engine(const OpGraph& graph, Executor& executor, std::size_t ranks, Progress progress = {});
  ~Engine() override;
  /// Looks for a state that recurs and simulates one period for all. Before run(). Without effect
  /// where the executor does not tell what it runs.
  void skip_repetition();
  /// Runs to the end. Throws StuckError when operations are left that can never start.
  Timeline run();
  /// Iterations that were not simulated because their period recurs.
  std::uint64_t skipped() const;

 private:
  struct Kernel {
    OpId op;
    double left = 0;  ///< seconds of work left at `since`
    double rate = 1;  ///< work done per second
    double since = 0;
  };
  /// The compute of one rank.
  struct Gpu {
    std::vector<Kernel> running;    ///< one, but where the graph lets streams overlap
    std::vector<double> slowdowns;  ///< of the communication kernels running on the rank
    double slowest() const;         ///< 1 - the worst of them
  };
  /// What runs one operation at a time.
  struct Queue {
    bool busy = false;
    std::uint32_t freed_by = Timeline::kNone;  ///< record of what it ran last
    std::priority_queue<OpId, std::vector<OpId>, std::greater<>> waiting;
  };

  void ended(const std::vector<OpId>& ops, double now) override;
  void start(OpId op, double now);
  void start_kernel(OpId op, double now);
  void start_ready();
  void finish(OpId op, double now);
  void prepare(OpId op);
  void notify(OpId op, std::uint32_t record, double now);
  void occupy(const Occupancy& occupancy, bool begins, double now);
  void rescale(Gpu& gpu, double now);
  void enqueue(OpId op);
  void serve_queues(double now);
  bool take_queues(OpId op, double now);
  void free_queues(OpId op, std::uint32_t record);
  Gpu& gpu_of(OpId op) { return gpus_[gpu_index_[graph_.rank(op).index()]]; }
  [[noreturn]] void throw_stuck() const;

  const OpGraph& graph_;
  Executor& executor_;
  RunState state_;
  std::vector<std::uint32_t> missing_;    ///< conditions that the next iteration of an op lacks
  std::vector<std::uint32_t> cause_;      ///< record of the last of them that was met
  std::vector<std::uint32_t> gpu_index_;  ///< by rank; kNone without kernels
  std::vector<Gpu> gpus_;
  std::vector<Queue> queues_;
  std::vector<std::uint32_t> touched_;  ///< queues that may have something to start
  std::vector<OpId> ready_;
  Progress progress_;
  Timeline timeline_;
  std::unique_ptr<Recurrence> recurrence_;
};

}  // namespace trainyard
