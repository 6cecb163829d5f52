#include "reports/text.hpp"

#include <algorithm>

#include "reports/replay.hpp"
#include "reports/tables.hpp"

namespace trainyard {
namespace {

std::string table(Cells heading, Rows rows) {
  if (rows.empty()) return {};
  rows.insert(rows.begin(), std::move(heading));
  return "\n" + aligned(rows);
}

// The reasons why an algorithm could not be used are sentences, below the table.
Rows without_reasons(Rows rows) {
  for (Cells& row : rows) row.pop_back();
  return rows;
}

// result.json's "metrics" are those of the first job.
std::string later_jobs(const Json& result) {
  const Json* jobs = result.find("jobs");
  std::string text;
  for (std::size_t i = 1; jobs != nullptr && i < jobs->items().size(); ++i) {
    const Json& job = jobs->items()[i];
    text += "\n  " + printable(job.at("name").as_string()) + "\n" +
            aligned(metric_rows(job.at("metrics")), "    ");
  }
  return text;
}

std::string notes(const Json& result) {
  std::vector<std::string> all = simulation_notes(result);
  for (const std::string& refusal : refusals(result)) all.push_back(refusal);
  for (const std::string& note : replay_notes(result)) all.push_back(note);
  all.push_back("parameters: " + parameter_summary(result));
  for (const std::string& parameter : outside_parameters(result)) all.push_back(parameter);
  return "\n" + lines(all, "  ");
}

}  // namespace

std::size_t width(const std::string& text) {
  return static_cast<std::size_t>(std::count_if(
      text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));  // UTF-8: not first
}

std::string printable(const std::string& text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    const bool c1 = c == 0xC2 && i + 1 < text.size() && (text[i + 1] & 0xE0) == 0x80;  // U+0080…9F
    out += c < 0x20 || c == 0x7F || c1 ? '?' : text[i];
    i += c1 ? 1 : 0;
  }
  return out;
}

std::string lines(const std::vector<std::string>& sentences, const std::string& indent) {
  std::string text;
  for (const std::string& sentence : sentences) text += indent + printable(sentence) + "\n";
  return text;
}

std::string aligned(const Rows& rows, const std::string& indent) {
  std::vector<std::size_t> widths;
  for (const Cells& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i)
      widths[i] = std::max(widths[i], width(printable(row[i])));
  }
  std::string text;
  for (const Cells& row : rows) {
    std::string line = indent;
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::string cell = printable(row[i]), pad(widths[i] - width(cell), ' ');
      line += (i > 0 ? "  " : "") + (i == 0 ? cell + pad : pad + cell);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

std::string run_text(const Json& result) {
  const std::string first = first_of_jobs(result);
  return printable(result.at("name").as_string()) + "\n" +
         (first.empty() ? "" : "  " + printable(first) + "\n") +
         aligned(metric_rows(result.at("metrics"))) + later_jobs(result) +
         table({"where the GPU time goes", "share", "time"}, gpu_time_rows(result.at("metrics"))) +
         table({"equipment", "count", "mean power", "energy", "capital"},
               equipment_rows(result.at("metrics"))) +
         table({"job", "group", "operation", "ranks", "calls", "bytes", "time"},
               communication_rows(result)) +
         table({"job", "size", "ranks", "time", "algbw", "busbw", "algorithm", "protocol"},
               timed_rows(result)) +
         table({"probe", "size", "ranks", "time", "algbw", "busbw", "algorithm", "protocol"},
               probe_rows(result)) +
         table({"collectives", "operation", "size", "ranks", "servers", "algorithm", "protocol",
                "calls", "idle time"},
               without_reasons(choice_rows(result))) +
         notes(result);
}

}  // namespace trainyard
