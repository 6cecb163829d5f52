#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "reports/charts/charts.hpp"

namespace trainyard {
namespace {

double mean(const Json::Array& values) {
  const double sum = std::accumulate(values.begin(), values.end(), 0.0,
                                     [](double s, const Json& v) { return s + v.as_number(); });
  return values.empty() ? 0 : sum / static_cast<double>(values.size());
}

Table means(const Json& columns) {
  Table table{"Utilization, mean and highest bin",
              {"of", "resource", "mean", "highest"},
              "llrr",
              {},
              {},
              {}};
  for (const Json& column : columns.items()) {
    double highest = 0;
    for (const Json& value : column.at("values").items())
      highest = std::max(highest, value.as_number());
    table.rows.push_back({column.at("title").as_string(), column.at("resource").as_string(),
                          fmt::format("{:.2f}%", 100 * mean(column.at("values").items())),
                          fmt::format("{:.2f}%", 100 * highest)});
  }
  return table;
}

bool is_zero(const Json& column) {
  const auto& values = column.at("values").items();
  return std::all_of(values.begin(), values.end(),
                     [](const Json& value) { return value.as_number() == 0; });
}

// Without what would say that NVLinks idle although their time is in pauses, as a note says.
Json shown_columns(const Json& series, const std::vector<std::string>& notes) {
  const bool paused = std::any_of(notes.begin(), notes.end(), [](const std::string& note) {
    return note.find("NVLink") != std::string::npos;
  });
  Json columns = Json::array();
  for (const Json& column : series.at("columns").items()) {
    if (!paused || column.at("key") != Json("nvlink") || !is_zero(column))
      columns.push_back(column);
  }
  return columns;
}

void add_column(Chart& chart, const Json& column) {
  const auto& values = column.at("values").items();
  chart.columns.push_back({column.at("title").as_string(), Form::kShare});
  chart.more["keys"].push_back(column.at("key"));
  for (std::size_t i = 0; i < chart.rows.size(); ++i) chart.rows[i].push_back(values.at(i));
  chart.summary +=
      fmt::format("{}{} {:.1f}%", chart.summary.empty() ? "Mean shares of capacity: " : ", ",
                  column.at("title").as_string(), 100 * mean(values));
}

}  // namespace

std::optional<Chart> utilization_chart(const Json& result) {
  const Json* recording = result.find("recording");
  const Json* series = recording != nullptr ? recording->find("series") : nullptr;
  if (series == nullptr) return {};
  const std::vector<std::string> notes = recording_notes(*recording, true);
  const Json columns = shown_columns(*series, notes);
  if (columns.items().empty()) return {};
  Chart chart{"utilization",
              "Utilization over time",
              {},
              {{"time", Form::kSeconds}},
              {},
              Json::object(),
              {}};
  const double bin = series->at("bin_s").as_number();
  chart.rows.resize(static_cast<std::size_t>(series->at("bins").as_integer()));
  for (std::size_t i = 0; i < chart.rows.size(); ++i)
    chart.rows[i].emplace_back(bin * static_cast<double>(i));
  chart.more["bin_s"] = series->at("bin_s");
  chart.more["keys"] = Json::array();
  for (const Json& column : columns.items()) add_column(chart, column);
  chart.summary += "." + sentences(notes);
  chart.tables = {means(columns)};
  return chart;
}

}  // namespace trainyard
