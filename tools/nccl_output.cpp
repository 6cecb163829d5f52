#include "tools/nccl_output.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <sstream>

#include "sim/error.hpp"
#include "sim/json.hpp"

namespace trainyard {
namespace {

using Words = std::vector<std::string>;

Words words_of(const std::string& line) {
  std::istringstream in(line);
  Words words;
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

std::optional<double> number(const Words& words, std::size_t place) {
  if (place >= words.size()) return {};
  const std::string& word = words[place];
  double value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  const bool whole = error == std::errc() && end == word.data() + word.size();
  return whole && std::isfinite(value) && value > 0 ? std::optional(value) : std::nullopt;
}

/// Where the columns are, as the heading says.
struct Columns {
  std::size_t time = 5, busbw = 7;  // size count type redop root time algbw busbw
  void read(Words heading) {
    if (!heading.empty() && heading.front() == "#") heading.erase(heading.begin());
    if (heading.empty() || (heading.front() != "size" && heading.front() != "#size")) return;
    const auto place = [&](const char* name) {
      return static_cast<std::size_t>(std::find(heading.begin(), heading.end(), name) -
                                      heading.begin());
    };
    if (place("time") == heading.size() || place("busbw") == heading.size()) return;
    time = place("time");
    busbw = place("busbw");
  }
};

}  // namespace

std::vector<MeasuredRow> read_nccl_output(const std::string& path) {
  constexpr double kMicro = 1e-6, kGiga = 1e9, kLargest = 0x1p50;  // a petabyte is no buffer
  std::istringstream in(read_text_file(path));
  std::vector<MeasuredRow> rows;
  Columns columns;
  std::string line;
  for (std::size_t at = 1; std::getline(in, line); ++at) {
    const Words words = words_of(line);
    if (words.empty()) continue;
    if (words.front().front() == '#') columns.read(words);
    if (!std::all_of(words.front().begin(), words.front().end(),
                     [](char c) { return c >= '0' && c <= '9'; }))
      continue;
    const auto bytes = number(words, 0), time = number(words, columns.time),
               busbw = number(words, columns.busbw);
    if (words.front() == "0") continue;  // sizes that the ranks do not divide
    if (!bytes || *bytes > kLargest || !time || !busbw) {
      throw ScenarioError(
          Diagnostic{path, fmt::format("line {}", at), "is no whole row of nccl-tests",
                     "a row is size, count, type, redop, root, time (us), algbw, busbw (GB/s), …"});
    }
    rows.push_back({*bytes, *time * kMicro, *busbw * kGiga});
  }
  if (rows.empty()) {
    throw ScenarioError(Diagnostic{path, "", "has no row of nccl-tests",
                                   "paste the output of all_reduce_perf or the like"});
  }
  return rows;
}

}  // namespace trainyard
