// Runs the variants of a shard that have no row yet, on all cores of this machine.
#pragma once

#include <cstdint>
#include <functional>

#include "tools/sweep/store.hpp"
#include "tools/sweep/sweep.hpp"

namespace trainyard {

struct SweepRunOptions {
  int jobs = 0;  ///< simulations at a time; 0: one per core
  Shard shard;
  bool retry_failed = false;  ///< simulate again what a crash or a signal ended
};

/// How far a run of a shard is.
struct SweepState {
  std::uint64_t all = 0;     ///< variants of the shard, once each
  std::uint64_t before = 0;  ///< that had a row already
  std::uint64_t done = 0;    ///< simulated by now
  std::uint64_t failed = 0;  ///< of those, without a result (excluded ones are not counted)
  bool interrupted = false;
};

/// Appends a row for every variant of the shard that has none. Holds in memory the ids of those
/// that have, and nothing of the rows. A simulation that a signal kills is tried three times, then
/// its row says so. `progress` is told after each row. SIGINT, SIGTERM and SIGHUP end the run
/// early, with all rows whole. Throws UsageError when the folder cannot be written.
SweepState run_sweep(const Sweep& sweep, const SweepStore& store, const SweepRunOptions& options,
                     const std::function<void(const SweepState&)>& progress);

}  // namespace trainyard
