// Results as text for a terminal.
#pragma once

#include <string>
#include <vector>

#include "sim/json.hpp"

namespace trainyard {

std::string run_text(const Json& result);
std::string compare_text(const Json& comparison);
/// The table of nccl-tests: size, count, type, redop, root, time, algbw, busbw; then algorithm and
/// protocol. `measured` is the metrics object of a collective job.
std::string collective_text(const Json& measured);

/// Rows of cells in aligned columns, the first to the left and the others to the right.
std::string aligned(const std::vector<std::vector<std::string>>& rows,
                    const std::string& indent = "  ");
/// "4 assumed, 2 derived, 10 sourced; 1 outside its range" of a result's parameters.
std::string parameter_summary(const Json& result);
/// "fell back: all_reduce of 2.147 GB on 32 ranks: sharp: …", one per refused algorithm that
/// mattered.
std::vector<std::string> refusals(const Json& collectives);

}  // namespace trainyard
