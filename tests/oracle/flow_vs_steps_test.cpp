// A collective as one flow against the same as every message, beside a competitor and on a slow
// link. Sizes from 1 MiB to 1 GiB, 4 to 64 ranks, a competitor of 0.1 to 3 times what the
// collective moves over a link, begun at any time while it runs: the bars are 3% of the
// collective's time and 10% of the competitor's own.
#include <gtest/gtest.h>

#include <cmath>
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
    hub_ = add_switches(1, 1);
    const double rate = cluster.server.nic.rate.si();
    for (std::size_t s = 0; s < static_cast<std::size_t>(cluster.servers); ++s) {
      const NodeId nic = nic_node(ServerId(s), 0);
      const LinkPairs port(add_resources(1,
                                         {port_of(s == slow ? rate * factor : rate), port_of(rate)},
                                         [this, nic](std::size_t, std::size_t way) {
                                           return way == 0 ? Ends{nic, hub_} : Ends{hub_, nic};
                                         }));
      if (s == 0) links_ = port;  // the others follow at once
    }
    device_.sharp.enabled = true;
    device_.sharp.efficiency = 1;
  }
  Route route(NodeId from, NodeId to) const override {
    Route links;
    links.push_back(links_.up(nic_index(from)));
    links.push_back(links_.down(nic_index(to)));
    return links;
  }
  const Switch& switch_at(NodeId) const override { return device_; }
  AggregationTree aggregation_tree(std::span<const NodeId> nics, std::size_t) const override {
    AggregationTree tree;
    for (const NodeId nic : nics)
      tree.edges.push_back({links_.up(nic_index(nic)), links_.down(nic_index(nic)), 0, 1});
    tree.switches = {hub_};
    tree.depth = 1;
    tree.widest = static_cast<int>(nics.size());
    return tree;
  }

 private:
  static ResourceTraits port_of(double rate) { return {ResourceKind::kLink, rate, Seconds()}; }
  Switch device_;
  NodeId hub_;
  LinkPairs links_;
};

struct Kind {
  std::string algorithm, law;
};
void PrintTo(const Kind& kind, std::ostream* os) { *os << kind.algorithm << " " << kind.law; }

/// Where the slow link and the competitor are.
enum class Company { kCompetitor, kSlowLink, kBothOnOneLink, kBothApart };

struct Draw {
  Kind kind;
  std::size_t ranks = 0, slow = 0, from = 0, to = 0;
  double factor = 1;  ///< of the slow link's rate
  double bytes = 0, competitor = 0, begin = 0;
};

constexpr double kRate = 50e9, kStep = 2e-6;

/// What the collective moves over one link, and how long it takes alone; by hand.
double volume(const Draw& d) {
  const auto n = static_cast<double>(d.ranks);
  if (d.kind.algorithm == "sharp") return d.bytes;
  return (d.kind.algorithm == "direct" ? 1 : 2) * (n - 1) / n * d.bytes;
}
double time_alone(const Draw& d) {
  const auto n = static_cast<double>(d.ranks);
  const double wire = volume(d) / (kRate * d.factor);
  if (d.kind.algorithm == "sharp" || d.kind.algorithm == "direct") return kStep + wire;
  if (d.kind.algorithm == "pat") return 2 * std::ceil(std::log2(n)) * kStep + wire;
  const double latencies = 2 * (n - 1) * kStep;
  return d.kind.law == "additive" ? latencies + wire : std::max(latencies, wire);
}

