// What a flow uses: resources with weights, a latency and a rate bound.
#pragma once

#include <algorithm>
#include <limits>
#include <span>
#include <vector>

#include "sim/flow_solver.hpp"
#include "sim/ids.hpp"
#include "sim/units.hpp"

namespace trainyard {

/// Shares are sorted by resource and distinct. A share's weight is what one byte of the flow costs
/// there: 1 on a link, memory passes on host memory, core-seconds on cores.
struct FlowPath {
  std::vector<Share> shares;
  Seconds latency;      ///< paid once, before the first byte
  double fairness = 1;  ///< rate relative to other flows at a shared bottleneck
  BytesPerSecond bound = BytesPerSecond::of(std::numeric_limits<double>::infinity());
};

/// Collects the uses of one flow; several uses of a resource add up, in the order in which they
/// came.
class PathBuilder {
 public:
  PathBuilder() { shares_.reserve(kUsual); }
  void use(ResourceId resource, double weight = 1) { shares_.push_back({resource, weight}); }
  void delay(Seconds latency) { latency_ += latency; }
  void add(const FlowPath& path, double scale);
  /// Multiplies what was collected so far: as if it were built and added, but in place.
  void scale(double factor);
  FlowPath build() &&;

 private:
  /// Room for the shares of one message, so that they need no second allocation.
  static constexpr std::size_t kUsual = 24;
  void merge();

  std::vector<Share> shares_;
  Seconds latency_;
};

/// The rate at which the flow runs alone: the least capacity / weight, and its bound. `capacities`:
/// by resource index.
template <class Capacities>
double idle_rate(const FlowPath& path, const Capacities& capacities) {
  double rate = path.bound.si();
  for (const Share& share : path.shares)
    rate = std::min(rate, capacities[share.resource.index()] / share.weight);
  return rate;
}

}  // namespace trainyard
