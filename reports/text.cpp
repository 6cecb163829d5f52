#include "reports/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "sim/metrics.hpp"
#include "sim/units.hpp"

namespace trainyard {
namespace {

using Rows = std::vector<std::vector<std::string>>;

// Columns as a terminal shows them: UTF-8 continuation bytes take no room.
std::size_t width(const std::string& text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

std::string percent(double fraction) { return fmt::format("{:+.1f}%", 100 * fraction); }

const Metric* metric_of(const std::string& key) {
  for (const Metric& m : metrics()) {
    if (m.key == key) return &m;
  }
  return nullptr;
}

std::string show_value(const std::string& key, double value) {
  const Metric* metric = metric_of(key);
  return metric != nullptr ? show_metric(*metric, value) : fmt::format("{:.4g}", value);
}

Rows collective_rows_of(const Json& collectives) {
  Rows rows{
      {"collective", "size", "ranks", "servers", "algorithm", "protocol", "calls", "idle time"}};
  for (const Json& c : collectives.items()) {
    rows.push_back({c.at("operation").as_string(), show(Bytes::of(c.at("bytes").as_number())),
                    std::to_string(c.at("ranks").as_integer()),
                    std::to_string(c.at("servers").as_integer()), c.at("algorithm").as_string(),
                    c.at("protocol").as_string(), std::to_string(c.at("calls").as_integer()),
                    show(Seconds::of(c.at("estimate_s").as_number()))});
  }
  return rows;
}

std::string notes(const Json& result, const std::string& indent) {
  std::string text;
  for (const Json& reason : result.at("inactive").items())
    text += indent + "inactive: " + reason.as_string() + "\n";
  std::vector<std::string> all;
  if (const Json* c = result.find("collectives")) all = refusals(*c);
  if (const Json* probes = result.find("probes")) {
    for (const auto& [name, probe] : probes->members()) {
      for (const std::string& r : refusals(probe.at("collectives"))) all.push_back(r);
    }
  }
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  for (const std::string& r : all) text += indent + r + "\n";
  return text;
}

std::vector<std::string> compare_row(const Json& row) {
  const std::string& key = row.at("metric").as_string();
  const auto& values = row.at("values").items();
  std::vector<std::string> cells{row.at("title").as_string()};
  for (std::size_t i = 0; i < values.size(); ++i) {
    cells.push_back(show_value(key, values[i].as_number()));
    const bool claimed = !row.at("claim").is_null() && !row.at("claim").items()[i].is_null();
    cells.push_back(claimed ? show_value(key, row.at("claim").items()[i].as_number()) : "–");
    const bool deviates = claimed && !row.at("deviation").items()[i].is_null();
    cells.push_back(deviates ? percent(row.at("deviation").items()[i].as_number()) : "–");
  }
  const double first = values.front().as_number();
  cells.push_back(first != 0 ? fmt::format("{:.3f}", values.back().as_number() / first) : "–");
  return cells;
}

std::string outside_parameters(const Json& result) {
  std::string text;
  for (const Json& p : result.at("parameters").items()) {
    if (p.find("outside") == nullptr) continue;
    text += fmt::format("    outside its range: {} = {} (range {} to {}): {}\n",
                        p.at("pointer").as_string(), dump_json(p.at("value"), -1),
                        p.at("range").items()[0].as_string(), p.at("range").items()[1].as_string(),
                        p.at("text").as_string());
  }
  return text;
}

}  // namespace

std::string aligned(const std::vector<std::vector<std::string>>& rows, const std::string& indent) {
  std::vector<std::size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], width(row[i]));
  }
  std::string text;
  for (const auto& row : rows) {
    std::string line = indent;
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::string pad(widths[i] - width(row[i]), ' ');
      line += (i > 0 ? "  " : "") + (i == 0 ? row[i] + pad : pad + row[i]);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

std::string parameter_summary(const Json& result) {
  std::map<std::string, int> kinds;
  int outside = 0;
  for (const Json& p : result.at("parameters").items()) {
    ++kinds[p.at("kind").as_string()];
    outside += p.find("outside") != nullptr ? 1 : 0;
  }
  std::string text;
  for (const auto& [kind, count] : kinds)
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, kind);
  return text + fmt::format("; {} outside their range", outside);
}

std::vector<std::string> refusals(const Json& collectives) {
  std::vector<std::string> all;
  for (const Json& c : collectives.items()) {
    const Json* reasons = c.find("refused");
    if (reasons == nullptr || c.at("servers").as_integer() == 1) continue;
    all.push_back(fmt::format("{} of {} on {} ranks could not use {}",
                              c.at("operation").as_string(),
                              show(Bytes::of(c.at("bytes").as_number())),
                              c.at("ranks").as_integer(), reasons->as_string()));
  }
  return all;
}

