// Topologies: counts by formula, and routes and trees that really connect what they should.
#include <gtest/gtest.h>

#include <set>

#include "sim/routes.hpp"
#include "sim/topology_graph.hpp"
#include "tests/support_scenario.hpp"

namespace trainyard {
namespace {

struct Built {
  LoadedScenario loaded;
  std::unique_ptr<Topology> topology;
};

Built build(int servers, int nics, const std::string& network,
            const std::vector<std::string>& more = {}) {
  testing::Ideal c;
  c.servers = servers;
  c.gpus_per_server = nics;
  LoadOptions options;
  options.sets = {"cluster.network=" + network};
  options.sets.insert(options.sets.end(), more.begin(), more.end());
  Built b{load_scenario_text(testing::ideal_scenario(c, R"("probes": {"p": {"bytes": "1 B"}})"),
                             "t", options),
          nullptr};
  b.topology = b.loaded.scenario.cluster.network->build(b.loaded.scenario.cluster.server, servers);
  return b;
}

std::string fat_tree(int tiers, int radix, int rails, double oversubscription,
                     const std::string& routing = "d-mod-k") {
  return fmt::format(
      R"({{"kind":"fat-tree","tiers":{},"rails":{},"oversubscription":{},"routing":"{}","switch":{{"ports":{},"rate":"50 GB/s"}}}})",
      tiers, rails, oversubscription, routing, radix);
}

// L = R·ceil(N/R / d) leaves; pods of 16 leaves with 20 aggregation switches; 20·2 cores.
TEST(FatTree, CountsOfTheDgxA100Fabric) {
  const Built b = build(128, 8, fat_tree(3, 40, 8, 1));
  EXPECT_EQ(b.topology->switches(), 8U * 7 + 4 * 20 + 40);
  EXPECT_EQ(b.topology->fabric_links(), 1024U + 56 * 20 + 4 * 20 * 16);
}

TEST(FatTree, CountsOfTwoTiers) {
  // Radix 8, non-blocking: leaves of 4 ports down; 16 NICs on 4 leaves and 2 spines (4·4/2 <= 8).
  EXPECT_EQ(build(16, 1, fat_tree(2, 8, 1, 1)).topology->switches(), 4U + 2);
  // Oversubscribed 3:1: 6 down, 2 up: 3 leaves and 1 spine (3·2 <= 8).
  EXPECT_EQ(build(16, 1, fat_tree(2, 8, 1, 3)).topology->switches(), 3U + 1);
}

TEST(FatTree, TooFewPortsIsADesignError) {
  EXPECT_THROW(build(100, 1, fat_tree(2, 4, 1, 1)), DesignError);
  EXPECT_NO_THROW(build(16, 1, fat_tree(3, 4, 1, 1)));
  EXPECT_THROW(build(100, 1, fat_tree(3, 4, 1, 1)), DesignError);
  EXPECT_THROW(build(4, 2, fat_tree(2, 8, 3, 1)), DesignError) << "3 rails do not divide 2 NICs";
}

void expect_connected(const Built& b, const std::string& what) {
  const Topology& t = *b.topology;
  const auto nics = static_cast<std::size_t>(t.servers() * t.nics_per_server());
  for (std::size_t i = 0; i < nics; ++i) {
    for (std::size_t j = 0; j < nics; ++j) {
      if (i == j) continue;
      const auto nic = [&](std::size_t n) {
        return t.nic_node(ServerId(n / static_cast<std::size_t>(t.nics_per_server())),
                          static_cast<int>(n) % t.nics_per_server());
      };
      std::vector<ResourceId> links;
      t.route(nic(i), nic(j), links);
      NodeId at = nic(i);
      std::set<ResourceId> seen;
      for (const ResourceId link : links) {
        ASSERT_EQ(t.resource(link).from, at) << what;
        ASSERT_TRUE(seen.insert(link).second) << what;
        at = t.resource(link).to;
      }
      ASSERT_EQ(at, nic(j)) << what;
      ASSERT_LE(links.size(), 6U) << what;
    }
  }
}

TEST(FatTree, EveryRouteConnectsItsEnds) {
  for (const std::string routing : {"d-mod-k", "ecmp"}) {
    expect_connected(build(16, 1, fat_tree(2, 8, 1, 1, routing)), "2 tiers");
    expect_connected(build(16, 2, fat_tree(2, 16, 2, 3, routing)),
                     "2 tiers, rails, oversubscribed");
    expect_connected(build(16, 1, fat_tree(3, 4, 1, 1, routing)), "3 tiers");
    expect_connected(build(12, 2, fat_tree(3, 8, 2, 1, routing)), "3 tiers, rails");
  }
}

// By destination no two flows to different servers of a leaf share a link upwards: a permutation
// between two leaves loses nothing.
TEST(FatTree, DestinationRoutingSpreadsAPermutation) {
  const Built b = build(8, 1, fat_tree(2, 8, 1, 1));
  std::set<ResourceId> used;
  for (std::size_t i = 0; i < 4; ++i) {
    std::vector<ResourceId> links;
    b.topology->route(b.topology->nic_node(ServerId(i), 0),
                      b.topology->nic_node(ServerId(4 + i), 0), links);
    for (const ResourceId link : links) EXPECT_TRUE(used.insert(link).second);
  }
}

// A tree's edges join all its members to one root, each switch to one parent.
TEST(FatTree, AggregationTreesSpanTheirMembers) {
  for (const int tiers : {2, 3}) {
    const Built b = build(16, 1, fat_tree(tiers, tiers == 2 ? 8 : 4, 1, 1));
    for (const std::size_t members : {1U, 2U, 5U, 16U}) {
      std::vector<NodeId> nics;
      for (std::size_t i = 0; i < members; ++i)
        nics.push_back(b.topology->nic_node(ServerId(i * 16 / members), 0));
      const AggregationTree tree = b.topology->aggregation_tree(nics, 3);
      std::map<NodeId, NodeId> parent;
      int leaves = 0;
      for (const TreeEdge& e : tree.edges) {
        const Resource& up = b.topology->resource(e.up);
        EXPECT_TRUE(parent.emplace(up.from, up.to).second);
        EXPECT_EQ(b.topology->resource(e.down).from, up.to);
        EXPECT_EQ(b.topology->resource(e.down).to, up.from);
        leaves += e.level == 0 ? e.leaves : 0;
      }
      EXPECT_EQ(leaves, static_cast<int>(members));
      std::set<NodeId> roots;
      for (NodeId at : nics) {
        while (parent.contains(at)) at = parent.at(at);
        roots.insert(at);
      }
      EXPECT_EQ(roots.size(), 1U);
      EXPECT_EQ(tree.switches.back(), *roots.begin());
    }
  }
}

TEST(Topology, GraphHoldsEveryEdge) {
  const Built b = build(4, 2, fat_tree(2, 8, 2, 1));
  std::size_t edges = 0;
  for (const Resource& r : b.topology->resources()) edges += r.from.valid() ? 1 : 0;
  EXPECT_EQ(boost::num_edges(b.topology->graph()), edges);
  EXPECT_EQ(b.topology->resource_name(b.topology->host_memory(ServerId(2))), "server2 host memory");
}

// The network stack on a DPU's few slow cores: 2 x 8 cores of 0.35 move a node's bytes at
// 16 · 0.35 · 5.25 GB/s · 0.95 / 2 each way, far below what the host's cores and memory could.
TEST(Transport, TcpOnDpuCoresIsBoundByThem) {
  const std::string traditional =
      std::string(TRAINYARD_SOURCE_DIR) + "/scenarios/claim/traditional.json";
  const double host = testing::run_file_scenario(traditional, {"jobs=[]"})
                          .at("metrics")
                          .at("allreduce_time_s")
                          .as_number();
  const double dpu = testing::run_file_scenario(
                         traditional, {"jobs=[]", "cluster.server.dpu=bluefield-2",
                                       "cluster.server.dpus=2", "cluster.transport.placement=dpu",
                                       "cluster.server.dpu.memory_bandwidth=1000 GB/s"})
                         .at("metrics")
                         .at("allreduce_time_s")
                         .as_number();
  const double node = 16 * 0.35 * 5.25e9 * 0.95 / 2;
  EXPECT_NEAR(dpu / (2 * 1023.0 / 1024 * 2147483648.0 / node), 1, 0.05);
  EXPECT_GT(dpu, host);
}

}  // namespace
}  // namespace trainyard
