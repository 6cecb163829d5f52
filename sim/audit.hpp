// What the rows of a claim hang on: every assumed parameter is tried at an end of its range.
#pragma once

#include <string>
#include <vector>

#include "sim/run.hpp"

namespace trainyard {

/// A run of a comparison, and how to run it again with something changed.
struct AuditedRun {
  std::string file;
  LoadOptions options;
  std::vector<Parameter> parameters;
  std::string key;  ///< its simulation_key()
  Json result;
  std::vector<ResultPart> parts;
};

/// For each claimed row, which assumed parameters move it, by how much, and whether the claim still
/// holds then. {"tried", "runs": [name…], "rows": [{"metric", "title", "holds", "hangs_on":
/// [{"pointer", "runs": […], "value", "tried", "range", "outside", "change": [relative, per run],
/// "breaks"}]}]}. Each parameter with a range is set to the end that is farther from its value, in
/// the claimed runs that have it so; "hangs_on" are those that move a value of the row by 1% or
/// more, largest first. Runs what has to be simulated anew on all cores.
Json audit_claim(const std::vector<AuditedRun>& runs, const Json& claim);

}  // namespace trainyard
