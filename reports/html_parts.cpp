#include "reports/html_parts.hpp"

#include <fmt/format.h>

namespace trainyard {
namespace {

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

// What a clipped cell may not have room for.
std::string title_of(const Table& table, const std::string& cell) {
  return table.clipped && cell.size() > kClip ? " title=\"" + escape(cell) + "\"" : "";
}

std::string row_of(const Table& table, std::size_t index) {
  const bool marked = index < table.marked.size() && table.marked[index];
  std::string html = marked ? "<tr class=\"mark\">" : "<tr>";
  const auto& row = table.rows[index];
  for (std::size_t i = 0; i < row.size(); ++i) {
    const std::string attributes = side(table, i) + title_of(table, row[i]);
    html += i == 0 ? fmt::format("<th scope=\"row\"{}>{}</th>", attributes, escape(row[i]))
                   : fmt::format("<td{}>{}</td>", attributes, escape(row[i]));
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
  std::string html = fmt::format("<div class=\"scroll\"><table{}>\n<caption>{}</caption>\n",
                                 table.clipped ? " class=\"clipped\"" : "", escape(table.caption)) +
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

std::string contents(const std::string& what, const Links& links) {
  if (links.size() < 2) return {};
  std::string html = "<nav class=\"contents\"><span>" + escape(what) + ":</span>\n";
  for (const auto& [id, title] : links)
    html += fmt::format("<a href=\"#{}\">{}</a>\n", escape(id), escape(title));
  return html + "</nav>\n";
}

std::string shortened(const std::string& text, std::size_t bytes) {
  if (text.size() <= bytes) return text;
  std::size_t end = bytes;
  // Bytes 10xxxxxx of UTF-8 go on with a character.
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;
  return text.substr(0, end) + "…";
}

std::string details(const std::string& summary, const std::string& html) {
  return "<details><summary>" + escape(summary) + "</summary>\n" + html + "</details>\n";
}

}  // namespace trainyard
