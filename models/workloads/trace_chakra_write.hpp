// The writer of Chakra traces, and what its reader must know of its files.
#pragma once

#include <string>
#include <vector>

#include "sim/trace.hpp"

namespace trainyard::chakra {

/// Of groups, beside the trace, alone or behind "PREFIX.".
constexpr const char* kGroupsFile = "comm_group.json";

/// TraceFormat::write().
std::vector<std::string> write_trace(const Trace& trace, const std::string& path);

}  // namespace trainyard::chakra
