// Timelines with periods that stand for several.
#include "sim/timeline.hpp"

#include <gtest/gtest.h>

#include "tests/unit/loop_executor.hpp"

namespace trainyard {
namespace {

using testing::Graph;

TEST(Timeline, RecordsOfAnOperationFollowEachOther) {
  Graph graph;
  const OpId single = graph.delay(1);
  graph.set_iterations(3);
  const OpId loop = graph.delay(1);
  graph.set_iterations(1);
  const OpId after = graph.delay(1);
  graph.freeze();
  const Timeline timeline(graph);
  EXPECT_EQ(timeline.record(single), 0U);
  EXPECT_EQ(timeline.record(loop, 2), 3U);
  EXPECT_EQ(timeline.record(after), 4U);
  EXPECT_EQ(timeline.op_of(0), single);
  EXPECT_EQ(timeline.op_of(1), loop);
  EXPECT_EQ(timeline.op_of(3), loop);
  EXPECT_EQ(timeline.op_of(4), after);
}

// Of 9 iterations of 1 s the period from 2 to 4 s stands for three and so is 6 s long: twice 2 s
// more. The period from 4 to 5 s happens once more.
TEST(Timeline, PullsRepeatsApart) {
  Graph graph;
  graph.set_iterations(11);
  const OpId loop = graph.delay(1);
  graph.freeze();
  Timeline timeline(graph);
  for (std::uint32_t k = 0; k < 6; ++k) {
    timeline.started(loop, k, k, Timeline::kNone);
    timeline.finished(loop, k, k + 1);
  }
  timeline.leave_out(loop, 5);
  timeline.repeat({2, 4, 2});
  timeline.repeat({4, 5, 1});
  timeline.complete(graph);
  EXPECT_EQ(timeline.iterations(loop), 6U);
  const double expected[] = {0, 1, 2, 5, 8, 10, 11};
  for (std::uint32_t k = 0; k < 6; ++k) {
    EXPECT_EQ(timeline.start(timeline.record(loop, k)), expected[k]);
    EXPECT_EQ(timeline.finish(timeline.record(loop, k)), expected[k + 1]);
  }
  EXPECT_EQ(timeline.finish(loop), 11);
  EXPECT_EQ(timeline.end(), 11);
}

// A date inside a repeat moves in proportion, so that what spans its ends keeps its share of it.
TEST(Timeline, PullsApartWhatSpansTheEndsOfARepeat) {
  Graph graph;
  const OpId early = graph.delay(2), inside = graph.delay(1), late = graph.delay(3);
  graph.freeze();
  Timeline timeline(graph);
  timeline.started(early, 0, 1, Timeline::kNone);
  timeline.started(inside, 0, 2.5, Timeline::kNone);
  timeline.finished(early, 0, 3);
  timeline.started(late, 0, 3, Timeline::kNone);
  timeline.finished(inside, 0, 3.5);
  timeline.finished(late, 0, 6);
  timeline.repeat({2, 4, 9});
  timeline.complete(graph);
  EXPECT_EQ(timeline.start(early), 1);
  EXPECT_EQ(timeline.finish(early), 12);
  EXPECT_EQ(timeline.start(inside), 7);
  EXPECT_EQ(timeline.finish(inside), 17);
  EXPECT_EQ(timeline.start(late), 12);
  EXPECT_EQ(timeline.finish(late), 24);
}

// Bytes are those of all iterations, simulated or not.
TEST(Timeline, CountsTheBytesOfWhatWasLeftOut) {
  Graph graph;
  graph.set_iterations(10);
  const OpId send = graph.flow(0, 3);
  graph.set_iterations(1);
  graph.flow(1, 5);
  graph.freeze();
  Timeline timeline(graph);
  timeline.leave_out(send, 8);
  timeline.complete(graph);
  EXPECT_EQ(timeline.carried(ResourceId(0)), 30);
  EXPECT_EQ(timeline.carried(ResourceId(1)), 5);
  EXPECT_EQ(timeline.carried(ResourceId(2)), 0);
  EXPECT_EQ(timeline.carried().size(), 2U);
}

}  // namespace
}  // namespace trainyard
