// Results as CSV: RFC 4180 but LF, a header line, "." decimals, shortest round-trip numbers, SI.
#pragma once

#include <string>
#include <vector>

#include "sim/json.hpp"

namespace trainyard {

/// metric,unit,value; for a comparison metric,unit and per result value, claim, deviation.
std::string metrics_csv(const Json& document);
/// Choices of the collective library: run,where,operation,bytes,ranks,…; one line each.
std::string collectives_csv(const Json& document);
/// run,job,operation,bytes,ranks,time_s,…: a line for each size that a collective job timed.
std::string collective_times_csv(const Json& document);
/// run,pointer,value,kind,low,high,outside,text: where every tagged number comes from.
std::string parameters_csv(const Json& document);

/// run,equipment,count,average_power_w,energy_mwh,capital_usd: a line for each kind of equipment.
std::string equipment_csv(const Json& document);
/// metric,pointer,runs,value,tried,low,high,outside,run,change,breaks: what each claimed row hangs
/// on, a line for each run; the heading alone for a document that was not audited.
std::string audit_csv(const Json& document);

/// The rows of a collective job under the names of nccl-tests, one object per size. `timed` is the
/// job's metrics object. With `measured` (a list of {"bytes", "time_s", "busbw_bytes_per_s"}) each
/// row also has measured_time_us and error, simulated / measured - 1; null where it has no such
/// size.
Json collective_rows(const Json& timed, const Json* measured = nullptr);
std::string collective_csv(const Json& timed, const Json* measured = nullptr);

/// One line. Cells with a comma, quote or line break are quoted; text that a spreadsheet would take
/// for a formula (= + - @ tab CR first) gets an apostrophe before it.
std::string csv_line(const std::vector<Json>& cells);

}  // namespace trainyard
