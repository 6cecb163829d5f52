// Numbers that can be worked out by hand, and laws that hold whatever the scenario.
#include <gtest/gtest.h>

#include <map>
#include <random>

#include "sim/result.hpp"
#include "tests/support_graph.hpp"

namespace trainyard {
namespace {

using testing::Ideal;
using testing::run_graph;

constexpr double kExact = 1e-9;

Ideal ideal(int servers, double latency_us = 0) {
  Ideal c;
  c.servers = servers;
  c.latency_us = latency_us;
  return c;
}

TEST(ByHand, TwoFlowsShareALink) {
  OpId a, b;
  const auto run = run_graph(ideal(3), [&](Lowering& l) {
    a = l.send(Rank(0), Rank(2), 1_GB, OpRole::kOther, "a");
    b = l.send(Rank(1), Rank(2), 1_GB, OpRole::kOther, "b");
  });
  // The ids are those of the child, which counts as this process does: 0 and 1.
  EXPECT_NEAR(run.finish[0] / 0.040, 1, kExact);
  EXPECT_NEAR(run.finish[1] / 0.040, 1, kExact);
}

TEST(ByHand, FlowBesideASharpTree) {
  Ideal c = ideal(4);
  c.algorithm = "sharp";
  c.fidelity = "flow";
  const auto run = run_graph(c, [](Lowering& l) {
    l.send(Rank(3), Rank(0), 20_MB, OpRole::kOther, "competitor");
    testing::whole_collective(l, 3, CollectiveOp::kAllReduce, 100e6);
  });
  EXPECT_NEAR(run.finish[0] / 0.8e-3, 1, kExact);
  EXPECT_NEAR(run.end / 2.4e-3, 1, kExact);
}

/// The topology of the ideal cluster after these changes.
testing::MakeTopology with(const Ideal& c, const std::vector<std::string>& sets) {
  return [=](const Cluster&) {
    LoadOptions options;
    options.sets = sets;
    const LoadedScenario loaded = load_scenario_text(
        testing::ideal_scenario(c, R"("probes": {"unused": {"bytes": "1 B"}})"), "t", options);
    const Cluster& cluster = loaded.scenario.cluster;
    return cluster.network->build(cluster.server, cluster.servers);
  };
}

TEST(ByHand, MessageOverTwoHops) {
  const auto run = run_graph(
      ideal(2), [](Lowering& l) { l.send(Rank(0), Rank(1), 1_MiB, OpRole::kOther, "message"); },
      with(ideal(2), {"cluster.network.link_latency=500 ns"}));
  EXPECT_NEAR(run.end / (2 * 500e-9 + 1048576 / 50e9), 1, kExact);
  EXPECT_NEAR(run.end, 21.97e-6, 0.005e-6);
}

TEST(ByHand, SixteenMebibytesOnEightGpus) {
  Ideal c = ideal(1);
  c.gpus_per_server = 8;
  c.port = 360e9;
  EXPECT_NEAR(testing::collective_times(c, "all_reduce", {"16 MiB"})[0], 81.556e-6, 0.001e-6);
}

TEST(ByHand, ComputeBesideCommunication) {
  const auto run = run_graph(ideal(1), [](Lowering& l) {
    OpGraph& g = l.graph();
    g.add_compute(Rank(0), Seconds::of(10e-3), OpRole::kCompute, g.label("kernel"));
    const OpId comm = g.add_delay(Rank(0), Seconds::of(4e-3), OpRole::kCollective, g.label("comm"));
    g.set_occupancy(comm, g.add_occupancy({{Rank(0)}, 0.2}));
  });
  EXPECT_NEAR(run.end / 10.8e-3, 1, kExact);
}

// A kernel that starts while the communication has run for 1 of its 4 ms: 3 ms at 0.8, then 7.6.
TEST(ByHand, ComputeThatStartsBesideCommunication) {
  const auto run = run_graph(ideal(1), [](Lowering& l) {
    OpGraph& g = l.graph();
    const OpId wait = g.add_delay(Rank(0), Seconds::of(1e-3), OpRole::kOther, g.label("wait"));
    const OpId kernel =
        g.add_compute(Rank(0), Seconds::of(10e-3), OpRole::kCompute, g.label("kernel"));
    g.add_edge(wait, kernel);
    const OpId comm = g.add_delay(Rank(0), Seconds::of(4e-3), OpRole::kCollective, g.label("comm"));
    g.set_occupancy(comm, g.add_occupancy({{Rank(0)}, 0.2}));
  });
  EXPECT_NEAR(run.end / 11.6e-3, 1, kExact);
}

// The same with a collective of 200 MB between two ranks: 4 ms over 50 GB/s.
TEST(ByHand, ComputeBesideACollective) {
  for (const std::string fidelity : {"steps", "flow", "analytic"}) {
    Ideal c = ideal(2);
    c.fidelity = fidelity;
    c.slowdown = 0.2;
    const auto run = run_graph(c, [](Lowering& l) {
      OpGraph& g = l.graph();
      g.add_compute(Rank(1), Seconds::of(10e-3), OpRole::kCompute, g.label("kernel"));
      testing::whole_collective(l, 2, CollectiveOp::kAllReduce, 200e6);
    });
    EXPECT_NEAR(run.finish.back() / 4e-3, 1, kExact) << fidelity;
    EXPECT_NEAR(run.finish[0] / 10.8e-3, 1, kExact) << fidelity;
  }
}

TEST(ByHand, OneForwardOneBackward) {
  Ideal c = ideal(4);
  c.port = 1e18;  // no communication time to speak of
  const std::string job =
      R"("jobs": [{"workload": {"kind": "gpt", "tensor": 1, "pipeline": 4, "global_batch": 8,
    "model": {"layers": 4, "hidden": 64, "heads": 4, "sequence": 8, "vocabulary": 64},
    "stage_forward": "1 ms", "stage_backward": "2 ms"}}])";
  const Json result = testing::run_text_scenario(testing::ideal_scenario(c, job));
  const Json& m = result.at("metrics");
  EXPECT_NEAR(m.at("step_time_s").as_number() / 33e-3, 1, 1e-6);
  // Of 11 slots of 3 ms, 3 are the bubble: (p-1) / (m+p-1).
  EXPECT_NEAR(m.at("gpu_wait_fractions").at("bubble").as_number(), 3.0 / 11, 1e-6);
}

