// One line of progress on stderr for runs that take more than a second.
#pragma once

#include "sim/engine.hpp"

namespace trainyard {

/// Silent for the first second; then rewrites one line on a terminal (at most 5 times a second), or
/// writes a line every 10 s elsewhere. Several processes may share the terminal: each writes whole
/// lines.
Engine::Progress progress_on_stderr();

}  // namespace trainyard
