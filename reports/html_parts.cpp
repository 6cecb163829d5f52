#include "reports/html_parts.hpp"

#include <string_view>

namespace trainyard {
namespace {

constexpr std::string_view kStyle = R"(
:root { color-scheme: light dark; --line: #d4d7dd; --soft: #f4f5f7; --ink: #1b1f27; --dim: #5a6372; --paper: #ffffff; }
@media (prefers-color-scheme: dark) { :root { --line: #3a404b; --soft: #23272f; --ink: #e7e9ee; --dim: #a2abba; --paper: #16191f; } }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); max-width: 76rem; margin: 2rem auto; padding: 0 1.2rem; }
h1 { font-size: 1.6rem; margin: 0 0 .6rem; } h2 { font-size: 1.25rem; margin: 2.4rem 0 .6rem; border-top: 2px solid var(--line); padding-top: 1.2rem; }
.scroll { overflow-x: auto; margin: 1rem 0 1.4rem; }
table { border-collapse: collapse; min-width: 40%; font-variant-numeric: tabular-nums; }
caption { text-align: left; font-weight: 600; padding: .3rem 0; }
th, td { padding: .3rem .8rem; border-bottom: 1px solid var(--line); text-align: right; vertical-align: top; }
th[scope=row], td.text { text-align: left; font-weight: 400; } thead th { background: var(--soft); font-weight: 600; } thead th:first-child { text-align: left; }
tbody tr:hover { background: var(--soft); }
details { margin: .6rem 0; } summary { cursor: pointer; color: var(--dim); } pre { overflow-x: auto; background: var(--soft); padding: 1rem; font-size: 13px; }
footer { color: var(--dim); margin-top: 3rem; }
@media print { body { max-width: none; margin: 0; } details { display: none; } .scroll { overflow: visible; } tr { break-inside: avoid; } }
)";

// Long sentences read better to the left.
bool is_prose(const std::string& cell) {
  constexpr std::size_t kShort = 24;
  return cell.size() > kShort;
}

}  // namespace

std::string escape(const std::string& text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string render(const Table& table) {
  std::string html = "<div class=\"scroll\"><table>\n<caption>" + escape(table.caption) +
                     "</caption>\n<thead><tr>";
  for (const std::string& cell : table.head) html += "<th scope=\"col\">" + escape(cell) + "</th>";
  html += "</tr></thead>\n<tbody>\n";
  for (const auto& row : table.rows) {
    html += "<tr>";
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (i == 0) {
        html += "<th scope=\"row\">" + escape(row[i]) + "</th>";
      } else {
        html += (is_prose(row[i]) ? "<td class=\"text\">" : "<td>") + escape(row[i]) + "</td>";
      }
    }
    html += "</tr>\n";
  }
  return html + "</tbody></table></div>\n";
}

std::string details(const std::string& summary, const std::string& html) {
  return "<details><summary>" + escape(summary) + "</summary>\n" + html + "</details>\n";
}

std::string page(const std::string& title, const std::string& body) {
  return "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
         "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>" +
         escape(title) + " – trainyard</title>\n<style>" + std::string(kStyle) +
         "</style>\n</head>\n<body>\n" + body +
         "<footer>Every definition stands in docs/metrics.md; the numbers are in the CSV and JSON "
         "files of this folder.</footer>\n</body>\n</html>\n";
}

}  // namespace trainyard
