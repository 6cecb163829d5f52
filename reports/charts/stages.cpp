#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "reports/charts/charts.hpp"
#include "reports/tables.hpp"

namespace trainyard {
namespace {

struct Part {
  std::string_view key, title;
};
// In the order of the segments of a bar; the keys are those of the colors in page.js.
constexpr std::array kParts{
    Part{"compute", "computing"},         Part{"network", "waiting for network"},
    Part{"nvlink", "NVLink collectives"}, Part{"storage", "waiting for storage"},
    Part{"host", "waiting for the host"}, Part{"bubble", "pipeline bubble"}};

struct Mean {
  std::array<double, kParts.size()> sums{};
  double weight = 0;
  void add(const Json& account) {
    const double stands_for = account.at("stands_for").as_number();
    for (std::size_t i = 0; i < kParts.size(); ++i)
      sums[i] += stands_for * account.at(std::string(kParts[i].key) + "_s").as_number();
    weight += stands_for;
  }
  Json::Array row(const std::string& label) const {
    Json::Array row{Json(label)};
    for (const double sum : sums) row.emplace_back(weight > 0 ? sum / weight : 0);
    return row;
  }
};

const Json* accounts_of(const Json& result) {
  const Json* recording = result.find("recording");
  const Json* accounts = recording != nullptr ? recording->find("accounts") : nullptr;
  return accounts != nullptr && !accounts->items().empty() ? accounts : nullptr;
}

// The shares of a row in words: "stage 0: computing 60%, waiting for network 30%".
std::string in_words(const std::vector<Column>& columns, const Json::Array& row) {
  double total = 0;
  for (std::size_t i = 1; i < row.size(); ++i) total += row[i].as_number();
  std::string text;
  for (std::size_t i = 1; i < row.size(); ++i) {
    const double share = total > 0 ? row[i].as_number() / total : 0;
    if (share < 0.03) continue;
    text += fmt::format("{}{} {:.0f}%", text.empty() ? "" : ", ", columns[i].title, 100 * share);
  }
  return row[0].as_string() + ": " + text;
}

Chart bars(const std::string& title, const std::string& head, Column time) {
  Chart chart{"stages", title, {}, {{head}}, {}, Json::object(), {}};
  chart.more["keys"] = Json::array();
  for (const Part& part : kParts) {
    time.title = part.title;
    chart.columns.push_back(time);
    chart.more["keys"].push_back(Json(part.key));
  }
  return chart;
}

void summarize(Chart& chart) {
  constexpr std::size_t kMost = 2;
  for (std::size_t i = 0; i < std::min(chart.rows.size(), kMost); ++i)
    chart.summary += (i > 0 ? "; " : "") + in_words(chart.columns, chart.rows[i]);
  if (chart.rows.size() > kMost)
    chart.summary += fmt::format("; {} more below", chart.rows.size() - kMost);
  chart.summary += ".";
}

// The title that metrics have for a wait.
std::string wait_title(const std::string& key) {
  const Metric* metric = find_metric("gpu_wait_fractions." + key);
  return metric != nullptr ? std::string(metric->title) : "waiting: " + key;
}

// The column of a wait, made where it is new.
std::size_t column_of(Chart& chart, const std::string& key) {
  Json::Array& keys = chart.more["keys"].items();
  const auto found = std::find(keys.begin(), keys.end(), Json(key));
  if (found != keys.end()) return static_cast<std::size_t>(found - keys.begin()) + 1;
  keys.emplace_back(key);
  Column column = chart.columns.at(1);
  column.title = wait_title(key);
  chart.columns.push_back(std::move(column));
  for (Json::Array& row : chart.rows) row.emplace_back(0.0);
  return keys.size();
}

bool in_days(const NamedResults& runs) {
  return std::all_of(runs.begin(), runs.end(), [](const NamedResult& run) {
    return metric_value(run.result->at("metrics"), "training_days").has_value();
  });
}

void add_job(Chart& chart, const NamedResult& run, const char* unit) {
  const Json& values = run.result->at("metrics");
  const Json* waits = values.find("gpu_wait_fractions");
  const auto whole = metric_value(values, unit);
  if (waits == nullptr || !whole) return;
  chart.rows.push_back({Json(run.label)});
  chart.rows.back().resize(chart.columns.size(), Json(0.0));
  double computing = 1;
  for (const auto& [key, share] : waits->members()) {
    const std::size_t column = column_of(chart, key);
    chart.rows.back()[column] = Json(share.as_number() * *whole);
    computing -= share.as_number();
  }
  chart.rows.back()[1] = Json(std::max(computing, 0.0) * *whole);
}

}  // namespace

std::optional<Chart> job_time_chart(const NamedResults& runs) {
  const bool days = in_days(runs);
  Chart chart = bars(days ? "Where the GPU time of the job goes" : "Where the GPU time goes", "run",
                     days ? Column{{}, Form::kNumber, "d"} : Column{{}, Form::kSeconds, {}});
  for (const NamedResult& run : runs) add_job(chart, run, days ? "training_days" : "step_time_s");
  if (chart.rows.empty()) return {};
  summarize(chart);
  return chart;
}

std::optional<Chart> stage_time_chart(const Json& result) {
  const Json* accounts = accounts_of(result);
  if (accounts == nullptr) return {};
  std::map<std::int64_t, Mean> stages;
  for (const Json& account : accounts->items())
    stages[account.at("stage").as_integer()].add(account);
  Chart chart =
      bars("Where an iteration's time goes, by pipeline stage", "stage", {{}, Form::kSeconds, {}});
  for (const auto& [stage, mean] : stages)
    chart.rows.push_back(mean.row(fmt::format("stage {}", stage)));
  summarize(chart);
  return chart;
}

std::optional<Chart> iteration_time_chart(const NamedResults& runs) {
  Chart chart = bars("Where an iteration's time goes", "run", {{}, Form::kSeconds, {}});
  for (const NamedResult& run : runs) {
    const Json* accounts = accounts_of(*run.result);
    if (accounts == nullptr) return {};
    Mean mean;
    for (const Json& account : accounts->items()) mean.add(account);
    chart.rows.push_back(mean.row(run.label));
  }
  if (chart.rows.empty()) return {};
  summarize(chart);
  return chart;
}

}  // namespace trainyard
