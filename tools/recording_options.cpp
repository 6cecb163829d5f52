// --timeline-bars, --timeline-ranks, --timeline-window.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "tools/commands.hpp"

namespace trainyard {
namespace {

[[noreturn]] void refuse_ranks(std::string_view text, const std::string& why) {
  throw UsageError(fmt::format(
      "--timeline-ranks \"{}\" {} (write GPUs and ranges of them, like 0,8,16-23)", text, why));
}

std::size_t read_rank(std::string_view digits, std::string_view text) {
  std::size_t rank = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), rank);
  if (error == std::errc::result_out_of_range) refuse_ranks(text, "names a GPU that is too large");
  if (error != std::errc() || end != digits.data() + digits.size())
    refuse_ranks(text, fmt::format("has \"{}\" where a GPU's number should be", digits));
  return rank;
}

std::vector<std::pair<std::size_t, std::size_t>> read_ranks(std::string_view text) {
  std::vector<std::pair<std::size_t, std::size_t>> ranges;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string_view item = text.substr(begin, end - begin);
    const std::size_t dash = item.find('-');
    const std::size_t first = read_rank(item.substr(0, dash), text);
    const std::size_t last =
        dash == std::string_view::npos ? first : read_rank(item.substr(dash + 1), text);
    if (last < first)
      refuse_ranks(text, fmt::format("has a range that ends before it begins, \"{}\"", item));
    ranges.emplace_back(first, last);
    begin = end + 1;
  }
  return ranges;
}

double read_date(std::string_view text, std::string_view window) {
  const ParsedQuantity date = parse_quantity(text, dimension_of(Seconds()));
  if (!date.error.empty() || date.si < 0)
    throw UsageError(fmt::format(
        "--timeline-window \"{}\": {} (write FROM:TO, like 0s:1.5s)", window,
        date.error.empty() ? fmt::format("{} is before the run begins", text) : date.error));
  return date.si;
}

void read_window(std::string_view text, RecordingOptions& options) {
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos)
    throw UsageError(
        fmt::format("--timeline-window \"{}\" is no FROM:TO (write it like 0s:1.5s)", text));
  options.from = read_date(text.substr(0, colon), text);
  options.to = read_date(text.substr(colon + 1), text);
  if (options.to <= options.from)
    throw UsageError(fmt::format(
        "--timeline-window \"{}\" ends before it begins (write FROM:TO, like 0s:1.5s)", text));
}

}  // namespace

RecordingOptions recording_options(const TimelineFlags& flags,
                                   const std::vector<LoadedScenario>& loaded) {
  RecordingOptions options;
  options.bars = std::max<std::size_t>(
      1, static_cast<std::size_t>(flags.bars) / std::max<std::size_t>(1, loaded.size()));
  if (!flags.ranks.empty()) options.ranks = read_ranks(flags.ranks);
  if (!flags.window.empty()) read_window(flags.window, options);
  for (const LoadedScenario& one : loaded) {
    const Cluster& cluster = one.scenario.cluster;
    const auto gpus =
        static_cast<std::size_t>(cluster.servers) * static_cast<std::size_t>(cluster.server.gpus);
    for (const auto& [first, last] : options.ranks) {
      if (last >= gpus)
        refuse_ranks(flags.ranks, fmt::format("names GPU {}, and the cluster of {} has 0 to {}",
                                              last, one.file, gpus - 1));
    }
  }
  return options;
}

}  // namespace trainyard
