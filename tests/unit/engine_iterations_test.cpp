// Operations of several iterations: by hand, and against the same graph with every iteration as an
// operation of its own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "sim/error.hpp"
#include "tests/unit/loop_executor.hpp"
#include "tests/unit/loop_plan.hpp"

namespace trainyard {
namespace {

using ::testing::ElementsAre;
using testing::Graph;
using ::testing::HasSubstr;
using testing::LoopExecutor;
using testing::Plan;
using testing::stuck_message;

Timeline run(Graph& graph, std::size_t ranks = 1) {
  graph.freeze();
  LoopExecutor executor({1, 1});
  return Engine(graph, executor, ranks).run();
}

std::vector<double> starts(const Timeline& timeline, OpId op) {
  std::vector<double> all;
  for (std::uint32_t k = 0; k < timeline.iterations(op); ++k)
    all.push_back(timeline.start(timeline.record(op, k)));
  return all;
}

std::vector<double> finishes(const Timeline& timeline, OpId op) {
  std::vector<double> all;
  for (std::uint32_t k = 0; k < timeline.iterations(op); ++k)
    all.push_back(timeline.finish(timeline.record(op, k)));
  return all;
}

TEST(EngineIterations, AChain) {
  Graph graph;
  graph.set_iterations(4);
  const OpId loop = graph.one_by_one(graph.delay(2));
  const Timeline timeline = run(graph);
  EXPECT_EQ(graph.instances(), 4U);
  EXPECT_THAT(starts(timeline, loop), ElementsAre(0, 2, 4, 6));
  EXPECT_THAT(finishes(timeline, loop), ElementsAre(2, 4, 6, 8));
  EXPECT_EQ(timeline.end(), 8);
  EXPECT_EQ(timeline.cause(timeline.record(loop, 0)), Timeline::kNone);
  EXPECT_EQ(timeline.cause(timeline.record(loop, 3)), timeline.record(loop, 2));
}

// Nothing orders the iterations but that they start in order.
TEST(EngineIterations, WithoutConditionsTheyStartAtOnce) {
  Graph graph;
  graph.set_iterations(3);
  const OpId loop = graph.delay(2);
  const Timeline timeline = run(graph);
  EXPECT_THAT(starts(timeline, loop), ElementsAre(0, 0, 0));
  EXPECT_THAT(finishes(timeline, loop), ElementsAre(2, 2, 2));
}

// Two places between a stage of 1 s and one of 3 s: the first stage waits from its third iteration
// on until the second has made room.
TEST(EngineIterations, APipelineOfTwoStagesWithTwoPlacesBetween) {
  Graph graph;
  graph.set_iterations(4);
  const OpId first = graph.one_by_one(graph.compute(0, 1));
  const OpId second = graph.one_by_one(graph.compute(1, 3, {first}));
  graph.add_edge(second, first, 2);
  const Timeline timeline = run(graph, 2);
  EXPECT_THAT(starts(timeline, first), ElementsAre(0, 1, 4, 7));
  EXPECT_THAT(starts(timeline, second), ElementsAre(1, 4, 7, 10));
  EXPECT_EQ(timeline.cause(timeline.record(first, 2)), timeline.record(second, 0));
  EXPECT_EQ(timeline.cause(timeline.record(second, 2)), timeline.record(second, 1));
}

// Iteration k of the second needs k + 1 of the first; its last one needs none and only keeps the
// order.
TEST(EngineIterations, ANegativeShiftNeedsALaterIteration) {
  Graph graph;
  graph.set_iterations(3);
  const OpId first = graph.one_by_one(graph.delay(2)), second = graph.delay(1);
  graph.add_edge(first, second, -1);
  EXPECT_THAT(starts(run(graph), second), ElementsAre(4, 6, 6));
}

TEST(EngineIterations, ASingleOperationIntoIterationTwoOnly) {
  Graph graph;
  const OpId single = graph.delay(10);
  graph.set_iterations(4);
  const OpId loop = graph.one_by_one(graph.delay(1));
  graph.add_edge(single, loop, 2);
  EXPECT_THAT(starts(run(graph), loop), ElementsAre(0, 1, 10, 11));
}

TEST(EngineIterations, ASingleOperationAfterIterationTwoOnly) {
  Graph graph;
  graph.set_iterations(4);
  const OpId loop = graph.one_by_one(graph.delay(1));
  graph.set_iterations(1);
  const OpId single = graph.delay(5), first = graph.delay(5, {loop}), never = graph.delay(5);
  graph.add_edge(loop, single, -2);
  graph.add_edge(loop, never, -4);  // of an iteration that does not exist: no condition
  const Timeline timeline = run(graph);
  EXPECT_EQ(timeline.start(single), 3);
  EXPECT_EQ(timeline.start(first), 1);
  EXPECT_EQ(timeline.start(never), 0);
}

TEST(EngineIterations, AfterAllAndLastAfterLast) {
  Graph graph;
  graph.set_iterations(3);
  const OpId loop = graph.one_by_one(graph.delay(2));
  graph.set_iterations(2);
  const OpId after = graph.one_by_one(graph.delay(1)), last = graph.one_by_one(graph.delay(1));
  graph.add_edge_after_all(loop, after);
  graph.add_edge(loop, last, OpEdge::kLastAfterLast);
  graph.set_iterations(1);
  const OpId end = graph.delay(1), end_too = graph.delay(1);
  graph.add_edge_after_all(after, end);
  graph.add_edge(after, end_too, OpEdge::kLastAfterLast);
  const Timeline timeline = run(graph);
  EXPECT_THAT(starts(timeline, after), ElementsAre(6, 7));
  EXPECT_THAT(starts(timeline, last), ElementsAre(0, 6));
  EXPECT_EQ(timeline.start(end), 8);
  EXPECT_EQ(timeline.start(end_too), 8);
}

// The condition is met before the loop comes to its last iteration.
TEST(EngineIterations, LastAfterLastMetInAdvance) {
  Graph graph;
  graph.set_iterations(2);
  const OpId early = graph.one_by_one(graph.delay(1));
  graph.set_iterations(3);
  const OpId loop = graph.one_by_one(graph.delay(2));
  graph.add_edge(early, loop, OpEdge::kLastAfterLast);
  EXPECT_THAT(starts(run(graph), loop), ElementsAre(0, 2, 4));
}

TEST(EngineIterations, DelaysOfTheirOwn) {
  Graph graph;
  graph.set_iterations(3);
  const OpId loop =
      graph.one_by_one(graph.add_delays(Rank(0), {1, 0, 3}, OpRole::kHost, graph.label("launch")));
  const OpId other =
      graph.one_by_one(graph.add_delays(Rank(0), {5, 6, 7}, OpRole::kHost, graph.label("launch")));
  const Timeline timeline = run(graph);
  EXPECT_THAT(finishes(timeline, loop), ElementsAre(1, 1, 4));
  EXPECT_THAT(finishes(timeline, other), ElementsAre(5, 11, 18));
}

TEST(EngineIterations, DelaysAreOnePerIteration) {
  Graph graph;
  graph.set_iterations(3);
  EXPECT_THROW(graph.add_delays(Rank(0), {1, 2}, OpRole::kHost, 0), std::logic_error);
  EXPECT_THROW(graph.add_delays(Rank(0), {1, 2, -1}, OpRole::kHost, 0), std::logic_error);
  EXPECT_THROW(graph.set_iterations(0), std::logic_error);
}

// A message of 2 bytes each second over 1 byte/s. At 2 s the first has moved 1 byte, at 3 s 1.5,
// with half a byte left for a third of the link: 4.5 s. Then the second has 1 byte left at half of
// it, 6.5 s, and all 6 bytes are through 6 s after the first began.
TEST(EngineIterations, ASendThatStartsAgainBeforeItEnded) {
  Graph graph;
  graph.set_iterations(3);
  const OpId beat = graph.one_by_one(graph.delay(1)), send = graph.flow(0, 2, {beat});
  const OpId receive = graph.join({send});
  const Timeline timeline = run(graph);
  EXPECT_THAT(starts(timeline, send), ElementsAre(1, 2, 3));
  const auto near = [](double value) { return ::testing::DoubleNear(value, 1e-14); };
  EXPECT_THAT(finishes(timeline, send), ElementsAre(near(4.5), near(6.5), near(7)));
  EXPECT_EQ(finishes(timeline, receive), finishes(timeline, send));
  EXPECT_EQ(timeline.carried(ResourceId(0)), 6);
}

// 1 s of work beside a pause that lasts 1 of each 2 s and halves it: 0.5 of the first kernel is
// done at 1 s, all of it at 1.5 s; 0.5 of the second at 2 s, all of it at 3 s.
TEST(EngineIterations, KernelsBesideIterationsThatSlowThem) {
  Graph graph;
  graph.set_iterations(2);
  const OpId comm = graph.delay(1), rest = graph.delay(1, {comm});
  graph.add_edge(rest, comm, 1);
  graph.slows(comm, 0.5, {Rank(0)});
  const OpId kernel = graph.one_by_one(graph.compute(0, 1));
  EXPECT_THAT(finishes(run(graph), kernel), ElementsAre(1.5, 3));
}

TEST(EngineIterations, JoinsAndPausesThatTakeNoTime) {
  Graph graph;
  graph.set_iterations(100'000);
  const OpId join = graph.join({}), pause = graph.delay(0, {join});
  graph.add_edge(pause, join, 1);
  const Timeline timeline = run(graph);
  EXPECT_EQ(timeline.end(), 0);
  EXPECT_EQ(timeline.iterations(join) + timeline.iterations(pause), 200'000U);
  EXPECT_EQ(timeline.finish(pause), 0);
}

TEST(EngineIterations, ALoopThatWaitsForItselfIsNamed) {
  for (const std::int32_t shift : {0, -1}) {
    Graph graph;
    graph.set_iterations(3);
    const OpId loop = graph.delay(1);
    graph.add_edge(loop, loop, shift);
    const std::string message = stuck_message(graph);
    EXPECT_THAT(message, HasSubstr("3 of 3 operations"));
    EXPECT_THAT(message, HasSubstr("wait of rank 0 (op 0) waits for 1 more"));
  }
}

// Each waits for an iteration of the other that is never there: the third of the one, since it
// needs the second of the other, which needs the third of the one.
TEST(EngineIterations, TheIterationThatIsStuckIsNamed) {
  Graph graph;
  graph.set_iterations(4);
  const OpId one = graph.one_by_one(graph.delay(1));
  const OpId other = graph.add_delay(Rank(3), Seconds::of(1), OpRole::kOther, graph.label("recv"));
  graph.add_edge(other, one, 2);
  graph.add_edge(one, other, -2);
  const std::string message = stuck_message(graph);
  EXPECT_THAT(message, HasSubstr("6 of 8 operations"));
  EXPECT_THAT(message, HasSubstr("wait 2 of rank 0 (op 0) waits for 1 more"));
  EXPECT_THAT(message, HasSubstr("recv of rank 3 (op 1) waits for 1 more"));
}

TEST(EngineIterations, SourcesAreWhatTheFirstIterationsWaitForNothing) {
  Graph graph;
  graph.set_iterations(3);
  const OpId free = graph.one_by_one(graph.delay(1)), waits = graph.delay(1, {free});
  const OpId last = graph.delay(1), single_last = graph.delay(1);
  graph.add_edge(waits, last, OpEdge::kLastAfterLast);
  graph.add_edge_after_all(waits, single_last);
  EXPECT_THAT(graph.sources(0, graph.size()), ElementsAre(free, last));
}

Timeline run(const OpGraph& graph, const Plan& plan) {
  LoopExecutor executor(plan.capacities);
  return Engine(graph, executor, plan.ranks).run();
}

/// Holds the dates with loops against those without.
void expect_unrolled(const Plan& plan) {
  OpGraph loops, unrolled;
  testing::build_loops(plan, loops);
  const auto instances = testing::build_unrolled(plan, unrolled);
  const Timeline a = run(loops, plan), b = run(unrolled, plan);
  for (std::size_t i = 0; i < plan.ops.size(); ++i) {
    for (std::uint32_t k = 0; k < plan.ops[i].count; ++k) {
      const std::size_t record = a.record(OpId(i), k);
      const OpId op = instances[i][k];
      EXPECT_NEAR(a.start(record), b.start(op), 1e-12 * b.start(op)) << i << " iteration " << k;
      EXPECT_NEAR(a.finish(record), b.finish(op), 1e-12 * b.finish(op)) << i << " iteration " << k;
    }
  }
  EXPECT_NEAR(a.end(), b.end(), 1e-12 * b.end());
  for (std::size_t r = 0; r < plan.capacities.size(); ++r) {
    EXPECT_NEAR(a.carried(ResourceId(r)), b.carried(ResourceId(r)),
                1e-12 * b.carried(ResourceId(r)));
  }
}

void expect_unrolled(std::uint64_t first_seed, const testing::PlanShape& shape) {
  for (std::uint64_t seed = first_seed; seed < first_seed + 300; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    expect_unrolled(testing::PlanMaker(seed, shape).make());
    ASSERT_FALSE(::testing::Test::HasFailure());
  }
}

TEST(EngineIterations, RandomLoopsRunAsUnrolled) {
  expect_unrolled(1000, {.counts = {2, 3, 5, 8, 13}});
}

// Much ends at one date.
TEST(EngineIterations, RandomLoopsOfRoundNumbersRunAsUnrolled) {
  expect_unrolled(2000, {.counts = {2, 3, 7, 7}, .round = true});
}

bool is_stuck(const OpGraph& graph, const Plan& plan) {
  try {
    run(graph, plan);
  } catch (const StuckError&) {
    return true;
  }
  return false;
}

// Without an order of places an edge back may close a cycle, or not: both graphs are stuck, or
// none.
TEST(EngineIterations, LoopsAreStuckWhereUnrolledOnesAre) {
  int stuck = 0;
  for (std::uint64_t seed = 3000; seed < 3200; ++seed) {
    Plan plan = testing::PlanMaker(seed, {.counts = {2, 4, 9}}).make();
    testing_flows::Random random(seed);
    const std::size_t a = random.below(plan.ops.size()), b = random.below(plan.ops.size());
    plan.edges.push_back({a, b, static_cast<std::int32_t>(random.below(5)) - 2});
    OpGraph loops, unrolled;
    testing::build_loops(plan, loops);
    testing::build_unrolled(plan, unrolled);
    const bool expected = is_stuck(unrolled, plan);
    EXPECT_EQ(is_stuck(loops, plan), expected) << "seed " << seed;
    stuck += expected ? 1 : 0;
  }
  EXPECT_GT(stuck, 20);
  EXPECT_LT(stuck, 180);
}

}  // namespace
}  // namespace trainyard