// What every port carries is what its rank sends: bytes in = bytes out per flow.
TEST(Laws, RingPortsCarryWhatRanksSend) {
  for (const std::string fidelity : {"steps", "flow"}) {
    Ideal c = ideal(5);
    c.fidelity = fidelity;
    const auto run = run_graph(
        c, [](Lowering& l) { testing::whole_collective(l, 5, CollectiveOp::kAllReduce, 1e9); });
    int ports = 0;
    for (const double carried : run.carried) {
      if (carried == 0) continue;
      ++ports;
      EXPECT_NEAR(carried / (2 * 4 / 5.0 * 1e9), 1, kExact) << fidelity;
    }
    EXPECT_EQ(ports, 20) << "tx, rx and both PCIe directions of five ranks";
  }
}

/// A message between two ranks, and the one that it waits for (its own index: none).
struct Message {
  std::size_t from, to;
  double bytes;
  std::size_t after;
};

std::vector<Message> random_messages(std::uint64_t seed, std::size_t ranks, std::size_t count) {
  std::mt19937_64 random(seed);
  std::vector<Message> all;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t from = random() % ranks, to = (from + 1 + random() % (ranks - 1)) % ranks;
    const std::size_t after = random() % 3 == 0 || i == 0 ? i : random() % i;
    all.push_back({from, to, static_cast<double>(1 + random() % 100000000), after});
  }
  return all;
}

testing::GraphRun run_messages(const Ideal& c, const std::vector<Message>& messages,
                               const testing::MakeTopology& make = {}) {
  const auto build = [&](Lowering& l) {
    std::vector<OpId> ops;
    for (const Message& m : messages) {
      ops.push_back(
          l.send(Rank(m.from), Rank(m.to), Bytes::of(m.bytes), OpRole::kOther, "message"));
      if (m.after < ops.size() - 1) l.graph().add_edge(ops[m.after], ops.back());
    }
  };
  return run_graph(c, build, make);
}

