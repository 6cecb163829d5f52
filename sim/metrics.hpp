// The table of everything that a result reports: one list generates docs, CSV and compare rows.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/json.hpp"

namespace trainyard {

struct Metric {
  std::string_view key;      ///< in result.json below "metrics"; a dot steps into an object
  std::string_view title;    ///< for tables
  std::string_view unit;     ///< SI, or "1" for fractions
  std::string_view formula;  ///< for docs/metrics.md
  enum class Show { kSeconds, kFraction, kNumber, kBytes, kRate } show = Show::kNumber;
  bool compared = true;  ///< a row of `compare`
  /// Not empty: only in comparisons, that metric / the same of the baseline run.
  std::string_view ratio_of = {};
};

std::span<const Metric> metrics();
/// The metric of that key; null when there is none.
const Metric* find_metric(std::string_view key);
/// A metric that only some scenarios have.
struct MetricName {
  std::string key, title, unit;
};
/// What a probe of that name adds to "metrics": its time and bandwidths.
std::vector<MetricName> probe_metrics(const std::string& probe);
/// Whether more of it is better; of the others less is, or neither.
bool higher_is_better(std::string_view key);
/// The metric's number in a "metrics" object, if it is there.
std::optional<double> metric_value(const Json& metrics, std::string_view key);
/// The number for people: "18.42 ms", "43.1%", "1.23e+06 tokens/s".
std::string show_metric(const Metric& metric, double value);

}  // namespace trainyard
