// A chart of the page: its numbers as a table, and what else its drawing needs.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "reports/html_parts.hpp"
#include "sim/json.hpp"
#include "sim/metrics.hpp"

namespace trainyard {

/// How the numbers of a column are shown, here and by reports/charts/format.js.
/// kSize: bytes of a message, in powers of two where it is whole in them.
enum class Form { kText, kSeconds, kBytes, kSize, kRate, kShare, kNumber };

struct Column {
  std::string title;
  Form form = Form::kText;
  std::string unit = {};   ///< of a kNumber; "1" for a bare number
  std::string none = "–";  ///< in place of null
};
/// The column of a metric; one that no table knows has the unit alone.
Column metric_column(std::string_view key, const std::string& title, const std::string& unit);

struct Chart {
  std::string kind;  ///< the NAME of reports/charts/NAME.js, which draws it
  std::string title;
  std::string summary;  ///< what the picture shows, for those who do not see it
  std::vector<Column> columns;
  std::vector<Json::Array> rows;  ///< the numbers: a cell for each column, null where there is none
  Json more = Json::object();     ///< members beside columns and rows
  /// In place of a table of all rows, where these are too many to read.
  std::optional<std::vector<Table>> tables = {};
  std::size_t most_rows = SIZE_MAX;  ///< of the table
  bool open = false;                 ///< the table is what is looked at, not only behind a click
  bool clipped = false;              ///< the table, see Table
};

/// The number for people in the form of the column; a dash for null.
std::string show_cell(const Column& column, const Json& value);
/// Caption, summary, data (JSON and, behind a click, a table). `id` is the page's anchor.
std::string figure(const Chart& chart, const std::string& id);
/// The same for a chart that draws the data of the figure `of`.
std::string figure(const Chart& chart, const std::string& id, const std::string& of);

/// Figures of a page in their order, and where each is.
class Figures {
 public:
  /// Nothing without a chart; `of`: see figure().
  void add(const std::optional<Chart>& chart, const std::string& id, const std::string& of = {});
  const std::string& html() const { return html_; }
  const Links& links() const { return links_; }

 private:
  std::string html_;
  Links links_;
};

/// What a recording says of itself in sentences: those on the utilization, or all others.
std::vector<std::string> recording_notes(const Json& recording, bool of_utilization);
/// The sentences one after the other, each with a capital letter and a full stop.
std::string sentences(const std::vector<std::string>& notes);

/// JSON that can stand in a <script> element: no "<" in it.
std::string script_json(const Json& value);

}  // namespace trainyard
