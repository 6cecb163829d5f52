#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "reports/charts/charts.hpp"
#include "sim/metrics.hpp"

namespace trainyard {
namespace {

// Places among the sweep's metrics in the order of the table: the objectives, what comparisons
// show, the rest.
struct Order {
  std::vector<std::size_t> places;
  std::size_t leading = 0;  ///< of them: all but the rest
};

bool is_compared(const std::string& key) {
  const Metric* metric = find_metric(key);
  return metric != nullptr && metric->compared;
}

Order order_of(const Json& sweep) {
  const auto& all = sweep.at("metrics").items();
  Order order;
  std::vector<bool> taken(all.size());
  const auto take = [&](auto&& wanted) {
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (taken[i] || !wanted(all[i].at("key"))) continue;
      taken[i] = true;
      order.places.push_back(i);
    }
  };
  for (const Json& objective : sweep.at("objectives").items())
    take([&](const Json& key) { return key == objective; });
  take([](const Json& key) { return is_compared(key.as_string()); });
  order.leading = order.places.size();
  take([](const Json&) { return true; });
  return order;
}

std::vector<Column> columns_of(const Json& sweep, const Order& order) {
  std::vector<Column> columns{{"variant"}, {"state"}};
  for (const Json& axis : sweep.at("axes").items())
    columns.push_back({axis.at("name").as_string(), Form::kText, {}, "not set"});
  for (const std::size_t place : order.places) {
    const Json& metric = sweep.at("metrics").items()[place];
    columns.push_back(metric_column(metric.at("key").as_string(), metric.at("title").as_string(),
                                    metric.at("unit").as_string()));
  }
  columns.push_back({"reason"});
  return columns;
}

// A value of an axis as text; null where it sets nothing.
Json axis_value(const Json& value) {
  return value.is_null() || value.is_string() ? value : Json(dump_json(value, -1));
}

// The variants of a document are the first of the sweep, in its order.
Json::Array row_of(const Json& variant, std::size_t number, const Order& order) {
  Json::Array row{Json(number), variant.at("status")};
  for (const Json& value : variant.at("axes").items()) row.push_back(axis_value(value));
  for (const std::size_t place : order.places)
    row.push_back(variant.at("values").items().at(place));
  row.push_back(variant.at("reason"));
  return row;
}

// What the drawing needs of axes, metrics and objectives.
Json about(const Json& sweep, const Order& order) {
  Json more = Json::object();
  more["axes"] = sweep.at("axes");
  for (Json& axis : more["axes"].items()) {
    for (Json& value : axis["values"].items()) value = axis_value(value);
  }
  more["metrics"] = Json::array();
  for (const std::size_t place : order.places) {
    Json metric = sweep.at("metrics").items()[place];
    metric["higher_is_better"] = Json(higher_is_better(metric.at("key").as_string()));
    more["metrics"].push_back(std::move(metric));
  }
  more["objectives"] = sweep.at("objectives");
  more["leading"] = Json(2 + sweep.at("axes").items().size() + order.leading);
  more["clip"] = Json(kClip);
  return more;
}

std::size_t simulated(const Json& sweep) {
  const auto& variants = sweep.at("variants").items();
  return static_cast<std::size_t>(
      std::count_if(variants.begin(), variants.end(),
                    [](const Json& v) { return v.at("status") == Json("ok"); }));
}

bool has_numbers(const Json& sweep) {
  return simulated(sweep) > 0 && !sweep.at("metrics").items().empty();
}

// The columns of the variants, which the chart draws from another figure.
Chart drawing(const char* kind, const char* title, std::string summary) {
  return {kind, title, std::move(summary), {}, {}, Json::object(), std::vector<Table>{}};
}

}  // namespace

std::optional<Chart> variants_chart(const Json& sweep) {
  if (sweep.at("variants").items().empty()) return {};
  constexpr std::size_t kShown = 200;
  const auto& variants = sweep.at("variants").items();
  const Order order = order_of(sweep);
  Chart chart{"variants", "Variants", {}, columns_of(sweep, order), {}, about(sweep, order), {}};
  for (const Json& variant : variants)
    chart.rows.push_back(row_of(variant, chart.rows.size() + 1, order));
  chart.more["shown"] = Json(kShown);
  chart.most_rows = kShown;
  chart.open = chart.clipped = true;
  chart.summary = fmt::format("{} of {} variants have results.", simulated(sweep), variants.size());
  if (variants.size() > kShown)
    chart.summary += fmt::format(
        " The table shows the first {}, in the order of the heading that is chosen.", kShown);
  return chart;
}

std::optional<Chart> pareto_chart(const Json& sweep) {
  if (!has_numbers(sweep)) return {};
  return drawing(
      "pareto", "Trade-offs between variants",
      fmt::format("A point for each of {} variants. Between numbers a line joins the Pareto front: "
                  "what no other variant beats in both directions.",
                  simulated(sweep)));
}

std::optional<Chart> grid_chart(const Json& sweep) {
  const auto& axes = sweep.at("axes").items();
  const auto varied = std::count_if(axes.begin(), axes.end(), [](const Json& axis) {
    return axis.at("values").items().size() > 1;
  });
  if (varied < 2 || !has_numbers(sweep)) return {};
  return drawing("grid", "A metric over two axes",
                 "A cell for each pair of values; of the other axes a value, or the best of all.");
}

}  // namespace trainyard
