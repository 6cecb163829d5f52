// A collective as one flow against the same as every message, with company and on a slow link.
#include <gtest/gtest.h>

#include <random>

#include "tests/support_graph.hpp"

namespace trainyard {
namespace {

using testing::Ideal;

/// A crossbar in which the port of one rank is slower.
class SlowPort : public Topology {
 public:
  SlowPort(const Cluster& cluster, std::size_t slow, double factor)
      : Topology(cluster.server, cluster.servers) {
    add_servers();
    hub_ = add_node({NodeKind::kSwitch, 1, 0});
    for (int s = 0; s < cluster.servers; ++s) {
      const auto at = static_cast<std::size_t>(s);
      const NodeId nic = nic_node(ServerId(at), 0);
      const double rate = cluster.server.nic.rate.si() * (at == slow ? factor : 1);
      tx_.push_back(add_edge(ResourceKind::kLink, nic, hub_, rate, Seconds()));
      rx_.push_back(
          add_edge(ResourceKind::kLink, hub_, nic, cluster.server.nic.rate.si(), Seconds()));
    }
    device_.sharp.enabled = true;
    device_.sharp.efficiency = 1;
  }
  void route(NodeId from, NodeId to, std::vector<ResourceId>& out) const override {
    out.push_back(tx_[node(from).index]);
    out.push_back(rx_[node(to).index]);
  }
  const Switch& switch_at(NodeId) const override { return device_; }
  AggregationTree aggregation_tree(std::span<const NodeId> nics, std::size_t) const override {
    AggregationTree tree;
    for (const NodeId nic : nics)
      tree.edges.push_back({tx_[node(nic).index], rx_[node(nic).index], 0, 1});
    tree.switches = {hub_};
    tree.depth = 1;
    tree.widest = static_cast<int>(nics.size());
    return tree;
  }

 private:
  Switch device_;
  NodeId hub_;
  std::vector<ResourceId> tx_, rx_;
};

struct Draw {
  std::size_t ranks = 0, slow = 0, from = 0, to = 0;
  double factor = 1, bytes = 0, competitor = 0, begin = 0;
  std::string algorithm;
};

/// Everything of a case is drawn from its seed.
Draw draw(std::uint64_t seed, bool with_competitor, bool with_slow_link) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> unit(0, 1);
  Draw d;
  d.algorithm = std::vector<std::string>{"ring", "ring", "tree", "sharp"}[random() % 4];
  d.ranks = 4 + random() % 61;
  d.bytes = 16e6 * std::pow(64, unit(random));  // 16 MB to 1 GB
  d.factor = with_slow_link ? 0.25 + 0.7 * unit(random) : 1;
  d.slow = random() % d.ranks;
  d.from = random() % d.ranks;
  // Along the ring, so that the competitor meets one of its links at both ends.
  d.to = (d.from + 1) % d.ranks;
  const double volume = d.algorithm == "sharp" ? d.bytes : 2 * d.bytes;
  d.competitor = with_competitor ? volume * (0.3 + 1.7 * unit(random)) : 0;
  d.begin = 0.2 * unit(random) * volume / 50e9;
  return d;
}

struct Times {
  double collective, competitor;
};

Times times(const Draw& d, const std::string& fidelity) {
  Ideal c;
  c.servers = static_cast<int>(d.ranks);
  c.algorithm = d.algorithm;
  c.fidelity = fidelity;
  const auto run = testing::run_graph(
      c,
      [&](Lowering& l) {
        // Operations 0 to 2 are the same in every fidelity.
        const OpId wait = l.graph().add_delay(Rank(d.from), Seconds::of(d.begin), OpRole::kOther,
                                              l.graph().label("wait"));
        const OpId competitor =
            l.send(Rank(d.from), Rank(d.to), Bytes::of(d.competitor), OpRole::kOther, "competitor");
        l.graph().add_edge(wait, competitor);
        const OpId mark = l.graph().add_join();
        const OpId end =
            testing::whole_collective(l, d.ranks, CollectiveOp::kAllReduce, d.bytes, mark);
        (void)end;  // the last operation
      },
      [&](const Cluster& cluster) {
        return std::make_unique<SlowPort>(cluster, d.slow, d.factor);
      });
  return {run.finish.back(), run.finish[1]};
}

struct Bars {
  double collective, competitor;
};

void compare(std::uint64_t seed, bool with_competitor, bool with_slow_link, Bars bars) {
  const Draw d = draw(seed, with_competitor, with_slow_link);
  const Times steps = times(d, "steps"), flow = times(d, "flow");
  const std::string what =
      fmt::format("seed {}: {}, {} ranks, {} B, slow factor {}, competitor {} B", seed, d.algorithm,
                  d.ranks, d.bytes, d.factor, d.competitor);
  EXPECT_NEAR(flow.collective / steps.collective, 1, bars.collective) << what;
  if (d.competitor > 0) {
    EXPECT_NEAR(flow.competitor / steps.competitor, 1, bars.competitor) << what;
  }
}

constexpr std::uint64_t kSeeds = 100;
constexpr Bars kBars{0.03, 0.10};

TEST(FlowAgainstSteps, BesideACompetitor) {
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) compare(seed, true, false, kBars);
}

TEST(FlowAgainstSteps, OnASlowLink) {
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) compare(seed, false, true, kBars);
}

// Both at once, where the two fidelities mean different things: in steps nothing holds back the
// links that are not slow, so they run ahead of the slow one and what the competitor took from them
// is made up for; one variable moves in lockstep, as credits make a reduction tree and NCCL's few
// buffer slots make a ring do. Bars as wide as that difference was found to be.
TEST(FlowAgainstSteps, BesideACompetitorAndOnASlowLink) {
  constexpr Bars kWide{0.17, 0.30};
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) compare(seed, true, true, kWide);
}

}  // namespace
}  // namespace trainyard
