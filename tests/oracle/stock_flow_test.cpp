// Our executor against stock SimGrid activities: random graphs of flows, pauses and shared links.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "tests/support_graph.hpp"

namespace trainyard {
namespace {

using testing::GraphRun;
using testing::Ideal;

constexpr int kServers = 8;

/// A random op graph, wholly drawn from the seed. Whole bytes, weight 1: what stock can express.
/// Some sizes and pauses are equal on purpose, so that many operations end at one date; some are
/// zero.
void random_graph(Lowering& l, std::uint64_t seed, double first_pause) {
  std::mt19937_64 random(seed);
  OpGraph& g = l.graph();
  const OpId begin =
      g.add_delay(Rank(0), Seconds::of(first_pause), OpRole::kOther, g.label("begin"));
  std::vector<OpId> ops{begin};
  const std::size_t count = 50 + random() % 150;
  for (std::size_t i = 0; i < count; ++i) {
    const Rank from(random() % kServers),
        to((from.index() + 1 + random() % (kServers - 1)) % kServers);
    OpId op;
    switch (random() % 5) {
      case 0:
        op = g.add_delay(from, Seconds::of(static_cast<double>(random() % 4) * 1e-4),
                         OpRole::kOther, g.label("pause"));
        break;
      case 1: {  // with a bound and a latency of its own
        FlowPath path = l.routes().message(from, to);
        path.bound = BytesPerSecond::of(1e9 * static_cast<double>(1 + random() % 60));
        path.latency = Seconds::of(static_cast<double>(random() % 3) * 1e-6);
        op = g.add_flow(from, g.add_path(path), Bytes::of(static_cast<double>(random() % 20000000)),
                        OpRole::kOther, g.label("bounded"));
        break;
      }
      case 2:  // equal sizes
        op = l.send(from, to, 10_MB, OpRole::kOther, "equal");
        break;
      default:
        op = l.send(from, to, Bytes::of(static_cast<double>(random() % 50000000)), OpRole::kOther,
                    "flow");
    }
    for (std::size_t d = random() % 3; d > 0; --d) {
      const OpId before = ops[ops.size() - 1 - random() % std::min<std::size_t>(ops.size(), 12)];
      g.add_edge(before, op);
    }
    g.add_edge(begin, op);
    ops.push_back(op);
  }
}

void expect_equal(std::uint64_t seed, double first_pause) {
  Ideal c;
  c.servers = kServers;
  GraphRun runs[2];
  for (const int i : {0, 1}) {
    c.executor = i == 0 ? "flow" : "stock";
    runs[i] = testing::run_graph(c, [&](Lowering& l) { random_graph(l, seed, first_pause); });
  }
  ASSERT_EQ(runs[0].finish.size(), runs[1].finish.size());
  for (std::size_t i = 0; i < runs[0].finish.size(); ++i) {
    // A billionth of the date, and at late clocks still a nanosecond.
    const double tolerance = 1e-9 * std::clamp(runs[0].finish[i], 1e-3, 1.0);
    ASSERT_NEAR(runs[0].finish[i], runs[1].finish[i], tolerance) << "seed " << seed << ", op " << i;
    ASSERT_NEAR(runs[0].start[i], runs[1].start[i], tolerance) << "seed " << seed << ", op " << i;
  }
}

TEST(FlowAgainstStock, RandomGraphs) {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) expect_equal(seed, 0);
}

// One ulp at 5,000 s is 1e-12 s; times since the beginning must still agree.
TEST(FlowAgainstStock, AtLateClocks) {
  for (std::uint64_t seed = 101; seed <= 130; ++seed) expect_equal(seed, 5000);
}

TEST(FlowAgainstStock, RefusesWhatItCannotExpress) {
  Ideal c;
  c.executor = "stock";
  try {
    testing::run_graph(c, [](Lowering& l) {
      FlowPath path = l.routes().message(Rank(0), Rank(1));
      path.shares[0].weight = 2;
      l.graph().add_flow(Rank(0), l.graph().add_path(path), 1_MB, OpRole::kOther,
                         l.graph().label("weighted"));
    });
    FAIL() << "accepted";
  } catch (const DesignError& e) {
    EXPECT_NE(std::string(e.what()).find("weight"), std::string::npos) << e.what();
    EXPECT_NE(e.hint().find("flow"), std::string::npos) << e.hint();
  }
}

}  // namespace
}  // namespace trainyard
