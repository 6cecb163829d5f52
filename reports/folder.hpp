// An --out folder: the document and every report on it.
#pragma once

#include <string>

#include "sim/json.hpp"

namespace trainyard {

/// Writes result.json (or compare.json) and all reports that apply, each whole or not at all (a
/// temporary file, then rename), and removes what an earlier document left under those names. Makes
/// the folder. Throws UsageError naming the path and the reason when it cannot.
void write_folder(const std::string& directory, const Json& document);

/// Reads the document of a folder. Throws ScenarioError when there is none or of another version.
Json read_folder(const std::string& directory);

}  // namespace trainyard
