#include "sim/path.hpp"

#include <algorithm>

namespace trainyard {

void PathBuilder::add(const FlowPath& path, double scale) {
  for (const Share& share : path.shares) use(share.resource, share.weight * scale);
}

FlowPath PathBuilder::build() && {
  std::stable_sort(shares_.begin(), shares_.end(),
                   [](const Share& a, const Share& b) { return a.resource < b.resource; });
  FlowPath path;
  for (const Share& share : shares_) {
    if (!path.shares.empty() && path.shares.back().resource == share.resource) {
      path.shares.back().weight += share.weight;
    } else {
      path.shares.push_back(share);
    }
  }
  path.latency = latency_;
  return path;
}

double idle_rate(const FlowPath& path, std::span<const double> capacities) {
  double rate = path.bound.si();
  for (const Share& share : path.shares) {
    rate = std::min(rate, capacities[share.resource.index()] / share.weight);
  }
  return rate;
}

}  // namespace trainyard
