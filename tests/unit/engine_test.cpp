// The Engine without SimGrid: with an executor that only notes what it is told, and with FlowCore.
#include "sim/engine.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "sim/error.hpp"
#include "tests/support_timeline.hpp"
#include "tests/unit/loop_executor.hpp"

namespace trainyard {
namespace {

using ::testing::ElementsAre;
using testing::Graph;
using ::testing::HasSubstr;
using testing::LoopExecutor;
using ::testing::Not;
using testing::stuck_message;

/// Writes down what it is told to start, and ends what the test says, when it says.
class FakeExecutor : public Executor {
 public:
  using Script = std::function<void(FakeExecutor&)>;
  explicit FakeExecutor(Script script) : script_(std::move(script)) {}
  void start_flow(OpId op, const FlowPath&, double) override { started.push_back(op); }
  void start_delay(OpId op, double) override { started.push_back(op); }
  void restart_delay(OpId op, double seconds) override { restarted.emplace_back(op, seconds); }
  void run(Listener& listener) override {
    listener_ = &listener;
    script_(*this);
  }
  double now() const override { return now_; }

  void end(std::vector<OpId> ops, double now) {
    now_ = now;
    started.clear();
    listener_->ended(ops, now);
  }

  std::vector<OpId> started;
  std::vector<std::pair<OpId, double>> restarted;

