// What a claim says beyond what its own rows and the hardware allow.
#pragma once

#include <string>
#include <vector>

#include "sim/json.hpp"

namespace trainyard {

/// Whether a claim (null for none) says anything about a result of that name.
bool is_claimed(const std::string& name, const Json& claim);

/// One sentence per finding, computed from the claim and the results it is about: the first and the
/// last of them. Empty with less than two.
std::vector<std::string> claim_contradictions(const std::vector<Json>& results, const Json& claim);

}  // namespace trainyard