const std::vector<std::string> kFatTree{
    R"(cluster.network={"kind":"fat-tree","tiers":3,"radix":4,"switch":{"ports":4,)"
    R"("rate":"50 GB/s","sharp":{"enabled":true,"efficiency":1}}})"};

/// What the edges into and out of each node carried.
struct InOut {
  double in = 0, out = 0;
};
std::vector<InOut> by_node(const Topology& topology, const std::vector<double>& carried) {
  std::vector<InOut> all;
  for (std::size_t i = 0; i < carried.size(); ++i) {
    const Resource r = topology.resource(ResourceId(i));
    if (!r.from.valid()) continue;
    all.resize(std::max({all.size(), r.from.index() + 1, r.to.index() + 1}));
    all[r.from.index()].out += carried[i];
    all[r.to.index()].in += carried[i];
  }
  return all;
}

// Bytes in = bytes out at every NVSwitch, card and switch; a GPU sends and receives its own.
TEST(Laws, NoByteIsLostOnTheWay) {
  Ideal c = ideal(8);
  c.gpus_per_server = 2;
  const auto topology = with(c, kFatTree)({});
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    const auto messages = random_messages(seed, 16, 80);
    const auto nodes = by_node(*topology, run_messages(c, messages, with(c, kFatTree)).carried);
    std::vector<InOut> own(16);
    for (const Message& m : messages) own[m.from].out += m.bytes, own[m.to].in += m.bytes;
    for (std::size_t n = 0; n < nodes.size(); ++n) {
      const TopologyNode node = topology->node(NodeId(n));
      const std::string where = fmt::format("seed {}, {}", seed, topology->node_name(NodeId(n)));
      if (node.kind == NodeKind::kGpu) {
        EXPECT_NEAR(nodes[n].out, own[node.index].out, 1) << where;
        EXPECT_NEAR(nodes[n].in, own[node.index].in, 1) << where;
      } else {
        EXPECT_NEAR(nodes[n].in, nodes[n].out, 1) << where;
      }
    }
  }
}

// In no span of time do more bytes begin and end on a port than it can carry in that span.
TEST(Laws, NoPortIsEverAboveItsCapacity) {
  const Ideal c = ideal(6);
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    const auto messages = random_messages(seed, 6, 80);
    const auto run = run_messages(c, messages);
    const auto carried_within = [&](auto port, std::size_t at, double begin, double end) {
      double sum = 0;
      for (std::size_t i = 0; i < messages.size(); ++i) {
        if (port(messages[i]) == at && run.start[i] >= begin && run.finish[i] <= end)
          sum += messages[i].bytes;
      }
      return sum;
    };
    const auto from = [](const Message& m) { return m.from; };
    const auto to = [](const Message& m) { return m.to; };
    for (std::size_t i = 0; i < messages.size(); ++i) {
      for (std::size_t j = 0; j < messages.size(); ++j) {
        const double begin = run.start[i], end = run.finish[j];
        const double most = 50e9 * std::max(0.0, end - begin) * (1 + kExact);
        const std::size_t tx = messages[i].from, rx = messages[i].to;
        ASSERT_LE(carried_within(from, tx, begin, end), most) << "seed " << seed;
        ASSERT_LE(carried_within(to, rx, begin, end), most) << "seed " << seed;
      }
    }
  }
}

TEST(Laws, TimeOnlyGoesForward) {
  for (const std::string executor : {"flow", "stock"}) {
    Ideal c = ideal(6, 3);
    c.executor = executor;
    const auto messages = random_messages(3, 6, 200);
    const auto run = run_messages(c, messages);
    for (std::size_t i = 0; i < messages.size(); ++i) {
      EXPECT_GE(run.start[i], 0) << executor;
      EXPECT_GT(run.finish[i], run.start[i]) << executor;
      EXPECT_LE(run.finish[i], run.end) << executor;
      const std::size_t before = messages[i].after;
      EXPECT_EQ(run.start[i], before == i ? 0 : run.finish[before]) << executor;
    }
  }
}

