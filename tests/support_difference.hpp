// Two results, number by number.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <vector>

#include "sim/json.hpp"

namespace trainyard::testing {

namespace detail {

/// What says how a result was come by and not what it is: the input, and how much was simulated.
inline bool is_of_the_run(const std::string& key) {
  static const std::set<std::string> keys{"scenario", "provenance", "folding", "simulated_ops"};
  return keys.count(key) > 0;
}

// Shares of a whole that are nothing but rounding are 1e-16.
inline bool near(double a, double b, double tolerance) {
  constexpr double kNothing = 1e-15;
  return std::abs(a - b) <= tolerance * std::max(std::abs(a), std::abs(b)) + kNothing;
}

inline void compare(const Json& a, const Json& b, double tolerance, const std::string& where,
                    std::vector<std::string>& found) {
  if (a.is_object() && b.is_object()) {
    for (const auto& [key, value] : a.members()) {
      if (is_of_the_run(key)) continue;
      const Json* other = b.find(key);
      if (other == nullptr) {
        found.push_back(where + "/" + key + ": only in the first");
      } else {
        compare(value, *other, tolerance, where + "/" + key, found);
      }
    }
    for (const auto& [key, value] : b.members()) {
      if (a.find(key) == nullptr) found.push_back(where + "/" + key + ": only in the second");
    }
  } else if (a.is_array() && b.is_array() && a.items().size() == b.items().size()) {
    for (std::size_t i = 0; i < a.items().size(); ++i)
      compare(a.items()[i], b.items()[i], tolerance, fmt::format("{}/{}", where, i), found);
  } else if (!a.is_number() || !b.is_number() || !near(a.as_number(), b.as_number(), tolerance)) {
    const std::string first = dump_json(a, -1), second = dump_json(b, -1);
    if (first != second) found.push_back(fmt::format("{}: {} against {}", where, first, second));
  }
}

}  // namespace detail

/// Every key in which two results differ, with both values: numbers by more than `tolerance` of the
/// larger one, all else at all. Leaves out the scenario, where it came from and how much of the run
/// was simulated.
inline std::vector<std::string> differences(const Json& a, const Json& b, double tolerance = 1e-9) {
  std::vector<std::string> found;
  detail::compare(a, b, tolerance, "", found);
  return found;
}

}  // namespace trainyard::testing
