// Pieces of HTML. Everything that comes from a scenario passes through escape().
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace trainyard {

/// Text for element content and quoted attributes: & < > " ' replaced.
std::string escape(const std::string& text);

/// A table of text; escaped when rendered. The first column is the row's heading.
struct Table {
  std::string caption;
  std::vector<std::string> head;
  std::string columns;  ///< a letter for each: l for words, r for numbers
  std::vector<std::vector<std::string>> rows;
  /// A line above the head: a name and how many columns it spans. Empty without one.
  std::vector<std::pair<std::string, std::size_t>> bands;
  std::vector<bool> marked;  ///< rows to notice; may be shorter than rows
};
/// Nothing for a table without rows.
std::string render(const Table& table);

/// The few numbers to see first, each with its name above it.
std::string cards(const std::vector<std::vector<std::string>>& titles_and_values);
/// A list of sentences; nothing without one.
std::string list(const std::vector<std::string>& sentences);
/// A section that opens on a click; `html` is markup, `summary` text.
std::string details(const std::string& summary, const std::string& html);

/// The whole page: style, title (text), body (markup). No script and nothing from outside: the page
/// tells the browser to refuse both.
std::string page(const std::string& title, const std::string& body);

}  // namespace trainyard
