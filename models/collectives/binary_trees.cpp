#include "models/collectives/binary_trees.hpp"

#include <algorithm>

namespace trainyard {
namespace {

// An in-order tree: odd members are leaves, a member hangs below the one that is even more often.
std::size_t parent_in_order(std::size_t member, std::size_t n) {
  if (member == 0) return 0;
  const std::size_t twos = member & (~member + 1);  // the largest power of two that divides it
  const std::size_t above = (member - twos) | (2 * twos);
  return above < n ? above : member - twos;
}

std::size_t depth_of(const std::vector<std::size_t>& parent) {
  std::size_t deepest = 0;
  for (std::size_t i = 0; i < parent.size(); ++i) {
    std::size_t links = 0;
    for (std::size_t at = i; parent[at] != at; at = parent[at]) ++links;
    deepest = std::max(deepest, links);
  }
  return deepest;
}

}  // namespace

std::vector<BinaryTree> two_trees(std::size_t n) {
  BinaryTree first, second;
  first.parent.resize(n);
  second.parent.resize(n);
  for (std::size_t i = 0; i < n; ++i) first.parent[i] = parent_in_order(i, n);
  // The other is the mirror image of an even number, the neighbour's of an odd one: leaves and
  // inner members change places.
  const auto other = [n](std::size_t i) { return n % 2 == 0 ? n - 1 - i : (i + 1) % n; };
  for (std::size_t i = 0; i < n; ++i) second.parent[other(i)] = other(first.parent[i]);
  first.depth = second.depth = depth_of(first.parent);
  return {first, second};
}

}  // namespace trainyard