/// Everything of a case is drawn from its seed.
Draw draw(std::uint64_t seed, const Kind& kind, Company company) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> unit(0, 1);
  Draw d;
  d.kind = kind;
  d.ranks = 4 + random() % 61;
  d.bytes = 1048576 * std::pow(1024, unit(random));
  const double factor = 0.25 + 0.7 * unit(random);
  if (company != Company::kCompetitor) d.factor = factor;
  d.slow = random() % d.ranks;
  d.from = company == Company::kBothOnOneLink ? d.slow
           : company == Company::kBothApart   ? (d.slow + 1 + random() % (d.ranks - 1)) % d.ranks
                                              : random() % d.ranks;
  // To the next rank, so that the slow port is its only other limit; else to any.
  const std::size_t hop = company == Company::kCompetitor ? 1 + random() % (d.ranks - 1) : 1;
  d.to = (d.from + hop) % d.ranks;
  if (company != Company::kSlowLink) d.competitor = volume(d) * 0.1 * std::pow(30, unit(random));
  d.begin = unit(random) * time_alone(d);
  return d;
}

struct Times {
  double collective, competitor;
};

Times times(const Draw& d, const std::string& fidelity) {
  Ideal c;
  c.servers = static_cast<int>(d.ranks);
  c.algorithm = d.kind.algorithm;
  c.law = d.kind.law;
  c.fidelity = fidelity;
  const auto run = testing::run_graph(
      c,
      [&](Lowering& l) {
        // Operations 0 and 1 are the same in every fidelity; the collective's join is the last.
        const OpId wait = l.graph().add_delay(Rank(d.from), Seconds::of(d.begin), OpRole::kOther,
                                              l.graph().label("wait"));
        const OpId competitor =
            l.send(Rank(d.from), Rank(d.to), Bytes::of(d.competitor), OpRole::kOther, "competitor");
        l.graph().add_edge(wait, competitor);
        const CollectiveOp op =
            d.kind.algorithm == "direct" ? CollectiveOp::kAllToAll : CollectiveOp::kAllReduce;
        testing::whole_collective(l, d.ranks, op, d.bytes);
      },
      [&](const Cluster& cluster) {
        return std::make_unique<SlowPort>(cluster, d.slow, d.factor);
      });
  return {run.finish.back(), run.finish[1] - d.begin};
}

/// How far flow may be from steps: relative, and a time on top.
struct Bars {
  double collective_low, collective_high, competitor_low, competitor_high;
  double grain = 0;
};

void compare(const Kind& kind, Company company, const Bars& bars) {
  constexpr std::uint64_t kSeeds = 100;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    const Draw d = draw(seed, kind, company);
    const Times steps = times(d, "steps"), flow = times(d, "flow");
    const std::string what = fmt::format(
        "seed {}: {} ranks, {} B, slow factor {} at {}, competitor {} B from {} to {} at {} s",
        seed, d.ranks, d.bytes, d.factor, d.slow, d.competitor, d.from, d.to, d.begin);
    EXPECT_GE(flow.collective + bars.grain, steps.collective * (1 + bars.collective_low)) << what;
    EXPECT_LE(flow.collective - bars.grain, steps.collective * (1 + bars.collective_high)) << what;
    if (d.competitor == 0) continue;
    EXPECT_GE(flow.competitor + bars.grain, steps.competitor * (1 + bars.competitor_low)) << what;
    EXPECT_LE(flow.competitor - bars.grain, steps.competitor * (1 + bars.competitor_high)) << what;
  }
}

class FlowAgainstSteps : public ::testing::TestWithParam<Kind> {
 protected:
  bool is(std::string_view algorithm) const { return GetParam().algorithm == algorithm; }
  /// 3% and 10%. A tree of switches pays its whole latency before the first byte as a flow, but
  /// half of it on the way up in steps: a competitor that begins or ends in between sees that.
  Bars bars() const { return {-0.03, 0.03, -0.10, 0.10, is("sharp") ? kStep : 0}; }
};

TEST_P(FlowAgainstSteps, BesideACompetitor) { compare(GetParam(), Company::kCompetitor, bars()); }

TEST_P(FlowAgainstSteps, OnASlowLinkTheyAreEqual) {
  compare(GetParam(), Company::kSlowLink, {-1e-9, 1e-9, 0, 0});
}

