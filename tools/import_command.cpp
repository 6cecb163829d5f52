#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>

#include "reports/csv.hpp"
#include "reports/tables.hpp"
#include "reports/text.hpp"
#include "sim/spelling.hpp"
#include "sim/trace_format.hpp"
#include "sim/trace_stats.hpp"
#include "sim/units.hpp"
#include "tools/trace_command.hpp"

namespace trainyard {

std::string trace_format_of(const std::string& path) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 7> kEndings{{
      {".jsonl", "jsonl"},
      {".jsonl.gz", "jsonl"},
      {".goal", "goal"},
      {".goal.gz", "goal"},
      {".et", "chakra"},
      {".json", "kineto"},
      {".json.gz", "kineto"},
  }};
  for (const auto& [ending, format] : kEndings) {
    if (path.ends_with(ending)) return std::string(format);
  }
  return {};
}

void check_trace_format(const std::string& option, const std::string& name,
                        const std::vector<std::string_view>& others) {
  std::vector<std::string_view> names = Registry<TraceFormat>::of().names();
  names.insert(names.end(), others.begin(), others.end());
  if (std::find(names.begin(), names.end(), name) != names.end()) return;
  if (name.empty())
    throw UsageError(fmt::format("{} is missing, and the ending of --out names no format ({})",
                                 option, fmt::join(names, ", ")));
  throw UsageError(
      fmt::format("{}: \"{}\" is no format of traces ({})", option, name, suggest(name, names)));
}

namespace {

ReadTrace read(const ImportOptions& options, bool keep_extras) {
  if (!options.from.empty()) check_trace_format("--from", options.from);
  TraceReading how;
  how.lenient = options.lenient;
  how.keep_extras = keep_extras;
  how.representative = options.representative;
  how.ranks = static_cast<std::size_t>(options.ranks);
  return read_trace(options.path, options.from, how);
}

std::string repairs_text(const std::vector<TraceRepair>& repairs) {
  std::string text;
  for (const TraceRepair& repair : repairs)
    text += printable(fmt::format("  mended: {}× {} (the first: {})", repair.count, repair.what,
                                  repair.first)) +
            "\n";
  return text;
}

std::string number(double value) { return fmt::format("{:.0f}", value); }

std::string seconds(double value) { return show_quantity(value, dimension_of(Seconds())); }

std::string stats_text(const Json& stats, const std::string& path) {
  const auto count = [&](const char* key) { return stats.at(key).as_integer(); };
  std::string text =
      printable(fmt::format("{}: {}, {} ranks{}, {} operations", path,
                            stats.at("format").as_string(), count("ranks"),
                            stats.at("representative").as_bool()
                                ? fmt::format(" of which {} stand for all", count("programs"))
                                : "",
                            count("operations"))) +
      "\n";
  Rows rows;
  for (const auto& [kind, value] : stats.at("kinds").members())
    rows.push_back({kind, std::to_string(value.as_integer())});
  text += aligned(rows);
  Rows communication{{"group", "operation", "ranks", "calls", "bytes", "sent per rank"}};
  constexpr std::size_t kShown = 40;
  const Json::Array& groups = stats.at("communication").items();
  for (const Json& row : std::span(groups).first(std::min(groups.size(), kShown)))
    communication.push_back(
        {row.at("group").as_string(), row.at("operation").as_string(),
         std::to_string(row.at("ranks").as_integer()), std::to_string(row.at("calls").as_integer()),
         number(row.at("bytes").as_number()),
         row.at("sent_bytes").is_null() ? "" : number(row.at("sent_bytes").as_number())});
  if (communication.size() > 1) text += "\n" + aligned(communication);
  if (groups.size() > kShown)
    text += fmt::format("  and {} more rows: --format csv has all\n", groups.size() - kShown);
  const Json& path_of = stats.at("critical_path");
  Rows times{
      {"recorded, mean over ranks", "compute", "host", "communication"},
      {"", seconds(stats.at("compute_s").as_number()), seconds(stats.at("host_s").as_number()),
       seconds(stats.at("communication_s").as_number())},
      {fmt::format("longest chain: {} in {} operations", seconds(path_of.at("seconds").as_number()),
                   path_of.at("operations").as_integer()),
       seconds(path_of.at("compute_s").as_number()), seconds(path_of.at("host_s").as_number()),
       seconds(path_of.at("communication_s").as_number())}};
  text += "\n" + aligned(times);
  if (const Json& ratio = stats.at("compute_to_communication"); !ratio.is_null())
    text += fmt::format("  compute / communication: {:.3g}\n", ratio.as_number());
  if (const std::int64_t stuck = path_of.at("never_ready").as_integer(); stuck > 0)
    text += fmt::format("  {} operations wait for each other in a circle across ranks\n", stuck);
  return text;
}

std::string stats_csv(const Json& stats) {
  constexpr std::array<std::string_view, 6> kColumns{"group", "operation", "ranks",
                                                     "calls", "bytes",     "sent_bytes"};
  std::string csv = csv_line(std::vector<Json>(kColumns.begin(), kColumns.end()));
  for (const Json& row : stats.at("communication").items()) {
    std::vector<Json> cells;
    cells.reserve(kColumns.size());
    for (const std::string_view column : kColumns) cells.push_back(row.at(column));
    csv += csv_line(cells);
  }
  return csv;
}

}  // namespace

ExitCode import_command(const ImportOptions& options, Format format) {
  const std::string to = options.to.empty() ? trace_format_of(options.out) : options.to;
  check_trace_format("--to", to);
  const std::unique_ptr<TraceFormat> writer = Registry<TraceFormat>::of().make(to);
  if (!writer->writes()) throw UsageError(fmt::format("--to: {} is only read", to));
  const ReadTrace read_in = read(options, true);
  const std::vector<std::string> losses = writer->write(read_in.trace, options.out);
  print_as(
      format,
      [&] {
        std::string text = printable(fmt::format("{}: {} operations of {} ranks, {} -> {}",
                                                 options.out, read_in.trace.size(),
                                                 read_in.trace.ranks, read_in.trace.format, to)) +
                           "\n";
        text += repairs_text(read_in.repairs);
        for (const std::string& loss : losses) text += printable("  lost: " + loss) + "\n";
        return text;
      },
      [&] {
        Json out = Json::object();
        out["from"] = Json(read_in.trace.format);
        out["to"] = Json(to);
        out["ranks"] = Json(read_in.trace.ranks);
        out["operations"] = Json(read_in.trace.size());
        out["repairs"] = repairs_json(read_in.repairs);
        out["losses"] = Json::array();
        for (const std::string& loss : losses) out["losses"].push_back(Json(loss));
        return dump_json(out);
      },
      [] { return std::string(); });
  return ExitCode::kOk;
}

ExitCode trace_stats_command(const ImportOptions& options, Format format) {
  const ReadTrace read_in = read(options, false);
  Json stats = trace_stats(read_in.trace, read_in.matches);
  stats["repairs"] = repairs_json(read_in.repairs);
  print_as(
      format, [&] { return stats_text(stats, options.path) + repairs_text(read_in.repairs); },
      [&] { return dump_json(stats); }, [&] { return stats_csv(stats); });
  return ExitCode::kOk;
}

}  // namespace trainyard
