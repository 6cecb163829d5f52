// What a run hangs on: gains by hand, and against trying each change on random graphs.
#include "sim/critical_path.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "sim/record_graph.hpp"
#include "tests/unit/loop_executor.hpp"
#include "tests/unit/loop_plan.hpp"

namespace trainyard {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;
using testing::Graph;
using testing::LoopExecutor;
using testing::Plan;
using testing::PlanMaker;

Timeline run(Graph& graph, std::size_t ranks = 1) {
  graph.freeze();
  LoopExecutor executor({1, 1});
  return Engine(graph, executor, ranks).run();
}

OpId named(Graph& graph, const char* label, double seconds, const std::vector<OpId>& after = {}) {
  return graph.link(
      graph.add_delay(Rank(0), Seconds::of(seconds), OpRole::kOther, graph.label(label)), after);
}

/// What a test looks at of a step: "label iteration", duration, gain.
struct Seen {
  std::string what;
  double duration, gain;
  friend bool operator==(const Seen&, const Seen&) = default;
  friend std::ostream& operator<<(std::ostream& out, const Seen& seen) {
    return out << seen.what << " " << seen.duration << " " << seen.gain;
  }
};
std::vector<Seen> steps(const Graph& graph, const CriticalPath& path) {
  std::vector<Seen> all;
  for (const CriticalStep& step : path.steps)
    all.push_back({graph.label_of(step.op) + " " + std::to_string(step.iteration), step.duration,
                   step.gain.value()});
  return all;
}

const CriticalLabel& label(const Graph& graph, const CriticalPath& path, const std::string& name) {
  const auto found = std::find_if(path.labels.begin(), path.labels.end(), [&](const auto& one) {
    return graph.label_of(one.example) == name;
  });
  if (found == path.labels.end()) throw std::logic_error("no label " + name);
  return *found;
}

// 3 + 4 beside 5, then 1: the chain of 7 can become shorter by 2 before the other is the longest.
TEST(CriticalPath, OfTwoChainsTheLongerOne) {
  Graph graph;
  const OpId a = named(graph, "a", 3), b = named(graph, "b", 4, {a}), c = named(graph, "c", 5);
  named(graph, "d", 1, {b, c});
  const CriticalPath path = find_critical_path(graph, run(graph)).value();
  EXPECT_THAT(steps(graph, path),
              ElementsAre(Seen{"a 0", 3, 2}, Seen{"b 0", 4, 2}, Seen{"d 0", 1, 1}));
  EXPECT_EQ(path.waiting, 0);
  ASSERT_EQ(path.labels.size(), 3U);  // c is not on the path
  EXPECT_EQ(label(graph, path, "b").time, 4);
  EXPECT_EQ(label(graph, path, "b").gain, 2);
  EXPECT_THAT(label(graph, path, "b").gain_tenth.value(), DoubleNear(0.4, 1e-12));
  EXPECT_EQ(label(graph, path, "d").gain, 1);
}

// Either side of the diamond holds the run alone; both together, under one label, do not.
TEST(CriticalPath, ADiamondOfEqualSides) {
  Graph graph;
  const OpId top = named(graph, "top", 1), left = named(graph, "side", 2, {top}),
             right = named(graph, "side", 2, {top});
  named(graph, "end", 1, {left, right});
  const CriticalPath path = find_critical_path(graph, run(graph)).value();
  EXPECT_THAT(steps(graph, path),
              ElementsAre(Seen{"top 0", 1, 1}, Seen{"side 0", 2, 0}, Seen{"end 0", 1, 1}));
  EXPECT_EQ(label(graph, path, "side").time, 2);
  EXPECT_EQ(label(graph, path, "side").gain, 2);
  EXPECT_THAT(label(graph, path, "side").gain_tenth.value(), DoubleNear(0.2, 1e-12));
}

TEST(CriticalPath, WhatTakesNoTimeIsNoStep) {
  Graph graph;
  const OpId a = named(graph, "a", 1), join = graph.join({a}),
             none = named(graph, "none", 0, {join});
  graph.join({named(graph, "b", 2, {none})});
  const CriticalPath path = find_critical_path(graph, run(graph)).value();
  EXPECT_THAT(steps(graph, path), ElementsAre(Seen{"a 0", 1, 1}, Seen{"b 0", 2, 2}));
  EXPECT_EQ(path.labels.size(), 2U);
}

// Two places between a stage of 1 s and one of 3 s. Without one of its iterations the second stage
// soon waits for the first, which had waited for room: 2 s of the 3 remain.
TEST(CriticalPath, OfAPipelineWithTwoPlacesBetween) {
  Graph graph;
  graph.set_iterations(4);
  const OpId first = graph.one_by_one(named(graph, "first", 1));
  const OpId second = graph.one_by_one(named(graph, "second", 3, {first}));
  graph.add_edge(second, first, 2);
  const Timeline timeline = run(graph);
  ASSERT_EQ(timeline.end(), 13);
  const CriticalPath path = find_critical_path(graph, timeline).value();
  EXPECT_THAT(steps(graph, path),
              ElementsAre(Seen{"first 0", 1, 1}, Seen{"second 0", 3, 2}, Seen{"second 1", 3, 2},
                          Seen{"second 2", 3, 2}, Seen{"second 3", 3, 3}));
  EXPECT_EQ(graph.label_of(path.labels.front().example), "second");
  EXPECT_EQ(path.labels.front().time, 12);
  EXPECT_EQ(path.labels.front().gain, 9);
  EXPECT_THAT(path.labels.front().gain_tenth.value(), DoubleNear(1.2, 1e-12));
  EXPECT_EQ(label(graph, path, "first").gain, 1);
  EXPECT_THAT(label(graph, path, "first").gain_tenth.value(), DoubleNear(0.1, 1e-12));
}

// The bubble: rank 1 computes 1 s early on and then waits for a message; a shorter early kernel
// changes nothing.
TEST(CriticalPath, OfAStageThatWaits) {
  Graph graph;
  const OpId sender = graph.compute(0, 4), early = graph.compute(1, 1);
  const OpId message = graph.flow(0, 2, {sender});
  graph.compute(1, 3, {message, early});
  const CriticalPath path = find_critical_path(graph, run(graph, 2)).value();
  EXPECT_THAT(steps(graph, path),
              ElementsAre(Seen{"gemm 0", 4, 4}, Seen{"send 0", 2, 2}, Seen{"gemm 0", 3, 3}));
  EXPECT_EQ(label(graph, path, "gemm").time, 7);
  EXPECT_EQ(label(graph, path, "gemm").gain, 7);
  EXPECT_EQ(label(graph, path, "send").gain, 2);
}

// At half speed for its 2 s beside the message: 1 s of work, then 1 s more at full speed.
TEST(CriticalPath, ASlowedKernelTakesAsLongAsItDid) {
  Graph graph;
  graph.slows(graph.flow(0, 2), 0.5, {Rank(0)});
  graph.compute(0, 2);
  const CriticalPath path = find_critical_path(graph, run(graph)).value();
  EXPECT_THAT(steps(graph, path), ElementsAre(Seen{"gemm 0", 3, 1}));
  EXPECT_EQ(path.labels.front().gain, 1);
}

// The last iteration of `second` waits for nothing but the start of the one before, which waits for
// the last of `first`: without that, both start 2 s earlier.
TEST(CriticalPath, IterationsStartInOrder) {
  Graph graph;
  graph.set_iterations(3);
  const OpId first = graph.one_by_one(named(graph, "first", 2));
  const OpId second = named(graph, "second", 1);
  graph.add_edge(first, second, -1);
  graph.set_iterations(1);
  const OpId last = named(graph, "last", 1);
  graph.add_edge_after_all(second, last);
  const Timeline timeline = run(graph);
  ASSERT_EQ(timeline.cause(timeline.record(second, 2)), Timeline::kNone);
  const CriticalPath path = find_critical_path(graph, timeline).value();
  EXPECT_THAT(steps(graph, path),
              ElementsAre(Seen{"first 0", 2, 2}, Seen{"first 1", 2, 2}, Seen{"first 2", 2, 2},
                          Seen{"second 2", 1, 1}, Seen{"last 0", 1, 1}));
  EXPECT_EQ(path.waiting, 0);
}

// By hand, what the engine never does: 1 s before the first and 2 s between. The dates stay.
TEST(CriticalPath, GapsAreWaiting) {
  Graph graph;
  const OpId a = named(graph, "a", 1), b = named(graph, "b", 2, {a});
  graph.freeze();
  Timeline timeline(graph);
  timeline.started(a, 0, 1, Timeline::kNone);
  timeline.finished(a, 0, 2);
  timeline.started(b, 0, 4, 0);
  timeline.finished(b, 0, 6);
  timeline.complete(graph);
  const CriticalPath path = find_critical_path(graph, timeline).value();
  EXPECT_THAT(steps(graph, path), ElementsAre(Seen{"a 0", 1, 0}, Seen{"b 0", 2, 2}));
  EXPECT_EQ(path.waiting, 3);
  EXPECT_EQ(label(graph, path, "a").gain, 0);
  EXPECT_EQ(label(graph, path, "b").gain, 2);
}

// Operations of one label but of another role or purpose are told apart.
TEST(CriticalPath, LabelsAreOfOneRoleAndPurpose) {
  Graph graph;
  const auto add = [&](OpRole role, OpRole purpose, const std::vector<OpId>& after) {
    const OpId op = graph.add_delay(Rank(0), Seconds::of(1), role, graph.label("ring"));
    graph.set_purpose(op, purpose);
    return graph.link(op, after);
  };
  const OpId a = add(OpRole::kNvLink, OpRole::kTensorComm, {});
  const OpId b = add(OpRole::kDataComm, OpRole::kDataComm, {a});
  const OpId c = add(OpRole::kNvLink, OpRole::kDataComm, {b});
  add(OpRole::kNvLink, OpRole::kTensorComm, {c});
  const CriticalPath path = find_critical_path(graph, run(graph)).value();
  ASSERT_EQ(path.labels.size(), 3U);
  EXPECT_EQ(path.labels[0].gain, 2);
  EXPECT_EQ(path.labels[1].gain, 1);
}

TEST(CriticalPath, OfNothing) {
  Graph graph;
  graph.join({});
  const CriticalPath path = find_critical_path(graph, run(graph)).value();
  EXPECT_TRUE(path.steps.empty());
  EXPECT_TRUE(path.labels.empty());
}

TEST(CriticalPath, BeyondTheLimitsThereAreNoGains) {
  Graph graph;
  const OpId a = named(graph, "a", 1), b = named(graph, "b", 3, {a});
  named(graph, "c", 2, {b});
  const Timeline timeline = run(graph);
  for (const CriticalLimits& limits : {CriticalLimits{.records = 2}, CriticalLimits{.edges = 4}}) {
    const CriticalPath path = find_critical_path(graph, timeline, limits).value();
    ASSERT_EQ(path.steps.size(), 3U);
    EXPECT_FALSE(path.steps[0].gain);
    EXPECT_EQ(path.labels.front().time, 3);
    EXPECT_FALSE(path.labels.front().gain);
  }
  const CriticalPath path = find_critical_path(graph, timeline, {.labels = 2}).value();
  EXPECT_EQ(label(graph, path, "b").gain, 3);
  EXPECT_EQ(label(graph, path, "c").gain, 2);
  EXPECT_FALSE(label(graph, path, "a").gain);
  EXPECT_EQ(path.steps[0].gain, 1);
}

TEST(CriticalPath, IsNotOfARunThatWasStretched) {
  Graph graph;
  graph.set_iterations(200);
  graph.one_by_one(graph.delay(1));
  graph.freeze();
  LoopExecutor executor({1});
  Engine engine(graph, executor, 1);
  engine.skip_repetition();
  const Timeline timeline = engine.run();
  ASSERT_FALSE(timeline.repeats().empty());
  EXPECT_FALSE(find_critical_path(graph, timeline));
}

/// A random plan as it ran, with every iteration as an operation of its own and a gate before it.
class Tried {
 public:
  explicit Tried(std::uint64_t seed)
      : plan_(PlanMaker(seed, {{1, 2, 3, 5, 8}, true, seed % 2 == 0}).make()),
        timeline_(run_loops()) {
    instances_ = testing::build_unrolled(plan_, unrolled_);
    before_.resize(unrolled_.size());
    length_.resize(unrolled_.size());
    for (std::size_t i = 0; i < unrolled_.size(); ++i) {
      for (const OpEdge& edge : unrolled_.successors(OpId(i)))
        before_[edge.op.index()].push_back(i);
    }
    for (std::size_t op = 0; op < plan_.ops.size(); ++op) {
      for (std::uint32_t k = 0; k < plan_.ops[op].count; ++k) {
        const std::size_t record = timeline_.record(OpId(op), k);
        length_[instances_[op][k].index()] = timeline_.finish(record) - timeline_.start(record);
      }
    }
  }

