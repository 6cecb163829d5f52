// The part of the page that is about one run.
#pragma once

#include <string>

#include "sim/json.hpp"

namespace trainyard {

/// A section under a heading of that level; `label` is the run's name, text; `id` its anchor.
std::string run_section(const Json& result, const std::string& label, const std::string& id,
                        int level);

}  // namespace trainyard
