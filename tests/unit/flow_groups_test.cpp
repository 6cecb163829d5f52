// Flows of one path in FlowCore, which are one flow to the solver, and what FlowCore tells of its
// state.
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <vector>

#include "sim/flow_core.hpp"
#include "tests/unit/flow_net.hpp"

namespace trainyard {
namespace {

using testing_flows::Random;
using Phase = FlowCore::Phase;
using Running = FlowCore::Running;

FlowPath over(std::initializer_list<std::size_t> resources, double latency = 0) {
  FlowPath path;
  for (const std::size_t r : resources) path.shares.push_back({ResourceId(r), 1});
  path.latency = Seconds::of(latency);
  return path;
}

/// Runs to the end; when each op ended.
std::map<OpId, double> drain(FlowCore& core) {
  std::map<OpId, double> ends;
  while (!core.idle()) {
    core.advance(core.next_date());
    for (const OpId op : core.ended()) ends[op] = core.now();
  }
  return ends;
}

// Link of 12. A (12) runs alone to 0.25, when 9 are left and B (4) joins: 6 each. At 0.5 A has 7.5,
// B 2.5 and C (1) joins: 4 each. C ends at 0.75, A has 6.5, B 1.5: 6 each. B ends at 1, A has 5.
TEST(FlowGroups, JoinAndLeaveAtOddMoments) {
  FlowCore core({12});
  const FlowPath path = over({0});
  core.start_flow(OpId(0), path, 12);
  core.pass_to(0.25);
  core.start_flow(OpId(1), path, 4);
  core.pass_to(0.5);
  core.start_flow(OpId(2), path, 1);
  const auto ends = drain(core);
  EXPECT_DOUBLE_EQ(ends.at(OpId(2)), 0.75);
  EXPECT_DOUBLE_EQ(ends.at(OpId(1)), 1);
  EXPECT_DOUBLE_EQ(ends.at(OpId(0)), 1 + 5.0 / 12);
  EXPECT_EQ(core.carried(), std::vector<double>{17});
}

// Each flow moves only when those that are smaller are through: with sizes in order, flow i ends
// (n - i) (size i - size i-1) / capacity after flow i-1.
TEST(FlowGroups, ManySizesEndInOrder) {
  constexpr std::size_t kFlows = 500;
  Random random(31);
  std::vector<double> sizes(kFlows);
  for (double& s : sizes) s = random.uniform(1, 1e9);
  FlowCore core({50e9});
  const FlowPath path = over({0});
  for (std::size_t i = 0; i < kFlows; ++i) core.start_flow(OpId(i), path, sizes[i]);
  auto ends = drain(core);
  std::vector<std::pair<double, OpId>> order;
  for (std::size_t i = 0; i < kFlows; ++i) order.emplace_back(sizes[i], OpId(i));
  std::sort(order.begin(), order.end());
  double date = 0, done = 0;
  for (std::size_t i = 0; i < kFlows; ++i) {
    date += static_cast<double>(kFlows - i) * (order[i].first - done) / 50e9;
    done = order[i].first;
    ASSERT_NEAR(ends.at(order[i].second) / date, 1, 1e-13);
  }
}

/// Random joins on three paths that share links; `apart` gives every flow a path object of its own.
std::map<OpId, double> run_joins(std::uint64_t seed, bool apart) {
  Random random(seed);
  const std::vector<FlowPath> kinds{over({0, 1}), over({1, 2}, 1e-3), over({2})};
  std::deque<FlowPath> copies;
  FlowCore core({random.uniform(1, 10), random.uniform(1, 10), random.uniform(1, 10)});
  std::map<OpId, double> ends;
  for (std::size_t i = 0; i < 100; ++i) {
    const FlowPath& kind = kinds[random.below(3)];
    const double bytes = random.one_in(3) ? 1 : random.uniform(0.01, 3);
    core.start_flow(OpId(i), apart ? copies.emplace_back(kind) : kind, bytes);
    const double until = random.one_in(3) ? core.now() : core.now() + random.uniform(0, 0.5);
    while (core.next_date() <= until) {
      core.advance(core.next_date());
      for (const OpId op : core.ended()) ends[op] = core.now();
    }
    core.pass_to(until);
  }
  ends.merge(drain(core));
  return ends;
}

TEST(FlowGroups, EndWhenSeparateFlowsDo) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const auto together = run_joins(seed, false), apart = run_joins(seed, true);
    ASSERT_EQ(together.size(), 100U);
    for (const auto& [op, date] : apart) {
      ASSERT_NEAR(together.at(op) / date, 1, 1e-12) << "seed " << seed << " op " << op.index();
    }
  }
}

// A bound keeps the rate of each, whoever joins: start + bytes / rate to the last bit.
TEST(FlowGroups, ARateThatNeverChangedIsExactInAGroup) {
  Random random(32);
  FlowPath path = over({0});
  path.bound = BytesPerSecond::of(0.7);
  FlowCore core({1e9});
  std::map<OpId, double> expected, ends;
  for (std::size_t i = 0; i < 300; ++i) {
    const double start = core.now() + random.uniform(0, 1), bytes = random.uniform(0.1, 5);
    while (core.next_date() <= start) {
      core.advance(core.next_date());
      for (const OpId op : core.ended()) ends[op] = core.now();
    }
    core.pass_to(start);
    core.start_flow(OpId(i), path, bytes);
    expected[OpId(i)] = start + bytes / 0.7;
  }
  ends.merge(drain(core));
  EXPECT_EQ(ends, expected);
}

