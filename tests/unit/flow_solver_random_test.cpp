// Random systems of flows against the oracle, with the seed in every failure.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "tests/unit/flow_net.hpp"

namespace trainyard {
namespace {

using namespace testing_flows;

/// How the numbers of a random system are drawn.
enum class Numbers {
  kPlain,      ///< all different, within two orders of magnitude
  kSymmetric,  ///< few values, so that most levels are ties
  kExtreme,    ///< 1e-3 … 1e15
};

struct Draw {
  Random random;
  Numbers numbers;
  double value(double low, double high) {
    if (numbers == Numbers::kSymmetric) return static_cast<double>(1 + random.below(3));
    if (numbers == Numbers::kExtreme) return random.power_of_ten(-3, 15);
    return random.uniform(low, high);
  }
  double weight() {
    if (numbers == Numbers::kSymmetric || random.one_in(2)) return 1;
    return numbers == Numbers::kExtreme ? random.power_of_ten(-3, 3) : random.uniform(0.5, 10);
  }
  double fairness() {
    if (numbers == Numbers::kSymmetric) return 1;
    return numbers == Numbers::kExtreme ? random.power_of_ten(-3, 3) : random.uniform(0.5, 3);
  }
};

std::vector<double> draw_capacities(Draw& draw, std::size_t count) {
  std::vector<double> capacities;
  for (std::size_t i = 0; i < count; ++i) {
    capacities.push_back(draw.value(1, 100) * (draw.numbers == Numbers::kSymmetric ? 12 : 1));
  }
  return capacities;
}

void add_random_flow(Net& net, Draw& draw, std::size_t resources) {
  const std::size_t count = draw.random.below(std::min<std::size_t>(resources, 5) + 1);
  Uses uses;
  for (const std::size_t r : draw.random.distinct(count, resources)) {
    uses.emplace_back(r, draw.weight());
  }
  const bool bounded = uses.empty() || draw.random.one_in(4);
  const double bound = bounded ? draw.value(0.5, 40) : kInfinity;
  net.add(uses, draw.fairness(), bound, static_cast<std::uint32_t>(draw.random.below(4)));
}

void run_random_case(std::uint64_t seed, Numbers numbers) {
  Draw draw{Random(seed), numbers};
  const std::size_t resources = 1 + draw.random.below(12);
  Net net(draw_capacities(draw, resources));
  for (int step = 0; step < 25; ++step) {
    for (std::size_t changes = 1 + draw.random.below(4); changes > 0; --changes) {
      const std::size_t kind = net.size() == 0 ? 9 : draw.random.below(10);
      if (kind < 3) {
        net.remove(net.pick(draw.random.below(net.size())));
      } else if (kind < 6) {
        net.set_members(net.pick(draw.random.below(net.size())),
                        static_cast<std::uint32_t>(draw.random.below(4)));
      } else {
        add_random_flow(net, draw, resources);
      }
    }
    net.solve();
    const bool extreme = numbers == Numbers::kExtreme;
    net.expect_oracle(extreme ? 1e-9 : 1e-12, extreme);
    if (testing::Test::HasFailure()) return;
  }
}

void run_random_cases(Numbers numbers, std::uint64_t first_seed) {
  for (std::uint64_t seed = first_seed; seed < first_seed + 200; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    run_random_case(seed, numbers);
    ASSERT_FALSE(testing::Test::HasFailure());
  }
}

TEST(FlowSolverRandom, PlainNumbers) { run_random_cases(Numbers::kPlain, 1000); }
TEST(FlowSolverRandom, SymmetricNumbers) { run_random_cases(Numbers::kSymmetric, 2000); }
TEST(FlowSolverRandom, ExtremeNumbers) { run_random_cases(Numbers::kExtreme, 3000); }

/// A random pair on a fabric of three tiers: six links, hashed over 8 spines and `hosts` cores.
Uses random_route(Random& random, std::size_t hosts) {
  const std::size_t from = random.below(hosts), to = (from + 1 + random.below(hosts - 1)) % hosts;
  const std::size_t spine = random.below(8), core = random.below(hosts);
  const std::size_t leaf_links = 2 * hosts, core_links = 4 * hosts;
  return {{2 * from, 1},
          {leaf_links + 2 * (from / 8 * 8 + spine), 1},
          {core_links + 2 * core, 1},
          {core_links + 2 * core + 1, 1},
          {leaf_links + 2 * (to / 8 * 8 + spine) + 1, 1},
          {2 * to + 1, 1}};
}

std::vector<double> fabric(std::size_t hosts) { return std::vector<double>(6 * hosts, 50e9); }

TEST(FlowSolverRandom, FabricDrainsOneFlowAtATime) {
  Random random(11);
  Net net(fabric(64));
  for (int i = 0; i < 256; ++i) net.add(random_route(random, 64));
  for (net.solve(); net.size() > 0; net.solve()) {
    if (net.size() % 32 == 0) net.expect_oracle(1e-12);
    net.remove(net.pick(random.below(net.size())));
    ASSERT_FALSE(HasFailure()) << net.size() << " flows left";
  }
}

// Every link carries so many flows that one removal moves a large part of all rates: repairs that
// cost more than starting over are given up half-way and leave no trace.
TEST(FlowSolverRandom, GivesUpARepairThatSpreads) {
  Random random(12);
  Net net(fabric(32));
  for (int i = 0; i < 1500; ++i) net.add(random_route(random, 32));
  net.solve();
  for (int i = 0; i < 60; ++i) {
    net.remove(net.pick(random.below(net.size())));
    net.solve();
    ASSERT_FALSE(HasFailure()) << "removal " << i;
  }
  net.expect_oracle(1e-12);
  EXPECT_GT(net.solver().counters().component_solves, 0U);
  EXPECT_LT(net.solver().counters().component_solves, 60U);
}

TEST(FlowSolverRandom, ManyRemovalsAtOnce) {
  Random random(13);
  Net net(fabric(64));
  for (int round = 0; round < 4; ++round) {
    while (net.size() < 512) net.add(random_route(random, 64));
    net.solve();
    while (net.size() > 100) net.remove(net.pick(random.below(net.size())));
    net.solve();
    net.expect_oracle(1e-12);
  }
  EXPECT_GT(net.solver().counters().component_solves, 0U);  // started over at once
}

// The point of repairing: what a removal visits is what it changes, not the component.
TEST(FlowSolverRandom, VisitsLittleMoreThanItChanges) {
  Random random(14);
  Net net(fabric(256));
  for (int i = 0; i < 512; ++i) net.add(random_route(random, 256));
  net.solve();
  const FlowSolver::Counters before = net.solver().counters();
  for (int i = 0; i < 100; ++i) {
    net.remove(net.pick(random.below(net.size())));
    net.solve();
  }
  const FlowSolver::Counters& after = net.solver().counters();
  EXPECT_LE(after.flows_visited - before.flows_visited,
            1.1 * static_cast<double>(after.flows_changed - before.flows_changed));
  EXPECT_LT(after.flows_visited - before.flows_visited, 100 * 512 / 10);
}

}  // namespace
}  // namespace trainyard
