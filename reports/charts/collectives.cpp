#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "reports/charts/charts.hpp"
#include "reports/tables.hpp"
#include "sim/units.hpp"

namespace trainyard {
namespace {

void add_rows(Chart& chart, const std::string& name, const Json& job) {
  for (const Json& row : job.at("metrics").at("rows").items()) {
    const auto measured = measured_time(job.find("measured"), row.at("size_bytes").as_number());
    chart.rows.push_back({Json(name), Json("simulated"), row.at("size_bytes"), row.at("ranks"),
                          row.at("time_s"), row.at("algbw_bytes_per_s"),
                          row.at("busbw_bytes_per_s"), row.at("algorithm"), row.at("protocol"),
                          measured ? Json(*measured) : Json(),
                          measured ? Json(row.at("time_s").as_number() / *measured - 1) : Json()});
  }
}

void add_measured(Chart& chart, const std::string& name, const Json& job) {
  const Json* measured = job.find("measured");
  if (measured == nullptr) return;
  for (const Json& row : measured->items()) {
    const Json* bandwidth = row.find("busbw_bytes_per_s");
    const Json* time = row.find("time_s");
    chart.rows.push_back(
        {Json(name), Json("measured"), row.at("bytes"), Json(), time != nullptr ? *time : Json(),
         Json(), bandwidth != nullptr ? *bandwidth : Json(), Json(), Json(), Json(), Json()});
  }
}

void add_jobs(Chart& chart, const NamedResult& run, bool named) {
  const Json* jobs = run.result->find("jobs");
  if (jobs == nullptr) return;
  for (const Json& job : jobs->items()) {
    if (job.at("metrics").find("rows") == nullptr) continue;
    const std::string name =
        (named ? run.label + ": " : std::string()) + job.at("name").as_string();
    add_rows(chart, name, job);
    add_measured(chart, name, job);
  }
}

enum Place : std::size_t { kSource = 1, kBandwidth = 6, kMeasured = 9, kError = 10 };

std::string summary(const Chart& chart) {
  double highest = 0, errors = 0;
  std::size_t measured = 0, compared = 0;
  for (const Json::Array& row : chart.rows) {
    if (row[kSource] == Json("measured")) {
      ++measured;
      continue;
    }
    highest = std::max(highest, row[kBandwidth].as_number());
    if (!row[kError].is_number()) continue;
    ++compared;
    errors += std::abs(row[kError].as_number());
  }
  std::string text =
      fmt::format("{} simulated and {} measured points; the highest simulated bus bandwidth is {}.",
                  chart.rows.size() - measured, measured, show(BytesPerSecond::of(highest)));
  if (compared > 0)
    text += fmt::format(" Mean absolute error of the time: {:.1f}%, over {} measured {}.",
                        100 * errors / static_cast<double>(compared), compared,
                        compared == 1 ? "size" : "sizes");
  return text;
}

// Without the columns of measurements where there are none.
void drop_measured(Chart& chart) {
  const auto has = [](const Json::Array& row) { return row[kMeasured].is_number(); };
  if (std::any_of(chart.rows.begin(), chart.rows.end(), has)) return;
  chart.columns.resize(kMeasured);
  for (Json::Array& row : chart.rows) row.resize(kMeasured);
}

}  // namespace

std::optional<Chart> collectives_chart(const NamedResults& runs) {
  Chart chart{
      "collectives", "Collectives: bus bandwidth and time by size", {}, {}, {}, Json::object(), {}};
  chart.columns = {{"job"},
                   {"source"},
                   {"size", Form::kSize},
                   {"ranks", Form::kNumber, "1"},
                   {"time", Form::kSeconds},
                   {"algorithm bandwidth", Form::kRate},
                   {"bus bandwidth", Form::kRate},
                   {"algorithm"},
                   {"protocol"},
                   {"measured time", Form::kSeconds},
                   {"simulated / measured - 1", Form::kShare}};
  for (const NamedResult& run : runs) add_jobs(chart, run, runs.size() > 1);
  if (chart.rows.empty()) return {};
  chart.summary = summary(chart);
  drop_measured(chart);
  return chart;
}

}  // namespace trainyard
