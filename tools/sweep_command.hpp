// What several subcommands of sweep do.
#pragma once

#include <string>
#include <utility>

#include "sim/json.hpp"
#include "tools/commands.hpp"
#include "tools/sweep/store.hpp"

namespace trainyard {

/// The sweep that the options mean, and its folder.
std::pair<Sweep, std::string> find_sweep(const SweepOptions& options);
/// Throws UsageError for more variants than anybody wants by chance, unless the options say so.
void check_size(const Sweep& sweep, const SweepOptions& options);
/// Holds the folder for the sweep. Throws where rows of another program are in it.
void hold_folder(SweepStore& store, const Sweep& sweep, bool restart);

/// Whether the folder is one that sweep run or submit wrote.
bool has_sweep(const std::string& directory);
/// Writes the tables and the page of a sweep's folder again.
void report_sweep(const std::string& directory);

/// What Slurm says of the jobs that a sweep was submitted as: {"jobs": [{"part", "job", "states":
/// {"RUNNING": 3}}], "note": why there may be no states, or empty}; null when it was not submitted.
Json slurm_status(const SweepStore& store);

}  // namespace trainyard
