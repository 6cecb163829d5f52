// result.json: what a run reports. The contract is docs/results.md.
#pragma once

#include <vector>

#include "sim/engine.hpp"
#include "sim/json.hpp"
#include "sim/lowering.hpp"
#include "sim/scenario.hpp"

namespace trainyard {

/// A job's operations beside its iteration.
struct JobOps {
  std::vector<OpId> loading, draining;
};
/// What one simulation found, as its process hands it over: metrics per job, choices, counts.
Json measure_run(const std::vector<Job>& jobs, const std::vector<JobOps>& ops,
                 const Lowering& lowering, const Timeline& timeline);

/// Throws std::logic_error when a resource carried more than its capacity allows over the run, or
/// time ran backwards: the invariants of every run.
void check_invariants(const Topology& topology, const OpGraph& graph, const Timeline& timeline);

/// One of the simulations behind a result.
struct ResultPart {
  enum class Kind {
    kJobs,       ///< an iteration of every job
    kWrite,      ///< a checkpoint of job `job` into storage
    kRead,       ///< and back
    kRecording,  ///< an iteration of every job, recorded
    kDraining,   ///< an iteration of every job beside its checkpoint
    kProbe,      ///< the probe of that name
  };
  Kind kind = Kind::kJobs;
  std::string probe;
  std::size_t job = 0;
  Json found = {};
};
/// The result of a scenario from its parts.
Json assemble_result(LoadedScenario& loaded, const Topology& topology,
                     const std::vector<ResultPart>& parts);

}  // namespace trainyard
