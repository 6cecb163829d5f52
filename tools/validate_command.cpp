#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "reports/csv.hpp"
#include "reports/text.hpp"
#include "sim/embedded.hpp"
#include "tools/commands.hpp"
#include "tools/validation.hpp"

namespace trainyard {
namespace {

using Cells = std::vector<std::vector<std::string>>;
constexpr double kWorthAWord = 0.1;

// As nccl-tests' users say it.
std::string size_text(double bytes) {
  const char* const units[] = {"B", "KiB", "MiB", "GiB"};
  std::size_t unit = 0;
  for (; unit < 3 && bytes >= 1024; ++unit) bytes /= 1024;
  return fmt::format("{:.4g} {}", bytes, units[unit]);
}
std::string percent(double share) { return fmt::format("{:+.1f}%", 100 * share); }
std::string met(bool holds) { return holds ? "met" : "MISSED"; }

// What most of a row's time is, by the time of 8 B on the same machine.
std::string dominant(const ValidatedRow& row) {
  return row.least_s > row.simulated_s / 2
             ? fmt::format("latency: 8 B take {:.1f} us", row.least_s * 1e6)
             : fmt::format("bytes and filling pipelines: 8 B take {:.1f} us", row.least_s * 1e6);
}

std::string table_text(const ValidatedTable& table) {
  Cells cells{{"size", "measured", "simulated", "error", "algorithm", "protocol"}};
  std::string remarks;
  for (const ValidatedRow& row : table.rows) {
    cells.push_back({size_text(row.bytes), fmt::format("{:.2f} us", row.measured_s * 1e6),
                     fmt::format("{:.2f} us", row.simulated_s * 1e6), percent(row.error()),
                     row.algorithm, row.protocol});
    if (std::abs(row.error()) <= kWorthAWord) continue;
    remarks += fmt::format("    {} is {} off; {}\n", size_text(row.bytes), percent(row.error()),
                           dominant(row));
  }
  std::string text = fmt::format("{}  {}\n  {}, {}\n{}", table.id, table.what, table.source,
                                 table.where, aligned(cells));
  if (const auto mean = table.mean_error()) {
    text += fmt::format("  mean error from 1 MiB on {:.1f}% (at most {:.0f}%: {})", 100 * *mean,
                        100 * Validation::kTableBar, met(*mean <= Validation::kTableBar));
  }
  if (const auto worst = table.worst_small()) {
    text += fmt::format("; worst up to 64 KiB {:.1f}% (at most {:.0f}%: {})", 100 * *worst,
                        100 * Validation::kSmallBar, met(*worst <= Validation::kSmallBar));
  }
  text += "\n" + remarks;
  if (!remarks.empty() && !table.note.empty()) text += "    of the source: " + table.note + "\n";
  return text + "\n";
}

std::string scalars_text(const std::vector<ValidatedScalar>& scalars) {
  Cells cells{{"published figure", "measured", "simulated", "error", "", "algorithm", "id"}};
  std::string remarks;
  for (const ValidatedScalar& s : scalars) {
    const auto value = [&](double v) {
      return s.is_ratio ? fmt::format("{:.3f}", v) : fmt::format("{:.1f} GB/s", v / 1e9);
    };
    cells.push_back({s.what, value(s.measured), value(s.simulated),
                     percent(s.simulated / s.measured - 1), met(s.holds()), s.algorithm, s.id});
    if (!s.holds() && !s.note.empty()) remarks += fmt::format("    {}: {}\n", s.what, s.note);
  }
  return aligned(cells) + remarks;
}

std::string validation_text(const Validation& all) {
  std::string text;
  for (const ValidatedTable& table : all.tables) text += table_text(table);
  text += scalars_text(all.scalars);
  text += fmt::format("\nmean error of all tables from 1 MiB on {:.1f}% (at most {:.0f}%: {})\n",
                      100 * all.mean_error(), 100 * Validation::kAllBar,
                      met(all.mean_error() <= Validation::kAllBar));
  if (all.noise) {
    text += fmt::format(
        "noise floor: {} and {}, measured on machines of one kind, differ by {:.1f}% on the mean "
        "and {:.0f}% at {}\n",
        all.noise->first, all.noise->second, 100 * all.noise->mean, 100 * all.noise->worst,
        size_text(all.noise->worst_bytes));
  }
  return text;
}

Json validation_json(const Validation& all) {
  Json tables = Json::array(), scalars = Json::array(), out = Json::object();
  for (const ValidatedTable& table : all.tables) {
    Json one = Json::object(), rows = Json::array();
    one["id"] = Json(table.id);
    one["source"] = Json(table.source);
    for (const ValidatedRow& row : table.rows) {
      Json line = Json::object();
      line["bytes"] = Json(row.bytes);
      line["measured_s"] = Json(row.measured_s);
      line["simulated_s"] = Json(row.simulated_s);
      line["error"] = Json(row.error());
      line["algorithm"] = Json(row.algorithm);
      line["protocol"] = Json(row.protocol);
      rows.push_back(std::move(line));
    }
    one["rows"] = std::move(rows);
    if (const auto mean = table.mean_error()) one["mean_error"] = Json(*mean);
    if (const auto worst = table.worst_small()) one["worst_small_error"] = Json(*worst);
    tables.push_back(std::move(one));
  }
  for (const ValidatedScalar& s : all.scalars) {
    Json one = Json::object();
    one["id"] = Json(s.id);
    one["what"] = Json(s.what);
    one["measured"] = Json(s.measured);
    one["simulated"] = Json(s.simulated);
    one["holds"] = Json(s.holds());
    scalars.push_back(std::move(one));
  }
  out["tables"] = std::move(tables);
  out["scalars"] = std::move(scalars);
  out["mean_error"] = Json(all.mean_error());
  out["holds"] = Json(all.holds());
  return out;
}

std::string validation_csv(const Validation& all) {
  std::string csv = "id,bytes,measured_s,simulated_s,error,algorithm,protocol\n";
  for (const ValidatedTable& table : all.tables) {
    for (const ValidatedRow& row : table.rows) {
      csv += fmt::format("{},{},{},{},{},{},{}\n", table.id, row.bytes, row.measured_s,
                         row.simulated_s, row.error(), row.algorithm, row.protocol);
    }
  }
  return csv;
}

}  // namespace

ExitCode validate_command(const std::string& what, bool strict, const CommonOptions& options) {
  require(what == "network", "validate knows one thing");
  const auto files = embedded_validation();
  const auto file = std::find_if(files.begin(), files.end(),
                                 [](const EmbeddedFile& f) { return f.name == "network.json"; });
  require(file != files.end(), "the published figures are part of the program");
  const Validation all =
      validate_network(parse_json(std::string(file->text), "validation data"), options.load);
  print_as(
      options.format, [&] { return validation_text(all); },
      [&] { return dump_json(validation_json(all)); }, [&] { return validation_csv(all); });
  return strict && !all.holds() ? ExitCode::kAssert : ExitCode::kOk;
}

}  // namespace trainyard
