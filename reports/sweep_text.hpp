// A sweep as text for a terminal.
#pragma once

#include <string>

#include "reports/tables.hpp"
#include "sim/json.hpp"

namespace trainyard {

/// Counts of what became of the variants, the ten best by the first objective, and the commonest
/// reasons why others have no result. `document`: what merge_sweep() returns.
std::string sweep_text(const Json& document);
/// A heading and the ten best by the first objective: place, axes, objectives; empty if there is no
/// number of it. `unset` stands where an axis sets nothing.
Rows best_rows(const Json& document, const std::string& unset);
/// Why variants have no result, and how many each, the commonest first.
struct ReasonCount {
  std::string status, reason;
  std::size_t variants = 0;
};
std::vector<ReasonCount> reason_counts(const Json& document);
/// Variants that are to be simulated: [{"variant", "id", "axes": {…}, "excluded_by"}].
std::string variants_text(const Json& variants);
std::string variants_csv(const Json& variants);
/// How far each shard of a sweep is: {"counts", "shards": [{"shard", "rows", "running"}]}, and
/// perhaps "slurm": {"jobs": [{"part", "job", "states": {"RUNNING": 3}}], "note"}.
std::string sweep_status_text(const Json& status);

}  // namespace trainyard
