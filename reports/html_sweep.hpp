// The page of a sweep: many variants of a scenario.
#pragma once

#include <string>

#include "sim/json.hpp"

namespace trainyard {

/// Counts, charts, a table of the first variants, why some have no result; markup.
std::string sweep_body(const Json& sweep);

}  // namespace trainyard
