#include "sim/spelling.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace trainyard {
namespace {

// Optimal string alignment distance (Damerau–Levenshtein without repeated edits of one substring).
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> d(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) d[i][0] = i;
  for (std::size_t j = 0; j <= b.size(); ++j) d[0][j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replace = a[i - 1] == b[j - 1] ? 0 : 1;
      d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + replace});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
      }
    }
  }
  return d[a.size()][b.size()];
}

}  // namespace

std::string_view nearest_name(std::string_view word, std::span<const std::string_view> candidates) {
  constexpr std::size_t kLongestName = 200;
  if (word.size() > kLongestName) return {};
  std::string_view best;
  std::size_t least = std::max<std::size_t>(1, word.size() / 3) + 1;
  for (const std::string_view candidate : candidates) {
    const std::size_t distance = edit_distance(word, candidate);
    if (distance < least) {
      least = distance;
      best = candidate;
    }
  }
  return best;
}

std::string suggest(std::string_view word, std::span<const std::string_view> candidates) {
  if (const std::string_view best = nearest_name(word, candidates); !best.empty()) {
    return fmt::format("did you mean \"{}\"?", best);
  }
  if (candidates.empty()) return "there are none";
  constexpr std::size_t kShown = 12;
  const auto shown = candidates.first(std::min(candidates.size(), kShown));
  return fmt::format("one of: {}{}", fmt::join(shown, ", "),
                     candidates.size() > kShown ? ", …" : "");
}

std::string lower_case(std::string text) {
  for (char& c : text) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return text;
}

}  // namespace trainyard