// One flow keeps the group alive while a competitor comes and goes 200,000 times; a late flow of
// the group is then as exact as an early one. The reference adds up in long double.
TEST(FlowGroups, LateJoinersAreExact) {
  FlowCore core({3});
  const FlowPath path = over({0}), other = over({0});
  core.start_flow(OpId(0), path, 1e9);
  const auto compete = [&](int times, std::size_t beside) {
    long double moved = 0;
    for (int i = 0; i < times; ++i) {
      const double begin = core.now();
      core.start_flow(OpId(9), other, 0.1);
      core.advance(core.next_date());
      EXPECT_EQ(core.ended(), std::vector<OpId>{OpId(9)});
      const double end = core.now();
      core.pass_to(end + 0.07);
      moved += (static_cast<long double>(end) - begin) * 3 / (beside + 1) +
               (static_cast<long double>(core.now()) - end) * 3 / beside;
    }
    return moved;
  };
  compete(100'000, 1);
  core.start_flow(OpId(1), path, 1e6);
  const long double moved = compete(100'000, 2);
  core.next_date();
  EXPECT_NEAR(core.running().at(1).left / static_cast<double>(1e6 - moved), 1, 1e-13);
}

// A flow that follows another one on its path at the same date takes its place: no new levels, and
// to the last bit the dates of flows one after the other.
TEST(FlowGroups, ASuccessorTakesThePlace) {
  FlowCore core({37.5, 11});
  const FlowPath path = over({0}), beside = over({0, 1});
  core.start_flow(OpId(1000), beside, 1e6);
  core.start_flow(OpId(0), path, 7);
  core.next_date();
  const std::uint64_t solves = core.solver().counters().solves;
  double date = 0;
  for (std::size_t i = 1; i < 100; ++i) {
    core.advance(core.next_date());
    date += 7 / 26.5;  // the other flow takes 11
    ASSERT_EQ(core.ended(), std::vector<OpId>{OpId(i - 1)});
    ASSERT_EQ(core.now(), date);
    core.start_flow(OpId(i), path, 7);
  }
  core.next_date();
  EXPECT_EQ(core.solver().counters().solves, solves);
}

// Paths that are used once are forgotten, what they carried is not; used again they are as new.
TEST(FlowGroups, ForgottenPathsStillCount) {
  constexpr std::size_t kPaths = 1000;
  std::deque<FlowPath> paths;
  FlowCore core({2, 8});
  for (std::size_t i = 0; i < kPaths; ++i) paths.push_back(over({i % 2}));
  for (int round = 0; round < 2; ++round) {
    for (std::size_t i = 0; i < kPaths; ++i) {
      const double start = core.now();
      core.start_flow(OpId(i), paths[i], 16);
      EXPECT_EQ(drain(core).at(OpId(i)), start + (i % 2 == 0 ? 8 : 2));
    }
  }
  EXPECT_EQ(core.carried(), (std::vector<double>{16000, 16000}));
}

TEST(FlowGroups, RunningTellsWhatIsInProgress) {
  FlowCore core({12});
  const FlowPath path = over({0}), late = over({0}, 0.75);
  FlowPath nothing = over({}, 2);
  core.start_pause(OpId(5), 3);
  core.start_flow(OpId(4), path, 12);
  core.start_flow(OpId(3), path, 4);
  core.start_flow(OpId(2), late, 1);
  core.start_flow(OpId(1), nothing, 77);
  core.pass_to(0.25);  // both have moved 1.5
  EXPECT_EQ(core.running(), (std::vector<Running>{{OpId(1), Phase::kLatency, 1.75, 0},
                                                  {OpId(2), Phase::kLatency, 0.5, 0},
                                                  {OpId(3), Phase::kFlowing, 2.5, 6},
                                                  {OpId(4), Phase::kFlowing, 10.5, 6},
                                                  {OpId(5), Phase::kPause, 2.75, 0}}));
  core.advance(core.next_date());  // op 3 is through at 2/3, op 4 has 8 left
  core.advance(core.next_date());  // latency over at 0.75, when op 4 has 7
  EXPECT_EQ(core.now(), 0.75);
  core.next_date();
  const std::vector<Running> running = core.running();
  ASSERT_EQ(running.size(), 4U);
  EXPECT_EQ(running[1], (Running{OpId(2), Phase::kFlowing, 1, 6}));
  EXPECT_EQ(running[2].phase, Phase::kFlowing);
  EXPECT_DOUBLE_EQ(running[2].left, 7);
  EXPECT_EQ(running[2].rate, 6);
  drain(core);
  EXPECT_TRUE(core.running().empty());
}

}  // namespace
}  // namespace trainyard
