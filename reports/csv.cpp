#include "reports/csv.hpp"

#include <algorithm>
#include <optional>

#include "reports/tables.hpp"
#include "sim/report.hpp"

namespace trainyard {
namespace {

std::string quoted_where_needed(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + "\"";
}

std::string cell(const Json& value) {
  if (value.is_null()) return {};
  if (!value.is_string()) return quoted_where_needed(dump_json(value, -1));
  std::string text = value.as_string();
  if (!text.empty() && std::string_view("=+-@\t\r").find(text.front()) != std::string_view::npos)
    text.insert(0, "'");
  return quoted_where_needed(text);
}

std::string header(const std::vector<std::string_view>& names) {
  return csv_line({names.begin(), names.end()});
}

Json optional(const Json* value) { return value != nullptr ? *value : Json(); }

/// A run of a document under the name that tells it from the others.
struct NamedRun {
  Json name;
  const Json* result;
};

std::vector<NamedRun> runs_of(const Json& document) {
  if (!is_comparison(document)) return {{document.at("name"), &document}};
  std::vector<NamedRun> all;
  const auto& results = document.at("results").items();
  for (const ComparedRun& run : compared_runs(document))
    all.push_back({Json(run.label), &results[all.size()]});
  return all;
}

std::string comparison_csv(const Json& comparison) {
  std::vector<Json> head{Json("metric"), Json("unit")};
  for (const ComparedRun& run : compared_runs(comparison))
    head.insert(head.end(),
                {Json(run.label), Json(run.label + " claim"), Json(run.label + " deviation")});
  std::string text = csv_line(head);
  for (const Json& row : comparison.at("rows").items()) {
    std::vector<Json> cells{row.at("metric"), row.at("unit")};
    for (std::size_t i = 0; i < row.at("values").items().size(); ++i) {
      cells.push_back(row.at("values").items()[i]);
      for (const char* key : {"claim", "deviation"})
        cells.push_back(row.at(key).is_null() ? Json() : row.at(key).items().at(i));
    }
    text += csv_line(cells);
  }
  return text;
}

std::string choice_lines(const NamedRun& run, const std::string& where, const Json& collectives) {
  std::string text;
  for (const Json& c : collectives.items())
    text += csv_line({run.name, Json(where), c.at("operation"), c.at("bytes"), c.at("ranks"),
                      c.at("servers"), c.at("algorithm"), c.at("protocol"), c.at("calls"),
                      c.at("estimate_s"), optional(c.find("refused"))});
  return text;
}

std::string time_lines(const NamedRun& run, const Json& job) {
  const Json& measured = job.at("metrics");
  const Json* rows = measured.find("rows");
  std::string text;
  if (rows == nullptr) return text;
  const Json* beside = job.find("measured");
  for (const Json& r : rows->items()) {
    const auto time = measured_time(beside, r.at("size_bytes").as_number());
    text += csv_line({run.name, job.at("name"), measured.at("collective"), r.at("size_bytes"),
                      r.at("ranks"), r.at("time_s"), r.at("algbw_bytes_per_s"),
                      r.at("busbw_bytes_per_s"), r.at("algorithm"), r.at("protocol"),
                      time ? Json(*time) : Json(),
                      time ? Json(r.at("time_s").as_number() / *time - 1) : Json()});
  }
  return text;
}

}  // namespace

std::string csv_line(const std::vector<Json>& cells) {
  std::string line;
  for (std::size_t i = 0; i < cells.size(); ++i) line += (i > 0 ? "," : "") + cell(cells[i]);
  return line + "\n";
}

std::string metrics_csv(const Json& document) {
  if (is_comparison(document)) return comparison_csv(document);
  std::string text = header({"metric", "unit", "value"});
  for (const Metric& metric : metrics()) {
    if (const auto v = metric_value(document.at("metrics"), metric.key))
      text += csv_line({Json(metric.key), Json(metric.unit), Json(*v)});
  }
  if (const Json* probes = document.find("probes")) {
    for (const auto& [probe, row] : probes->members()) {
      for (const MetricName& one : probe_metrics(probe)) {
        const Json* value = document.at("metrics").find(one.key);
        if (value != nullptr && find_metric(one.key) == nullptr)
          text += csv_line({Json(one.key), Json(one.unit), *value});
      }
    }
  }
  return text;
}

std::string collectives_csv(const Json& document) {
  std::string text = header({"run", "where", "operation", "bytes", "ranks", "servers", "algorithm",
                             "protocol", "calls", "estimate_s", "refused"});
  for (const NamedRun& run : runs_of(document)) {
    if (const Json* all = run.result->find("collectives")) text += choice_lines(run, "jobs", *all);
    const Json* probes = run.result->find("probes");
    if (probes == nullptr) continue;
    for (const auto& [name, probe] : probes->members())
      text += choice_lines(run, "probe " + name, probe.at("collectives"));
  }
  return text;
}

std::string collective_times_csv(const Json& document) {
  std::string text =
      header({"run", "job", "operation", "bytes", "ranks", "time_s", "algbw_bytes_per_s",
              "busbw_bytes_per_s", "algorithm", "protocol", "measured_time_s", "error"});
  for (const NamedRun& run : runs_of(document)) {
    const Json* jobs = run.result->find("jobs");
    if (jobs == nullptr) continue;
    for (const Json& job : jobs->items()) text += time_lines(run, job);
  }
  return text;
}

std::string parameters_csv(const Json& document) {
  std::string text = header({"run", "pointer", "value", "kind", "low", "high", "outside", "text"});
  for (const NamedRun& run : runs_of(document)) {
    for (const Json& p : run.result->at("parameters").items()) {
      const Json* range = p.find("range");
      text += csv_line({run.name, p.at("pointer"), p.at("value"), p.at("kind"),
                        range != nullptr ? range->items().at(0) : Json(),
                        range != nullptr ? range->items().at(1) : Json(),
                        Json(p.find("outside") != nullptr), p.at("text")});
    }
  }
  return text;
}

std::string equipment_csv(const Json& document) {
  std::string text =
      header({"run", "equipment", "count", "average_power_w", "energy_mwh", "capital_usd"});
  for (const NamedRun& run : runs_of(document)) {
    const Json* all = run.result->at("metrics").find("equipment");
    if (all == nullptr) continue;
    for (const Json& e : all->items()) {
      text += csv_line({run.name, e.at("equipment"), e.at("count"), e.at("average_power_w"),
                        e.at("energy_mwh"), e.at("capital_usd")});
    }
  }
  return text;
}

std::string audit_csv(const Json& document) {
  std::string text = header({"metric", "pointer", "runs", "value", "tried", "low", "high",
                             "outside", "run", "change", "breaks"});
  const Json* audit = document.find("audit");
  if (audit == nullptr) return text;
  for (const Json& row : audit->at("rows").items()) {
    for (const Json& e : row.at("hangs_on").items()) {
      std::string runs;
      for (const Json& name : e.at("runs").items())
        runs += (runs.empty() ? "" : " ") + name.as_string();
      for (std::size_t i = 0; i < e.at("change").items().size(); ++i) {
        text +=
            csv_line({row.at("metric"), e.at("pointer"), Json(runs), e.at("value"), e.at("tried"),
                      e.at("range").items().at(0), e.at("range").items().at(1), e.at("outside"),
                      audit->at("runs").items().at(i), e.at("change").items()[i], e.at("breaks")});
      }
    }
  }
  return text;
}

Json collective_rows(const Json& timed, const Json* measured) {
  constexpr double kFloat = 4;  // bytes of an element of nccl-tests' default type
  const std::string& operation = timed.at("collective").as_string();
  Json rows = Json::array();
  for (const Json& r : timed.at("rows").items()) {
    const double size = r.at("size_bytes").as_number();
    // nccl-tests counts what one rank gives or gets where that is a part of the buffer.
    const double parts =
        operation == "all_reduce" || operation == "broadcast" || operation == "reduce"
            ? 1
            : static_cast<double>(r.at("ranks").as_integer());
    Json row = Json::object();
    row["size"] = Json(static_cast<std::int64_t>(size));
    row["count"] = Json(static_cast<std::int64_t>(size / kFloat / parts));
    row["type"] = Json("float");
    const bool adds =
        operation == "all_reduce" || operation == "reduce_scatter" || operation == "reduce";
    row["redop"] = Json(adds ? "sum" : "none");
    row["root"] = Json(operation == "broadcast" || operation == "reduce" ? 0 : -1);
    row["time_us"] = Json(r.at("time_s").as_number() * 1e6);
    row["algbw_gb_per_s"] = Json(r.at("algbw_bytes_per_s").as_number() / 1e9);
    row["busbw_gb_per_s"] = Json(r.at("busbw_bytes_per_s").as_number() / 1e9);
    row["algorithm"] = r.at("algorithm");
    row["protocol"] = r.at("protocol");
    if (measured != nullptr) {
      const std::optional<double> time = measured_time(measured, size);
      row["measured_time_us"] = time ? Json(*time * 1e6) : Json();
      row["error"] = time ? Json(r.at("time_s").as_number() / *time - 1) : Json();
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

std::string collective_csv(const Json& timed, const Json* measured) {
  std::vector<std::string_view> names{"size",      "count",   "type",           "redop",
                                      "root",      "time_us", "algbw_gb_per_s", "busbw_gb_per_s",
                                      "algorithm", "protocol"};
  if (measured != nullptr) names.insert(names.end(), {"measured_time_us", "error"});
  std::string text = header(names);
  const Json rows = collective_rows(timed, measured);
  for (const Json& row : rows.items()) {
    std::vector<Json> cells;
    for (const auto& [key, value] : row.members()) cells.push_back(value);
    text += csv_line(cells);
  }
  return text;
}

}  // namespace trainyard
