// Where the time of each rank went.
#pragma once

#include <span>
#include <vector>

#include "sim/engine.hpp"

namespace trainyard {

/// Seconds of one rank between the start of the run and `end`; the three sum to `end`.
struct RankAccount {
  double compute = 0;  ///< kernels on the compute stream
  double network = 0;  ///< waiting while what it waited for was communication
  double bubble = 0;   ///< waiting while what it waited for was another rank's compute
};

/// Charges every gap on a rank's compute stream to what the last-arriving dependency was doing, and
/// before that to what *its* last dependency was doing, back to the beginning of the gap. The gap
/// after a rank's last kernel is charged along the chain of the operation that ended the run.
/// Operations first … last-1 belong to the job, whose end is the latest of their finishes.
std::vector<RankAccount> account(const OpGraph& graph, const Timeline& timeline,
                                 std::span<const Rank> ranks, std::size_t first, std::size_t last);

}  // namespace trainyard
