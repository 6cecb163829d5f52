#include "reports/csv.hpp"

#include <fmt/format.h>

#include "sim/metrics.hpp"
#include "sim/report.hpp"

namespace trainyard {
namespace {

std::string cell(const Json& value) {
  if (value.is_null()) return {};
  if (!value.is_string()) {
    std::string text = dump_json(value, -1);
    return text.find(',') == std::string::npos ? text : cell(Json(text));
  }
  std::string text = value.as_string();
  if (!text.empty() && std::string_view("=+-@\t\r").find(text.front()) != std::string_view::npos)
    text.insert(0, "'");
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + "\"";
}

std::vector<const Json*> results_of(const Json& document) {
  if (!is_comparison(document)) return {&document};
  std::vector<const Json*> all;
  for (const Json& result : document.at("results").items()) all.push_back(&result);
  return all;
}

std::string comparison_csv(const Json& comparison) {
  std::vector<Json> head{Json("metric"), Json("unit")};
  for (const Json& result : comparison.at("results").items()) {
    const std::string& name = result.at("name").as_string();
    head.insert(head.end(), {Json(name), Json(name + " claim"), Json(name + " deviation")});
  }
  std::string text = csv_line(head);
  for (const Json& row : comparison.at("rows").items()) {
    std::vector<Json> cells{row.at("metric"), row.at("unit")};
    for (std::size_t i = 0; i < row.at("values").items().size(); ++i) {
      cells.push_back(row.at("values").items()[i]);
      for (const char* key : {"claim", "deviation"})
        cells.push_back(row.at(key).is_null() ? Json() : row.at(key).items()[i]);
    }
    text += csv_line(cells);
  }
  return text;
}

void collective_lines(const Json& result, const std::string& where, const Json& collectives,
                      std::string& text) {
  for (const Json& c : collectives.items()) {
    const Json* refused = c.find("refused");
    text += csv_line({result.at("name"), Json(where), c.at("operation"), c.at("bytes"),
                      c.at("ranks"), c.at("servers"), c.at("algorithm"), c.at("protocol"),
                      c.at("calls"), c.at("estimate_s"), refused != nullptr ? *refused : Json()});
  }
}

/// A report that is one of the functions above.
template <std::string (*render_)(const Json&)>
class CsvReport : public Report {
 public:
  explicit CsvReport(std::string name) : name_(std::move(name)) {}
  std::string file_name() const override { return name_; }
  std::string render(const Json& document) const override { return render_(document); }

 private:
  std::string name_;
};

struct MetricsCsv : CsvReport<metrics_csv> {
  MetricsCsv() : CsvReport("metrics.csv") {}
};
struct CollectivesCsv : CsvReport<collectives_csv> {
  CollectivesCsv() : CsvReport("collectives.csv") {}
};
struct ParametersCsv : CsvReport<parameters_csv> {
  ParametersCsv() : CsvReport("parameters.csv") {}
};

}  // namespace

std::string csv_line(const std::vector<Json>& cells) {
  std::string line;
  for (std::size_t i = 0; i < cells.size(); ++i) line += (i > 0 ? "," : "") + cell(cells[i]);
  return line + "\n";
}

std::string metrics_csv(const Json& document) {
  if (is_comparison(document)) return comparison_csv(document);
  std::string text = csv_line({Json("metric"), Json("unit"), Json("value")});
  for (const Metric& metric : metrics()) {
    if (const auto v = metric_value(document.at("metrics"), metric.key))
      text += csv_line({Json(metric.key), Json(metric.unit), Json(*v)});
  }
  return text;
}

std::string collectives_csv(const Json& document) {
  std::string text = csv_line({Json("run"), Json("where"), Json("operation"), Json("bytes"),
                               Json("ranks"), Json("servers"), Json("algorithm"), Json("protocol"),
                               Json("calls"), Json("estimate_s"), Json("refused")});
  for (const Json* result : results_of(document)) {
    if (const Json* all = result->find("collectives"))
      collective_lines(*result, "jobs", *all, text);
    const Json* probes = result->find("probes");
    if (probes == nullptr) continue;
    for (const auto& [name, probe] : probes->members())
      collective_lines(*result, "probe " + name, probe.at("collectives"), text);
  }
  return text;
}

std::string parameters_csv(const Json& document) {
  std::string text = csv_line({Json("run"), Json("pointer"), Json("value"), Json("kind"),
                               Json("low"), Json("high"), Json("outside"), Json("text")});
  for (const Json* result : results_of(document)) {
    for (const Json& p : result->at("parameters").items()) {
      const Json* range = p.find("range");
      text += csv_line({result->at("name"), p.at("pointer"), p.at("value"), p.at("kind"),
                        range != nullptr ? range->items()[0] : Json(),
                        range != nullptr ? range->items()[1] : Json(),
                        Json(p.find("outside") != nullptr), p.at("text")});
    }
  }
  return text;
}

Json collective_rows(const Json& measured) {
  Json rows = Json::array();
  for (const Json& r : measured.at("rows").items()) {
    constexpr double kFloat = 4;
    Json row = Json::object();
    row["size"] = Json(static_cast<std::int64_t>(r.at("size_bytes").as_number()));
    row["count"] = Json(static_cast<std::int64_t>(r.at("size_bytes").as_number() / kFloat));
    row["type"] = Json("float");
    row["time_us"] = Json(r.at("time_s").as_number() * 1e6);
    row["algbw_gb_per_s"] = Json(r.at("algbw_bytes_per_s").as_number() / 1e9);
    row["busbw_gb_per_s"] = Json(r.at("busbw_bytes_per_s").as_number() / 1e9);
    row["algorithm"] = r.at("algorithm");
    row["protocol"] = r.at("protocol");
    rows.push_back(std::move(row));
  }
  return rows;
}

std::string collective_csv(const Json& measured) {
  std::string text;
  const Json rows = collective_rows(measured);
  for (const Json& row : rows.items()) {
    std::vector<Json> head, cells;
    for (const auto& [key, value] : row.members()) {
      head.emplace_back(key);
      cells.push_back(value);
    }
    if (text.empty()) text = csv_line(head);
    text += csv_line(cells);
  }
  return text;
}

namespace {

const Registration<Report, MetricsCsv> metrics_registered{
    "metrics-csv", "metrics.csv: every metric with its unit"};
const Registration<Report, CollectivesCsv> collectives_registered{
    "collectives-csv", "collectives.csv: what the collective library chose, and why not others"};
const Registration<Report, ParametersCsv> parameters_registered{
    "parameters-csv", "parameters.csv: where every number comes from"};

}  // namespace
}  // namespace trainyard