 private:
  Script script_;
  Listener* listener_ = nullptr;
  double now_ = 0;
};

Timeline run(Graph& graph, std::size_t ranks = 1) {
  graph.freeze();
  LoopExecutor executor({50e9});
  return Engine(graph, executor, ranks).run();
}

std::vector<double> starts(const OpGraph& graph, const Timeline& timeline) {
  return testing::by_op(graph, [&](OpId op) { return timeline.start(op); });
}

std::vector<double> finishes(const OpGraph& graph, const Timeline& timeline) {
  return testing::by_op(graph, [&](OpId op) { return timeline.finish(op); });
}

TEST(Engine, StartsOnlyWhatIsReady) {
  Graph graph;
  const OpId a = graph.delay(1), b = graph.delay(1), c = graph.delay(1, {a, b}),
             d = graph.delay(1, {a});
  graph.freeze();
  FakeExecutor executor([&](FakeExecutor& fake) {
    EXPECT_THAT(fake.started, ElementsAre(a, b));
    fake.end({a}, 1);
    EXPECT_THAT(fake.started, ElementsAre(d));
    fake.end({b}, 2);
    EXPECT_THAT(fake.started, ElementsAre(c));
    fake.end({d}, 2.5);
    EXPECT_THAT(fake.started, ElementsAre());
    fake.end({c}, 3);
  });
  const Timeline timeline = Engine(graph, executor, 1).run();
  EXPECT_THAT(starts(graph, timeline), ElementsAre(0, 0, 2, 1));
  EXPECT_THAT(finishes(graph, timeline), ElementsAre(1, 2, 3, 2.5));
  EXPECT_EQ(timeline.end(), 3);
}

TEST(Engine, StartsInOpOrderWhatBecomesReadyAtOnce) {
  Graph graph;
  const OpId a = graph.delay(1), b = graph.delay(1);
  const OpId c = graph.delay(1, {b}), d = graph.delay(1, {a}), e = graph.delay(1, {a, b});
  graph.freeze();
  FakeExecutor executor([&](FakeExecutor& fake) {
    fake.end({a, b}, 1);
    EXPECT_THAT(fake.started, ElementsAre(d, c, e));
    fake.end({c, d, e}, 2);
  });
  Engine(graph, executor, 1).run();
}

TEST(Engine, AnEmptyGraphEndsAtZero) {
  Graph graph;
  EXPECT_EQ(run(graph).end(), 0);
}

TEST(Engine, AJoinEndsWithTheLastOfWhatItWaitsFor) {
  Graph graph;
  const OpId a = graph.delay(1), b = graph.delay(3), c = graph.delay(2);
  const OpId join = graph.join({a, b, c});
  const OpId after = graph.delay(1, {join});
  const Timeline timeline = run(graph);
  EXPECT_EQ(timeline.start(join), 3);
  EXPECT_EQ(timeline.finish(join), 3);
  EXPECT_EQ(timeline.finish(after), 4);
}

TEST(Engine, AGraphOfJoinsTakesNoTime) {
  Graph graph;
  const OpId root = graph.join({});
  graph.join({root, graph.join({root})});
  const Timeline timeline = run(graph);
  EXPECT_THAT(finishes(graph, timeline), ElementsAre(0, 0, 0));
}

// A recursion per join would need hundreds of megabytes of stack.
TEST(Engine, AMillionJoinsInARow) {
  Graph graph;
  constexpr std::size_t kJoins = 1'000'000;
  OpId last = graph.delay(1);
  for (std::size_t i = 0; i < kJoins; ++i) {
    const OpId join = graph.add_join();
    graph.add_edge(last, join);
    last = join;
  }
  graph.delay(2, {last});
  const Timeline timeline = run(graph);
  EXPECT_EQ(timeline.finish(OpId(kJoins)), 1);
  EXPECT_EQ(timeline.end(), 3);
}

// 4 ms of communication beside which 10 ms of compute do only 3.2 ms of their work; the 6.8 ms left
// then run at full speed.
TEST(Engine, ComputeSlowsBesideCommunication) {
  Graph graph;
  const OpId kernel = graph.compute(0, 10e-3);
  const OpId comm = graph.flow(0, 200e6);
  graph.slows(comm, 0.2, {Rank(0)});
  const Timeline timeline = run(graph);
  EXPECT_NEAR(timeline.finish(comm), 4e-3, 1e-15);
  EXPECT_NEAR(timeline.finish(kernel), 10.8e-3, 1e-15);
}

// 2 ms alone, then 4 ms at 0.8: 5.2 ms of work done at 6 ms.
TEST(Engine, CommunicationThatStartsLaterSlowsTheRest) {
  Graph graph;
  const OpId kernel = graph.compute(0, 10e-3);
  const OpId comm = graph.flow(0, 200e6, {graph.delay(2e-3)});
  graph.slows(comm, 0.2, {Rank(0)});
  EXPECT_NEAR(run(graph).finish(kernel), 10.8e-3, 1e-15);
}

// 2 ms alone, then the other 2 ms of work at 0.8.
TEST(Engine, AKernelEndsWhileCommunicationGoesOn) {
  Graph graph;
  const OpId kernel = graph.compute(0, 4e-3);
  const OpId comm = graph.delay(100e-3, {graph.delay(2e-3)});
  graph.slows(comm, 0.2, {Rank(0)});
  EXPECT_NEAR(run(graph).finish(kernel), 4.5e-3, 1e-15);
}

// The worst of what runs beside counts, not the sum: at 0.5 for 2 ms, at 0.8 for 2 ms: 2.6 ms done.
TEST(Engine, TheWorstSlowdownCounts) {
  Graph graph;
  const OpId kernel = graph.compute(0, 10e-3);
  const OpId longer = graph.delay(4e-3), shorter = graph.delay(2e-3);
  graph.slows(longer, 0.2, {Rank(0)});
  graph.slows(shorter, 0.5, {Rank(0)});
  EXPECT_NEAR(run(graph).finish(kernel), 11.4e-3, 1e-15);
}

TEST(Engine, OnlyTheRanksThatCommunicateAreSlowed) {
  Graph graph;
  const OpId slowed = graph.compute(0, 10e-3), free = graph.compute(1, 10e-3);
  const OpId comm = graph.delay(4e-3);
  graph.slows(comm, 0.2, {Rank(0)});
  const Timeline timeline = run(graph, 2);
  EXPECT_NEAR(timeline.finish(slowed), 10.8e-3, 1e-15);
  EXPECT_EQ(timeline.finish(free), 10e-3);
}

TEST(Engine, AKernelThatStartsBesideCommunicationIsSlowFromTheStart) {
  Graph graph;
  const OpId comm = graph.delay(4e-3);
  graph.slows(comm, 0.2, {Rank(0)});
  const OpId kernel = graph.compute(0, 0.8e-3, {graph.delay(1e-3)});
  EXPECT_NEAR(run(graph).finish(kernel), 2e-3, 1e-15);
}

// At one date a kernel ends, the communication beside it ends, and the next kernel starts: at full
// speed, and nothing rescales the kernel that is over.
TEST(Engine, KernelAndCommunicationEndAtOneDate) {
  Graph graph;
  const OpId comm = graph.delay(1);
  graph.slows(comm, 0.5, {Rank(0)});
  const OpId first = graph.compute(0, 0.5);
  const OpId second = graph.compute(0, 2, {first});
  graph.freeze();
  LoopExecutor executor({50e9});
  const Timeline timeline = Engine(graph, executor, 1).run();
  EXPECT_EQ(timeline.finish(first), 1);
  EXPECT_EQ(timeline.finish(second), 3);
  EXPECT_EQ(executor.restarts, 0);
}

TEST(Engine, TwoKernelsAtOnceOnARankAreOurBug) {
  Graph graph;
  graph.compute(0, 1);
  graph.compute(0, 1);
  EXPECT_THROW(run(graph), std::logic_error);
}

TEST(Engine, ReportsWhatResourcesCarried) {
  Graph graph;
  graph.flow(0, 3e6, {graph.flow(0, 2e6)});
  EXPECT_EQ(run(graph).carried(ResourceId(0)), 5e6);
}

TEST(Engine, ACycleIsNamed) {
  Graph graph;
  graph.delay(1);
  const OpId a = graph.add_delay(Rank(3), Seconds::of(1), OpRole::kOther, graph.label("recv"), 4);
  const OpId b = graph.add_delay(Rank(5), Seconds::of(1), OpRole::kOther, graph.label("send"));
  graph.add_edge(a, b);
  graph.add_edge(b, a);
  const std::string message = stuck_message(graph);
  EXPECT_THAT(message, HasSubstr("2 of 3 operations"));
  EXPECT_THAT(message, HasSubstr("recv 4 of rank 3 (op 1) waits for 1 more"));
  EXPECT_THAT(message, HasSubstr("send of rank 5 (op 2) waits for 1 more"));
}

TEST(Engine, ACycleOfJoinsIsNamedToo) {
  Graph graph;
  const OpId a = graph.add_join(), b = graph.add_join();
  graph.add_edge(a, b);
  graph.add_edge(b, a);
  EXPECT_THAT(stuck_message(graph), HasSubstr("join (op 0) waits for 1 more"));
}

TEST(Engine, NamesOnlyTheFirstFewThatAreStuck) {
  Graph graph;
  std::vector<OpId> all;
  for (int i = 0; i < 100; ++i) all.push_back(graph.delay(1));
  for (std::size_t i = 0; i < 100; ++i) graph.add_edge(all[i], all[(i + 1) % 100]);
  const std::string message = stuck_message(graph);
  EXPECT_THAT(message, HasSubstr("100 of 100 operations"));
  EXPECT_THAT(message, HasSubstr("(op 4)"));
  EXPECT_THAT(message, Not(HasSubstr("(op 5)")));
}

/// Something of everything, from a generator of its own (the same on every machine).
Graph tangle() {
  Graph graph;
  std::uint64_t state = 1;
  const auto random = [&state](std::uint64_t below) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    return (state >> 33U) % below;
  };
  std::vector<OpId> all;
  for (int i = 0; i < 2000; ++i) {
    std::vector<OpId> after;
    if (!all.empty()) after = {all[random(all.size())], all.back()};
    if (random(3) == 0) after.resize(std::min<std::size_t>(after.size(), 1));
    const auto size = static_cast<double>(1 + random(1'000'000));
    all.push_back(random(2) == 0 ? graph.flow(0, size, after) : graph.delay(size * 1e-10, after));
  }
  return graph;
}

TEST(Engine, TheSameGraphGivesTheSameBits) {
  Graph once = tangle(), again = tangle();
  const Timeline a = run(once), b = run(again);
  EXPECT_EQ(starts(once, a), starts(again, b));
  EXPECT_EQ(finishes(once, a), finishes(again, b));
  EXPECT_EQ(a.carried(ResourceId(0)), b.carried(ResourceId(0)));
}

TEST(Engine, TheTimelineKeepsEveryDependency) {
  Graph graph = tangle();
  const Timeline timeline = run(graph);
  for (std::size_t i = 0; i < graph.size(); ++i) {
    const OpId op(i);
    EXPECT_LE(timeline.start(op), timeline.finish(op));
    for (const OpEdge& edge : graph.successors(op))
      EXPECT_GE(timeline.start(edge.op), timeline.finish(op)) << graph.describe(edge.op);
  }
}

}  // namespace
}  // namespace trainyard