/// What passes a switch of a reduction tree, and over how many links from below.
struct Passes {
  int children = 0;
  double from_below = 0, up = 0, from_above = 0, down = 0;
};

std::map<NodeId, Passes> switches_of_tree(const Topology& topology,
                                          const std::vector<double>& carried) {
  std::map<NodeId, Passes> all;
  for (std::size_t i = 0; i < carried.size(); ++i) {
    const Resource r = topology.resource(ResourceId(i));
    if (r.kind != ResourceKind::kLink || carried[i] == 0) continue;
    const bool upwards = topology.node(r.from).tier < topology.node(r.to).tier;
    (upwards ? all[r.from].up : all[r.from].down) += carried[i];
    (upwards ? all[r.to].from_below : all[r.to].from_above) += carried[i];
    if (upwards) ++all[r.to].children;
  }
  std::erase_if(
      all, [&](const auto& entry) { return topology.node(entry.first).kind != NodeKind::kSwitch; });
  return all;
}

// An aggregating switch takes S from each child and gives S upwards, at every level; what comes
// down, S, it gives to each child. An all_gather brings up only what the cards below contribute, a
// reduce_scatter takes down only what is theirs. 12 cards: 6 leaves of 2, in 3 pods, one core.
TEST(Laws, AnAggregatingSwitchTakesNAndGivesOne) {
  constexpr double kBytes = 120e6;
  const std::map<int, double> cards_below{{1, 2}, {2, 4}, {3, 12}};
  for (const std::string fidelity : {"steps", "flow"}) {
    for (const CollectiveOp op :
         {CollectiveOp::kAllReduce, CollectiveOp::kAllGather, CollectiveOp::kReduceScatter}) {
      Ideal c = ideal(12);
      c.algorithm = "sharp";
      c.fidelity = fidelity;
      // From rank 1 on, so that the tree hangs on the second of the ways up.
      std::vector<Rank> ranks;
      for (std::size_t i = 0; i < 12; ++i) ranks.emplace_back((i + 1) % 12);
      const auto build = [&](Lowering& l) {
        const CollectiveCall call{op, Bytes::of(kBytes), &l.group(ranks), OpRole::kCollective, 0};
        l.collective(call, std::vector<OpId>(12));
      };
      const auto run = run_graph(c, build, with(c, kFatTree));
      const auto topology = with(c, kFatTree)({});
      std::map<int, int> per_tier;
      for (const auto& [id, passes] : switches_of_tree(*topology, run.carried)) {
        const int tier = topology->node(id).tier;
        ++per_tier[tier];
        const double part = cards_below.at(tier) / 12 * kBytes;
        const bool gather = op == CollectiveOp::kAllGather,
                   scatter = op == CollectiveOp::kReduceScatter;
        const double edge = tier == 3 ? 0 : 1;
        const std::string where = fmt::format("{} {} tier {}", collective_name(op), fidelity, tier);
        EXPECT_NEAR(passes.from_below, gather ? part : passes.children * kBytes, 1) << where;
        EXPECT_NEAR(passes.up, edge * (gather ? part : kBytes), 1) << where;
        EXPECT_NEAR(passes.from_above, edge * (scatter ? part : kBytes), 1) << where;
        EXPECT_NEAR(passes.down, scatter ? part : passes.children * kBytes, 1) << where;
      }
      EXPECT_EQ(per_tier, (std::map<int, int>{{1, 6}, {2, 3}, {3, 1}})) << fidelity;
    }
  }
}

