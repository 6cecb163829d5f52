// The Engine without SimGrid: with an executor that only notes what it is told, and with FlowCore.
#include "sim/engine.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "sim/error.hpp"
#include "sim/flow_core.hpp"

namespace trainyard {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

/// FlowCore in a loop of its own: what the SimGrid executor does, without SimGrid.
class LoopExecutor : public Executor {
 public:
  explicit LoopExecutor(std::vector<double> capacities) : core_(std::move(capacities)) {}
  void start_flow(OpId op, const FlowPath& path, double bytes) override {
    core_.start_flow(op, path, bytes);
  }
  void start_delay(OpId op, double seconds) override { core_.start_pause(op, seconds); }
  void restart_delay(OpId op, double seconds) override {
    ++restarts;
    core_.restart_pause(op, seconds);
  }
  void run(Listener& listener) override {
    while (!core_.idle()) {
      core_.advance(core_.next_date());
      if (!core_.ended().empty()) listener.ended(core_.ended(), core_.now());
    }
  }
  double now() const override { return core_.now(); }
  std::vector<double> carried() const override { return core_.carried(); }

  int restarts = 0;

 private:
  FlowCore core_;
};

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

/// An OpGraph in fewer words.
struct Graph : OpGraph {
  OpId delay(double seconds, std::vector<OpId> after = {}) {
    return link(add_delay(Rank(0), Seconds::of(seconds), OpRole::kOther, label("wait")), after);
  }
  OpId compute(std::size_t rank, double seconds, std::vector<OpId> after = {}) {
    return link(add_compute(Rank(rank), Seconds::of(seconds), OpRole::kCompute, label("gemm")),
                after);
  }
  OpId join(std::vector<OpId> after) { return link(add_join(), after); }
  OpId flow(std::size_t resource, double bytes, std::vector<OpId> after = {}) {
    FlowPath path;
    path.shares = {{ResourceId(resource), 1}};
    return link(
        add_flow(Rank(0), add_path(path), Bytes::of(bytes), OpRole::kDataComm, label("send")),
        after);
  }
  void slows(OpId op, double slowdown, std::vector<Rank> ranks) {
    set_occupancy(op, add_occupancy({std::move(ranks), slowdown}));
  }
  OpId link(OpId op, const std::vector<OpId>& after) {
    for (const OpId before : after) add_edge(before, op);
    return op;
  }
};

Timeline run(Graph& graph, std::size_t ranks = 1) {
  graph.freeze();
  LoopExecutor executor({50e9});
  return Engine(graph, executor, ranks).run();
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
  EXPECT_THAT(timeline.start, ElementsAre(0, 0, 2, 1));
  EXPECT_THAT(timeline.finish, ElementsAre(1, 2, 3, 2.5));
  EXPECT_EQ(timeline.end, 3);
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
  EXPECT_EQ(run(graph).end, 0);
}

TEST(Engine, AJoinEndsWithTheLastOfWhatItWaitsFor) {
  Graph graph;
  const OpId a = graph.delay(1), b = graph.delay(3), c = graph.delay(2);
  const OpId join = graph.join({a, b, c});
  const OpId after = graph.delay(1, {join});
  const Timeline timeline = run(graph);
  EXPECT_EQ(timeline.start[join.index()], 3);
  EXPECT_EQ(timeline.finish[join.index()], 3);
  EXPECT_EQ(timeline.finish[after.index()], 4);
}

TEST(Engine, AGraphOfJoinsTakesNoTime) {
  Graph graph;
  const OpId root = graph.join({});
  graph.join({root, graph.join({root})});
  const Timeline timeline = run(graph);
  EXPECT_THAT(timeline.finish, ElementsAre(0, 0, 0));
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
  EXPECT_EQ(timeline.finish[kJoins], 1);
  EXPECT_EQ(timeline.end, 3);
}

// 4 ms of communication beside which 10 ms of compute do only 3.2 ms of their work; the 6.8 ms left
// then run at full speed.
TEST(Engine, ComputeSlowsBesideCommunication) {
  Graph graph;
  const OpId kernel = graph.compute(0, 10e-3);
  const OpId comm = graph.flow(0, 200e6);
  graph.slows(comm, 0.2, {Rank(0)});
  const Timeline timeline = run(graph);
  EXPECT_NEAR(timeline.finish[comm.index()], 4e-3, 1e-15);
  EXPECT_NEAR(timeline.finish[kernel.index()], 10.8e-3, 1e-15);
}

// 2 ms alone, then 4 ms at 0.8: 5.2 ms of work done at 6 ms.
TEST(Engine, CommunicationThatStartsLaterSlowsTheRest) {
  Graph graph;
  const OpId kernel = graph.compute(0, 10e-3);
  const OpId comm = graph.flow(0, 200e6, {graph.delay(2e-3)});
  graph.slows(comm, 0.2, {Rank(0)});
  EXPECT_NEAR(run(graph).finish[kernel.index()], 10.8e-3, 1e-15);
}

// 2 ms alone, then the other 2 ms of work at 0.8.
TEST(Engine, AKernelEndsWhileCommunicationGoesOn) {
  Graph graph;
  const OpId kernel = graph.compute(0, 4e-3);
  const OpId comm = graph.delay(100e-3, {graph.delay(2e-3)});
  graph.slows(comm, 0.2, {Rank(0)});
  EXPECT_NEAR(run(graph).finish[kernel.index()], 4.5e-3, 1e-15);
}

// The worst of what runs beside counts, not the sum: at 0.5 for 2 ms, at 0.8 for 2 ms: 2.6 ms done.
TEST(Engine, TheWorstSlowdownCounts) {
  Graph graph;
  const OpId kernel = graph.compute(0, 10e-3);
  const OpId longer = graph.delay(4e-3), shorter = graph.delay(2e-3);
  graph.slows(longer, 0.2, {Rank(0)});
  graph.slows(shorter, 0.5, {Rank(0)});
  EXPECT_NEAR(run(graph).finish[kernel.index()], 11.4e-3, 1e-15);
}

TEST(Engine, OnlyTheRanksThatCommunicateAreSlowed) {
  Graph graph;
  const OpId slowed = graph.compute(0, 10e-3), free = graph.compute(1, 10e-3);
  const OpId comm = graph.delay(4e-3);
  graph.slows(comm, 0.2, {Rank(0)});
  const Timeline timeline = run(graph, 2);
  EXPECT_NEAR(timeline.finish[slowed.index()], 10.8e-3, 1e-15);
  EXPECT_EQ(timeline.finish[free.index()], 10e-3);
}

TEST(Engine, AKernelThatStartsBesideCommunicationIsSlowFromTheStart) {
  Graph graph;
  const OpId comm = graph.delay(4e-3);
  graph.slows(comm, 0.2, {Rank(0)});
  const OpId kernel = graph.compute(0, 0.8e-3, {graph.delay(1e-3)});
  EXPECT_NEAR(run(graph).finish[kernel.index()], 2e-3, 1e-15);
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
  EXPECT_EQ(timeline.finish[first.index()], 1);
  EXPECT_EQ(timeline.finish[second.index()], 3);
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
  EXPECT_THAT(run(graph).carried, ElementsAre(5e6));
}

std::string stuck_message(Graph& graph) {
  try {
    run(graph);
  } catch (const StuckError& error) {
    return error.what();
  }
  return "no StuckError";
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
  EXPECT_EQ(a.start, b.start);
  EXPECT_EQ(a.finish, b.finish);
  EXPECT_EQ(a.carried, b.carried);
}

TEST(Engine, TheTimelineKeepsEveryDependency) {
  Graph graph = tangle();
  const Timeline timeline = run(graph);
  for (std::size_t i = 0; i < graph.size(); ++i) {
    EXPECT_LE(timeline.start[i], timeline.finish[i]);
    for (const OpId next : graph.successors(OpId(i))) {
      EXPECT_GE(timeline.start[next.index()], timeline.finish[i]) << graph.describe(next);
    }
  }
}

}  // namespace
}  // namespace trainyard
