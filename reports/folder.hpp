// An --out folder: the document and every report on it.
#pragma once

#include <string>

#include "sim/json.hpp"

namespace trainyard {

/// Sees that the folder is there or can be made, and files in it; leaves nothing behind. To be
/// called before a simulation whose result is to go there. Throws UsageError naming the path and
/// the reason; a folder of a sweep is one.
void prepare_folder(const std::string& directory);

/// Writes result.json (or compare.json), the files of the recordings (reports/recording_files.hpp)
/// and all reports that apply, each whole or not at all (a temporary file, then rename), and
/// removes what an earlier document left under those names. Makes the folder. Throws UsageError
/// naming the path and the reason when it cannot.
void write_folder(const std::string& directory, const Json& document);

/// Reads the document of a folder with its recordings, where those are there. Throws ScenarioError
/// when there is none or of another version, or a recording is damaged.
Json read_folder(const std::string& directory);

}  // namespace trainyard
