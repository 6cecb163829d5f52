// FlowCore alone, against times calculated by hand.
#include "sim/flow_core.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <vector>

namespace trainyard {
namespace {

constexpr double kGB = 1e9;
constexpr double kMB = 1e6;

FlowPath over(std::initializer_list<Share> shares, double latency = 0) {
  FlowPath path;
  path.shares = shares;
  path.latency = Seconds::of(latency);
  return path;
}

Share whole(std::size_t resource) { return {ResourceId(resource), 1}; }

/// Everything that ended at one date.
struct Batch {
  double date;
  std::vector<OpId> ops;
  friend bool operator==(const Batch&, const Batch&) = default;
};

/// The next date at which something ends, and what; nothing when nothing runs.
Batch next(FlowCore& core) {
  while (!core.idle()) {
    core.advance(core.next_date());
    if (!core.ended().empty()) return {core.now(), core.ended()};
  }
  return {core.now(), {}};
}

std::vector<OpId> ops(std::initializer_list<std::size_t> indices) {
  return {indices.begin(), indices.end()};
}

void expect_batch(const Batch& batch, double date, const std::vector<OpId>& expected) {
  EXPECT_NEAR(batch.date, date, 1e-15 + 4e-16 * date);
  EXPECT_EQ(batch.ops, expected);
}

TEST(FlowCore, IsIdleAtFirst) {
  FlowCore core({50 * kGB});
  EXPECT_TRUE(core.idle());
  EXPECT_EQ(core.now(), 0);
  EXPECT_TRUE(std::isinf(core.next_date()));
}

// 2 GB at 50 GB/s.
TEST(FlowCore, TwoEqualFlowsShareALinkAndEndTogether) {
  FlowCore core({50 * kGB});
  const FlowPath path = over({whole(0)});
  core.start_flow(OpId(7), path, 1 * kGB);
  core.start_flow(OpId(3), path, 1 * kGB);
  expect_batch(next(core), 0.040, ops({3, 7}));
  EXPECT_TRUE(core.idle());
}

// Both at 25 GB/s until the small one is through at 0.8 ms; the 80 MB left of the tree then take
// 1.6 ms at 50 GB/s.
TEST(FlowCore, ASmallFlowBesideATreeFlow) {
  FlowCore core({50 * kGB, 50 * kGB, 50 * kGB});
  const FlowPath tree = over({whole(0), whole(1), whole(2)});
  const FlowPath small = over({whole(1)});
  core.start_flow(OpId(0), tree, 100 * kMB);
  core.start_flow(OpId(1), small, 20 * kMB);
  expect_batch(next(core), 0.8e-3, ops({1}));
  expect_batch(next(core), 2.4e-3, ops({0}));
}

// While it pays its latency a flow takes no bandwidth: op 0 has the link for 2 us (100 kB) alone,
// then half of it for its other 100 kB (4 us). Op 1 then has 4 us × 25 GB/s = 100 kB done.
TEST(FlowCore, PaysTheLatencyBeforeTheBytes) {
  FlowCore core({50 * kGB});
  const FlowPath now = over({whole(0)});
  const FlowPath later = over({whole(0)}, 2e-6);
  core.start_flow(OpId(0), now, 200e3);
  core.start_flow(OpId(1), later, 300e3);
  expect_batch(next(core), 6e-6, ops({0}));
  expect_batch(next(core), 10e-6, ops({1}));
}

// Not an approximation: a rate that never changed gives start + latency + bytes / rate.
TEST(FlowCore, AFlowAloneEndsToTheLastBit) {
  FlowCore core({37.5 * kGB});
  const FlowPath path = over({whole(0)}, 1.7e-6);
  core.start_pause(OpId(0), 1234.567);
  const double start = next(core).date;
  core.start_flow(OpId(1), path, 12345677);
  EXPECT_EQ(start, 1234.567);
  EXPECT_EQ(next(core).date, (1234.567 + 1.7e-6) + 12345677 / 37.5e9);
}

TEST(FlowCore, ABoundHoldsAFlowBelowItsShare) {
  FlowCore core({50 * kGB});
  FlowPath bounded = over({whole(0)});
  bounded.bound = BytesPerSecond::of(10 * kGB);
  const FlowPath free = over({whole(0)});
  core.start_flow(OpId(0), bounded, 1 * kGB);
  core.start_flow(OpId(1), free, 2 * kGB);
  expect_batch(next(core), 0.050, ops({1}));
  expect_batch(next(core), 0.100, ops({0}));
}

// Levels are equal, rates as 3 : 1; a weight of 2 takes double. 3r + 2r = 50 GB/s.
TEST(FlowCore, FairnessAndWeights) {
  FlowCore core({50 * kGB});
  FlowPath favoured = over({whole(0)});
  favoured.fairness = 3;
  const FlowPath heavy = over({{ResourceId(0), 2}});
  core.start_flow(OpId(0), favoured, 30 * kMB);
  core.start_flow(OpId(1), heavy, 10 * kMB);
  expect_batch(next(core), 1e-3, ops({0, 1}));
}

TEST(FlowCore, PausesDoNotShare) {
  FlowCore core({50 * kGB});
  core.start_pause(OpId(0), 3e-3);
  core.start_pause(OpId(1), 1e-3);
  core.start_pause(OpId(2), 2e-3);
  expect_batch(next(core), 1e-3, ops({1}));
  expect_batch(next(core), 2e-3, ops({2}));
  expect_batch(next(core), 3e-3, ops({0}));
}

TEST(FlowCore, ARestartedPauseEndsSooner) {
  FlowCore core({50 * kGB});
  core.start_pause(OpId(0), 10e-3);
  core.start_pause(OpId(1), 1e-3);
  next(core);
  core.restart_pause(OpId(0), 2e-3);
  expect_batch(next(core), 3e-3, ops({0}));
}

TEST(FlowCore, ARestartedPauseEndsLater) {
  FlowCore core({50 * kGB});
  core.start_pause(OpId(0), 2e-3);
  core.start_pause(OpId(1), 1e-3);
  core.start_pause(OpId(2), 4e-3);
  next(core);
  core.restart_pause(OpId(0), 5e-3);
  expect_batch(next(core), 4e-3, ops({2}));
  expect_batch(next(core), 6e-3, ops({0}));
  EXPECT_TRUE(core.idle());
}

TEST(FlowCore, APauseThatIsOverCannotBeRestarted) {
  FlowCore core({50 * kGB});
  core.start_pause(OpId(0), 1e-3);
  core.start_pause(OpId(1), 2e-3);
  next(core);
  EXPECT_THROW(core.restart_pause(OpId(0), 1e-3), std::logic_error);
  EXPECT_THROW(core.restart_pause(OpId(9), 1e-3), std::logic_error);
}

TEST(FlowCore, ZeroBytesTakeTheirLatency) {
  FlowCore core({50 * kGB});
  const FlowPath path = over({whole(0)}, 3e-6);
  const FlowPath none = over({whole(0)});
  core.start_flow(OpId(0), path, 0);
  core.start_flow(OpId(1), none, 0);
  expect_batch(next(core), 0, ops({1}));
  expect_batch(next(core), 3e-6, ops({0}));
  EXPECT_EQ(core.carried(), std::vector<double>{0});
}

// A copy that no resource models, such as one inside a GPU.
TEST(FlowCore, NothingHoldsBackAFlowWithoutResources) {
  FlowCore core({50 * kGB});
  const FlowPath path = over({}, 3e-6);
  FlowPath bounded = over({}, 3e-6);
  bounded.bound = BytesPerSecond::of(1 * kGB);
  core.start_flow(OpId(0), path, 1 * kGB);
  core.start_flow(OpId(1), bounded, 1e3);
  expect_batch(next(core), 3e-6, ops({0}));
  expect_batch(next(core), 4e-6, ops({1}));
}

// 0.1 + 0.2 and 0.3 differ in the last bit.
TEST(FlowCore, DatesThatDifferByRoundingAreOneEvent) {
  FlowCore core({50 * kGB});
  core.start_pause(OpId(2), 0.1);
  core.start_pause(OpId(1), 0.3);
  next(core);
  core.start_pause(OpId(0), 0.2);
  EXPECT_EQ(next(core).ops, ops({0, 1}));
}

// A nanosecond is not rounding, not even after a day (one ulp there is 0.015 ns).
TEST(FlowCore, DatesThatDifferByANanosecondAreTwoEvents) {
  FlowCore core({50 * kGB});
  core.start_pause(OpId(0), 86400);
  next(core);
  core.start_pause(OpId(1), 5e-6);
  core.start_pause(OpId(2), 5e-6 + 1e-9);
  EXPECT_EQ(next(core).ops, ops({1}));
  EXPECT_EQ(next(core).ops, ops({2}));
}

TEST(FlowCore, EqualFlowsOnManyLinksEndInOneEvent) {
  FlowCore core(std::vector<double>(100, 12.5 * kGB));
  std::vector<FlowPath> ring;
  for (std::size_t i = 0; i < 100; ++i) {
    const std::size_t j = (i + 1) % 100;
    ring.push_back(over({whole(std::min(i, j)), whole(std::max(i, j))}, 1e-6));
  }
  for (std::size_t i = 0; i < 100; ++i) core.start_flow(OpId(99 - i), ring[i], 1e6 / 3);
  const Batch batch = next(core);
  EXPECT_EQ(batch.ops.size(), 100U);
  EXPECT_TRUE(std::is_sorted(batch.ops.begin(), batch.ops.end()));
  EXPECT_NEAR(batch.date, 1e-6 + 2e6 / 3 / 12.5e9, 1e-15);
}

TEST(FlowCore, CountsCarriedBytesTimesWeight) {
  FlowCore core({50 * kGB, 16});
  const FlowPath both = over({whole(0), {ResourceId(1), 1e-10}});
  const FlowPath one = over({whole(0)});
  core.start_flow(OpId(0), both, 30 * kMB);
  core.start_flow(OpId(1), one, 50 * kMB);
  next(core);
  EXPECT_EQ(core.carried(), (std::vector<double>{30 * kMB, 3e-3}));
  next(core);
  EXPECT_EQ(core.carried(), (std::vector<double>{80 * kMB, 3e-3}));
}

TEST(FlowCore, WhatStartsAtTheSameDateInNoTimeEndsThere) {
  FlowCore core({50 * kGB});
  core.start_pause(OpId(0), 1e-3);
  next(core);
  core.start_pause(OpId(1), 0);
  EXPECT_EQ(core.next_date(), 1e-3);
  expect_batch(next(core), 1e-3, ops({1}));
}

// A flow that starts in the middle of another: 1 ms alone (50 MB), then 50 MB at half rate.
TEST(FlowCore, PassesToADateBetweenEvents) {
  FlowCore core({50 * kGB});
  const FlowPath path = over({whole(0)});
  core.start_flow(OpId(0), path, 100 * kMB);
  core.pass_to(1e-3);
  core.start_flow(OpId(1), path, 100 * kMB);
  EXPECT_THROW(core.pass_to(3.5e-3), std::logic_error);
  EXPECT_THROW(core.pass_to(0.5e-3), std::logic_error);
  expect_batch(next(core), 3e-3, ops({0}));
  expect_batch(next(core), 4e-3, ops({1}));
}

// Slots and solver ids are used again; nothing of the former flow may show.
TEST(FlowCore, AReusedSlotStartsAfresh) {
  FlowCore core({50 * kGB});
  const FlowPath path = over({whole(0)}, 1e-6);
  for (std::size_t i = 0; i < 1000; ++i) {
    const double begin = core.now();
    core.start_flow(OpId(i), path, 50e3);
    const Batch batch = next(core);
    EXPECT_EQ(batch.ops, ops({i}));
    EXPECT_EQ(batch.date, (begin + 1e-6) + 50e3 / 50e9);
  }
  EXPECT_EQ(core.carried()[0], 50e6);
}

}  // namespace
}  // namespace trainyard
