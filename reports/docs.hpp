// Generated pages of the documentation.
#pragma once

#include <string>

namespace trainyard {

/// docs/metrics.md: every metric with unit and definition, from sim/metrics.cpp.
std::string metrics_markdown();

}  // namespace trainyard
