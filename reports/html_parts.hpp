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
  bool clipped = false;  ///< cells are one line that ends in an ellipsis; the whole is its title
};
/// Characters of a cell that are surely in sight in a clipped table.
inline constexpr std::size_t kClip = 24;
/// Nothing for a table without rows.
std::string render(const Table& table);

/// The few numbers to see first, each with its name above it.
std::string cards(const std::vector<std::vector<std::string>>& titles_and_values);
/// A list of sentences; nothing without one.
std::string list(const std::vector<std::string>& sentences);
/// Anchors of a page, each with its heading.
using Links = std::vector<std::pair<std::string, std::string>>;
/// A line of links under a word for all of them; nothing for fewer than two.
std::string contents(const std::string& what, const Links& links);
/// The beginning of a text of more bytes than that, and an ellipsis.
std::string shortened(const std::string& text, std::size_t bytes);
/// A section that opens on a click; `html` is markup, `summary` text.
std::string details(const std::string& summary, const std::string& html);

}  // namespace trainyard
