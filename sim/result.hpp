// result.json: what a run reports. The contract is docs/results.md.
#pragma once

#include <vector>

#include "sim/engine.hpp"
#include "sim/json.hpp"
#include "sim/lowering.hpp"
#include "sim/scenario.hpp"

namespace trainyard {

/// What one simulation found, as its process hands it over: metrics per job, choices, counts.
Json measure_run(const std::vector<Job>& jobs, const Lowering& lowering, const Timeline& timeline);

/// Throws std::logic_error when a resource carried more than its capacity allows over the run, or
/// time ran backwards: the invariants of every run.
void check_invariants(const Topology& topology, const OpGraph& graph, const Timeline& timeline);

/// The result of a scenario from its parts: the jobs' run (if there are jobs), then the probes'.
Json assemble_result(LoadedScenario& loaded, const std::vector<Json>& parts);

}  // namespace trainyard
