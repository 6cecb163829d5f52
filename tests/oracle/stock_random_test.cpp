// The flow executor against stock SimGrid on random op graphs: every start and every finish.
//
// Each run of either has a process to itself. A case is a seed: `--gtest_filter` picks a family,
// and a failure names the seed and the first operation that differs.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "sim/engine.hpp"
#include "tests/fake_topology.hpp"
#include "tests/fork_run.hpp"
#include "tests/support_timeline.hpp"

namespace trainyard {
namespace {

using testing::FakeTopology;
using testing::fork_run;
using testing::ForkResult;

/// SplitMix64: the same numbers with every compiler.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t bits() {
    state_ += 0x9e3779b97f4a7c15U;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31U);
  }
  std::size_t below(std::size_t n) { return static_cast<std::size_t>(bits() % n); }
  double unit() { return static_cast<double>(bits() >> 11U) * 0x1p-53; }
  bool chance(double p) { return unit() < p; }
  template <class T>
  T pick(const std::vector<T>& values) {
    return values[below(values.size())];
  }

 private:
  std::uint64_t state_;
};

/// What a family of cases is made of.
struct Family {
  double start = 0;       ///< seconds before anything else begins
  double round = 0.5;     ///< share of sizes, capacities and pauses that are round, hence of ties
  double drives = 0.1;    ///< share of flows on a drive
  double bounded = 0.2;   ///< share of paths with a rate bound
  double empty = 0.05;    ///< share of flows of no bytes
  double repeated = 0.1;  ///< share of operations of several iterations
  std::size_t edges = 3;  ///< at most, into an operation
};

struct Case {
  FakeTopology topology{std::vector<double>{}, 4};
  OpGraph graph;
};

double random_capacity(Random& random, const Family& family) {
  if (random.chance(family.round)) return random.pick<double>({1e9, 12.5e9, 25e9, 50e9});
  return std::exp(std::log(1e8) + random.unit() * std::log(4000.0));
}

FlowPath random_path(Random& random, const Family& family, std::size_t links) {
  FlowPath path;
  for (std::size_t r = 0; r < links; ++r) {
    if (random.below(links) < 3) path.shares.push_back({ResourceId(r), 1});
  }
  if (random.chance(0.7)) {
    path.latency = Seconds::of(random.chance(family.round) ? 2e-6 : random.unit() * 2e-5);
  }
  if (random.chance(family.bounded)) {
    path.bound = BytesPerSecond::of(random_capacity(random, family) / 3);
  }
  return path;
}

double random_bytes(Random& random, const Family& family) {
  if (random.chance(family.empty)) return 0;
  if (random.chance(family.round)) return random.pick<double>({1, 4096, 1e6, 1048576, 1e8});
  return std::floor(std::exp(random.unit() * std::log(1e8)));
}

double random_pause(Random& random, const Family& family) {
  if (random.chance(family.empty)) return 0;
  return random.chance(family.round) ? random.pick<double>({1e-6, 20e-6, 1e-3})
                                     : random.unit() * random.unit() * 1e-3;
}

std::vector<PathId> random_paths(Random& random, const Family& family, Case& c, std::size_t links) {
  std::vector<PathId> paths;
  const std::size_t count = 3 + random.below(30);
  for (std::size_t i = 0; i < count; ++i) {
    paths.push_back(c.graph.add_path(random_path(random, family, links)));
  }
  return paths;
}

std::vector<PathId> random_drives(Random& random, const Family& family, Case& c) {
  std::vector<PathId> paths;
  const std::size_t count = 1 + random.below(3);
  for (std::size_t i = 0; i < count; ++i) {
    FlowPath path;
    path.shares = {{c.topology.add(random_capacity(random, family), ResourceKind::kDrive), 1}};
    if (random.chance(0.5)) path.latency = Seconds::of(80e-6);
    paths.push_back(c.graph.add_path(path));
  }
  return paths;
}

OpId random_op(Random& random, const Family& family, OpGraph& graph,
               const std::vector<PathId>& paths, const std::vector<PathId>& drives) {
  const double kind = random.unit();
  if (kind < 0.1) return graph.add_join();
  if (kind < 0.35) {
    const Seconds pause = Seconds::of(random_pause(random, family));
    return graph.add_delay(Rank(random.below(4)), pause, OpRole::kOther, graph.label("pause"));
  }
  const PathId path = random.chance(family.drives) ? random.pick(drives) : random.pick(paths);
  return graph.add_flow(Rank(random.below(4)), path, Bytes::of(random_bytes(random, family)),
                        OpRole::kOther, graph.label("flow"));
}

/// 50 to 300 operations (some paths use nothing: messages to oneself), half of them held close
/// behind others so that many run at a time.
void fill(Case& c, const Family& family, std::uint64_t seed) {
  Random random(seed);
  const std::size_t links = 2 + random.below(15);
  for (std::size_t i = 0; i < links; ++i) c.topology.add(random_capacity(random, family));
  const std::vector<PathId> paths = random_paths(random, family, c, links);
  const std::vector<PathId> drives = random_drives(random, family, c);
  const OpId root =
      c.graph.add_delay(Rank(0), Seconds::of(family.start), OpRole::kOther, c.graph.label("start"));
  const std::size_t count = 50 + random.below(250);
  std::vector<OpId> all{root};
  while (all.size() < count) {
    const bool repeats = random.chance(family.repeated);
    if (repeats) c.graph.set_iterations(static_cast<std::uint32_t>(2 + random.below(3)));
    const OpId op = random_op(random, family, c.graph, paths, drives);
    c.graph.set_iterations(1);
    if (repeats && random.chance(0.5)) c.graph.add_edge(op, op, 1);
    c.graph.add_edge(root, op);
    for (std::size_t e = random.below(family.edges + 1); e > 0; --e) {
      const std::size_t back = 1 + random.below(std::min<std::size_t>(all.size(), 40));
      c.graph.add_edge(all[all.size() - back], op);
    }
    all.push_back(op);
  }
  c.graph.freeze();
}

