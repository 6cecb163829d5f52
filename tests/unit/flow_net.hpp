// A system of flows under test: two solvers and an oracle side by side.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <iterator>
#include <limits>
#include <map>
#include <random>
#include <utility>
#include <vector>

#include "sim/flow_solver.hpp"
#include "tests/oracle/dense_maxmin.hpp"

namespace trainyard::testing_flows {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
using Relevel = FlowSolver::Relevel;
using Uses = std::vector<std::pair<std::size_t, double>>;  // (resource, weight)

/// The same system in a repairing and in a component-wise solver, and in the oracle's words. Every
/// solve() checks that they agree and what must hold of any solution.
class Net {
 public:
  explicit Net(std::vector<double> capacities)
      : capacities_(capacities),
        repaired_(capacities, Relevel::kChanged),
        component_(capacities, Relevel::kComponent) {}

  /// The id in both solvers: same calls, same slots.
  FlowId add(const Uses& uses, double fairness = 1, double bound = kInfinity,
             std::uint32_t members = 1) {
    std::vector<Share>& shares = paths_.emplace_back();
    for (const auto& [resource, weight] : uses) shares.push_back({ResourceId(resource), weight});
    const FlowId id = repaired_.add(shares, fairness, bound, members);
    EXPECT_EQ(id, component_.add(shares, fairness, bound, members));
    EXPECT_FALSE(live_.contains(id));
    live_[id] = {uses, fairness, bound};
    members_[id] = members;
    published_[id] = 0;
    return id;
  }

  void remove(FlowId id) {
    repaired_.remove(id);
    component_.remove(id);
    live_.erase(id);
    published_.erase(id);
  }

  void set_members(FlowId id, std::uint32_t members) {
    repaired_.set_members(id, members);
    component_.set_members(id, members);
    members_[id] = members;
  }

  void solve() {
    const auto changed = repaired_.solve();
    component_.solve();
    check_report({changed.begin(), changed.end()});
    for (const auto& [id, flow] : live_) {
      if (members(id) == 0) {
        EXPECT_EQ(rate(id), 0);
        EXPECT_EQ(component_.rate(id), 0);
        continue;
      }
      EXPECT_GT(rate(id), 0);
      EXPECT_LE(rate(id), flow.bound);
      EXPECT_NEAR(rate(id) / component_.rate(id), 1, 1e-12) << "flow " << id.index();
    }
    check_loads(repaired_);
    check_loads(component_);
    check_optimal(repaired_);
    check_optimal(component_);
  }

  /// Holds the rates against the oracle's: to `tolerance` of the rate itself, or of what the flow
  /// would have alone on its tightest resource where `of_capacity` (differences of large loads are
  /// all that is left for some flows then).
  void expect_oracle(double tolerance, bool of_capacity = false) const {
    std::vector<oracle::DenseFlow> flows;
    for (const auto& [id, flow] : live_) flows.insert(flows.end(), members(id), flow);
    const std::vector<double> expected = oracle::dense_maxmin(capacities_, flows);
    std::size_t i = 0;
    for (const auto& [id, flow] : live_) {
      if (members(id) == 0) continue;
      double scale = of_capacity ? flow.bound : expected[i];
      for (const auto& [r, weight] : flow.uses) {
        if (of_capacity) scale = std::min(scale, capacities_[r] / weight);
      }
      EXPECT_NEAR(rate(id), expected[i], tolerance * scale) << "flow " << id.index();
      i += members(id);
    }
  }

  double rate(FlowId id) const { return repaired_.rate(id); }
  double reference_rate(FlowId id) const { return component_.rate(id); }
  std::uint32_t members(FlowId id) const { return members_.at(id); }
  double load(std::size_t resource) const { return repaired_.load(ResourceId(resource)); }
  const FlowSolver& solver() const { return repaired_; }
  std::size_t size() const { return live_.size(); }
  FlowId pick(std::size_t n) const {
    return std::next(live_.begin(), static_cast<std::ptrdiff_t>(n))->first;
  }

 private:
  /// Exactly the flows whose rate has other bits than before, ascending.
  void check_report(const std::vector<FlowId>& changed) {
    std::vector<FlowId> expected;
    for (auto& [id, rate] : published_) {
      if (std::exchange(rate, repaired_.rate(id)) != repaired_.rate(id)) expected.push_back(id);
    }
    EXPECT_EQ(changed, expected);
  }

  void check_loads(const FlowSolver& solver) const {
    std::vector<double> load(capacities_.size(), 0);
    for (const auto& [id, flow] : live_) {
      for (const auto& [r, weight] : flow.uses) load[r] += weight * solver.rate(id) * members(id);
    }
    for (std::size_t r = 0; r < load.size(); ++r) {
      EXPECT_NEAR(solver.load(ResourceId(r)), load[r], 1e-12 * load[r]) << "resource " << r;
      EXPECT_LE(load[r], capacities_[r] * (1 + 1e-9)) << "resource " << r;
    }
  }

  /// Every flow is at its bound or has a full resource on which nobody has a higher level. This is
  /// equivalent to weighted max-min fairness.
  void check_optimal(const FlowSolver& solver) const {
    std::vector<double> highest(capacities_.size(), 0);
    for (const auto& [id, flow] : live_) {
      for (const auto& use : flow.uses) {
        highest[use.first] = std::max(highest[use.first], solver.rate(id) / flow.fairness);
      }
    }
    for (const auto& [id, flow] : live_) {
      const double level = solver.rate(id) / flow.fairness;
      bool held = solver.rate(id) == flow.bound || members(id) == 0;
      for (const auto& use : flow.uses) {
        const std::size_t r = use.first;
        const bool full = solver.load(ResourceId(r)) >= capacities_[r] * (1 - 1e-12);
        held = held || (full && level >= highest[r] * (1 - 1e-12));
      }
      EXPECT_TRUE(held) << "nothing holds flow " << id.index() << " at " << solver.rate(id);
    }
  }

  std::vector<double> capacities_;
  std::deque<std::vector<Share>> paths_;
  FlowSolver repaired_;
  FlowSolver component_;
  std::map<FlowId, oracle::DenseFlow> live_;
  std::map<FlowId, std::uint32_t> members_;
  std::map<FlowId, double> published_;
};

class Random {
 public:
  explicit Random(std::uint64_t seed) : generator_(seed) {}
  std::size_t below(std::size_t n) { return generator_() % n; }
  bool one_in(std::size_t n) { return below(n) == 0; }
  double uniform(double low, double high) {
    return low + (high - low) * static_cast<double>(generator_() >> 11) * 0x1p-53;
  }
  double power_of_ten(double low, double high) { return std::pow(10, uniform(low, high)); }
  /// `count` distinct numbers below n.
  std::vector<std::size_t> distinct(std::size_t count, std::size_t n) {
    std::vector<std::size_t> all(n);
    for (std::size_t i = 0; i < n; ++i) all[i] = i;
    for (std::size_t i = 0; i < count; ++i) std::swap(all[i], all[i + below(n - i)]);
    all.resize(count);
    return all;
  }

 private:
  std::mt19937_64 generator_;
};

}  // namespace trainyard::testing_flows
