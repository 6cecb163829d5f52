// report.html: one self-contained page, readable without scripts and without a network.
#include <fmt/format.h>

#include <algorithm>

#include "reports/html_parts.hpp"
#include "reports/html_run.hpp"
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

std::string contents(const std::vector<ComparedRun>& runs) {
  std::string html;
  for (std::size_t i = 0; i < runs.size(); ++i)
    html += fmt::format("{}<a href=\"#{}\">{}</a>", i > 0 ? " · " : "", anchor(i),
                        escape(runs[i].label));
  return "<nav><p>Each run: " + html + "</p></nav>\n";
}

class HtmlReport : public Report {
 public:
  std::string file_name() const override { return "report.html"; }
  std::string render(const Json& document) const override {
    if (is_comparison(document)) return comparison(document);
    const std::string& name = document.at("name").as_string();
    return page(name, run_section(document, name, anchor(0), 1));
  }

 private:
  static std::string comparison(const Json& document) {
    const std::vector<ComparedRun> runs = compared_runs(document);
    std::string title, sections;
    for (std::size_t i = 0; i < runs.size(); ++i) {
      title += (i > 0 ? " / " : "") + runs[i].label;
      sections += run_section(document.at("results").items()[i], runs[i].label, anchor(i), 2);
    }
    return page(title, "<h1>" + escape(title) + "</h1>\n" + contents(runs) +
                           compared_table(document, runs) + audit(document, runs) +
                           audit_tables(document) + sections);
  }
};

const Registration<Report, HtmlReport> registered{"html", "report.html: one self-contained page"};

}  // namespace
}  // namespace trainyard
