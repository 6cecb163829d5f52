// Runs simulations in child processes: one SimGrid engine per process, for good.
#pragma once

#include <cstddef>
#include <exception>
#include <functional>
#include <vector>

#include "sim/json.hpp"

namespace trainyard {

using Task = std::function<Json()>;

/// What became of a task.
struct TaskOutcome {
  Json result;
  /// Set when there is no result: the task's exception, of its own type for the kinds of
  /// sim/error.hpp, std::runtime_error for others. A child that dies is a std::runtime_error that
  /// names the signal.
  std::exception_ptr error;
  int signal = 0;  ///< that killed the child; 0: none did
};

/// Runs each task that `next` gives in a forked child of its own, at most `jobs` at a time (0: one
/// per core), until it has none (an empty one) when all have ended. `ended` is told of each as it
/// ends, with its number in the order of `next`. When `stop` says so (looked at twice a second at
/// least), no more are started and the children are killed. A child dies with its parent.
void run_pool(
    const std::function<Task()>& next, int jobs,
    const std::function<void(std::size_t task, TaskOutcome outcome)>& ended,
    const std::function<bool()>& stop = [] { return false; });

/// Runs every task in the pool and returns what they returned, in order. An exception of a task is
/// thrown again here after all have ended; the first by order. SIGINT ends the children and this
/// process as it does any other. `progress` is told how many have ended.
std::vector<Json> run_isolated(const std::vector<Task>& tasks, int jobs = 0,
                               const std::function<void(std::size_t done)>& progress = {});

}  // namespace trainyard
