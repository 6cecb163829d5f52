// A scenario in, a result out: the story of the program.
#pragma once

#include <string>
#include <vector>

#include "sim/json.hpp"
#include "sim/recording.hpp"
#include "sim/result.hpp"
#include "sim/scenario.hpp"

namespace trainyard {

/// Simulates the jobs and every probe, each in a process of its own, and returns result.json
/// (docs/results.md), at most `processes` at a time (0: one per core). Throws what loading,
/// lowering and running throw (sim/error.hpp).
Json run_scenario(LoadedScenario& loaded, int processes = 0);

/// Several scenarios at once. In order. `parts`, if given, receives
/// what each result was put together from. With `recording`, the jobs of each are simulated once
/// more and recorded; their results are the same without.
std::vector<Json> run_scenarios(std::vector<LoadedScenario>& loaded,
                                std::vector<std::vector<ResultPart>>* parts = nullptr,
                                const RecordingOptions* recording = nullptr, int processes = 0);

/// Simulates the first iteration of the jobs on stock SimGrid and has SimGrid write it as a Paje
/// file. Throws what running throws, and UsageError when the file cannot be written.
void write_paje(LoadedScenario& loaded, const std::string& path);

/// Takes the "recording" member of docs/results.md out of a scenario's parts; null where there is
/// none.
Json take_recording(std::vector<ResultPart>& parts);

/// The result of a scenario from simulations of another that simulation_key() cannot tell from it.
Json finish_scenario(LoadedScenario& loaded, const std::vector<ResultPart>& parts);

/// The resolved scenario without what only the accounts after simulating read: watts, prices, the
/// site, appliances, failures, how long the job is. Scenarios with the same key simulate the same.
std::string simulation_key(LoadedScenario& loaded);

}  // namespace trainyard
