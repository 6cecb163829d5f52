// Benchmarks that check what they time: a wrong result is an error of the benchmark.
#pragma once

#include <benchmark/benchmark.h>

#include <cmath>
#include <string>

namespace trainyard::bench {

/// How far results that differ by the order of their sums may be apart, relative.
constexpr double kRounding = 1e-9;

/// Ends the benchmark with an error unless `found` is `expected` to within rounding. Returns
/// whether it is.
inline bool expect(benchmark::State& state, const std::string& what, double found,
                   double expected) {
  if (std::abs(found - expected) <= kRounding * std::abs(expected)) return true;
  const std::string text =
      what + " is " + std::to_string(found) + " instead of " + std::to_string(expected);
  state.SkipWithError(text.c_str());
  return false;
}

}  // namespace trainyard::bench
