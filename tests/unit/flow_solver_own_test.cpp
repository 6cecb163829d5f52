// Resources that one flow has to itself, flows that rest, and flows that stand for several.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "sim/flow_pool.hpp"
#include "tests/unit/flow_net.hpp"

namespace trainyard {
namespace {

using namespace testing_flows;

// ---- Alone on a path

constexpr std::size_t kBlock = 4;

/// The lesser of the bound and of what the tightest resource lets through.
double alone(const Uses& uses, const std::vector<double>& capacities, double fairness,
             double bound) {
  double level = bound / fairness;
  for (const auto& [r, weight] : uses) {
    level = std::min(level, capacities[r] / (weight * fairness));
  }
  return level == bound / fairness ? bound : fairness * level;
}

/// Five blocks of resources, each with one flow at a time; which resources of the block it uses and
/// when it is replaced is random. With few values nearly every level is a tie.
void run_alone(std::uint64_t seed) {
  Random random(seed);
  const bool ties = random.one_in(2);
  const auto value = [&] {
    return ties ? static_cast<double>(1 + random.below(2)) : random.uniform(0.1, 10);
  };
  std::vector<double> capacities(5 * kBlock);
  for (double& c : capacities) c = value();
  Net net(capacities);
  std::vector<FlowId> flow(5);
  std::vector<double> expected(5);
  for (int step = 0; step < 20; ++step) {
    for (std::size_t change = random.below(8); change > 0; --change) {
      const std::size_t b = random.below(5);
      if (flow[b].valid()) net.remove(flow[b]);
      Uses uses;
      for (const std::size_t r : random.distinct(1 + random.below(kBlock), kBlock)) {
        uses.emplace_back(b * kBlock + r, value());
      }
      const double fairness = value(), bound = random.one_in(2) ? value() : kInfinity;
      flow[b] = net.add(uses, fairness, bound);
      expected[b] = alone(uses, capacities, fairness, bound);
    }
    net.solve();
    for (std::size_t b = 0; b < 5; ++b) {
      if (!flow[b].valid()) continue;
      ASSERT_EQ(net.rate(flow[b]), expected[b]) << "seed " << seed;
      ASSERT_EQ(net.reference_rate(flow[b]), expected[b]) << "seed " << seed;
    }
  }
  EXPECT_EQ(net.solver().counters().evaluations, 0U);
}

TEST(FlowSolverOwn, AloneIsTheSameToTheBitAsLevelled) {
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    run_alone(seed);
    ASSERT_FALSE(HasFailure());
  }
}

// Two flows that each have resources of their own and one together, coming and going in one batch
// or in several; equal values, so that own and common resources often fill at the same level.
TEST(FlowSolverOwn, MostlyOwnIsTheSameToTheBitAsLevelled) {
  Random random(21);
  for (int round = 0; round < 3000; ++round) {
    std::vector<double> capacities(9);
    for (double& c : capacities) c = static_cast<double>(1 + random.below(4));
    Net net(capacities);
    std::vector<FlowId> flow(2);
    for (int change = 0; change < 12; ++change) {
      const std::size_t b = random.below(2);
      if (flow[b].valid()) {
        net.remove(flow[b]);
        flow[b] = FlowId();
      } else {
        Uses uses{{8, 1}};
        for (const std::size_t r : random.distinct(random.below(4), 4)) {
          uses.emplace_back(4 * b + r, 1);
        }
        flow[b] = net.add(uses, 1, random.one_in(3) ? 1 : kInfinity);
      }
      if (random.one_in(2)) continue;
      net.solve();
      net.expect_oracle(1e-12);
      for (const FlowId f : flow) {
        if (!f.valid()) continue;
        ASSERT_EQ(net.rate(f), net.reference_rate(f)) << "round " << round;
      }
      ASSERT_FALSE(HasFailure()) << "round " << round;
    }
  }
}

// 20,000 links of 40 and one competitor on one of them: it takes half, as a flow of a few links
// would let it, and levelling looks at that one link alone.
TEST(FlowSolverOwn, AWideFlowCostsWhatIsContended) {
  constexpr std::size_t kLinks = 20'000;
  Net net(std::vector<double>(kLinks, 40));
  Uses all;
  for (std::size_t r = 0; r < kLinks; ++r) all.emplace_back(r, 1);
  const FlowId wide = net.add(all);
  net.solve();
  EXPECT_EQ(net.rate(wide), 40);
  const FlowId competitor = net.add({{777, 1}});
  net.solve();
  EXPECT_EQ(net.rate(wide), 20);
  EXPECT_EQ(net.rate(competitor), 20);
  net.remove(competitor);
  net.solve();
  EXPECT_EQ(net.rate(wide), 40);
  EXPECT_LE(net.solver().counters().evaluations, 4U);
}

// ---- Resting

TEST(FlowSolverOwn, ARestingFlowTakesNothingAndComesBack) {
  Net net({10, 6, 8});
  const FlowId a = net.add({{0, 1}, {1, 1}}), b = net.add({{1, 1}, {2, 1}}, 1, kInfinity, 0);
  net.solve();
  EXPECT_EQ(net.rate(a), 6);
  EXPECT_EQ(net.rate(b), 0);
  net.set_members(a, 0);
  net.set_members(b, 1);
  net.solve();
  EXPECT_EQ(net.rate(a), 0);
  EXPECT_EQ(net.rate(b), 6);
  EXPECT_EQ(net.load(0), 0);
  net.set_members(a, 1);
  net.solve();
  EXPECT_EQ(net.rate(a), 3);
  EXPECT_EQ(net.rate(b), 3);
}

// Alone it rests and wakes without any levelling; once somebody else has been on one of its
// resources, and left again, that still holds for the next time.
TEST(FlowSolverOwn, RestAndWakeCostNothingAlone) {
  Net net({10, 6});
  const FlowId a = net.add({{0, 1}, {1, 1}}), other = net.add({{1, 2}}, 1, kInfinity, 0);
  for (int i = 0; i < 10; ++i) {
    net.set_members(a, 1);
    net.solve();
    EXPECT_EQ(net.rate(a), 6);
    net.set_members(a, 0);
    net.set_members(other, 1);
    net.solve();
    EXPECT_EQ(net.rate(a), 0);
    EXPECT_EQ(net.rate(other), 3);
    net.set_members(other, 0);
    net.solve();
    EXPECT_EQ(net.load(1), 0);
  }
  EXPECT_EQ(net.solver().counters().evaluations, 0U);
}

TEST(FlowSolverOwn, RestAndWakeInOneBatchChangeNothing) {
  Net net({10, 10});
  const FlowId a = net.add({{0, 1}, {1, 1}});
  const FlowId b = net.add({{1, 1}});
  net.solve();
  net.set_members(a, 0);
  EXPECT_EQ(net.load(0), 5);  // as of the last solve
  EXPECT_EQ(net.load(1), 10);
  net.set_members(a, 1);
  EXPECT_EQ(net.load(0), 5);
  EXPECT_EQ(net.load(1), 10);
  const std::uint64_t reported = net.solver().counters().flows_changed;
  net.solve();
  EXPECT_EQ(net.solver().counters().flows_changed, reported);
  EXPECT_EQ(net.rate(b), 5);
}

// ---- Standing for several

// 3 flows of weight 2 and one of weight 1 at 70: 3 × 2 r + r = 70.
TEST(FlowSolverOwn, MembersCountAsSoManyFlows) {
  Net net({70, 12});
  const FlowId three = net.add({{0, 2}}, 1, kInfinity, 3), one = net.add({{0, 1}});
  const FlowId alone = net.add({{1, 1}}, 2, kInfinity, 4);
  net.solve();
  EXPECT_DOUBLE_EQ(net.rate(three), 10);
  EXPECT_DOUBLE_EQ(net.rate(one), 10);
  EXPECT_DOUBLE_EQ(net.rate(alone), 3);
  EXPECT_DOUBLE_EQ(net.load(1), 12);
  net.set_members(three, 1);
  net.set_members(alone, 1);
  net.solve();
  EXPECT_DOUBLE_EQ(net.rate(three), 70.0 / 3);
  EXPECT_DOUBLE_EQ(net.rate(alone), 12);
}

/// `count` flows at once or one with so many members, among random others: equal rates.
TEST(FlowSolverOwn, MembersGetWhatSeparateFlowsGet) {
  Random random(22);
  for (int round = 0; round < 1000; ++round) {
    std::vector<double> capacities(6);
    for (double& c : capacities) c = random.uniform(1, 100);
    Net together(capacities), apart(capacities);
    std::vector<std::pair<FlowId, FlowId>> same;
    for (int i = 0; i < 6; ++i) {
      Uses uses;
      for (const std::size_t r : random.distinct(1 + random.below(3), 6)) {
        uses.emplace_back(r, random.uniform(0.5, 3));
      }
      const double fairness = random.uniform(0.5, 3);
      const auto count = static_cast<std::uint32_t>(1 + random.below(5));
      const FlowId group = together.add(uses, fairness, kInfinity, count);
      for (std::uint32_t m = 0; m < count; ++m) {
        same.emplace_back(group, apart.add(uses, fairness));
      }
    }
    together.solve();
    apart.solve();
    for (const auto& [group, flow] : same) {
      ASSERT_NEAR(together.rate(group) / apart.rate(flow), 1, 1e-12) << "round " << round;
    }
  }
}

// ---- Memory

TEST(RunPool, GivesBackWhatItGot) {
  RunPool<int> pool;
  const auto small = pool.take(RunPool<int>::power_for(1));
  const auto large = pool.take(RunPool<int>::power_for(5));
  EXPECT_EQ(pool.size(), 1U + 8U);
  pool.give(large, 3);
  pool.give(small, 0);
  EXPECT_EQ(pool.take(RunPool<int>::power_for(8)), large);
  EXPECT_EQ(pool.take(RunPool<int>::power_for(1)), small);
  EXPECT_EQ(pool.size(), 9U);
}

}  // namespace
}  // namespace trainyard
