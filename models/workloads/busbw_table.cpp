#include "models/workloads/busbw_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

#include "sim/error.hpp"

namespace trainyard {
namespace {

constexpr double kGigabyte = 1e9;

constexpr std::array<std::pair<std::string_view, TraceCollective>, BusbwTable::kCollectives> kKeys{{
    {"allreduce,", TraceCollective::kAllReduce},
    {"allgather,", TraceCollective::kAllGather},
    {"reducescatter,", TraceCollective::kReduceScatter},
    {"alltoall,", TraceCollective::kAllToAll},
}};
constexpr std::array<std::string_view, BusbwTable::kGroups> kSections{"TP", "DP", "EP"};
constexpr std::string_view kPipeline = "PP", kPipelineKey = "busbw";

/// Where a name stands in a list of them, or its size.
template <typename List, typename Get>
std::size_t position(const List& list, Get&& get) {
  return static_cast<std::size_t>(std::find_if(list.begin(), list.end(), get) - list.begin());
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r";
  const std::size_t begin = text.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1);
}

/// Reads it line by line.
class Parser {
 public:
  explicit Parser(const std::string& file) : file_(file) {}

  void take(std::string_view line) {
    ++number_;
    line = trimmed(line);
    if (line.empty() || line.starts_with('#')) return;
    const bool title = !begun_ && line.find(':') == std::string_view::npos;
    begun_ = true;
    if (title) return;
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos) refuse(fmt::format("\"{}\" has no colon", line), kLine);
    const std::string_view key = trimmed(line.substr(0, colon));
    const std::string_view value = trimmed(line.substr(colon + 1));
    if (begin_section(key, value)) return;
    entry(key, value);
  }
  BusbwTable finish() const {
    if (!section_) refuse("has no section", "begin with TP:, DP:, EP: or PP:");
    return table_;
  }

 private:
  static constexpr std::string_view kLine = "a line is \"TP:\" or \"allreduce,: 300\"";

  [[noreturn]] void refuse(const std::string& message, std::string_view hint) const {
    throw ScenarioError(
        Diagnostic{file_, fmt::format("line {}", number_), message, std::string(hint)});
  }

  bool begin_section(std::string_view key, std::string_view value) {
    const std::size_t at =
        key == kPipeline ? kSections.size()
                         : position(kSections, [&](std::string_view name) { return name == key; });
    if (at == kSections.size() && key != kPipeline) return false;
    if (!value.empty()) refuse(fmt::format("{} is a section, and has \"{}\"", key, value), kLine);
    if (seen_[at]) refuse(fmt::format("the section {} comes twice", key), "put them together");
    seen_[at] = true;
    section_ = at;
    known_ = {};
    return true;
  }

  void entry(std::string_view key, std::string_view value) {
    if (!section_)
      refuse(fmt::format("\"{}\" is in no section", key), "begin with TP:, DP:, EP: or PP:");
    const bool pipeline = *section_ == kSections.size();
    std::size_t at = kKeys.size();
    if (!pipeline) at = position(kKeys, [&](const auto& known) { return known.first == key; });
    if (pipeline ? key != kPipelineKey : at == kKeys.size())
      refuse(
          fmt::format("\"{}\" is no key of {}", key, pipeline ? kPipeline : kSections[*section_]),
          pipeline ? "busbw"
                   : "allreduce, allgather, reducescatter and alltoall, each with a comma "
                     "before the colon");
    if (known_[at]) refuse(fmt::format("\"{}\" comes twice", key), "keep one of them");
    known_[at] = true;
    (pipeline ? table_.pipeline : table_.rates[*section_][at]) = rate(key, value);
  }

  std::optional<BytesPerSecond> rate(std::string_view key, std::string_view value) const {
    if (value == "null" || value == "~") return {};
    double number = 0;
    const char* const end = value.data() + value.size();
    const auto [rest, code] = std::from_chars(value.data(), end, number);
    if (code != std::errc() || rest != end || !std::isfinite(number * kGigabyte) || number <= 0)
      refuse(fmt::format("\"{}\" is \"{}\"", key, value), "GB/s (1e9 bytes) above 0, or null");
    return BytesPerSecond::of(number * kGigabyte);
  }

  const std::string& file_;
  std::size_t number_ = 0;
  bool begun_ = false;
  std::optional<std::size_t> section_;
  std::array<bool, BusbwTable::kGroups + 1> seen_{};
  std::array<bool, BusbwTable::kCollectives + 1> known_{};
  BusbwTable table_;
};

}  // namespace

std::optional<BytesPerSecond> BusbwTable::rate(BusbwGroup group, TraceCollective op) const {
  const std::size_t at = position(kKeys, [&](const auto& known) { return known.second == op; });
  return at == kKeys.size() ? std::nullopt : rates[static_cast<std::size_t>(group)][at];
}

BusbwTable parse_busbw(std::string_view text, const std::string& file) {
  Parser parser(file);
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    parser.take(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parser.finish();
}

std::optional<BusbwGroup> busbw_group(std::string_view name) {
  if (name.starts_with("tp of ")) return BusbwGroup::kTp;
  if (name.starts_with("dp of ") || name.starts_with("dp_ep of ")) return BusbwGroup::kDp;
  if (name.starts_with("ep of ")) return BusbwGroup::kEp;
  return {};
}

std::optional<Seconds> busbw_time(const BusbwTable& table, BusbwGroup group, TraceCollective op,
                                  std::size_t ranks, Bytes bytes) {
  const std::optional<BytesPerSecond> rate = table.rate(group, op);
  if (!rate || ranks == 0) return {};
  const auto n = static_cast<double>(ranks);
  const double factor = (op == TraceCollective::kAllReduce ? 2 : 1) * (n - 1) / n;
  return bytes * factor / *rate;
}

}  // namespace trainyard