  /// When the run would end if the durations of those for which `which` holds were so much.
  double end_if(const std::function<bool(OpId op, std::uint32_t k)>& which, double factor) const {
    std::vector<double> length = length_, finish(length.size(), -1);
    for (std::size_t op = 0; op < plan_.ops.size(); ++op) {
      for (std::uint32_t k = 0; k < plan_.ops[op].count; ++k) {
        if (which(OpId(op), k)) length[instances_[op][k].index()] *= factor;
      }
    }
    const std::function<double(std::size_t)> finish_of = [&](std::size_t i) {
      if (finish[i] >= 0) return finish[i];
      double start = 0;
      for (const std::size_t before : before_[i]) start = std::max(start, finish_of(before));
      return finish[i] = start + length[i];
    };
    double end = 0;
    for (std::size_t i = 0; i < length.size(); ++i) end = std::max(end, finish_of(i));
    return end;
  }

  const OpGraph& graph() const { return loops_; }
  const Timeline& timeline() const { return timeline_; }

 private:
  Timeline run_loops() {
    testing::build_loops(plan_, loops_);
    LoopExecutor executor(plan_.capacities);
    return Engine(loops_, executor, plan_.ranks).run();
  }
  Plan plan_;
  OpGraph loops_, unrolled_;
  Timeline timeline_;
  std::vector<std::vector<OpId>> instances_;
  std::vector<std::vector<std::size_t>> before_;
  std::vector<double> length_;
};

// Each step and each label of 200 random graphs with flows, loops and all kinds of conditions:
// the gain is what trying it says.
TEST(CriticalPath, GainsAreWhatTryingThemSays) {
  std::size_t steps = 0, partial = 0;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    const Tried tried(seed);
    const Timeline& timeline = tried.timeline();
    const double end = timeline.end(), tolerance = 1e-9 * end;
    ASSERT_NEAR(tried.end_if([](OpId, std::uint32_t) { return false; }, 0), end, tolerance);
    const CriticalPath path = find_critical_path(tried.graph(), timeline).value();
    double sum = path.waiting;
    for (const CriticalStep& step : path.steps) {
      sum += step.duration;
      const double without = tried.end_if(
          [&](OpId op, std::uint32_t k) { return op == step.op && k == step.iteration; }, 0);
      EXPECT_NEAR(step.gain.value(), end - without, tolerance) << seed;
      ++steps;
      partial += step.gain > tolerance && step.gain < step.duration - tolerance ? 1 : 0;
    }
    EXPECT_NEAR(sum, end, 1e-12 * end) << seed;
    EXPECT_EQ(path.waiting, 0) << seed;
    for (const CriticalLabel& label : path.labels) {
      const OpGraph& graph = tried.graph();
      const auto alike = [&](OpId op, std::uint32_t) {
        return graph.label_of(op) == graph.label_of(label.example) &&
               graph.role(op) == graph.role(label.example);
      };
      EXPECT_NEAR(label.gain.value(), end - tried.end_if(alike, 0), tolerance) << seed;
      EXPECT_NEAR(label.gain_tenth.value(), end - tried.end_if(alike, 0.9), tolerance) << seed;
    }
  }
  EXPECT_GT(steps, 1000U);
  EXPECT_GT(partial, 100U);
}

// Two kernels that take turns wait for nothing but each other: each is worth all of its time.
TEST(CriticalPath, TurnsInAQueueAreConditions) {
  Graph graph;
  const std::uint32_t queue = graph.add_queue();
  const OpId a = named(graph, "a", 3), b = named(graph, "b", 2);
  for (const OpId op : {a, b}) graph.set_queues(op, queue);
  named(graph, "c", 1, {b});
  const Timeline timeline = run(graph);
  const CriticalPath path = find_critical_path(graph, timeline).value();
  EXPECT_THAT(steps(graph, path),
              ElementsAre(Seen{"a 0", 3, 3}, Seen{"b 0", 2, 2}, Seen{"c 0", 1, 1}));
}

}  // namespace
}  // namespace trainyard
