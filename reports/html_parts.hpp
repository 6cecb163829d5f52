// Pieces of HTML. Everything that comes from a scenario passes through escape().
#pragma once

#include <string>
#include <vector>

namespace trainyard {

/// Text for element content and quoted attributes: & < > " ' replaced.
std::string escape(const std::string& text);

/// A table of text; escaped when rendered. The first column is the row's heading.
struct Table {
  std::string caption;
  std::vector<std::string> head;
  std::vector<std::vector<std::string>> rows;
};
std::string render(const Table& table);

/// A section that opens on a click; `html` is markup, `summary` text.
std::string details(const std::string& summary, const std::string& html);

/// The whole page: style, title (text), body (markup). No script, nothing from outside.
std::string page(const std::string& title, const std::string& body);

}  // namespace trainyard