TEST(Laws, OverloadIsABug) {
  const std::string text =
      testing::ideal_scenario(ideal(2), R"("probes": {"x": {"bytes": "1 B"}})");
  LoadedScenario loaded = load_scenario_text(text, "t", {});
  const auto topology = loaded.scenario.cluster.network->build(loaded.scenario.cluster.server, 2);
  const double capacity = topology->capacity_of(ResourceId(0));
  const auto one_second = [&](double bytes) {
    OpGraph graph;
    FlowPath path;
    path.shares = {{ResourceId(0), 1}};
    const OpId op = graph.add_flow(Rank(0), graph.add_path(path), Bytes::of(bytes), OpRole::kOther,
                                   graph.label("send"));
    graph.freeze();
    Timeline timeline(graph);
    timeline.started(op, 0, 0, Timeline::kNone);
    timeline.finished(op, 0, 1);
    timeline.complete(graph);
    check_invariants(*topology, graph, timeline);
  };
  EXPECT_NO_THROW(one_second(capacity));
  EXPECT_THROW(one_second(capacity * 1.001), std::logic_error);
}

TEST(Laws, SameInputSameBytes) {
  const std::string path = std::string(TRAINYARD_SOURCE_DIR) + "/scenarios/claim/dpu.json";
  const std::vector<std::string> small{"cluster.servers=32", "jobs.0.workload.global_batch=64",
                                       "probes.allreduce.ranks=64"};
  EXPECT_EQ(dump_json(testing::run_file_scenario(path, small)),
            dump_json(testing::run_file_scenario(path, small)));
}

// For one collective alone; with several flows and dependencies it need not hold.
TEST(Laws, MoreBandwidthIsNeverSlower) {
  std::mt19937_64 random(7);
  for (int seed = 0; seed < 20; ++seed) {
    Ideal c = ideal(static_cast<int>(2 + random() % 12), static_cast<double>(random() % 5));
    const std::vector<std::string> algorithms{"ring", "tree", "pat", "sharp"};
    c.algorithm = algorithms[random() % algorithms.size()];
    c.fidelity = random() % 2 == 0 ? "steps" : "flow";
    double before = std::numeric_limits<double>::infinity();
    for (double port = 1e9; port < 1e12; port *= 1.0 + static_cast<double>(1 + random() % 4)) {
      c.port = port;
      const double now = testing::collective_times(c, "all_reduce", {"10 MB"})[0];
      EXPECT_LE(now, before * (1 + kExact))
          << "seed " << seed << " " << c.algorithm << " at " << port;
      before = now;
    }
  }
}

// The same when only one kind of link gets faster, between servers of four GPUs and two cards.
TEST(Laws, MoreBandwidthOfOneKindOfLinkIsNeverSlower) {
  const std::vector<std::string> kinds{"cluster.server.nvlink.bandwidth", "cluster.server.nic.rate",
                                       "cluster.server.nic.pcie_bandwidth",
                                       "cluster.network.switch.rate"};
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    std::mt19937_64 random(seed);
    Ideal c = ideal(static_cast<int>(2 + random() % 4), static_cast<double>(random() % 5));
    c.gpus_per_server = 4;
    c.algorithm =
        std::vector<std::string>{"ring", "tree", "pat", "sharp", "hierarchical"}[random() % 5];
    c.fidelity = random() % 2 == 0 ? "steps" : "flow";
    std::vector<std::string> sets{"cluster.server.nics=2", "cluster.collectives.channels=2"};
    for (const std::string& kind : kinds)
      sets.push_back(fmt::format("{}={} GB/s", kind, 1 + random() % 100));
    const auto time = [&](const std::vector<std::string>& rates) {
      const std::string probe = R"("probes": {"p": {"bytes": "10 MB"}})";
      return testing::run_text_scenario(testing::ideal_scenario(c, probe), rates)
          .at("metrics")
          .at("p_time_s")
          .as_number();
    };
    const double before = time(sets);
    for (std::size_t i = 0; i < kinds.size(); ++i) {
      std::vector<std::string> faster = sets;
      faster[2 + i] = fmt::format("{}={} GB/s", kinds[i], 101 + random() % 100);
      EXPECT_LE(time(faster), before * (1 + kExact))
          << "seed " << seed << " " << c.algorithm << " " << c.fidelity << " " << faster[2 + i];
    }
  }
}

}  // namespace
}  // namespace trainyard
