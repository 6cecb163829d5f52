// The critical path of a recording ("critical_path", docs/results.md) as text and CSV.
#pragma once

#include <string>

#include "sim/json.hpp"

namespace trainyard {

/// What the step hangs on, for a terminal: the labels that gain most, then the first segments; a
/// sentence where the recording has no critical path.
std::string critical_text(const Json& recording);

/// rank,name,role,number,start_s,duration_s,gain_s: the path in order of time. The recording must
/// have one, as below.
std::string critical_csv(const Json& recording);
/// name,role,stream,time_s,share,gain_s,gain_10_percent_s: what gains most first.
std::string critical_labels_csv(const Json& recording);

}  // namespace trainyard
