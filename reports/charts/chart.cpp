#include "reports/charts/chart.hpp"

#include <fmt/format.h>

#include <cmath>
#include <iterator>

#include "reports/tables.hpp"
#include "sim/units.hpp"

namespace trainyard {
namespace {

std::string_view name_of(Form form) {
  switch (form) {
    case Form::kText:
      return "text";
    case Form::kSeconds:
      return "seconds";
    case Form::kBytes:
      return "bytes";
    case Form::kSize:
      return "size";
    case Form::kRate:
      return "rate";
    case Form::kShare:
      return "share";
    case Form::kNumber:
      return "number";
  }
  return {};
}

Json column_json(const Column& column) {
  Json json = Json::object();
  json["title"] = Json(column.title);
  json["form"] = Json(name_of(column.form));
  if (!column.unit.empty()) json["unit"] = Json(column.unit);
  return json;
}

Json data_of(const Chart& chart) {
  Json data = Json::object();
  data["columns"] = Json::array();
  for (const Column& column : chart.columns) data["columns"].push_back(column_json(column));
  data["rows"] = Json::array();
  for (const Json::Array& row : chart.rows) data["rows"].push_back(Json(row));
  for (const auto& [key, value] : chart.more.members()) data[key] = value;
  return data;
}

// 1 MiB where 1.049 MB would be shown of a size that is whole in a power of 1024.
std::string show_size(double bytes) {
  constexpr double kStep = 1024;
  constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  double scaled = bytes;
  for (; scaled >= kStep && unit + 1 < std::size(kUnits); ++unit) scaled /= kStep;
  if (scaled != std::floor(scaled)) return show(Bytes::of(bytes));
  return fmt::format("{:.0f} {}", scaled, kUnits[unit]);
}

std::string tables_of(const Chart& chart) {
  std::string html;
  if (chart.tables) {
    for (const Table& table : *chart.tables) html += render(table);
    return html;
  }
  Table table{chart.open ? "" : chart.title, {}, {}, {}, {}, {}, chart.clipped};
  for (const Column& column : chart.columns) {
    table.head.push_back(column.title);
    table.columns += column.form == Form::kText ? 'l' : 'r';
  }
  for (const Json::Array& row : chart.rows) {
    if (table.rows.size() == chart.most_rows) break;
    std::vector<std::string> cells;
    for (std::size_t i = 0; i < row.size(); ++i)
      cells.push_back(show_cell(chart.columns.at(i), row[i]));
    table.rows.push_back(std::move(cells));
  }
  return render(table);
}

std::string frame(const Chart& chart, const std::string& id, const std::string& source) {
  const std::string tables = tables_of(chart);
  return fmt::format(
      "<figure id=\"{}\" data-chart=\"{}\"{}>\n<figcaption>{}</figcaption>\n"
      "<p class=\"summary\">{}</p>\n{}",
      escape(id), escape(chart.kind), source, escape(chart.title), escape(chart.summary),
      tables.empty() || chart.open ? tables : details("Data as a table", tables));
}

}  // namespace

Column metric_column(std::string_view key, const std::string& title, const std::string& unit) {
  if (const Metric* metric = find_metric(key)) {
    switch (metric->show) {
      case Metric::Show::kSeconds:
        return {title, Form::kSeconds, {}};
      case Metric::Show::kFraction:
        return {title, Form::kShare, {}};
      case Metric::Show::kBytes:
        return {title, Form::kBytes, {}};
      case Metric::Show::kRate:
        return {title, Form::kRate, {}};
      case Metric::Show::kNumber:
        break;
    }
  }
  return {title, Form::kNumber, unit};
}

std::string show_cell(const Column& column, const Json& value) {
  if (value.is_string()) return value.as_string();
  if (!value.is_number()) return column.none;
  const double number = value.as_number();
  switch (column.form) {
    case Form::kSeconds:
      return show(Seconds::of(number));
    case Form::kBytes:
      return show(Bytes::of(number));
    case Form::kSize:
      return show_size(number);
    case Form::kRate:
      return show(BytesPerSecond::of(number));
    case Form::kShare:
      return fmt::format("{:.2f}%", 100 * number);
    case Form::kText:
    case Form::kNumber:
      break;
  }
  return show_value(Metric{{}, {}, column.unit.empty() ? "1" : std::string_view(column.unit), {}},
                    number);
}

std::string script_json(const Json& value) {
  std::string text;
  for (const char c : dump_json(value, -1)) {
    if (c == '<') {
      text += "\\u003c";
    } else {
      text += c;
    }
  }
  return text;
}

std::string figure(const Chart& chart, const std::string& id) {
  return frame(chart, id, {}) + "<script type=\"application/json\">" + script_json(data_of(chart)) +
         "</script>\n</figure>\n";
}

std::string figure(const Chart& chart, const std::string& id, const std::string& of) {
  return frame(chart, id, " data-of=\"" + escape(of) + "\"") +
         fmt::format(
             "<noscript><p>A script draws this; its numbers are in the <a href=\"#{}\">table</a>."
             "</p></noscript>\n</figure>\n",
             escape(of));
}

void Figures::add(const std::optional<Chart>& chart, const std::string& id, const std::string& of) {
  if (!chart) return;
  html_ += of.empty() ? figure(*chart, id) : figure(*chart, id, of);
  links_.emplace_back(id, chart->title);
}

std::vector<std::string> recording_notes(const Json& recording, bool of_utilization) {
  std::vector<std::string> found;
  const Json* notes = recording.find("notes");
  if (notes == nullptr) return found;
  for (const Json& note : notes->items()) {
    const std::string& text = note.as_string();
    const bool utilization =
        text.find("NVLink") != std::string::npos || text.find("Utilization") != std::string::npos;
    if (utilization == of_utilization) found.push_back(text);
  }
  return found;
}

std::string sentences(const std::vector<std::string>& notes) {
  std::string text;
  for (std::string sentence : notes) {
    if (!sentence.empty() && sentence[0] >= 'a' && sentence[0] <= 'z') sentence[0] -= 'a' - 'A';
    text += " " + sentence;
    if (!text.ends_with('.')) text += ".";
  }
  return text;
}

}  // namespace trainyard
