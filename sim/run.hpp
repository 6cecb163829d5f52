// A scenario in, a result out: the story of the program.
#pragma once

#include <string>
#include <vector>

#include "sim/json.hpp"
#include "sim/result.hpp"
#include "sim/scenario.hpp"

namespace trainyard {

/// Simulates the jobs and every probe, each in a process of its own, and returns result.json
/// (docs/results.md). Throws what loading, lowering and running throw (sim/error.hpp).
Json run_scenario(LoadedScenario& loaded);

/// Several scenarios at once, as many processes as cores. In order. `parts`, if given, receives
/// what each result was put together from.
std::vector<Json> run_scenarios(std::vector<LoadedScenario>& loaded,
                                std::vector<std::vector<ResultPart>>* parts = nullptr);

/// The result of a scenario from simulations of another that simulation_key() cannot tell from it.
Json finish_scenario(LoadedScenario& loaded, const std::vector<ResultPart>& parts);

/// The resolved scenario without what only the accounts after simulating read: watts, prices, the
/// site, appliances, failures, how long the job is. Scenarios with the same key simulate the same.
std::string simulation_key(LoadedScenario& loaded);

}  // namespace trainyard
