#include "reports/html_run.hpp"

#include <fmt/format.h>

#include "reports/charts/charts.hpp"
#include "reports/html_parts.hpp"
#include "reports/replay.hpp"
#include "reports/tables.hpp"

namespace trainyard {
namespace {

std::string headline(const Json& values) {
  Rows shown;
  for (const char* key : {"training_days", "cost_usd", "average_power_w", "step_time_s",
                          "tokens_per_s", "mfu", "gpu_utilization", "allreduce_time_s"}) {
    const Metric& metric = *find_metric(key);
    if (const auto v = metric_value(values, key))
      shown.push_back({std::string(metric.title), show_value(metric, *v)});
  }
  return cards(shown);
}

std::string metrics_table(const std::string& caption, const Json& values) {
  Table table{caption, {"metric", "value", "what it is", "key in result.json"}, "lrll", {}, {}, {}};
  for (const Metric& metric : metrics()) {
    const auto v = metric_value(values, metric.key);
    if (!v) continue;
    table.rows.push_back({std::string(metric.title), show_value(metric, *v),
                          std::string(metric.formula), std::string(metric.key)});
  }
  return render(table);
}

// result.json's "metrics" are those of the first job.
std::string later_jobs(const Json& result) {
  const Json* jobs = result.find("jobs");
  std::string html;
  for (std::size_t i = 1; jobs != nullptr && i < jobs->items().size(); ++i) {
    const Json& job = jobs->items()[i];
    html += metrics_table("Metrics of " + job.at("name").as_string(), job.at("metrics"));
  }
  return html;
}

std::string collectives(const Json& result) {
  const auto timed = [](const char* caption, const char* what, Rows rows) {
    return render(Table{caption,
                        {what, "size", "ranks", "time", "algorithm bandwidth", "bus bandwidth",
                         "algorithm", "protocol"},
                        "lrrrrrll",
                        std::move(rows),
                        {},
                        {}});
  };
  return timed("Collectives that a job timed", "job", timed_rows(result)) +
         timed("Probes: collectives on the idle cluster", "probe", probe_rows(result)) +
         render(Table{"Collectives: what the library chose",
                      {"where", "operation", "size", "ranks", "servers", "algorithm", "protocol",
                       "calls", "time on an idle network", "could not use"},
                      "llrrrllrrl",
                      choice_rows(result),
                      {},
                      {}});
}

std::string parameters(const Json& result) {
  Table table{"Parameters and where they come from: " + parameter_summary(result),
              {"parameter", "value", "kind", "range", "source, derivation or reason"},
              "lrlll",
              {},
              {},
              {}};
  for (const Json& p : result.at("parameters").items()) {
    const bool outside = p.find("outside") != nullptr;
    table.rows.push_back({p.at("pointer").as_string(), written(p.at("value")),
                          p.at("kind").as_string() + (outside ? ", outside its range" : ""),
                          range_of(p), p.at("text").as_string()});
    table.marked.push_back(outside);
  }
  return render(table);
}

std::string provenance(const Json& result) {
  const Json& p = result.at("provenance");
  const Json& simgrid = p.at("simgrid");
  Table table{"Provenance", {"what", "value"}, "ll", {}, {}, {}};
  table.rows.push_back(
      {"trainyard", fmt::format("{} ({})", p.at("version").as_string(), p.at("git").as_string())});
  table.rows.push_back({"seed", std::to_string(p.at("seed").as_integer())});
  table.rows.push_back({"SHA-256 of the resolved scenario", p.at("scenario_sha256").as_string()});
  table.rows.push_back({"SimGrid", simgrid.at("version").as_string()});
  for (const auto& [key, value] : simgrid.at("options").members())
    table.rows.push_back({"SimGrid " + key, written(value)});
  return render(table);
}

// The figures of a run. What a comparison draws of all its runs together is not drawn again.
Figures charts(const Json& result, const std::string& label, const std::string& id,
               const RunSection& how) {
  const NamedResults alone{{label, &result}};
  Figures figures;
  const auto add = [&](const std::optional<Chart>& chart, const char* name) {
    figures.add(chart, id + "-" + name);
  };
  if (how.level == 1) add(job_time_chart(alone), "job-time");
  add(stage_time_chart(result), "stage-time");
  add(timeline_chart(result, how.most_bars), "timeline");
  add(critical_chart(result), "critical");
  add(utilization_chart(result), "utilization");
  if (how.level == 1) add(collectives_chart(alone), "collectives");
  add(network_chart(result), "network");
  if (how.level == 1) add(equipment_chart(alone), "equipment");
  return figures;
}

std::string notes(const Json& result) {
  std::vector<std::string> all = simulation_notes(result);
  for (const std::string& note : replay_notes(result)) all.push_back(note);
  for (const std::string& parameter : outside_parameters(result)) all.push_back(parameter);
  return list(all);
}

}  // namespace

std::string run_section(const Json& result, const std::string& label, const std::string& id,
                        const RunSection& how) {
  const Json& scenario = result.at("scenario");
  const Json* description = scenario.find("description");
  std::string html =
      fmt::format("<section id=\"{0}\">\n<h{1}>{2}</h{1}>\n", escape(id), how.level, escape(label));
  if (description != nullptr && description->is_string())
    html += "<p>" + escape(description->as_string()) + "</p>\n";
  const Figures figures = charts(result, label, id, how);
  html +=
      contents("Charts", figures.links()) + headline(result.at("metrics")) + notes(result) +
      figures.html() +
      metrics_table(first_of_jobs(result).empty() ? "Metrics" : "Metrics, " + first_of_jobs(result),
                    result.at("metrics")) +
      later_jobs(result) +
      render(Table{"Where the GPU time goes, mean over GPUs",
                   {"what a GPU does", "share", "time"},
                   "lrr",
                   gpu_time_rows(result.at("metrics")),
                   {},
                   {}}) +
      render(Table{"Equipment of the job: power, energy and price",
                   {"equipment", "count", "mean power", "energy", "capital"},
                   "lrrrr",
                   equipment_rows(result.at("metrics")),
                   {},
                   {}}) +
      render(Table{"Communication of the replayed trace",
                   {"job", "group", "operation", "ranks", "calls", "bytes", "time"},
                   "lllrrrr",
                   communication_rows(result),
                   {},
                   {}}) +
      collectives(result) + parameters(result) + provenance(result);
  return html + details("Resolved scenario", "<pre>" + escape(dump_json(scenario)) + "</pre>\n") +
         "</section>\n";
}

}  // namespace trainyard
