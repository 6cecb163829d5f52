// Where the time of each rank went.
#pragma once

#include <span>
#include <vector>

#include "sim/engine.hpp"
#include "sim/json.hpp"

namespace trainyard {

/// Seconds of one rank between the start of the run and `end`; they sum to `end`.
struct RankAccount {
  double compute = 0;  ///< kernels on the compute stream
  // Waiting, by what it waited for:
  double network = 0;  ///< communication between servers
  double nvlink = 0;   ///< communication inside a server
  double host = 0;     ///< the host
  double storage = 0;  ///< data
  double bubble = 0;   ///< another rank's compute
  double sum() const { return compute + network + nvlink + host + storage + bubble; }
  RankAccount& operator+=(const RankAccount& other);
};
RankAccount operator*(double weight, const RankAccount& account);

/// Writes an account (of one rank or many) as shares of its sum: gpu_utilization,
/// gpu_compute_fraction, gpu_wait_fractions, exposed_comm_fraction (docs/metrics.md).
void add_account(const RankAccount& account, Json& metrics);

/// Charges every gap on a rank's compute stream to what the last-arriving dependency was doing, and
/// before that to what *its* last dependency was doing, back to the beginning of the gap. The gap
/// after a rank's last kernel is charged along the chain of the operation that ended the run.
/// Operations first … last-1 belong to the job, whose end is the latest of their finishes.
std::vector<RankAccount> account(const OpGraph& graph, const Timeline& timeline,
                                 std::span<const Rank> ranks, std::size_t first, std::size_t last);

}  // namespace trainyard
