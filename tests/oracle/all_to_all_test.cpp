// all_to_all: closed forms by hand, what every link carries, and the bundles of the flow fidelity
// against every message.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/reader.hpp"
#include "tests/oracle/closed_forms.hpp"
#include "tests/support_graph.hpp"

namespace trainyard {
namespace {

using testing::Ideal;

const std::vector<std::string> kFidelities{"steps", "flow", "analytic"};
constexpr double kExact = 1e-9;

Ideal direct(int servers, int gpus, const std::string& fidelity) {
  Ideal ideal;
  ideal.servers = servers;
  ideal.gpus_per_server = gpus;
  ideal.algorithm = "direct";
  ideal.fidelity = fidelity;
  return ideal;
}

/// The time of a probe of `bytes` over the whole cluster.
double probe_time(const Ideal& ideal, const std::string& bytes,
                  const std::vector<std::string>& sets = {}) {
  const std::string probe =
      R"("probes": {"p": {"operation": "all_to_all", "bytes": ")" + bytes + R"("}})";
  return testing::run_text_scenario(testing::ideal_scenario(ideal, probe), sets)
      .at("metrics")
      .at("p_time_s")
      .as_number();
}

TEST(AllToAll, OneRankPerServer) {
  for (const std::string& fidelity : kFidelities) {
    for (const int n : {2, 3, 7, 64}) {
      const auto times = testing::collective_times(direct(n, 1, fidelity), "all_to_all",
                                                   {"8 B", "1 MiB", "1 GiB"});
      const std::vector<double> bytes{8, 0x1p20, 0x1p30};
      for (std::size_t i = 0; i < bytes.size(); ++i) {
        const double expected = oracle::all_to_all(bytes[i], n, 50e9, 2e-6);
        EXPECT_NEAR(times[i] / expected, 1, kExact) << fidelity << " " << n << " " << bytes[i];
      }
    }
  }
}

// NVLink is a crossbar too.
TEST(AllToAll, OneServer) {
  for (const std::string& fidelity : kFidelities) {
    const double expected = oracle::all_to_all(1e9, 8, 50e9, 2e-6);
    EXPECT_NEAR(probe_time(direct(1, 8, fidelity), "1 GB") / expected, 1, kExact) << fidelity;
  }
}

// Of 16 parts of 62.5 MB one stays, 7 go over NVLink and 8 over the network, both at once: at equal
// rates the network is the slower, at 40 of its 50 GB/s NVLink is.
TEST(AllToAll, TwoServersOfEight) {
  for (const std::string& fidelity : kFidelities) {
    const Ideal two = direct(2, 8, fidelity);
    EXPECT_NEAR(probe_time(two, "1 GB") / (2e-6 + 8 * 62.5e6 / 50e9), 1, kExact) << fidelity;
    const double slow = probe_time(two, "1 GB", {"cluster.server.nvlink.bandwidth=40 GB/s"});
    EXPECT_NEAR(slow / (2e-6 + 7 * 62.5e6 / 40e9), 1, kExact) << fidelity;
  }
}

// Two GPUs share a card, which carries two GPUs' messages to the four GPUs of the other server.
TEST(AllToAll, GpusThatShareACard) {
  for (const std::string& fidelity : kFidelities) {
    const double time = probe_time(direct(2, 4, fidelity), "1 GB", {"cluster.server.nics=2"});
    EXPECT_NEAR(time / (2e-6 + 2 * 4 * 125e6 / 50e9), 1, kExact) << fidelity;
  }
}

// A slice that is cut through takes at least the latency: 15/16 of 1 MB are 18.75 us, of 64 kB 1.2.
TEST(AllToAll, CutThrough) {
  for (const std::string& fidelity : kFidelities) {
    Ideal ideal = direct(16, 1, fidelity);
    ideal.law = "cut-through";
    EXPECT_NEAR(probe_time(ideal, "1 MB") / 18.75e-6, 1, kExact) << fidelity;
    EXPECT_NEAR(probe_time(ideal, "64 kB") / 2e-6, 1, kExact) << fidelity;
  }
}

// A protocol that sends two bytes for one over a transport with a fifth of headers.
TEST(AllToAll, HeadersTakeBandwidth) {
  for (const std::string& fidelity : kFidelities) {
    const double time = probe_time(direct(5, 1, fidelity), "1 MB",
                                   {"cluster.collectives.protocols.simple.efficiency=0.5",
                                    "cluster.transport.efficiency=0.8"});
    EXPECT_NEAR(time / oracle::all_to_all(1e6, 5, 50e9 * 0.5 * 0.8, 2e-6), 1, kExact) << fidelity;
  }
}

// Without GPUDirect a byte passes host memory twice on either side: 4 ranks that send and receive
// 750 MB each move 3 GB through 100 GB/s.
TEST(AllToAll, HostMemoryIsAResourceToo) {
  for (const std::string& fidelity : kFidelities) {
    const double time = probe_time(direct(4, 1, fidelity), "1 GB",
                                   {"cluster.gpudirect=false", "cluster.transport.staging_passes=2",
                                    "cluster.server.host.memory_bandwidth=100 GB/s"});
    EXPECT_NEAR(time / (2e-6 + 3e9 / 100e9), 1, kExact) << fidelity;
  }
}

/// A fat tree of small switches; with `latencies` cables take 50 ns and switches 100 ns.
testing::MakeTopology fat_tree(const std::string& settings, bool latencies = true) {
  const Json fields = parse_json(
      fmt::format(R"({{"link_latency": "{} ns", "switch": {{"ports": 16, "rate": "50 GB/s",)"
                  R"( "latency": "{} ns"}}, {}}})",
                  latencies ? 50 : 0, latencies ? 100 : 0, settings),
      "fat tree");
  return [fields](const Cluster& cluster) {
    const auto plugin = Registry<TopologyPlugin>::of().make("fat-tree");
    plugin->set_kind("fat-tree");
    read_fields(*plugin, fields);
    return plugin->build(cluster.server, cluster.servers);
  };
}

testing::GraphRun run(const Ideal& ideal, double bytes, const testing::MakeTopology& make) {
  const auto ranks = static_cast<std::size_t>(ideal.servers * ideal.gpus_per_server);
  return testing::run_graph(
      ideal,
      [&](Lowering& l) { testing::whole_collective(l, ranks, CollectiveOp::kAllToAll, bytes); },
      make);
}

// Three tiers, where messages have three latencies: a resource is busy from its first byte on, so
// the time is the shortest way's latency and the port's bytes.
TEST(AllToAll, BundlesEqualMessagesOnASymmetricTree) {
  const auto tree = fat_tree(R"("tiers": 3, "radix": 4, "rails": 2, "routing": "d-mod-k")");
  for (const double bytes : {1e2, 1e5, 1e8}) {
    const double steps = run(direct(8, 2, "steps"), bytes, tree).end;
    for (const std::string fidelity : {"flow", "analytic"})
      EXPECT_NEAR(run(direct(8, 2, fidelity), bytes, tree).end / steps, 1, kExact)
          << fidelity << " " << bytes;
    if (bytes < 1e8) continue;
    const double nearest = 2e-6 + 50e-9 + 100e-9 + 50e-9;
    EXPECT_NEAR(steps / (nearest + 14 * (bytes / 16) / 50e9), 1, kExact);
  }
}

/// The largest difference of flow and analytic from steps over sizes and seeds of ECMP: in seconds,
/// and of the time in steps. 16 ranks on 4-port (three tiers) or 8-port switches.
struct Deviation {
  double seconds = 0, share = 0;
};
Deviation on_colliding_ways(int tiers, bool latencies) {
  Deviation most;
  const double mean = 15 * (1e8 / 16) / 50e9;
  for (int seed = 1; seed <= 10; ++seed) {
    const auto tree =
        fat_tree(fmt::format(R"("tiers": {}, "radix": {}, "routing": "ecmp", "seed": {})", tiers,
                             tiers == 2 ? 8 : 4, seed),
                 latencies);
    for (const double bytes : {1e4, 3e5, 1e8}) {
      const double steps = run(direct(16, 1, "steps"), bytes, tree).end;
      for (const std::string fidelity : {"flow", "analytic"}) {
        const double off = std::abs(run(direct(16, 1, fidelity), bytes, tree).end - steps);
        most = {std::max(most.seconds, off), std::max(most.share, off / steps)};
      }
      if (bytes < 1e8) continue;
      EXPECT_GT(steps, 1.05 * mean) << "no collision with seed " << seed;
    }
  }
  return most;
}

// ECMP makes some link carry more than others, and equal messages that begin together still end
// with the bundle; so they do where the busiest link carries messages of one latency.
TEST(AllToAll, BundlesEqualMessagesOnCollidingWays) {
  EXPECT_LT(on_colliding_ways(3, false).share, kExact);
  EXPECT_LT(on_colliding_ways(2, true).share, kExact);
}

// In three tiers it carries two kinds, of which the nearer begins 0.3 us before the farther; who is
// ahead then differs, by no more than that. It shows where a message takes about as long.
TEST(AllToAll, BundlesDifferByLatenciesOnCollidingWays) {
  const Deviation most = on_colliding_ways(3, true);
  EXPECT_GT(most.share, 0.001);
  EXPECT_LT(most.share, 0.03);
  EXPECT_LT(most.seconds, 0.3e-6);
}

// Every resource carries the same, whether message by message or in bundles, and a NIC's port what
// its rank sends to and receives from other servers.
TEST(AllToAll, EveryLinkCarriesItsMessages) {
  const auto tree = fat_tree(R"("tiers": 2, "radix": 8, "rails": 2, "routing": "ecmp")");
  const std::vector<double> steps = run(direct(8, 2, "steps"), 16e6, tree).carried,
                            flow = run(direct(8, 2, "flow"), 16e6, tree).carried;
  ASSERT_EQ(steps.size(), flow.size());
  for (std::size_t i = 0; i < steps.size(); ++i) EXPECT_NEAR(steps[i], flow[i], 1e-3) << i;
  // Parts of 1 MB: 14 to other servers, 1 to the neighbour, 1 to itself; NVLink, PCIe and port.
  int ports = 0, neighbours = 0;
  for (const double carried : flow) {
    ports += std::abs(carried - 14e6) < 1e-3;
    neighbours += std::abs(carried - 1e6) < 1e-3;
  }
  EXPECT_GE(ports, 16 * 4) << "port and PCIe, out and in, of 16 cards";
  EXPECT_GE(neighbours, 16 * 2) << "NVLink, out and in, of 16 GPUs";
}

/// The choice for a probe with that algorithm asked for.
Json choice(const std::string& operation, const std::string& algorithm) {
  Ideal ideal = direct(2, 2, "flow");
  ideal.algorithm = algorithm;
  const std::string probe =
      R"("probes": {"p": {"operation": ")" + operation + R"(", "bytes": "1 MB"}})";
  return testing::run_text_scenario(testing::ideal_scenario(ideal, probe))
      .at("probes")
      .at("p")
      .at("collectives")
      .items()
      .front();
}

// Who does not do an operation is named only when it was asked for.
TEST(AllToAll, WhoDoesIt) {
  for (const std::string other :
       {"ring", "tree", "pat", "hierarchical", "sharp", "nvls", "nvls_tree"}) {
    const Json c = choice("all_to_all", other);
    EXPECT_EQ(c.at("algorithm").as_string(), "direct");
    EXPECT_EQ(c.at("refused").as_string(), other + ": does no all_to_all");
  }
  EXPECT_EQ(choice("all_to_all", "auto").find("refused"), nullptr);
  EXPECT_EQ(choice("all_gather", "auto").find("refused"), nullptr);
  EXPECT_EQ(choice("all_gather", "direct").at("refused").as_string(), "direct: does no all_gather");
}

// nccl-tests' busbw of an all_to_all is the card's rate where each of N servers has one GPU, and
// nearly N/(N-1) times that where each has many (its authors in NVIDIA/nccl-tests #130).
TEST(AllToAll, BusBandwidthIsTheCards) {
  for (const int gpus : {1, 4}) {
    Ideal ideal = direct(4, gpus, "flow");
    ideal.latency_us = 0;
    const Json result = testing::run_text_scenario(testing::ideal_scenario(
        ideal, R"("probes": {"p": {"operation": "all_to_all", "bytes": "1 GB"}})"));
    const double n = 4.0 * gpus, across = (n - gpus) / n, all = (n - 1) / n;
    EXPECT_NEAR(
        result.at("probes").at("p").at("busbw_bytes_per_s").as_number() / (50e9 * all / across), 1,
        kExact);
  }
}

}  // namespace
}  // namespace trainyard
