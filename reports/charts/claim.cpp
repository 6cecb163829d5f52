#include <fmt/format.h>

#include <cmath>

#include "reports/charts/charts.hpp"
#include "reports/tables.hpp"

namespace trainyard {
namespace {

constexpr double kClose = 0.05;  // what the page calls "holds"

// The number with its unit as text: the rows of one column have many units.
Json shown(const Json& row, const Json& value) {
  return Json(show_value(row.at("metric").as_string(), value.as_number()));
}

}  // namespace

std::optional<Chart> claim_chart(const Json& comparison) {
  Chart chart{"claim", "Simulated against claimed", {}, {}, {}, Json::object(), {}};
  chart.columns = {{"metric"},
                   {"run"},
                   {"simulated"},
                   {"claimed"},
                   {"simulated / claimed", Form::kShare},
                   {"simulated, SI", Form::kNumber, "1"},
                   {"claimed, SI", Form::kNumber, "1"}};
  const std::vector<ComparedRun> runs = compared_runs(comparison);
  std::size_t close = 0;
  for (const Json& row : comparison.at("rows").items()) {
    if (row.at("claim").is_null()) continue;
    for (std::size_t i = 0; i < runs.size(); ++i) {
      const Json& claim = row.at("claim").items().at(i);
      const Json& value = row.at("values").items().at(i);
      if (claim.is_null() || claim.as_number() == 0) continue;
      const double ratio = value.as_number() / claim.as_number();
      chart.rows.push_back({row.at("title"), Json(runs[i].label), shown(row, value),
                            shown(row, claim), Json(ratio), value, claim});
      close += std::abs(ratio - 1) <= kClose ? 1 : 0;
    }
  }
  if (chart.rows.empty()) return {};
  chart.summary =
      fmt::format("{} of {} claimed numbers are met within 5%.", close, chart.rows.size());
  chart.more["close"] = Json(kClose);
  chart.more["runs"] = Json::array();
  for (const ComparedRun& run : runs) chart.more["runs"].push_back(Json(run.label));
  return chart;
}

}  // namespace trainyard
