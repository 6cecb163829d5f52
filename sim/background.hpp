// Traffic beside a job's iterations: training data, and checkpoints on their way to storage.
#pragma once

#include <string>
#include <vector>

#include "sim/lowering.hpp"
#include "sim/scenario.hpp"

namespace trainyard {

/// Bytes of a checkpoint of this job; zero when it takes none.
Bytes checkpoint_bytes(const Job& job);
/// Throws DesignError when the training cannot be done with this workload and storage. Pointers are
/// relative to the training.
void check_training(const Cluster& cluster, const Job& job);
/// A flow beside what workloads add. It is announced to the lowering first, so that what is folded
/// takes it into account, and added later.
struct BackgroundFlow {
  std::size_t index;  ///< in Lowering::background()
  Rank rank;
  Bytes bytes;
  std::string label;
};
/// Announces one flow per server that loads the data of one iteration, its preprocessing included;
/// none when the job loads nothing.
std::vector<BackgroundFlow> announce_loading(Lowering& lowering, const Job& job);
/// Announces one flow per writing (reading) server, which together move one checkpoint.
std::vector<BackgroundFlow> announce_checkpoint(Lowering& lowering, const Job& job, bool write);
/// Adds what was announced. Returns the flows' operations.
std::vector<OpId> add_background(Lowering& lowering, const std::vector<BackgroundFlow>& flows);
/// Makes every operation first … last-1 that waits for nothing wait for the data of its server.
void wait_for_data(OpGraph& graph, const Topology& topology, const std::vector<OpId>& loading,
                   std::size_t first, std::size_t last);

}  // namespace trainyard
