// One line of progress on stderr for runs that take more than a second.
#pragma once

#include <string_view>

#include "sim/engine.hpp"

namespace trainyard {

/// Silent for the first second; then rewrites one line on a terminal (at most 5 times a second), or
/// writes a line every 10 s elsewhere. Several processes may share the terminal: each writes whole
/// lines. The line is "DOING: 34% of 120 WHAT, …".
Engine::Progress progress_on_stderr(std::string_view doing = "simulating",
                                    std::string_view what = "operations");
/// From now on the same is silent in this process: one run among many tells nobody anything.
void mute_progress();

}  // namespace trainyard
