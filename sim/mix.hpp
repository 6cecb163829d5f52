// One hash of 64 bits for all that needs one.
#pragma once

#include <cstdint>

namespace trainyard {

/// The finalizer of splitmix64 (Steele, Lea, Flood 2014): a bijection whose every output bit
/// depends on every input bit. 0 stays 0.
constexpr std::uint64_t mix(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}
/// A step of the generator itself: also for inputs that are small or 0.
constexpr std::uint64_t mix_step(std::uint64_t x) { return mix(x + 0x9e3779b97f4a7c15ULL); }

}  // namespace trainyard
