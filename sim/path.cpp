#include "sim/path.hpp"

#include <algorithm>
#include <array>

namespace trainyard {
namespace {

bool by_resource(const Share& a, const Share& b) { return a.resource < b.resource; }

// For the few shares of a message, most of which come in order.
void insertion_sort(std::vector<Share>& shares) {
  for (std::size_t i = 1; i < shares.size(); ++i) {
    const Share moved = shares[i];
    std::size_t at = i;
    for (; at > 0 && by_resource(moved, shares[at - 1]); --at) shares[at] = shares[at - 1];
    shares[at] = moved;
  }
}

// For what a ring or a round of a tree merges: by 11 bits of the id after the other, the lowest
// first, leaving out bits in which all agree. 131,072 GPUs have about 2^20 resources: two passes.
void radix_sort(std::vector<Share>& shares) {
  constexpr int kBits = 11;
  constexpr std::size_t kDigits = 1U << kBits;
  std::size_t differing = 0;
  for (const Share& share : shares)
    differing |= share.resource.index() ^ shares.front().resource.index();
  std::vector<Share> sorted(shares.size());
  for (int shift = 0; differing >> shift != 0; shift += kBits) {
    if ((differing >> shift) % kDigits == 0) continue;
    const auto digit = [shift](const Share& share) {
      return (share.resource.index() >> shift) % kDigits;
    };
    std::array<std::size_t, kDigits + 1> place{};
    for (const Share& share : shares) ++place[digit(share) + 1];
    for (std::size_t i = 1; i < place.size(); ++i) place[i] += place[i - 1];
    for (const Share& share : shares) sorted[place[digit(share)]++] = share;
    std::swap(shares, sorted);
  }
}

// Stable, so that weights are added in the order in which they came and sums keep their bits.
void sort_by_resource(std::vector<Share>& shares) {
  constexpr std::size_t kFew = 64;
  if (shares.size() <= kFew) return insertion_sort(shares);
  if (!std::is_sorted(shares.begin(), shares.end(), by_resource)) radix_sort(shares);
}

}  // namespace

void PathBuilder::add(const FlowPath& path, double scale) {
  for (const Share& share : path.shares) use(share.resource, share.weight * scale);
}

void PathBuilder::merge() {
  sort_by_resource(shares_);
  std::size_t kept = 0;
  for (const Share& share : shares_) {
    if (kept > 0 && shares_[kept - 1].resource == share.resource) {
      shares_[kept - 1].weight += share.weight;
    } else {
      shares_[kept++] = share;
    }
  }
  shares_.resize(kept);
}

void PathBuilder::scale(double factor) {
  merge();
  for (Share& share : shares_) share.weight *= factor;
}

FlowPath PathBuilder::build() && {
  merge();
  FlowPath path;
  path.shares.assign(shares_.begin(), shares_.end());  // paths are kept: no room to spare
  path.latency = latency_;
  return path;
}

}  // namespace trainyard
