// The files of an --out folder that hold recordings (docs/results.md).
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/json.hpp"

namespace trainyard {

/// Files by their names below a folder; those without contents are not to be there.
using FolderFiles = std::vector<std::pair<std::string, std::optional<std::string>>>;

/// The files of a document's recordings, and those that another document may have left in this
/// folder.
FolderFiles recording_files(const std::string& directory, const Json& document);

/// The document as result.json or compare.json holds it.
Json without_recordings(const Json& document);

/// Puts the recordings of a folder back into its document. A run that has none stays without.
/// Throws ScenarioError naming the file when one is damaged.
void read_recordings(const std::string& directory, Json& document);

/// time_s and a column for each series: means over the bin that begins then.
std::string utilization_csv(const Json& recording);
/// from,to,tier,direction,capacity_bytes_per_s,carried_bytes,load
std::string links_csv(const Json& recording);
/// rank,stage,stands_for,compute_s,network_s,nvlink_s,host_s,storage_s,bubble_s
std::string accounts_csv(const Json& recording);

}  // namespace trainyard
