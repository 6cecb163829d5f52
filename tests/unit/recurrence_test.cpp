// One period simulated for many: against the same graph with each simulated, and closed forms.
#include "sim/recurrence.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "sim/measure.hpp"
#include "tests/unit/loop_executor.hpp"
#include "tests/unit/loop_plan.hpp"

namespace trainyard {
namespace {

using testing::Graph;
using testing::LoopExecutor;

/// Rounding of some ten thousand dates: each is right to half a unit in the last place.
constexpr double kRounding = 1e-11;

struct Outcome {
  Timeline timeline;
  std::uint64_t skipped = 0;
};

Outcome run(const OpGraph& graph, const std::vector<double>& capacities, std::size_t ranks,
            bool skip) {
  LoopExecutor executor(capacities);
  Engine engine(graph, executor, ranks);
  if (skip) engine.skip_repetition();
  Timeline timeline = engine.run();
  return {std::move(timeline), engine.skipped()};
}

double busy(const Timeline& timeline, OpId op) {
  double sum = 0;
  for (std::uint32_t k = 0; k < timeline.iterations(op); ++k) {
    const std::size_t record = timeline.record(op, k);
    sum += timeline.finish(record) - timeline.start(record);
  }
  return sum;
}

void expect_near(double value, double expected, double scale, const std::string& what) {
  EXPECT_NEAR(value, expected, kRounding * scale) << what;
}

/// Holds two runs against each other: the end, what each operation took, what was carried.
void expect_same(const OpGraph& graph, const Timeline& a, const Timeline& b) {
  const double end = b.end();
  expect_near(a.end(), end, end, "end");
  for (std::size_t i = 0; i < graph.size(); ++i) {
    const OpId op(i);
    const double all = busy(b, op);
    expect_near(busy(a, op), all, std::max(all, end), graph.describe(op));
    // Loops may begin within the period that stands for several, single operations may not.
    if (graph.iterations(op) == 1)
      expect_near(a.start(op), b.start(op), end, "start of " + graph.describe(op));
    expect_near(a.finish(op), b.finish(op), end, "finish of " + graph.describe(op));
  }
  EXPECT_EQ(a.carried(), b.carried());
}

void expect_same_accounts(const OpGraph& graph, const Timeline& a, const Timeline& b,
                          std::size_t ranks) {
  std::vector<Rank> all;
  for (std::size_t r = 0; r < ranks; ++r) all.emplace_back(r);
  const auto x = account(graph, a, all, 0, graph.size());
  const auto y = account(graph, b, all, 0, graph.size());
  for (std::size_t r = 0; r < ranks; ++r) {
    const std::string rank = " of rank " + std::to_string(r);
    expect_near(x[r].sum(), b.end(), b.end(), "sum" + rank);
    expect_near(x[r].compute, y[r].compute, b.end(), "compute" + rank);
    expect_near(x[r].network, y[r].network, b.end(), "network" + rank);
    expect_near(x[r].nvlink, y[r].nvlink, b.end(), "nvlink" + rank);
    expect_near(x[r].host, y[r].host, b.end(), "host" + rank);
    expect_near(x[r].storage, y[r].storage, b.end(), "storage" + rank);
    expect_near(x[r].bubble, y[r].bubble, b.end(), "bubble" + rank);
  }
}

/// Runs with and without skipping, holds the two against each other, and returns the first.
Outcome both(Graph& graph, const std::vector<double>& capacities, std::size_t ranks) {
  graph.freeze();
  Outcome skipped = run(graph, capacities, ranks, true);
  const Outcome whole = run(graph, capacities, ranks, false);
  EXPECT_EQ(whole.skipped, 0U);
  expect_same(graph, skipped.timeline, whole.timeline);
  expect_same_accounts(graph, skipped.timeline, whole.timeline, ranks);
  std::uint64_t simulated = 0;
  for (std::size_t i = 0; i < graph.size(); ++i) simulated += skipped.timeline.iterations(OpId(i));
  EXPECT_EQ(simulated + skipped.skipped, graph.instances());
  return skipped;
}

struct Pipeline {
  int stages = 2;
  std::uint32_t batches = 1000;
  double forward = 1, backward = 2, transfer = 0;  ///< seconds
};

/// One forward, one backward (Narayanan et al., "Efficient large-scale language model training on
/// GPU clusters", SC 2021): stage s keeps `stages` - s micro-batches in flight.
void build(const Pipeline& p, Graph& graph) {
  graph.set_iterations(p.batches);
  std::vector<OpId> forward, backward;
  for (int s = 0; s < p.stages; ++s) {
    const auto rank = static_cast<std::size_t>(s);
    const std::int32_t window = p.stages - s;
    forward.push_back(graph.one_by_one(graph.compute(rank, p.forward)));
    backward.push_back(graph.one_by_one(graph.compute(rank, p.backward)));
    graph.add_edge(backward.back(), forward.back(), window);
    graph.add_edge(forward.back(), backward.back(), 1 - window);
  }
  // A link there and one back between neighbours, of 1 byte/s.
  for (std::size_t s = 0; s + 1 < forward.size(); ++s) {
    graph.add_edge(graph.flow(2 * s, p.transfer, {forward[s]}), forward[s + 1]);
    graph.add_edge(graph.flow(2 * s + 1, p.transfer, {backward[s + 1]}), backward[s]);
  }
}

/// Simulates both ways; returns how many iterations of operations were simulated.
std::uint64_t expect_pipeline(const Pipeline& p, double end) {
  Graph graph;
  build(p, graph);
  const Outcome result = both(graph, std::vector<double>(8, 1), static_cast<std::size_t>(p.stages));
  if (end > 0) expect_near(result.timeline.end(), end, end, "closed form");
  return graph.instances() - result.skipped;
}

// (m + p - 1)(f + b), and as many iterations simulated of 10,000 as of 1,000.
TEST(Recurrence, PipelinesWithoutTransfers) {
  for (const int stages : {2, 4}) {
    SCOPED_TRACE(stages);
    const std::uint64_t few = expect_pipeline({stages, 1000, 1, 2, 0}, (1000 + stages - 1) * 3.0);
    const std::uint64_t many =
        expect_pipeline({stages, 10'000, 1, 2, 0}, (10'000 + stages - 1) * 3.0);
    EXPECT_LT(few, 400U);
    EXPECT_LT(many, 400U);
  }
}

// Two stages with transfers of c: an even number of micro-batches takes (m + 1)(f + b + c) - c. By
// hand for two of them: f + c + f + b + f + b + c + b; two more keep the first stage's cycle of
// forward, transfer, forward, backward, transfer, backward, once more.
TEST(Recurrence, TwoStagesWithTransfers) {
  for (const std::uint32_t m : {1000U, 10'000U}) {
    SCOPED_TRACE(m);
    EXPECT_LT(expect_pipeline({2, m, 0.7, 1.3, 0.31}, (m + 1) * 2.31 - 0.31), 400U);
  }
}

TEST(Recurrence, FourStagesWithTransfers) {
  for (const std::uint32_t m : {1000U, 10'000U}) {
    SCOPED_TRACE(m);
    EXPECT_LT(expect_pipeline({4, m, 0.73, 1.31, 0.117}, 0), 1000U);
  }
}

/// A ring of 8 over links of 1 byte/s: in each round every rank sends, to the next one, what it has
/// received and reduced in the round before.
std::uint64_t expect_ring(std::uint32_t rounds) {
  const double bytes[] = {0.51, 0.42, 0.47, 0.93, 0.44, 0.58, 0.49, 0.41};
  constexpr double kReduce = 0.05, kLatency = 0.125;
  Graph graph;
  graph.set_iterations(rounds);
  std::vector<OpId> send, reduce;
  for (std::size_t i = 0; i < 8; ++i)
    send.push_back(graph.one_by_one(graph.flow(i, bytes[i], {}, kLatency)));
  for (std::size_t i = 0; i < 8; ++i) {
    reduce.push_back(graph.one_by_one(graph.compute(i, kReduce, {send[(i + 7) % 8]})));
    graph.add_edge(reduce[i], send[i], 1);
  }
  const Outcome result = both(graph, std::vector<double>(8, 1), 8);
  // The slowest edge never waits, since nothing that is before it takes longer; what is behind it
  // has room to catch up.
  const double end = rounds * (0.93 + kLatency) + kReduce;
  expect_near(result.timeline.end(), end, end, "closed form");
  return graph.instances() - result.skipped;
}

TEST(Recurrence, ARingWithUnequalEdges) {
  EXPECT_LT(expect_ring(2000), 16 * 100U);
  EXPECT_LT(expect_ring(20'000), 16 * 100U);
}

// Together they recur every 6 s, after two iterations of the one and three of the other.
TEST(Recurrence, TwoLoopsWithDifferentPeriods) {
  for (const std::uint32_t n : {1000U, 10'000U}) {
    Graph graph;
    graph.set_iterations(n);
    graph.one_by_one(graph.compute(0, 3));
    graph.set_iterations(n / 2 * 3);
    graph.one_by_one(graph.compute(1, 2));
    const Outcome result = both(graph, {1}, 2);
    EXPECT_EQ(result.timeline.end(), 3.0 * n);
    EXPECT_LT(graph.instances() - result.skipped, 40U);
  }
}

// What is left of the longer one recurs by itself.
TEST(Recurrence, ALoopThatGoesOnAfterAnother) {
  Graph graph;
  graph.set_iterations(100);
  graph.one_by_one(graph.compute(0, 3));
  graph.set_iterations(10'000);
  graph.one_by_one(graph.compute(1, 2));
  const Outcome result = both(graph, {1}, 2);
  EXPECT_EQ(result.timeline.end(), 20'000);
  EXPECT_LT(graph.instances() - result.skipped, 80U);
}

// Three tokens go round a, b and c and come back to their places only after all three:
// operation a starts at q(a + b + c), + c and + c + b for iterations 3q, 3q + 1 and 3q + 2.
TEST(Recurrence, APeriodOfThreeIterations) {
  constexpr double a = 1, b = 2.25, c = 1.5;
  for (const std::uint32_t q : {300U, 3000U}) {
    Graph graph;
    graph.set_iterations(3 * q + 1);
    const OpId first = graph.delay(a), second = graph.delay(b), third = graph.delay(c);
    graph.add_edge(first, second, 1);
    graph.add_edge(second, third, 1);
    graph.add_edge(third, first, 1);
    graph.set_iterations(1);
    const OpId after = graph.compute(0, 1);
    graph.add_edge_after_all(first, after);
    const Outcome result = both(graph, {1}, 1);
    EXPECT_EQ(result.timeline.start(after), q * (a + b + c) + a);
    EXPECT_LT(graph.instances() - result.skipped, 80U);
    for (const auto& repeat : result.timeline.repeats()) {
      const double periods = (repeat.end - repeat.begin) / (a + b + c);
      EXPECT_EQ(periods, std::round(periods));
    }
  }
}

// 50 places between 1 s and 1.1 s fill up in some 500 iterations. Until then the two are in the
// same phase every 11 s, but one of them one iteration further each time.
TEST(Recurrence, ALongTransient) {
  for (const std::uint32_t n : {2000U, 20'000U}) {
    Graph graph;
    graph.set_iterations(n);
    const OpId fast = graph.one_by_one(graph.compute(0, 1));
    const OpId slow = graph.one_by_one(graph.compute(1, 1.1, {fast}));
    graph.add_edge(slow, fast, 50);
    const Outcome result = both(graph, {1}, 2);
    expect_near(result.timeline.end(), 1 + 1.1 * n, 1.1 * n, "closed form");
    const std::uint64_t simulated = graph.instances() - result.skipped;
    EXPECT_GT(simulated, 2 * 500U);
    EXPECT_LT(simulated, 2 * 1500U);
  }
}

/// A loop of kernel and send over a link of 1 byte/s.
OpId add_sender(Graph& graph, std::uint32_t iterations) {
  graph.set_iterations(iterations);
  const OpId kernel = graph.compute(0, 1), send = graph.flow(0, 2, {kernel}, 0.25);
  graph.add_edge(send, kernel, 1);
  graph.set_iterations(1);
  return send;
}

// Alone an iteration takes 1 + 0.25 + 2 s. Beside the other flow it takes 1 + 0.25 + 4 s, of which
// that flow moves 1.25 + 2 bytes. 3250 bytes are through after 1000 of them, and 1000 remain.
TEST(Recurrence, AFlowBesideThatEndsMidway) {
  Graph graph;
  const OpId send = add_sender(graph, 2000);
  const OpId background = graph.flow(0, 3250);
  const Outcome result = both(graph, {1}, 1);
  expect_near(result.timeline.finish(background), 5250, 5250, "background");
  expect_near(result.timeline.finish(send), 5250 + 3250, 8500, "end");
  const std::uint32_t left = result.timeline.iterations(send);
  EXPECT_GE(left, 1000U);
  EXPECT_LT(left, 2000U);
}

TEST(Recurrence, AFlowBesideThatNeverEndsWithin) {
  Graph graph;
  const OpId send = add_sender(graph, 1000);
  graph.flow(0, 10'000);
  const Outcome result = both(graph, {1}, 1);
  expect_near(result.timeline.finish(send), 5250, 5250, "send");
  expect_near(result.timeline.end(), 2000 + 10'000, 12'000, "end");
  EXPECT_EQ(result.skipped, 0U);
}

TEST(Recurrence, APauseBesideThatNeverEndsWithin) {
  Graph graph;
  add_sender(graph, 1000);
  graph.delay(1e6);
  EXPECT_EQ(both(graph, {1}, 1).skipped, 0U);
}

// What waits for the middle of a loop changes its second half.
TEST(Recurrence, ASingleOperationThatWaitsForTheMiddle) {
  for (const std::int32_t middle : {0, 1, 20, 500, 997, 998, 999}) {
    SCOPED_TRACE(middle);
    Graph graph;
    const OpId send = add_sender(graph, 1000);
    const OpId single = graph.flow(0, 200);
    graph.add_edge(send, single, -middle);
    const Outcome result = both(graph, {1}, 1);
    expect_near(result.timeline.start(single), 3.25 * (middle + 1), 3250, "single");
    // Before it ends nothing may be left out; 200 bytes beside it take some 62 iterations.
    EXPECT_GE(result.timeline.iterations(send), std::min(middle + 62, 999));
    if (middle <= 500) {
      EXPECT_LT(result.timeline.iterations(send), 2 * middle + 300);
    }
  }
}

// A condition that only some iterations have: from 500 on, the second needs what the first did 500
// before.
TEST(Recurrence, AConditionThatBeginsLate) {
  Graph graph;
  graph.set_iterations(2000);
  const OpId first = graph.one_by_one(graph.compute(0, 2));
  const OpId second = graph.one_by_one(graph.compute(1, 1));
  graph.add_edge(first, second, 500);
  const Outcome result = both(graph, {1}, 2);
  // By then the first is 250 behind, and the second catches up with it at iteration 1000.
  EXPECT_EQ(result.timeline.finish(second), 2 * 1500 + 1);
}

// A condition of the last iteration only: the loop stops there until the other has ended.
TEST(Recurrence, LastAfterLast) {
  Graph graph;
  graph.set_iterations(500);
  const OpId other = graph.one_by_one(graph.compute(1, 7));
  graph.set_iterations(1000);
  const OpId loop = graph.one_by_one(graph.compute(0, 3));
  graph.add_edge(other, loop, OpEdge::kLastAfterLast);
  const Outcome result = both(graph, {1}, 2);
  EXPECT_EQ(result.timeline.finish(loop), 3503);
  EXPECT_LT(graph.instances() - result.skipped, 150U);
}

// Loops one after the other: each recurs by itself.
TEST(Recurrence, OneLoopAfterAnother) {
  Graph graph;
  graph.set_iterations(1000);
  const OpId first = graph.one_by_one(graph.compute(0, 3));
  const OpId second = graph.one_by_one(graph.compute(0, 0.7));
  graph.add_edge_after_all(first, second);
  const Outcome result = both(graph, {1}, 1);
  expect_near(result.timeline.end(), 3700, 3700, "closed form");
  EXPECT_LT(result.timeline.iterations(first), 20U);
}

// A loop that has yet to begin, and all of whose other conditions are met, is no obstacle.
TEST(Recurrence, ALoopThatWaitsForTheEndOfAnother) {
  Graph graph;
  graph.set_iterations(10'000);
  const OpId loop = graph.one_by_one(graph.compute(0, 3));
  graph.set_iterations(50);
  const OpId waiting = graph.one_by_one(graph.compute(0, 1));
  graph.add_edge_after_all(loop, waiting);
  graph.add_edge(loop, waiting);
  const Outcome result = both(graph, {1}, 1);
  EXPECT_EQ(result.timeline.end(), 30'050);
  EXPECT_LT(result.timeline.iterations(loop), 200U);
}

// Iteration k needs a later one of a longer loop, which goes on alone when the shorter has ended.
TEST(Recurrence, ALoopThatKeepsAheadOfAnother) {
  Graph graph;
  graph.set_iterations(3000);
  const OpId longer = graph.one_by_one(graph.compute(0, 2));
  graph.set_iterations(1000);
  const OpId shorter = graph.one_by_one(graph.compute(1, 1));
  graph.add_edge(longer, shorter, -300);
  const Outcome result = both(graph, {1}, 2);
  EXPECT_EQ(result.timeline.start(shorter), 602);
  EXPECT_EQ(result.timeline.finish(shorter), 1300 * 2 + 1);
  EXPECT_EQ(result.timeline.end(), 6000);
  EXPECT_LT(graph.instances() - result.skipped, 1500U);
}

TEST(Recurrence, NothingIsSkippedWithDelaysOfTheirOwn) {
  Graph graph;
  graph.set_iterations(1000);
  const OpId loop = graph.one_by_one(graph.add_delays(Rank(0), std::vector<double>(1000, 0.5),
                                                      OpRole::kHost, graph.label("launch")));
  graph.compute(0, 0.25, {loop});
  EXPECT_EQ(both(graph, {1}, 1).skipped, 0U);
}

TEST(Recurrence, FewIterationsAreNotLookedAt) {
  for (const std::uint32_t n : {2U, 10U, 20U}) {
    Graph graph;
    add_sender(graph, n);
    EXPECT_EQ(both(graph, {1}, 1).skipped, 0U);
  }
}

TEST(Recurrence, NothingIsSkippedWhereTheExecutorDoesNotTell) {
  class Silent : public LoopExecutor {
   public:
    using LoopExecutor::LoopExecutor;
    bool in_progress(std::vector<InProgress>&) override { return false; }
  };
  Graph graph;
  add_sender(graph, 1000);
  graph.freeze();
  Silent executor({1});
  Engine engine(graph, executor, 1);
  engine.skip_repetition();
  EXPECT_NEAR(engine.run().end(), 3250, kRounding * 3250);
  EXPECT_EQ(engine.skipped(), 0U);
}

// The late loop starts when the short one is over, at 1000 s, and needs in its iteration k the
// iteration k of the long one, which is then at 1000 of 2000: skipping must not renumber the one
// and not the other. 1200 iterations of 0.25 s from 1000 s on; iteration 1199 of the longer ended
// at 1200 s.
TEST(Recurrence, ALoopThatStartsLateBesideOneThatGoesOn) {
  Graph graph;
  graph.set_iterations(1000);
  const OpId shorter = graph.one_by_one(graph.delay(1));
  graph.set_iterations(2000);
  const OpId longer = graph.one_by_one(graph.delay(1));
  graph.set_iterations(1200);
  const OpId late = graph.one_by_one(graph.delay(0.25, {longer}));
  graph.add_edge_after_all(shorter, late);
  graph.freeze();
  for (const bool skip : {false, true})
    EXPECT_NEAR(run(graph, {1}, 1, skip).timeline.finish(late), 1300, 1e-9) << skip;
}

TEST(Recurrence, TheSameGraphGivesTheSameBits) {
  Graph graph;
  build({4, 1000, 0.73, 1.31, 0.117}, graph);
  graph.freeze();
  const Outcome a = run(graph, std::vector<double>(8, 1), 4, true),
                b = run(graph, std::vector<double>(8, 1), 4, true);
  EXPECT_EQ(a.timeline.end(), b.timeline.end());
  EXPECT_EQ(a.skipped, b.skipped);
}

// Whatever recurs or not: the sums are right. About half of them skip something.
TEST(Recurrence, RandomLoops) {
  int skipping = 0;
  for (std::uint64_t seed = 1; seed < 900; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    const testing::Plan plan =
        testing::PlanMaker(seed, {.counts = {60, 60, 100, 250}, .own_delays = false, .round = true})
            .make();
    OpGraph graph;
    testing::build_loops(plan, graph);
    const Outcome a = run(graph, plan.capacities, plan.ranks, true),
                  b = run(graph, plan.capacities, plan.ranks, false);
    expect_same(graph, a.timeline, b.timeline);
    skipping += a.skipped > 0 ? 1 : 0;
    ASSERT_FALSE(::testing::Test::HasFailure());
  }
  EXPECT_GT(skipping, 200);
}

}  // namespace
}  // namespace trainyard
