// What a generator makes, as a trace: kernels, messages and collectives before any algorithm is
// chosen, so that other programs can run it.
#pragma once

#include <string>
#include <vector>

#include "sim/scenario.hpp"
#include "sim/trace.hpp"

namespace trainyard {

struct CapturedTrace {
  Trace trace;
  std::vector<std::string> notes;  ///< sentences: what the scenario has and the trace has not
};

/// The iteration of the scenario's first job. Ranks are the job's GPUs from 0. Kernels have the
/// durations that they have alone on their GPU. Throws ScenarioError for a scenario without jobs or
/// one that does not fit together, DesignError where ranks wait for each other without a message.
CapturedTrace capture_trace(const LoadedScenario& loaded);

}  // namespace trainyard
