#include <fmt/format.h>

#include "reports/charts/charts.hpp"

namespace trainyard {

std::optional<Chart> equipment_chart(const NamedResults& runs) {
  Chart chart{"equipment", "Power, energy and capital by equipment", {}, {}, {}, Json::object(),
              {}};
  chart.columns = {{"run"},
                   {"equipment"},
                   {"count", Form::kNumber, "1"},
                   {"mean power", Form::kNumber, "W"},
                   {"energy", Form::kNumber, "MWh"},
                   {"capital", Form::kNumber, "USD"}};
  chart.more["runs"] = Json::array();
  for (const NamedResult& run : runs) {
    chart.more["runs"].push_back(Json(run.label));
    const Json* all = run.result->at("metrics").find("equipment");
    if (all == nullptr) continue;
    double energy = 0, capital = 0;
    for (const Json& e : all->items()) {
      chart.rows.push_back({Json(run.label), e.at("equipment"), e.at("count"),
                            e.at("average_power_w"), e.at("energy_mwh"), e.at("capital_usd")});
      energy += e.at("energy_mwh").as_number();
      capital += e.at("capital_usd").as_number();
    }
    chart.summary += fmt::format(
        "{}{}: {} in the equipment, capital {}", chart.summary.empty() ? "" : "; ", run.label,
        show_cell(chart.columns[4], Json(energy)), show_cell(chart.columns[5], Json(capital)));
  }
  if (chart.rows.empty()) return {};
  chart.summary += ".";
  return chart;
}

}  // namespace trainyard