TEST_P(FlowAgainstSteps, BesideACompetitorOnTheSlowLink) {
  compare(GetParam(), Company::kBothOnOneLink, bars());
}

// The competitor on one link and the slow link elsewhere: here the bars do not hold, and cannot.
// In steps nothing holds a rank back but what it has yet to receive, so the links before the slow
// one run up to one trip round the ring (n-1 of 2(n-1) rounds) ahead, and what the competitor takes
// from one link costs the collective nothing while another is the slow one: its time is the longest
// way through the lattice of rounds and links. One variable goes at the pace of whatever link is
// slowest at the moment. Let a round take 1, s over the slow link, 2 over the shared one for k of
// N rounds: flow takes 2k + (N-k)s and steps at least max(Ns, N+k). The quotient is largest at
// k = N(s-1), s = sqrt 2: 4 - 2 sqrt 2, 17.2% more (found, of 100: +17.2% at 4 ranks, mostly below
// 10%, and 30-odd above 3%). Slots do not explain it away: with 8, 2 and 1 per hop, steps were out
// of the 3% in 28, 27 and 15 of 100 cases. Below steps flow is only in an additive ring, whose
// weight fits the slow link's part of a step and not the shared one's (found: -6.8%). The
// competitor goes somewhere between half and all of its link's rate in either.
// A reduction tree moves as one in both fidelities: SHARP stays within the bars.
// The last message of an all_to_all ends at the same time in both. But on the shared link its
// messages run ahead in steps, and the competitor has 1 of n shares while they do, then all of it;
// beside the one variable it always has what the pace of the slow link leaves there. Early, in
// steps, it may take n times as long as in flow, late a part of it (found, of 100: flow -82% to
// +144%): there is no bar for it.
TEST_P(FlowAgainstSteps, BesideACompetitorAwayFromTheSlowLink) {
  const bool additive_ring = is("ring") && GetParam().law == "additive";
  const double most = 4 - 2 * std::sqrt(2.0) - 1, grain = 0.005;
  const Bars wide{additive_ring ? -0.07 : -grain, most + grain, -0.5, 1.0};
  constexpr double kNone = std::numeric_limits<double>::infinity();
  const Bars messages_ahead{-0.03, 0.03, -1, kNone};
  compare(GetParam(), Company::kBothApart,
          is("sharp")    ? bars()
          : is("direct") ? messages_ahead
                         : wide);
}

INSTANTIATE_TEST_SUITE_P(Each, FlowAgainstSteps,
                         ::testing::Values(Kind{"ring", "additive"}, Kind{"ring", "cut-through"},
                                           Kind{"pat", "additive"}, Kind{"sharp", "additive"},
                                           Kind{"direct", "additive"}),
                         [](const auto& info) {
                           return info.param.algorithm +
                                  (info.param.law == "additive" ? "" : "_cut_through");
                         });

// The weight of a ring, by hand: a message of 1 MB takes w = 20 us, a step a + w = 22 us. Beside an
// endless competitor a step takes a + 2w, of which the competitor has the link to itself for a.
TEST(RingWeight, SharesAsTheStepsOfARingDo) {
  Draw d{{"ring", "additive"}, 8, 0, 2, 3, 1, 8e6, 1e9, 0};
  const double step = 2e-6 + 2 * 20e-6;
  EXPECT_NEAR(times(d, "flow").collective / (14 * step), 1, 1e-9);
  EXPECT_NEAR(times(d, "steps").collective / (14 * step), 1, 1e-9);
  // Cut through and held by latency (c = 10 kB, at most 5 GB/s): there is room for both.
  d = {{"ring", "cut-through"}, 8, 0, 2, 3, 1, 80e3, 1e9, 0};
  EXPECT_NEAR(times(d, "flow").collective / (14 * 2e-6), 1, 1e-9);
  EXPECT_NEAR(times(d, "steps").collective / (14 * 2e-6), 1, 1e-9);
}

}  // namespace
}  // namespace trainyard
