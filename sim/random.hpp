// Seeded random numbers that are the same with every standard library.
#pragma once

#include <cmath>
#include <cstdint>
#include <random>

namespace trainyard {

class Random {
 public:
  explicit Random(std::uint64_t seed) : bits_(seed) {}
  /// Uniform in [0, 1), from the upper 53 bits of one draw.
  double uniform() { return static_cast<double>(bits_() >> 11) * 0x1p-53; }
  /// Exponential with that mean.
  double exponential(double mean) { return -mean * std::log1p(-uniform()); }

 private:
  std::mt19937_64 bits_;
};

}  // namespace trainyard