std::string run_text(const Json& result) {
  std::string text = result.at("name").as_string() + "\n";
  Rows rows;
  for (const Metric& metric : metrics()) {
    if (const auto v = metric_value(result.at("metrics"), metric.key))
      rows.push_back({std::string(metric.title), show_metric(metric, *v)});
  }
  text += aligned(rows);
  if (const Json* probes = result.find("probes")) {
    Rows table{{"probe", "size", "ranks", "time", "algbw", "busbw", "algorithm", "protocol"}};
    for (const auto& [name, p] : probes->members()) {
      table.push_back({name, show(Bytes::of(p.at("size_bytes").as_number())),
                       std::to_string(p.at("ranks").as_integer()),
                       show(Seconds::of(p.at("time_s").as_number())),
                       show(BytesPerSecond::of(p.at("algbw_bytes_per_s").as_number())),
                       show(BytesPerSecond::of(p.at("busbw_bytes_per_s").as_number())),
                       p.at("algorithm").as_string(), p.at("protocol").as_string()});
    }
    text += "\n" + aligned(table);
  }
  if (const Json* collectives = result.find("collectives");
      collectives != nullptr && !collectives->items().empty()) {
    text += "\n" + aligned(collective_rows_of(*collectives));
  }
  text += "\n" + notes(result, "  ");
  return text + "  parameters: " + parameter_summary(result) + "\n" + outside_parameters(result);
}

std::string compare_text(const Json& comparison) {
  const auto& results = comparison.at("results").items();
  std::vector<std::string> names{""}, heads{"metric"};
  for (const Json& result : results) {
    names.insert(names.end(), {result.at("name").as_string(), "", ""});
    heads.insert(heads.end(), {"simulated", "claim", "deviation"});
  }
  names.emplace_back();
  heads.emplace_back("last/first");
  Rows rows{names, heads};
  for (const Json& row : comparison.at("rows").items()) rows.push_back(compare_row(row));
  std::string text = aligned(rows, "") + "\n";
  for (const Json& result : results) {
    text += fmt::format("{}: parameters: {}\n", result.at("name").as_string(),
                        parameter_summary(result)) +
            outside_parameters(result) + notes(result, "    ");
  }
  if (!comparison.at("claimed_only").items().empty()) {
    text += "claimed, but not simulated by this version:";
    for (const Json& key : comparison.at("claimed_only").items()) text += " " + key.as_string();
    text += "\n";
  }
  if (comparison.at("claim_source").is_string())
    text += "claim: " + comparison.at("claim_source").as_string() + "\n";
  return text;
}

std::string collective_text(const Json& measured) {
  constexpr double kFloat = 4;  // bytes of an element, as nccl-tests' default type
  std::string text = fmt::format("# {}, time by the simulated clock (out-of-place)\n#\n",
                                 measured.at("collective").as_string());
  text += fmt::format("#{:>14} {:>13} {:>8} {:>7} {:>7} {:>10} {:>8} {:>8}  {:<13} {}\n", "size",
                      "count", "type", "redop", "root", "time", "algbw", "busbw", "algorithm",
                      "protocol");
  text += fmt::format("#{:>14} {:>13} {:>8} {:>7} {:>7} {:>10} {:>8} {:>8}\n", "(B)", "(elements)",
                      "", "", "", "(us)", "(GB/s)", "(GB/s)");
  const bool reduces = measured.at("collective").as_string() != "all_gather";
  double sum = 0;
  for (const Json& row : measured.at("rows").items()) {
    const double bytes = row.at("size_bytes").as_number(),
                 bus = row.at("busbw_bytes_per_s").as_number() / 1e9;
    const double us = row.at("time_s").as_number() * 1e6;
    sum += bus;
    text +=
        fmt::format(" {:>14.0f} {:>13.0f} {:>8} {:>7} {:>7} {:>10} {:>8.2f} {:>8.2f}  {:<13} {}\n",
                    bytes, std::floor(bytes / kFloat), "float", reduces ? "sum" : "none", -1,
                    us < 1e4 ? fmt::format("{:.2f}", us) : fmt::format("{:.0f}", us),
                    row.at("algbw_bytes_per_s").as_number() / 1e9, bus,
                    row.at("algorithm").as_string(), row.at("protocol").as_string());
  }
  return text + fmt::format("# Avg bus bandwidth    : {:.4f}\n",
                            sum / static_cast<double>(measured.at("rows").items().size()));
}

}  // namespace trainyard
