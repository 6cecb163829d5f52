// Operations that take turns, and kernels that overlap.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support_timeline.hpp"
#include "tests/unit/loop_executor.hpp"

namespace trainyard {
namespace {

using ::testing::DoubleEq;
using testing::Graph;
using testing::LoopExecutor;

Timeline run(Graph& graph) {
  graph.freeze();
  LoopExecutor executor({50e9});
  return Engine(graph, executor, 1).run();
}

TEST(EngineQueue, TakesWhatIsReadyTheFirstAddedFirst) {
  Graph graph;
  const std::uint32_t queue = graph.add_queue();
  const OpId gate = graph.delay(1), a = graph.delay(1, {gate}), b = graph.delay(1, {gate}),
             c = graph.delay(3), after = graph.delay(1, {a});
  for (const OpId op : {a, b, c}) graph.set_queues(op, queue);
  const Timeline t = run(graph);
  // c alone is ready at 0 and runs until 3; then a, which was added before b.
  EXPECT_EQ(t.finish(c), 3);
  EXPECT_EQ(t.start(a), 3);
  EXPECT_EQ(t.start(b), 4);
  EXPECT_EQ(t.start(after), 4);
  // What held them up is the operation before them in the queue.
  EXPECT_EQ(t.cause(t.record(a)), t.record(c));
  EXPECT_EQ(t.cause(t.record(b)), t.record(a));
}

TEST(EngineQueue, OfThoseReadyAtOneDateTheFirstAddedGoesFirst) {
  Graph graph;
  const std::uint32_t queue = graph.add_queue();
  // The later one is found ready first: it waits for the earlier of two that end together.
  const OpId one = graph.delay(1), other = graph.delay(1), a = graph.delay(1, {other}),
             b = graph.delay(1, {one});
  for (const OpId op : {a, b}) graph.set_queues(op, queue);
  const Timeline t = run(graph);
  EXPECT_EQ(t.start(a), 1);
  EXPECT_EQ(t.start(b), 2);
}

TEST(EngineQueue, WhatNeedsTwoQueuesWaitsForBothAndHoldsUpNoOther) {
  Graph graph;
  const std::uint32_t left = graph.add_queue(), right = graph.add_queue();
  const OpId a = graph.delay(4), b = graph.delay(1), both = graph.delay(1), c = graph.delay(1);
  graph.set_queues(a, right);
  graph.set_queues(b, left);
  graph.set_queues(both, left, right);
  graph.set_queues(c, left);
  const Timeline t = run(graph);
  EXPECT_EQ(t.start(both), 4);
  EXPECT_EQ(t.start(c), 1) << "left is free while `both` waits for right";
}

TEST(EngineQueue, JoinsPassTheirTurnOnAtOnce) {
  Graph graph;
  const std::uint32_t queue = graph.add_queue();
  std::vector<OpId> joins;
  for (int i = 0; i < 3; ++i) {
    joins.push_back(graph.join({}));
    graph.set_queues(joins.back(), queue);
  }
  const OpId last = graph.delay(1);
  graph.set_queues(last, queue);
  EXPECT_EQ(run(graph).finish(last), 1);
}

// Each kernel runs at 1 - 0.2 beside the communication of 4 s; one that is steady does not care.
TEST(Engine, KernelsThatOverlapAreEachSlowed) {
  Graph graph;
  graph.allow_overlap();
  const OpId a = graph.compute(0, 10), b = graph.compute(0, 2), steady = graph.compute(0, 10);
  graph.set_steady(steady);
  const OpId comm = graph.delay(4);
  graph.slows(comm, 0.2, {Rank(0)});
  const Timeline t = run(graph);
  EXPECT_THAT(t.finish(a), DoubleEq(10.8));
  EXPECT_THAT(t.finish(b), DoubleEq(2.5));
  EXPECT_THAT(t.finish(steady), DoubleEq(10));
}

}  // namespace
}  // namespace trainyard
