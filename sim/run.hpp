// A scenario in, a result out: the story of the program.
#pragma once

#include "sim/json.hpp"
#include "sim/scenario.hpp"

namespace trainyard {

/// Simulates the jobs and every probe, each in a process of its own, and returns result.json
/// (docs/results.md). Throws what loading, lowering and running throw (sim/error.hpp).
Json run_scenario(LoadedScenario& loaded);

/// Several scenarios at once, as many processes as cores. In order.
std::vector<Json> run_scenarios(std::vector<LoadedScenario>& loaded);

}  // namespace trainyard
