// Numbers that can be worked out by hand, and laws that hold whatever the scenario.
#include <gtest/gtest.h>

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

TEST(ByHand, MessageOverTwoHops) {
  const std::string text =
      testing::ideal_scenario(ideal(2), R"("probes": {"x": {"bytes": "1 B"}})");
  LoadOptions options;
  options.sets = {"cluster.network.link_latency=500 ns"};
  LoadedScenario loaded = load_scenario_text(text, "t", options);
  const Cluster& cluster = loaded.scenario.cluster;
  const auto topology = cluster.network->build(cluster.server, cluster.servers);
  const FlowPath path = Routes(cluster, *topology).message(Rank(0), Rank(1));
  const double seconds =
      path.latency.si() + 1048576 / idle_rate(path, Routes(cluster, *topology).capacities());
  EXPECT_NEAR(seconds, 21.97e-6, 0.005e-6);
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

// Two leaves of two servers: a leaf takes 2 S from below and gives S upwards.
TEST(Laws, AnAggregatingSwitchTakesNAndGivesOne) {
  for (const std::string fidelity : {"steps", "flow"}) {
    Ideal c = ideal(4);
    c.algorithm = "sharp";
    c.fidelity = fidelity;
    std::string text = testing::ideal_scenario(c, R"("probes": {"p": {"bytes": "100 MB"}})");
    LoadOptions options;
    options.sets = {
        R"(cluster.network={"kind":"fat-tree","tiers":2,"radix":4,"switch":{"ports":4,"rate":"50 GB/s",)"
        R"("sharp":{"enabled":true,"efficiency":1}}})"};
    LoadedScenario loaded = load_scenario_text(text, "t", options);
    const Cluster& cluster = loaded.scenario.cluster;
    const auto make = [&](const Cluster&) {
      return cluster.network->build(cluster.server, cluster.servers);
    };
    const auto run = run_graph(
        c, [](Lowering& l) { testing::whole_collective(l, 4, CollectiveOp::kAllReduce, 100e6); },
        make);
    const auto topology = make(cluster);
    double into_leaf = 0, out_of_leaf = 0;
    for (std::size_t i = 0; i < run.carried.size(); ++i) {
      const Resource& r = topology->resources()[i];
      if (r.kind != ResourceKind::kLink) continue;
      const TopologyNode& from = topology->node(r.from);
      const TopologyNode& to = topology->node(r.to);
      if (to.kind == NodeKind::kSwitch && to.tier == 1 && to.index == 0 &&
          from.kind == NodeKind::kNic)
        into_leaf += run.carried[i];
      if (from.kind == NodeKind::kSwitch && from.tier == 1 && from.index == 0 &&
          to.kind == NodeKind::kSwitch)
        out_of_leaf += run.carried[i];
    }
    EXPECT_NEAR(into_leaf, 200e6, 1) << fidelity;
    EXPECT_NEAR(out_of_leaf, 100e6, 1) << fidelity;
  }
}

TEST(Laws, OverloadIsABug) {
  const std::string text =
      testing::ideal_scenario(ideal(2), R"("probes": {"x": {"bytes": "1 B"}})");
  LoadedScenario loaded = load_scenario_text(text, "t", {});
  const auto topology = loaded.scenario.cluster.network->build(loaded.scenario.cluster.server, 2);
  OpGraph graph;
  graph.freeze();
  Timeline t;
  t.end = 1;
  t.carried.assign(topology->resources().size(), 0);
  EXPECT_NO_THROW(check_invariants(*topology, graph, t));
  t.carried[0] = topology->resources()[0].capacity * 1.001;
  EXPECT_THROW(check_invariants(*topology, graph, t), std::logic_error);
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
    const std::vector<std::string> algorithms{"ring", "tree", "sharp"};
    c.algorithm = algorithms[random() % 3];
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

}  // namespace
}  // namespace trainyard
