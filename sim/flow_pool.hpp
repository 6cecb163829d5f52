// Many small arrays in one block of memory.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "sim/error.hpp"

namespace trainyard {

/// Hands out runs of 2^power items; those given back serve again. Items keep their index, not their
/// address, when a run is taken.
template <class T>
class RunPool {
 public:
  using Index = std::uint32_t;

  /// The least power whose runs hold `count` items; `count` > 0.
  static std::uint8_t power_for(std::size_t count) {
    return static_cast<std::uint8_t>(std::bit_width(count - 1));
  }

  /// The first index of a run whose items have any value.
  Index take(std::uint8_t power) {
    std::vector<Index>& free = free_[power];
    if (!free.empty()) {
      const Index first = free.back();
      free.pop_back();
      return first;
    }
    const std::size_t first = items_.size(), end = first + (std::size_t{1} << power);
    require(end < std::numeric_limits<Index>::max(), "RunPool: too many items");
    items_.resize(end);
    return static_cast<Index>(first);
  }
  void give(Index first, std::uint8_t power) { free_[power].push_back(first); }

  T& operator[](Index at) { return items_[at]; }
  const T& operator[](Index at) const { return items_[at]; }
  /// Items that were ever handed out.
  std::size_t size() const { return items_.size(); }

 private:
  std::vector<T> items_;
  std::array<std::vector<Index>, 33> free_;
};

}  // namespace trainyard
