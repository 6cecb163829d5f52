#include "reports/html_parts.hpp"

#include <fmt/format.h>

#include <string_view>

namespace trainyard {
namespace {

constexpr std::string_view kPolicy = "default-src 'none'; style-src 'unsafe-inline'";

constexpr std::string_view kStyle = R"(
:root {
  color-scheme: light dark;
  --paper: #ffffff; --ink: #1b1f27; --dim: #5a6372; --line: #d4d7dd; --soft: #f4f5f7;
  --mark: #fff1d6;
}
@media (prefers-color-scheme: dark) {
  :root {
    --paper: #16191f; --ink: #e7e9ee; --dim: #a2abba; --line: #3a404b; --soft: #23272f;
    --mark: #4a3510;
  }
}
body {
  font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper);
  max-width: 76rem; margin: 2rem auto; padding: 0 1.2rem;
}
h1 { font-size: 1.6rem; margin: 0 0 .6rem; overflow-wrap: anywhere; }
h2 {
  font-size: 1.25rem; margin: 2.4rem 0 .6rem; border-top: 2px solid var(--line);
  padding-top: 1.2rem; overflow-wrap: anywhere;
}
p, li { max-width: 60rem; overflow-wrap: anywhere; }
a { color: inherit; }
.cards { display: flex; flex-wrap: wrap; gap: .8rem; margin: 1rem 0; }
.cards div { border: 1px solid var(--line); border-radius: .4rem; padding: .5rem 1rem; }
.cards dt { color: var(--dim); font-size: 13px; }
.cards dd { margin: 0; font-size: 1.3rem; font-variant-numeric: tabular-nums; }
.scroll { overflow-x: auto; margin: 1rem 0 1.6rem; }
table { border-collapse: collapse; min-width: 40%; font-variant-numeric: tabular-nums; }
caption { text-align: left; font-weight: 600; padding: .3rem 0; }
th, td {
  padding: .3rem .8rem; border-bottom: 1px solid var(--line); vertical-align: top;
  text-align: left; max-width: 34rem; overflow-wrap: break-word;
}
thead th { background: var(--soft); vertical-align: bottom; font-weight: 600; }
th[scope=row] { font-weight: 400; }
th[scope=colgroup] { border-left: 1px solid var(--line); }
.r { text-align: right; white-space: nowrap; }
tr.mark > * { background: var(--mark); }
pre { overflow-x: auto; background: var(--soft); padding: 1rem; font-size: 13px; }
summary { cursor: pointer; font-weight: 600; }
footer { color: var(--dim); margin-top: 3rem; }
@media print {
  body { max-width: none; margin: 0; font-size: 10px; }
  .scroll { overflow: visible; }
  tr, .cards { break-inside: avoid; }
  thead { display: table-header-group; }
  nav, details:not([open]) { display: none; }
}
)";

// The attribute that sets a column of numbers to the right.
std::string side(const Table& table, std::size_t column) {
  return table.columns.at(column) == 'r' ? " class=\"r\"" : "";
}

std::string head_of(const Table& table) {
  std::string html = "<thead>";
  if (!table.bands.empty()) {
    html += "<tr>";
    for (const auto& [name, span] : table.bands) {
      html += name.empty() ? fmt::format("<td colspan=\"{}\"></td>", span)
                           : fmt::format("<th scope=\"colgroup\" colspan=\"{}\">{}</th>", span,
                                         escape(name));
    }
    html += "</tr>\n";
  }
  html += "<tr>";
  for (std::size_t i = 0; i < table.head.size(); ++i)
    html += fmt::format("<th scope=\"col\"{}>{}</th>", side(table, i), escape(table.head[i]));
  return html + "</tr></thead>\n";
}

std::string column_groups(const Table& table) {
  std::string html;
  for (const auto& band : table.bands)
    html += fmt::format("<colgroup span=\"{}\"></colgroup>", band.second);
  return html.empty() ? html : html + "\n";
}

std::string row_of(const Table& table, std::size_t index) {
  const bool marked = index < table.marked.size() && table.marked[index];
  std::string html = marked ? "<tr class=\"mark\">" : "<tr>";
  const auto& row = table.rows[index];
  for (std::size_t i = 0; i < row.size(); ++i) {
    html += i == 0 ? fmt::format("<th scope=\"row\"{}>{}</th>", side(table, i), escape(row[i]))
                   : fmt::format("<td{}>{}</td>", side(table, i), escape(row[i]));
  }
  return html + "</tr>\n";
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
  if (table.rows.empty()) return {};
  std::string html =
      fmt::format("<div class=\"scroll\"><table>\n<caption>{}</caption>\n", escape(table.caption)) +
      column_groups(table) + head_of(table) + "<tbody>\n";
  for (std::size_t i = 0; i < table.rows.size(); ++i) html += row_of(table, i);
  return html + "</tbody></table></div>\n";
}

std::string cards(const std::vector<std::vector<std::string>>& titles_and_values) {
  if (titles_and_values.empty()) return {};
  std::string html = "<dl class=\"cards\">\n";
  for (const auto& card : titles_and_values)
    html +=
        fmt::format("<div><dt>{}</dt><dd>{}</dd></div>\n", escape(card.at(0)), escape(card.at(1)));
  return html + "</dl>\n";
}

std::string list(const std::vector<std::string>& sentences) {
  if (sentences.empty()) return {};
  std::string html = "<ul>\n";
  for (const std::string& sentence : sentences) html += "<li>" + escape(sentence) + "</li>\n";
  return html + "</ul>\n";
}

std::string details(const std::string& summary, const std::string& html) {
  return "<details><summary>" + escape(summary) + "</summary>\n" + html + "</details>\n";
}

std::string page(const std::string& title, const std::string& body) {
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"{}\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<title>{} – trainyard</title>\n<style>{}</style>\n</head>\n<body>\n<main>\n{}</main>\n"
      "<footer>The numbers without rounding are in the CSV and JSON files of this folder.</footer>"
      "\n</body>\n</html>\n",
      kPolicy, escape(title), kStyle, body);
}

}  // namespace trainyard
