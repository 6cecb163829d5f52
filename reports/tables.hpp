// What the terminal and the page both show of a document, as cells of plain text. Nothing here is
// escaped: whoever prints a cell makes it fit for its medium.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/json.hpp"
#include "sim/metrics.hpp"

namespace trainyard {

using Cells = std::vector<std::string>;
using Rows = std::vector<Cells>;

/// The number for people with its unit: "11.2 s", "280,814/s", "147.6 TFLOPS", "43.10%".
std::string show_value(const Metric& metric, double value);
/// The same for a key; a key of no known metric gives the bare number.
std::string show_value(std::string_view key, double value);

/// Title and value of every known metric in a "metrics" object.
Rows metric_rows(const Json& metrics);
/// What a GPU spends its time on: computing, then each wait; its share, and its time of the job or,
/// without one, of an iteration. Empty without "gpu_wait_fractions".
Rows gpu_time_rows(const Json& metrics);
/// probe, size, ranks, time, algbw, busbw, algorithm, protocol.
Rows probe_rows(const Json& result);
/// where, operation, size, ranks, servers, algorithm, protocol, calls, idle time, could not use.
Rows choice_rows(const Json& result);
/// job, size, ranks, time, algbw, busbw, algorithm, protocol of every job that timed collectives.
Rows timed_rows(const Json& result);

/// "13 assumed, 12 derived, 33 sourced; 1 outside their range" of a result's parameters.
std::string parameter_summary(const Json& result);
/// The value as written in the scenario: text without quotes, anything else as JSON.
std::string written(const Json& value);
/// "0.5 to 0.9", or empty without a range.
std::string range_of(const Json& parameter);
/// One sentence for each parameter outside its range, beginning with its pointer.
std::vector<std::string> outside_parameters(const Json& result);
/// One sentence for each collective of several servers that some algorithm could not do; sorted.
std::vector<std::string> refusals(const Json& result);

/// equipment, count, mean power, energy, capital of a "metrics" object; empty without a site.
Rows equipment_rows(const Json& metrics);

/// The measured time of a collective of that size, in seconds; the mean where there are several, as
/// of a table run twice. `measured` is the member of that name of a job, or null.
std::optional<double> measured_time(const Json* measured, double bytes);

/// What a claimed row hangs on.
struct AuditedRow {
  std::string title;
  bool holds = false;
  /// parameter, in which runs, value, tried, range, change of the row, whether it still holds.
  Rows effects;
  std::vector<bool> outside;  ///< by effect: its value lies outside its range
};
/// Empty where a comparison was not audited.
std::vector<AuditedRow> audited_rows(const Json& comparison);
/// "traditional / dpu": the runs whose changes stand beside each other; empty without an audit.
std::string audited_runs(const Json& comparison);
/// What the rows of a comparison do not say by themselves.
std::vector<std::string> comparison_notes(const Json& comparison);
/// "rows of the first of 2 jobs, NAME" for a result of several jobs; else empty.
std::string first_of_jobs(const Json& result);
/// One sentence for each thing in the claim that cannot be.
std::vector<std::string> contradictions(const Json& comparison);

/// One result of a comparison.
struct ComparedRun {
  std::string label;     ///< its name, with a number after it where an earlier one has the same
  bool claimed = false;  ///< the claim says something about it
};
std::vector<ComparedRun> compared_runs(const Json& comparison);
/// The title; for each run the simulated value and, if it is claimed, claim and deviation; the
/// ratio of the last to the first. A dash where there is none.
Cells compared_cells(const Json& row, const std::vector<ComparedRun>& runs);
/// Features that were asked for and cannot act; what was simulated once for several, and what was
/// not, with the reasons.
std::vector<std::string> simulation_notes(const Json& result);
/// "a, b" of what is claimed and no result has; empty if there is none.
std::string claimed_only(const Json& comparison);

}  // namespace trainyard
