// Runs simulations in child processes: one SimGrid engine per process, for good.
#pragma once

#include <functional>
#include <vector>

#include "sim/json.hpp"

namespace trainyard {

/// Runs every task in a forked child of its own, at most `jobs` at a time (0: one per core), and
/// returns what they returned, in order. An exception of a task is thrown again here, of its own
/// type for the kinds of sim/error.hpp (std::runtime_error for others), after all have ended; the
/// first by order. A child that dies is a std::runtime_error that names the signal. SIGINT ends the
/// children and this process as it does any other. `progress` is told how many have ended.
std::vector<Json> run_isolated(const std::vector<std::function<Json()>>& tasks, int jobs = 0,
                               const std::function<void(std::size_t done)>& progress = {});

}  // namespace trainyard
