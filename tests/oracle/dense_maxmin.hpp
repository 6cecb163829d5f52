// Weighted max-min fair sharing as in the textbook: the oracle for sim/flow_solver.
//
// Written to be read, not to be fast, and shares no code with what it checks: every round looks at
// every flow and every resource and adds everything up again, in long double.
#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>
#include <utility>
#include <vector>

namespace trainyard::oracle {

struct DenseFlow {
  std::vector<std::pair<std::size_t, double>> uses;  ///< (resource, weight)
  double fairness = 1;
  double bound = std::numeric_limits<double>::infinity();
};

/// What the frozen flows take of the resource, and what the others take per unit of level.
struct DenseDemand {
  long double frozen = 0;
  long double growing = 0;
};

inline DenseDemand dense_demand(std::size_t resource, const std::vector<DenseFlow>& flows,
                                const std::vector<long double>& rate,
                                const std::vector<bool>& frozen) {
  DenseDemand demand;
  for (std::size_t f = 0; f < flows.size(); ++f) {
    for (const auto& [r, weight] : flows[f].uses) {
      if (r != resource) continue;
      if (frozen[f]) {
        demand.frozen += weight * rate[f];
      } else {
        demand.growing += static_cast<long double>(weight) * flows[f].fairness;
      }
    }
  }
  return demand;
}

/// The rate of each flow. Repeats: raise the level of all growing flows until the first of them
/// meets its bound or the first resource is full; freeze those flows.
inline std::vector<double> dense_maxmin(const std::vector<double>& capacities,
                                        const std::vector<DenseFlow>& flows) {
  constexpr long double kInfinity = std::numeric_limits<long double>::infinity();
  std::vector<long double> rate(flows.size(), 0);
  std::vector<bool> frozen(flows.size(), false);
  long double level = 0;
  for (std::size_t left = flows.size(); left > 0;) {
    std::vector<long double> full_at(capacities.size(), kInfinity);
    long double next = kInfinity;
    for (std::size_t r = 0; r < capacities.size(); ++r) {
      const DenseDemand demand = dense_demand(r, flows, rate, frozen);
      if (demand.growing == 0) continue;
      full_at[r] = std::max(level, (capacities[r] - demand.frozen) / demand.growing);
      next = std::min(next, full_at[r]);
    }
    for (std::size_t f = 0; f < flows.size(); ++f) {
      if (!frozen[f]) next = std::min(next, flows[f].bound / (long double){flows[f].fairness});
    }
    level = next;
    for (std::size_t f = 0; f < flows.size(); ++f) {
      if (frozen[f]) continue;
      bool stop = flows[f].bound / (long double){flows[f].fairness} <= level;
      for (const auto& use : flows[f].uses) stop = stop || full_at[use.first] <= level;
      if (!stop) continue;
      rate[f] = std::min<long double>(flows[f].bound, level * flows[f].fairness);
      frozen[f] = true;
      --left;
    }
  }
  return {rate.begin(), rate.end()};
}

}  // namespace trainyard::oracle
