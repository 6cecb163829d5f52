// Several results side by side, against a claim where there is one.
#pragma once

#include <string>
#include <vector>

#include "sim/json.hpp"

namespace trainyard {

/// {"results": [result…], "rows": [{"metric", "title", "unit", "values": […], "claim": […] | null,
/// "deviation": […] | null}], "claimed_only": [metric…], "notes": [sentence…], "contradictions":
/// [sentence…],
/// "claim_source"}. A row for every compared
/// metric (docs/metrics.md) that all results have; deviation is value / claim - 1. `claim` may be
/// null; else
/// {"source", "rows": {metric: {scenario name: value}}}. A claimed metric that no result has is
/// listed in claimed_only. Nothing simulated depends on the claim.
Json compare_results(std::vector<Json> results, const Json& claim);
/// The "rows" alone. Of each result, "name", "metrics" and "scenario" are looked at.
Json compare_rows(const std::vector<Json>& results, const Json& claim);

/// A claim file, read and checked; null for an empty path. Throws ScenarioError.
Json load_claim(const std::string& path);

}  // namespace trainyard
