// How far a sweep is, on standard error.
#pragma once

#include <functional>
#include <string>

#include "tools/sweep/runner.hpp"

namespace trainyard {

/// "auto": one line that is rewritten on a terminal, 5 times a second at most, and a line every 30
/// s elsewhere; "always": the rewritten line anywhere; "json": an object a second, for programs;
/// "never". A line has done and all, failures, rate and time left. The last state is always told.
std::function<void(const SweepState&)> sweep_progress(const std::string& mode);

}  // namespace trainyard
