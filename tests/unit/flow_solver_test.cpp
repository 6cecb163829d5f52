#include "sim/flow_solver.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <stdexcept>
#include <vector>

#include "tests/unit/flow_net.hpp"

namespace trainyard {
namespace {

using namespace testing_flows;

// ---- Hand-calculated cases

TEST(FlowSolver, EqualFlowsShareALinkEqually) {
  Net net({50e9});
  const FlowId a = net.add({{0, 1}}), b = net.add({{0, 1}});
  net.solve();
  EXPECT_EQ(net.rate(a), 25e9);
  EXPECT_EQ(net.rate(b), 25e9);
  EXPECT_EQ(net.load(0), 50e9);
  EXPECT_EQ(net.solver().capacity(ResourceId(0)), 50e9);
}

TEST(FlowSolver, WeightsConsumeButDoNotFavour) {
  Net net({21});
  const FlowId heavy = net.add({{0, 9.5}}), light = net.add({{0, 1}});
  net.solve();
  EXPECT_DOUBLE_EQ(net.rate(heavy), 2);  // 9.5 x + x = 21
  EXPECT_DOUBLE_EQ(net.rate(light), 2);
}

TEST(FlowSolver, FairnessSharesInProportion) {
  Net net({30});
  const FlowId two = net.add({{0, 1}}, 2), one = net.add({{0, 1}}, 1);
  net.solve();
  EXPECT_DOUBLE_EQ(net.rate(two), 20);
  EXPECT_DOUBLE_EQ(net.rate(one), 10);
}

TEST(FlowSolver, BoundLeavesTheRestToOthers) {
  Net net({30});
  const FlowId bounded = net.add({{0, 1}}, 1, 4), other = net.add({{0, 1}});
  const FlowId alone = net.add({}, 3, 0.7);
  net.solve();
  EXPECT_EQ(net.rate(bounded), 4);
  EXPECT_EQ(net.rate(other), 26);
  EXPECT_EQ(net.rate(alone), 0.7);
}

// A bound that is reached is met to the bit, though bound / fairness * fairness may not be.
TEST(FlowSolver, BoundIsExact) {
  Random random(1);
  for (int i = 0; i < 1000; ++i) {
    const double bound = random.uniform(1, 2);
    Net net({100});
    const FlowId flow = net.add({{0, 1}}, random.uniform(0.1, 10), bound);
    net.solve();
    ASSERT_EQ(net.rate(flow), bound);
  }
}

// Bounds leave a rounding error of the capacity, or less than nothing, to a flow that hardly
// counts: it still gets a rate, the level of the others at least.
TEST(FlowSolver, RoundingLeavesNobodyWithNothing) {
  Random random(2);
  for (int i = 0; i < 1000; ++i) {
    std::vector<double> weights(5);
    for (double& w : weights) w = random.uniform(1, 2);
    const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
    const double bound = std::nextafter(1 / sum, 0);
    Net net({1});
    for (const double w : weights) net.add({{0, w}}, 1, bound);
    const FlowId tiny = net.add({{0, 1e-18}});
    net.solve();
    ASSERT_GE(net.rate(tiny), bound * (1 - 1e-12));
  }
}

// Flows in the same situation get the same bits, whatever the order in which they came and went:
// they finish at the same instant, as one event.
TEST(FlowSolver, OrderDoesNotShow) {
  Random random(3);
  constexpr std::size_t kCount = 50;
  for (int round = 0; round < 20; ++round) {
    std::vector<double> weights, bounds;
    for (std::size_t i = 0; i < kCount; ++i) weights.push_back(random.uniform(1, 10));
    for (std::size_t i = 0; i < kCount; ++i) bounds.push_back(random.uniform(0.1, 1));
    Net net({100, 100});
    std::vector<FlowId> forward, backward;
    for (std::size_t i = 0; i < kCount; ++i) {
      const std::size_t j = kCount - 1 - i;
      forward.push_back(net.add({{0, weights[i]}}, 1, bounds[i]));
      backward.push_back(net.add({{1, weights[j]}}, 1, bounds[j]));
    }
    net.solve();
    for (std::size_t i = 0; i < kCount; ++i) {
      ASSERT_EQ(net.rate(forward[i]), net.rate(backward[kCount - 1 - i]));
    }
  }
}

// In-network reduction moves on all links of its tree at one rate: a competitor on one link takes
// half of that link, and the tree flow leaves the other links half empty.
TEST(FlowSolver, ReductionTreeBesideACompetitor) {
  Net net({50, 50, 50});
  const FlowId tree = net.add({{0, 1}, {1, 1}, {2, 1}});
  net.solve();
  EXPECT_EQ(net.rate(tree), 50);
  const FlowId competitor = net.add({{1, 1}});
  net.solve();
  EXPECT_EQ(net.rate(tree), 25);
  EXPECT_EQ(net.rate(competitor), 25);
  EXPECT_EQ(net.load(0), 25);
  EXPECT_EQ(net.load(1), 50);
  net.remove(competitor);
  net.solve();
  EXPECT_EQ(net.rate(tree), 50);
}

// One long flow and a short one per link; the narrowest link decides for the long flow.
TEST(FlowSolver, ParkingLot) {
  Net net({10, 6, 20, 8});
  const FlowId long_flow = net.add({{0, 1}, {1, 1}, {2, 1}, {3, 1}});
  std::vector<FlowId> cross;
  for (std::size_t r = 0; r < 4; ++r) cross.push_back(net.add({{r, 1}}));
  net.solve();
  EXPECT_EQ(net.rate(long_flow), 3);
  EXPECT_EQ(net.rate(cross[0]), 7);
  EXPECT_EQ(net.rate(cross[1]), 3);
  EXPECT_EQ(net.rate(cross[2]), 17);
  EXPECT_EQ(net.rate(cross[3]), 5);
  net.remove(cross[1]);  // link 3 (8 units) is the narrowest now
  net.solve();
  EXPECT_EQ(net.rate(long_flow), 4);
  EXPECT_EQ(net.rate(cross[0]), 6);
  EXPECT_EQ(net.rate(cross[3]), 4);
}

// 1 GB/s costs a core (1e-9 core-seconds per byte), so 4 cores hold back a 25 GB/s link.
TEST(FlowSolver, HostCpuCanBeTheBottleneck) {
  Net net({4, 25e9});
  const FlowId flow = net.add({{0, 1e-9}, {1, 1}});
  net.solve();
  EXPECT_DOUBLE_EQ(net.rate(flow), 4e9);
  EXPECT_DOUBLE_EQ(net.load(0), 4);
}

// ---- What solve() reports, slots, errors

TEST(FlowSolver, ReportsOnlyWhatChanged) {
  std::vector<Share> first{{ResourceId(0), 1}}, second{{ResourceId(1), 1}};
  FlowSolver solver({10, 10});
  const FlowId a = solver.add(first, 1, kInfinity), b = solver.add(second, 1, kInfinity);
  EXPECT_EQ(solver.rate(a), 0);
  EXPECT_EQ(solver.solve().size(), 2U);
  EXPECT_TRUE(solver.solve().empty());
  const FlowId c = solver.add(first, 1, kInfinity);
  const auto changed = solver.solve();
  EXPECT_EQ(std::vector<FlowId>(changed.begin(), changed.end()), (std::vector<FlowId>{a, c}));
  EXPECT_EQ(solver.rate(b), 10);
  EXPECT_EQ(solver.counters().solves, 3U);
  EXPECT_EQ(solver.counters().flows_changed, 4U);
  EXPECT_EQ(solver.counters().flows_visited, 4U);  // c made a go down; nobody looked at b
  EXPECT_EQ(solver.counters().largest_component, 2U);
  EXPECT_EQ(solver.counters().component_solves, 0U);
}

TEST(FlowSolver, RatesAndLoadsAreThoseOfTheLastSolve) {
  Net net({10});
  const FlowId a = net.add({{0, 1}}), b = net.add({{0, 1}});
  net.solve();
  net.remove(a);
  EXPECT_EQ(net.rate(b), 5);
  EXPECT_EQ(net.load(0), 10);
  net.solve();
  EXPECT_EQ(net.rate(b), 10);
}

TEST(FlowSolver, SlotsAreReused) {
  Net net({10, 10, 10});
  const FlowId a = net.add({{0, 1}, {1, 1}}), b = net.add({{0, 1}});
  net.solve();
  net.remove(a);
  const FlowId c = net.add({{2, 1}});  // before a solve, with other shares
  EXPECT_EQ(c, a);
  net.solve();
  EXPECT_EQ(net.rate(b), 10);
  EXPECT_EQ(net.rate(c), 10);
  EXPECT_EQ(net.load(1), 0);
  net.remove(c);
  net.remove(net.add({{0, 1}, {1, 1}, {2, 1}}));  // never solved
  net.solve();
  EXPECT_EQ(net.load(2), 0);
}

// Ring step after ring step: the memory of a finished step serves the next one, and a step with the
// pattern of the last one is recognized as nothing new.
TEST(FlowSolver, RepeatedPatternKeepsItsLevels) {
  Net net(std::vector<double>(16, 50e9));
  std::vector<FlowId> flows;
  for (int round = 0; round < 3; ++round) {
    for (const FlowId f : flows) net.remove(f);
    flows.clear();
    for (std::size_t i = 0; i < 16; ++i) flows.push_back(net.add({{i, 1}, {(i + 1) % 16, 1}}));
    for (const FlowId f : flows) EXPECT_LT(f.index(), 16U);
    net.solve();
    for (const FlowId f : flows) EXPECT_EQ(net.rate(f), 25e9);
  }
}

TEST(FlowSolver, RefusesWhatItCannotSolve) {
  const std::vector<Share> good{{ResourceId(0), 1}}, unknown{{ResourceId(1), 1}};
  const std::vector<Share> weightless{{ResourceId(0), 0}};
  for (const double capacity : {0.0, -1.0, kInfinity, std::nan("")}) {
    EXPECT_THROW(FlowSolver({capacity}), std::logic_error);
  }
  FlowSolver solver({10});
  EXPECT_THROW(solver.add(good, 0, 1), std::logic_error);
  EXPECT_THROW(solver.add(good, kInfinity, 1), std::logic_error);
  EXPECT_THROW(solver.add(good, 1, 0), std::logic_error);
  EXPECT_THROW(solver.add(good, 1, std::nan("")), std::logic_error);
  EXPECT_THROW(solver.add({}, 1, kInfinity), std::logic_error);
  EXPECT_THROW(solver.add(unknown, 1, 1), std::logic_error);
  EXPECT_THROW(solver.add(weightless, 1, 1), std::logic_error);
  const FlowId flow = solver.add(good, 1, 1);
  solver.remove(flow);
  EXPECT_THROW(solver.remove(flow), std::logic_error);
  EXPECT_THROW(solver.remove(FlowId(7)), std::logic_error);
}

// ---- Scale

// Flow i is on links i and i+1 with capacities 1, 3, 5 …: alone flow 0 gets 1, flow i gets i+1.
// Without flow 0 every other rate changes, one after the other along the whole chain.
void run_chain(Relevel relevel) {
  constexpr std::size_t kFlows = 1'000'000;
  std::vector<double> capacities(kFlows + 1);
  for (std::size_t r = 0; r <= kFlows; ++r) capacities[r] = 2.0 * static_cast<double>(r) + 1;
  std::vector<Share> shares(2 * kFlows);
  FlowSolver solver(std::move(capacities), relevel);
  for (std::size_t i = 0; i < kFlows; ++i) {
    shares[2 * i].resource = ResourceId(i);
    shares[2 * i + 1].resource = ResourceId(i + 1);
    solver.add({&shares[2 * i], 2}, 1, kInfinity);
  }
  EXPECT_EQ(solver.solve().size(), kFlows);
  for (std::size_t i = 0; i < kFlows; ++i) {
    ASSERT_EQ(solver.rate(FlowId(i)), static_cast<double>(i + 1));
  }
  solver.remove(FlowId(0));
  EXPECT_EQ(solver.solve().size(), kFlows - 1);
  for (std::size_t i = 1; i < kFlows; ++i) {
    ASSERT_EQ(solver.rate(FlowId(i)), 2 * static_cast<double>((i + 1) / 2) + 0.5);
  }
}

TEST(FlowSolverScale, ChainOfAMillionRepaired) { run_chain(Relevel::kChanged); }
TEST(FlowSolverScale, ChainOfAMillionByComponent) { run_chain(Relevel::kComponent); }

}  // namespace
}  // namespace trainyard
