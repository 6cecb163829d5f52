// What a replayed trace adds to the reports: communication by group, times by rank, what was
// mended.
#pragma once

#include <string>
#include <vector>

#include "reports/tables.hpp"

namespace trainyard {

/// Job, group, operation, ranks, calls, bytes, time: a row for each group and operation of each job
/// that replays a trace.
Rows communication_rows(const Json& result);
/// Sentences: what the importer mended and noted.
std::vector<std::string> replay_notes(const Json& result);
/// communication.csv and ranks.csv of docs/results.md.
std::string communication_csv(const Json& document);
std::string ranks_csv(const Json& document);

}  // namespace trainyard
