// report.html: one self-contained page, readable without scripts and without a network.
#include <fmt/format.h>

#include <algorithm>

#include "reports/charts/charts.hpp"
#include "reports/html_page.hpp"
#include "reports/html_parts.hpp"
#include "reports/html_run.hpp"
#include "reports/html_sweep.hpp"
#include "reports/tables.hpp"
#include "sim/report.hpp"

namespace trainyard {
namespace {

std::string anchor(std::size_t run) { return fmt::format("run-{}", run + 1); }

std::string compared_table(const Json& comparison, const std::vector<ComparedRun>& runs) {
  const bool claimed =
      std::any_of(runs.begin(), runs.end(), [](const auto& r) { return r.claimed; });
  Table table{claimed ? "Simulated and claimed; deviation = simulated / claim - 1" : "Simulated",
              {"metric"},
              "l",
              {},
              {{"", 1}},
              {}};
  for (const ComparedRun& run : runs) {
    table.head.emplace_back("simulated");
    if (run.claimed) table.head.insert(table.head.end(), {"claim", "deviation"});
    table.bands.emplace_back(run.label, run.claimed ? 3 : 1);
  }
  table.head.emplace_back("last / first");
  table.bands.emplace_back("", 1);
  table.columns.append(table.head.size() - 1, 'r');
  for (const Json& row : comparison.at("rows").items())
    table.rows.push_back(compared_cells(row, runs));
  return render(table);
}

std::string audit(const Json& comparison, const std::vector<ComparedRun>& runs) {
  std::vector<std::string> all;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const Json& result = comparison.at("results").items()[i];
    const std::string who = runs[i].label + ": ";
    all.push_back(who + "parameters: " + parameter_summary(result));
    for (const std::string& parameter : outside_parameters(result)) all.push_back(who + parameter);
    for (const Json& reason : result.at("inactive").items())
      all.push_back(who + "inactive: " + reason.as_string());
  }
  for (const std::string& note : comparison_notes(comparison)) all.push_back(note);
  if (const std::string only = claimed_only(comparison); !only.empty())
    all.push_back("claimed, but not a number of every run: " + only);
  if (comparison.at("claim_source").is_string())
    all.push_back("claim: " + comparison.at("claim_source").as_string());
  return list(all);
}

std::string audit_tables(const Json& comparison) {
  std::string html;
  const std::string change = "change of " + audited_runs(comparison);
  for (const AuditedRow& row : audited_rows(comparison)) {
    html += render(Table{
        fmt::format("{}: {}", row.title, row.holds ? "holds within 5%" : "does not hold within 5%"),
        {"assumed parameter", "in", "value", "tried", "range", "change of the row",
         "claim still holds"},
        "llrrllr",
        row.effects,
        {},
        row.outside});
  }
  const std::string cannot = list(contradictions(comparison));
  if (html.empty() && cannot.empty()) return {};
  std::string section = "<section id=\"audit\">\n<h2>Audit of the claim</h2>\n";
  if (!cannot.empty()) section += "<p>What cannot hold together:</p>\n" + cannot;
  if (!html.empty())
    section +=
        "<p>What each row hangs on: every assumed parameter is set to the end of its range that is "
        "farther from its value; listed are those that move the row by 1% or more. Marked ones "
        "already lie outside their range.</p>\n";
  return section + html + "</section>\n";
}

Links anchors(const std::vector<ComparedRun>& runs) {
  Links links;
  for (std::size_t i = 0; i < runs.size(); ++i) links.emplace_back(anchor(i), runs[i].label);
  return links;
}

// The figures of all runs together.
Figures charts(const Json& comparison, const std::vector<ComparedRun>& runs) {
  NamedResults results;
  for (std::size_t i = 0; i < runs.size(); ++i)
    results.push_back({runs[i].label, &comparison.at("results").items().at(i)});
  Figures figures;
  figures.add(job_time_chart(results), "job-time");
  figures.add(iteration_time_chart(results), "iteration-time");
  figures.add(collectives_chart(results), "collectives");
  figures.add(equipment_chart(results), "equipment");
  return figures;
}

// The whole page's timelines together keep what one page can draw.
std::size_t bars_of_a_run(std::size_t runs) {
  return RunSection{}.most_bars / std::max<std::size_t>(runs, 1);
}

class HtmlReport : public Report {
 public:
  std::string file_name() const override { return "report.html"; }
  std::string render(const Json& document) const override {
    if (is_comparison(document)) return comparison(document);
    const std::string& name = document.at("name").as_string();
    if (is_sweep(document)) return page(name, sweep_body(document));
    return page(name, run_section(document, name, anchor(0), {}));
  }

 private:
  static std::string comparison(const Json& document) {
    const std::vector<ComparedRun> runs = compared_runs(document);
    std::string title, sections;
    for (std::size_t i = 0; i < runs.size(); ++i) {
      title += (i > 0 ? " / " : "") + runs[i].label;
      sections += run_section(document.at("results").items()[i], runs[i].label, anchor(i),
                              {2, bars_of_a_run(runs.size())});
    }
    Figures claim;
    claim.add(claim_chart(document), "claim");
    const Figures others = charts(document, runs);
    Links links = claim.links();
    links.insert(links.end(), others.links().begin(), others.links().end());
    return page(title, "<h1>" + escape(title) + "</h1>\n" + contents("Each run", anchors(runs)) +
                           contents("Charts", links) + claim.html() +
                           compared_table(document, runs) + audit(document, runs) +
                           audit_tables(document) + others.html() + sections);
  }
};

const Registration<Report, HtmlReport> registered{"html", "report.html: one self-contained page"};

}  // namespace
}  // namespace trainyard
