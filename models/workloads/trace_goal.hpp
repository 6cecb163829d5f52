// GOAL text of a trace. docs/traces.md.
#pragma once

#include <string>
#include <vector>

#include "sim/trace.hpp"

namespace trainyard {

/// Writes the file, packed where it ends in ".gz". Returns what GOAL cannot hold, each as a
/// sentence with a count. Throws UsageError where it cannot be written at all.
std::vector<std::string> write_goal(const Trace& trace, const std::string& path);

}  // namespace trainyard
