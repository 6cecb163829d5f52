// report.html: one self-contained page, readable without scripts and without a network.
#include <fmt/format.h>

#include <string>
#include <vector>

#include "reports/html_parts.hpp"
#include "reports/text.hpp"
#include "sim/metrics.hpp"
#include "sim/report.hpp"
#include "sim/units.hpp"

namespace trainyard {
namespace {

std::string metrics_section(const Json& result) {
  Table table{"Metrics", {"metric", "value", "unit of result.json", "key"}, {}};
  for (const Metric& metric : metrics()) {
    const auto v = metric_value(result.at("metrics"), metric.key);
    if (v)
      table.rows.push_back({std::string(metric.title), show_metric(metric, *v),
                            std::string(metric.unit), std::string(metric.key)});
  }
  return render(table);
}

std::string probes_section(const Json& result) {
  const Json* probes = result.find("probes");
  if (probes == nullptr) return {};
  Table table{"Probes: collectives on the idle cluster",
              {"probe", "size", "ranks", "time", "algorithm bandwidth", "bus bandwidth",
               "algorithm", "protocol"},
              {}};
  for (const auto& [name, p] : probes->members()) {
    table.rows.push_back({name, show(Bytes::of(p.at("size_bytes").as_number())),
                          std::to_string(p.at("ranks").as_integer()),
                          show(Seconds::of(p.at("time_s").as_number())),
                          show(BytesPerSecond::of(p.at("algbw_bytes_per_s").as_number())),
                          show(BytesPerSecond::of(p.at("busbw_bytes_per_s").as_number())),
                          p.at("algorithm").as_string(), p.at("protocol").as_string()});
  }
  return render(table);
}

void add_choices(const std::string& where, const Json& collectives, Table& table) {
  for (const Json& c : collectives.items()) {
    const Json* refused = c.find("refused");
    table.rows.push_back(
        {where, c.at("operation").as_string(), show(Bytes::of(c.at("bytes").as_number())),
         std::to_string(c.at("ranks").as_integer()), std::to_string(c.at("servers").as_integer()),
         c.at("algorithm").as_string(), c.at("protocol").as_string(),
         std::to_string(c.at("calls").as_integer()),
         show(Seconds::of(c.at("estimate_s").as_number())),
         refused != nullptr ? refused->as_string() : ""});
  }
}

std::string collectives_section(const Json& result) {
  Table table{"Collectives: what the library chose",
              {"where", "operation", "size", "ranks", "servers", "algorithm", "protocol", "calls",
               "time on an idle network", "could not use"},
              {}};
  if (const Json* all = result.find("collectives")) add_choices("job", *all, table);
  if (const Json* probes = result.find("probes")) {
    for (const auto& [name, probe] : probes->members())
      add_choices("probe " + name, probe.at("collectives"), table);
  }
  return table.rows.empty() ? std::string() : render(table);
}

std::string parameters_section(const Json& result) {
  Table table{"Parameters and where they come from",
              {"parameter", "value", "kind", "range", "source, derivation or reason"},
              {}};
  for (const Json& p : result.at("parameters").items()) {
    const Json* range = p.find("range");
    const bool outside = p.find("outside") != nullptr;
    table.rows.push_back(
        {p.at("pointer").as_string(),
         p.at("value").is_string() ? p.at("value").as_string() : dump_json(p.at("value"), -1),
         p.at("kind").as_string() + (outside ? ", outside its range" : ""),
         range != nullptr ? range->items()[0].as_string() + " to " + range->items()[1].as_string()
                          : "",
         p.at("text").as_string()});
  }
  return details(fmt::format("{} parameters: {}", table.rows.size(), parameter_summary(result)),
                 render(table));
}

std::string notes_section(const Json& result) {
  std::string items;
  for (const Json& reason : result.at("inactive").items())
    items += "<li>inactive: " + escape(reason.as_string()) + "</li>\n";
  return items.empty() ? items : "<ul>\n" + items + "</ul>\n";
}

std::string provenance_section(const Json& result) {
  const Json& p = result.at("provenance");
  Table table{"Provenance", {"what", "value"}, {}};
  table.rows.push_back(
      {"trainyard", p.at("version").as_string() + " (" + p.at("git").as_string() + ")"});
  table.rows.push_back({"SimGrid", p.at("simgrid").at("version").as_string()});
  for (const auto& [key, value] : p.at("simgrid").at("options").members())
    table.rows.push_back({key, value.as_string()});
  table.rows.push_back({"seed", std::to_string(p.at("seed").as_integer())});
  table.rows.push_back({"SHA-256 of the resolved scenario", p.at("scenario_sha256").as_string()});
  return details("Provenance", render(table)) +
         details("Resolved scenario",
                 "<pre>" + escape(dump_json(result.at("scenario"))) + "</pre>\n");
}

std::string run_sections(const Json& result, int level) {
  const Json* description = result.at("scenario").find("description");
  std::string html =
      fmt::format("<section>\n<h{0}>{1}</h{0}>\n", level, escape(result.at("name").as_string()));
  if (description != nullptr) html += "<p>" + escape(description->as_string()) + "</p>\n";
  html += notes_section(result) + metrics_section(result) + probes_section(result) +
          collectives_section(result);
  return html + parameters_section(result) + provenance_section(result) + "</section>\n";
}

std::string comparison_table(const Json& comparison) {
  Table table{"Simulated against claimed", {"metric"}, {}};
  for (const Json& result : comparison.at("results").items()) {
    const std::string& name = result.at("name").as_string();
    for (const char* column : {"", " claimed", " deviation"}) table.head.push_back(name + column);
  }
  table.head.emplace_back("last / first");
  for (const Json& row : comparison.at("rows").items()) {
    const std::string& key = row.at("metric").as_string();
    const auto show_value = [&](const Json& v) {
      for (const Metric& m : metrics()) {
        if (m.key == key && v.is_number()) return show_metric(m, v.as_number());
      }
      return std::string("–");
    };
    std::vector<std::string> cells{row.at("title").as_string()};
    const auto& values = row.at("values").items();
    for (std::size_t i = 0; i < values.size(); ++i) {
      const Json claim = row.at("claim").is_null() ? Json() : row.at("claim").items()[i];
      const Json deviation =
          row.at("deviation").is_null() ? Json() : row.at("deviation").items()[i];
      cells.push_back(show_value(values[i]));
      cells.push_back(show_value(claim));
      cells.push_back(deviation.is_number() ? fmt::format("{:+.1f}%", 100 * deviation.as_number())
                                            : "–");
    }
    const double first = values.front().as_number();
    cells.push_back(first != 0 ? fmt::format("{:.3f}", values.back().as_number() / first) : "–");
    table.rows.push_back(std::move(cells));
  }
  return render(table);
}

std::string comparison_body(const Json& comparison) {
  std::string html = "<h1>Comparison</h1>\n" + comparison_table(comparison) + "<ul>\n";
  for (const Json& result : comparison.at("results").items()) {
    html += "<li>" +
            escape(result.at("name").as_string() + ": parameters: " + parameter_summary(result)) +
            "</li>\n";
  }
  std::string only;
  for (const Json& key : comparison.at("claimed_only").items())
    only += (only.empty() ? "" : ", ") + key.as_string();
  if (!only.empty())
    html += "<li>claimed, but not simulated by this version: " + escape(only) + "</li>\n";
  if (comparison.at("claim_source").is_string())
    html += "<li>claim: " + escape(comparison.at("claim_source").as_string()) + "</li>\n";
  html += "</ul>\n";
  for (const Json& result : comparison.at("results").items()) html += run_sections(result, 2);
  return html;
}

class HtmlReport : public Report {
 public:
  std::string file_name() const override { return "report.html"; }
  std::string render(const Json& document) const override {
    if (!is_comparison(document))
      return page(document.at("name").as_string(), run_sections(document, 1));
    std::string title;
    for (const Json& result : document.at("results").items())
      title += (title.empty() ? "" : " / ") + result.at("name").as_string();
    return page(title, comparison_body(document));
  }
};

const Registration<Report, HtmlReport> registered{"html", "report.html: one self-contained page"};

}  // namespace
}  // namespace trainyard
