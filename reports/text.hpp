// Results as text for a terminal. What a scenario put into a name cannot move the cursor: control
// characters come out as "?".
#pragma once

#include <string>
#include <vector>

#include "sim/json.hpp"

namespace trainyard {

/// Metrics, probes, where the GPU time goes, what the collective library chose, what is inactive
/// and where the parameters come from.
std::string run_text(const Json& result);
/// A line for each compared metric: simulated, claim and deviation of each run, and the ratio; then
/// what to know before believing it.
std::string compare_text(const Json& comparison);
/// The table of nccl-tests: size, count, type, redop, root, time, algbw, busbw; then algorithm and
/// protocol. `timed` is the metrics object of a collective job. With `measured` (as
/// collective_rows() takes it) also the measured time and the error, and below the mean of the
/// errors' absolutes.
std::string collective_text(const Json& timed, const Json* measured = nullptr);

/// Rows of cells in aligned columns, the first to the left and the others to the right.
std::string aligned(const std::vector<std::vector<std::string>>& rows,
                    const std::string& indent = "  ");
/// Columns that the text takes on a terminal: one for each character.
std::size_t width(const std::string& text);
/// The text with a "?" for each control character.
std::string printable(const std::string& text);
/// The sentences, each on a line of its own.
std::string lines(const std::vector<std::string>& sentences, const std::string& indent);

}  // namespace trainyard
