// A comparison as text: "metric | 120.5 ms  claim 120 ms  +0.4% | …".
#include <algorithm>

#include "reports/tables.hpp"
#include "reports/text.hpp"

namespace trainyard {
namespace {

/// Columns that stand together under the name of a run.
struct Band {
  std::string name;
  std::size_t first, count;
};

std::vector<Band> bands_of(const std::vector<ComparedRun>& runs) {
  std::vector<Band> bands{{"", 0, 1}};
  for (const ComparedRun& run : runs) {
    const Band& before = bands.back();
    bands.push_back({printable(run.label), before.first + before.count, run.claimed ? 3U : 1U});
  }
  bands.push_back({"", bands.back().first + bands.back().count, 1});
  return bands;
}

Cells heading(const std::vector<ComparedRun>& runs) {
  Cells cells{"metric"};
  for (const ComparedRun& run : runs) {
    cells.emplace_back("simulated");
    if (run.claimed) cells.insert(cells.end(), {"claim", "deviation"});
  }
  cells.emplace_back("last/first");
  return cells;
}

// The widest cell of each column; the first column of a band also makes room for its name.
std::vector<std::size_t> widths_of(const Rows& rows, const std::vector<Band>& bands) {
  std::vector<std::size_t> widths(rows.front().size());
  for (const Cells& row : rows) {
    for (std::size_t i = 0; i < widths.size(); ++i) widths[i] = std::max(widths[i], width(row[i]));
  }
  for (const Band& band : bands) {
    std::size_t room = 2 * (band.count - 1);
    for (std::size_t i = 0; i < band.count; ++i) room += widths[band.first + i];
    if (width(band.name) > room) widths[band.first] += width(band.name) - room;
  }
  return widths;
}

std::string padded(const std::string& cell, std::size_t columns, bool left) {
  const std::string pad(columns - width(cell), ' ');
  return left ? cell + pad : pad + cell;
}

std::string line_of(const Cells& row, const std::vector<Band>& bands,
                    const std::vector<std::size_t>& widths) {
  std::string line;
  for (const Band& band : bands) {
    if (band.first > 0) line += " | ";
    for (std::size_t i = band.first; i < band.first + band.count; ++i)
      line += (i > band.first ? "  " : "") + padded(row[i], widths[i], i == 0);
  }
  return line + "\n";
}

std::string names_line(const std::vector<Band>& bands, const std::vector<std::size_t>& widths) {
  std::string line;
  for (const Band& band : bands) {
    if (band.first > 0) line += " | ";
    std::size_t room = 2 * (band.count - 1);
    for (std::size_t i = 0; i < band.count; ++i) room += widths[band.first + i];
    line += padded(band.name, room, true);
  }
  line.erase(line.find_last_not_of(' ') + 1);
  return line + "\n";
}

std::string audit(const Json& result, const std::string& label) {
  std::vector<std::string> all = outside_parameters(result);
  for (const Json& reason : result.at("inactive").items())
    all.push_back("inactive: " + reason.as_string());
  for (const std::string& refusal : refusals(result)) all.push_back(refusal);
  return lines({label + ": parameters: " + parameter_summary(result)}, "") + lines(all, "    ");
}

// The few strongest effects of each row; the page and audit.csv have all.
std::string audit_lines(const Json& comparison) {
  constexpr std::size_t kShown = 4;
  std::string text;
  for (const AuditedRow& row : audited_rows(comparison)) {
    text +=
        lines({row.title + (row.holds ? ": holds within 5%" : ": does not hold within 5%")}, "  ");
    Rows shown;
    for (std::size_t i = 0; i < std::min(kShown, row.effects.size()); ++i) {
      const Cells& e = row.effects[i];
      shown.push_back({e[0] + " (" + e[1] + ")" + (row.outside[i] ? " OUTSIDE its range" : ""),
                       e[2] + " -> " + e[3], e[5], e[6] == "no" ? "breaks it" : ""});
    }
    text += aligned(shown, "    ");
    if (row.effects.size() > kShown)
      text += "    and " + std::to_string(row.effects.size() - kShown) + " more\n";
  }
  if (text.empty()) return {};
  return "\naudit: what each row hangs on, assumed parameters at the far end of their range; "
         "change "
         "of " +
         printable(audited_runs(comparison)) + "\n" + text;
}

std::string contradiction_lines(const Json& comparison) {
  const std::vector<std::string> all = contradictions(comparison);
  return all.empty() ? std::string() : "\nwhat cannot hold together\n" + lines(all, "  ");
}

}  // namespace

std::string compare_text(const Json& comparison) {
  const std::vector<ComparedRun> runs = compared_runs(comparison);
  const std::vector<Band> bands = bands_of(runs);
  Rows rows{heading(runs)};
  for (const Json& row : comparison.at("rows").items()) rows.push_back(compared_cells(row, runs));
  const std::vector<std::size_t> widths = widths_of(rows, bands);
  std::string text = names_line(bands, widths);
  for (const Cells& row : rows) text += line_of(row, bands, widths);
  text += "\n";
  for (std::size_t i = 0; i < runs.size(); ++i)
    text += audit(comparison.at("results").items()[i], runs[i].label);
  text += lines(comparison_notes(comparison), "");
  if (const std::string only = claimed_only(comparison); !only.empty())
    text += lines({"claimed, but not a number of every run: " + only}, "");
  if (comparison.at("claim_source").is_string())
    text += lines({"claim: " + comparison.at("claim_source").as_string()}, "");
  if (std::any_of(runs.begin(), runs.end(), [](const ComparedRun& r) { return r.claimed; }) &&
      comparison.find("audit") == nullptr)
    text += lines({"what each row hangs on: compare --audit"}, "");
  return text + audit_lines(comparison) + contradiction_lines(comparison);
}

}  // namespace trainyard