/// Starts, finishes and carried bytes, one after the other.
using MakeExecutor = std::unique_ptr<Executor> (*)(const Topology&);
ForkResult simulate(const Family& family, std::uint64_t seed, MakeExecutor make) {
  return fork_run([&] {
    Case c;
    fill(c, family, seed);
    const auto executor = make(c.topology);
    const Timeline timeline = Engine(c.graph, *executor, c.topology.ranks()).run();
    std::vector<double> all = testing::by_op(c.graph, [&](OpId op) { return timeline.start(op); });
    for (const double date : testing::by_op(c.graph, [&](OpId op) { return timeline.finish(op); }))
      all.push_back(date);
    for (const double bytes : executor->carried()) all.push_back(bytes);
    return all;
  });
}

/// What a family of cases came to, to be printed: a test that compares nothing must not look well.
struct Tally {
  std::size_t ops = 0;
  std::size_t ties = 0;  ///< operations that end when another does
  double latest = 0;     ///< date
  double worst = 0;      ///< difference, in tolerances
};

/// 1e-9 s up to a clock of 1 s, and 1e-9 of the clock beyond; checked 100 times tighter than that.
void compare(const std::vector<double>& flow, const std::vector<double>& stock, std::size_t ops,
             Tally& tally) {
  ASSERT_EQ(flow.size(), stock.size());
  ASSERT_GE(flow.size(), 2 * ops);
  for (std::size_t i = 0; i < 2 * ops; ++i) {
    const double tolerance = 1e-11 * std::max(1.0, stock[i]);
    const double difference = std::fabs(flow[i] - stock[i]);
    ASSERT_LE(difference, tolerance) << (i < ops ? "start" : "finish") << " of op " << i % ops
                                     << ": flow " << flow[i] << " s, stock " << stock[i] << " s";
    tally.worst = std::max(tally.worst, difference / tolerance);
    tally.latest = std::max(tally.latest, stock[i]);
  }
  for (std::size_t i = 2 * ops; i < flow.size(); ++i) {
    ASSERT_EQ(flow[i], stock[i]) << "bytes carried by resource " << i - 2 * ops;
  }
  std::vector<double> finish(flow.begin() + static_cast<std::ptrdiff_t>(ops),
                             flow.begin() + static_cast<std::ptrdiff_t>(2 * ops));
  std::sort(finish.begin(), finish.end());
  for (std::size_t i = 1; i < ops; ++i) tally.ties += finish[i] == finish[i - 1] ? 1 : 0;
  tally.ops += ops;
}

void expect_agreement(const Family& family, std::uint64_t first_seed, std::size_t cases) {
  Tally tally;
  for (std::uint64_t seed = first_seed; seed < first_seed + cases; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Case c;
    fill(c, family, seed);
    const ForkResult flow = simulate(family, seed, make_flow_executor);
    const ForkResult stock = simulate(family, seed, make_stock_executor);
    ASSERT_EQ(flow.error, "");
    ASSERT_EQ(stock.error, "");
    compare(flow.values, stock.values, c.graph.size(), tally);
    if (::testing::Test::HasFatalFailure()) return;
  }
  std::printf("seeds %llu to %llu: %zu operations, %zu ties, latest %.6g s, worst %.2g of 1e-11\n",
              static_cast<unsigned long long>(first_seed),
              static_cast<unsigned long long>(first_seed + cases - 1), tally.ops, tally.ties,
              tally.latest, tally.worst);
}

TEST(StockAndFlow, AgreeOnMixedGraphs) { expect_agreement({}, 1000, 160); }

TEST(StockAndFlow, AgreeWhereMuchEndsAtOnce) {
  Family family;
  family.round = 1;
  family.empty = 0.2;
  expect_agreement(family, 2000, 120);
}

TEST(StockAndFlow, AgreeWhereNothingIsRound) {
  Family family;
  family.round = 0;
  family.bounded = 0.5;
  expect_agreement(family, 3000, 50);
}

TEST(StockAndFlow, AgreeOnDrives) {
  Family family;
  family.drives = 0.7;
  expect_agreement(family, 4000, 50);
}

TEST(StockAndFlow, AgreeWithMuchInFlight) {
  Family family;
  family.edges = 1;
  expect_agreement(family, 5000, 50);
}

TEST(StockAndFlow, AgreeAnHourLater) {
  Family family;
  family.start = 3600.1;
  expect_agreement(family, 6000, 50);
}

TEST(StockAndFlow, AgreeTwelveDaysLater) {
  Family family;
  family.start = 1e6 + 0.3;
  expect_agreement(family, 7000, 50);
}

}  // namespace
}  // namespace trainyard
