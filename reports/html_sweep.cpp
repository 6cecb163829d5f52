#include "reports/html_sweep.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "reports/charts/charts.hpp"
#include "reports/html_parts.hpp"
#include "reports/sweep_text.hpp"
#include "reports/tables.hpp"

namespace trainyard {
namespace {

std::string counts(const Json& sweep) {
  Rows shown;
  for (const auto& [state, count] : sweep.at("counts").members()) {
    if (count.as_integer() > 0 || state == "ok")
      shown.push_back({state, std::to_string(count.as_integer())});
  }
  return cards(shown);
}

std::string reasons(const Json& sweep) {
  constexpr std::size_t kMost = 100;
  const std::vector<ReasonCount> all = reason_counts(sweep);
  Table table{
      "Variants without a result, and why", {"state", "variants", "reason"}, "lrl", {}, {}, {}};
  if (all.size() > kMost)
    table.caption += fmt::format(" (the {} most frequent of {} reasons)", kMost, all.size());
  for (const ReasonCount& one : all) {
    if (table.rows.size() == kMost) break;
    table.rows.push_back({one.status, std::to_string(one.variants), one.reason});
  }
  return render(table);
}

constexpr const char* kUnset = "not set";  // of an axis: what the scenario says stays

std::string value_of(const Json& value) {
  constexpr std::size_t kLong = 60;
  return value.is_null() ? kUnset : shortened(written(value), kLong);
}

std::string objectives(const Json& sweep) {
  std::string names;
  for (const Json& key : sweep.at("objectives").items()) {
    std::string title = key.as_string();
    for (const Json& metric : sweep.at("metrics").items()) {
      if (metric.at("key") == key) title = metric.at("title").as_string();
    }
    names += fmt::format("{}{} ({} is better)", names.empty() ? "" : ", ", title,
                         higher_is_better(key.as_string()) ? "higher" : "lower");
  }
  return names;
}

// What is searched, and among what.
std::string purpose(const Json& sweep) {
  const Json* description = sweep.find("description");
  std::string html;
  if (description != nullptr && description->is_string() && !description->as_string().empty())
    html += "<p>" + escape(description->as_string()) + "</p>\n";
  std::vector<std::string> lines;
  if (const std::string names = objectives(sweep); !names.empty())
    lines.push_back("objectives: " + names);
  const auto add = [&](const char* key, const char* before) {
    const Json* all = sweep.find(key);
    if (all == nullptr || !all->is_array()) return;
    for (const Json& text : all->items()) lines.push_back(before + written(text));
  };
  add("constraints", "only variants with: ");
  add("sets", "every variant: ");
  return html + list(lines);
}

std::string best(const Json& sweep) {
  Rows rows = best_rows(sweep, kUnset);
  if (rows.empty()) return {};
  const std::size_t axes = sweep.at("axes").items().size();
  Table table{"The best by " + rows.front().at(1 + axes), rows.front(), {}, {}, {}, {}, true};
  if (sweep.at("left_out").as_integer() > 0) table.caption += ", of the variants of this page";
  table.columns = "r" + std::string(axes, 'l') + std::string(table.head.size() - 1 - axes, 'r');
  table.rows.assign(rows.begin() + 1, rows.end());
  return render(table);
}

std::string axes(const Json& sweep) {
  constexpr std::size_t kShown = 12;
  Table table{"Axes", {"axis", "values", "which"}, "lrl", {}, {}, {}};
  for (const Json& axis : sweep.at("axes").items()) {
    const auto& all = axis.at("values").items();
    std::string values;
    for (std::size_t i = 0; i < std::min(all.size(), kShown); ++i)
      values += (values.empty() ? "" : ", ") + value_of(all[i]);
    if (all.size() > kShown) values += fmt::format(", … and {} more", all.size() - kShown);
    table.rows.push_back({axis.at("name").as_string(), std::to_string(all.size()), values});
  }
  return render(table);
}

std::string origin(const Json& sweep) {
  const Json& p = sweep.at("provenance");
  Table table{"Provenance", {"what", "value"}, "ll", {}, {}, {}};
  table.rows.push_back({"scenario", written(sweep.at("scenario"))});
  for (const auto& [key, value] : p.members()) table.rows.push_back({key, written(value)});
  return render(table);
}

}  // namespace

std::string sweep_body(const Json& sweep) {
  Figures figures;
  const std::string data = "variants";
  figures.add(pareto_chart(sweep), "pareto", data);
  figures.add(grid_chart(sweep), "grid", data);
  figures.add(variants_chart(sweep), data);
  std::string html = "<h1>" + escape(sweep.at("name").as_string()) + "</h1>\n" +
                     contents("Charts", figures.links()) + purpose(sweep) + counts(sweep);
  const std::int64_t left_out = sweep.at("left_out").as_integer();
  if (left_out > 0)
    html += fmt::format("<p>{} more variants are in the files of this folder.</p>\n", left_out);
  return html + best(sweep) + axes(sweep) + figures.html() + reasons(sweep) + origin(sweep);
}

}  // namespace trainyard
