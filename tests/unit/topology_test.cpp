// Topologies: counts by formula, and routes and trees that really connect what they should.
#include <gtest/gtest.h>

#include <random>
#include <set>

#include "sim/routes.hpp"
#include "tests/support_topology.hpp"

namespace trainyard {
namespace {

using testing::build;
using testing::Built;
using testing::fat_tree;

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

NodeId nic_of(const Topology& t, std::size_t i) {
  const auto per_server = static_cast<std::size_t>(t.nics_per_server());
  return t.nic_node(ServerId(i / per_server), static_cast<int>(i % per_server));
}

void expect_connected(const Topology& t, std::size_t i, std::size_t j, const std::string& what) {
  const Route links = t.route(nic_of(t, i), nic_of(t, j));
  NodeId at = nic_of(t, i);
  std::set<ResourceId> seen;
  for (const ResourceId link : links) {
    ASSERT_EQ(t.resource(link).from, at) << what;
    ASSERT_TRUE(seen.insert(link).second) << what;
    at = t.resource(link).to;
  }
  ASSERT_EQ(at, nic_of(t, j)) << what;
  ASSERT_LE(links.size(), 6U) << what;
}

TEST(Topology, EveryRouteConnectsItsEnds) {
  for (const std::string routing : {"d-mod-k", "ecmp"}) {
    for (const testing::Shape& shape : testing::shapes(routing)) {
      const Built b = build(shape.servers, shape.nics, shape.network);
      const auto nics =
          static_cast<std::size_t>(shape.servers) * static_cast<std::size_t>(shape.nics);
      for (std::size_t i = 0; i < nics; ++i) {
        for (std::size_t j = 0; j < nics; ++j) {
          if (i != j) expect_connected(*b.topology, i, j, shape.what);
        }
      }
    }
  }
}

// By destination no two flows to different servers of a leaf share a link upwards: a permutation
// between two leaves loses nothing.
TEST(FatTree, DestinationRoutingSpreadsAPermutation) {
  const Built b = build(8, 1, fat_tree(2, 8, 1, 1));
  std::set<ResourceId> used;
  for (std::size_t i = 0; i < 4; ++i) {
    const Topology& t = *b.topology;
    for (const ResourceId link : t.route(nic_of(t, i), nic_of(t, 4 + i)))
      EXPECT_TRUE(used.insert(link).second);
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
        const Resource up = b.topology->resource(e.up);
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

/// 16,384 servers of 8 GPUs and 8 NICs on 8 rails of 128-port switches. By hand: leaves of 64 NICs,
/// 8 · 16384/64 = 2048 of them, in 32 pods of 64 with 64 switches each; 32 · 64/C <= 128 wants
/// C = 16, so 64 · 16 cores.
Built large(const std::string& routing = "d-mod-k") {
  return build(16384, 8, fat_tree(3, 128, 8, 1, routing));
}

TEST(LargeFatTree, CountsByHand) {
  const Built b = large();
  EXPECT_EQ(b.topology->switches(), 2048U + 32 * 64 + 64 * 16);
  EXPECT_EQ(b.topology->fabric_links(), 131072U + 2048 * 64 + 32 * 64 * 64);
  EXPECT_EQ(b.topology->nodes(), 16384U * (1 + 8 + 8) + 5120);
  // Per server 8 NVLinks and 8 PCIe links both ways, memory and cores.
  EXPECT_EQ(b.topology->resource_count(), 16384U * 34 + 2 * 393216);
}

// Server 10000's NIC 3 is place 10000 of rail 3: port 10000 % 64 = 16 of the rail's leaf 156, leaf
// 156 · 8 + 3 = 1251, which is leaf 35 of pod 19. By destination: uplink 16, core uplink 35, which
// ends at core 16 · 16 + 35 % 16 = 259; aggregation switch 16 of pod 0 and of pod 19.
TEST(LargeFatTree, ARouteByHand) {
  const Built b = large();
  const Topology& t = *b.topology;
  std::vector<std::string> names;
  for (const ResourceId link : t.route(t.nic_node(ServerId(5), 0), t.nic_node(ServerId(10000), 3)))
    names.push_back(t.resource_name(link));
  EXPECT_EQ(names, (std::vector<std::string>{
                       "server5/nic0 -> switch1.0", "switch1.0 -> switch2.16",
                       "switch2.16 -> switch3.259", "switch3.259 -> switch2.1232",
                       "switch2.1232 -> switch1.1251", "switch1.1251 -> server10000/nic3"}));
}

TEST(LargeFatTree, RoutesOfRandomPairsConnectTheirEnds) {
  for (const std::string routing : {"d-mod-k", "ecmp"}) {
    const Built b = large(routing);
    std::mt19937_64 random(1);
    for (int i = 0; i < 2000; ++i) {
      const std::size_t from = random() % 131072, to = random() % 131072;
      if (from != to) expect_connected(*b.topology, from, to, routing);
    }
  }
}

// Rail 0 of every server: 256 leaves of 64 below 32 switches of 8 below one core.
TEST(LargeFatTree, AnAggregationTreeByHand) {
  const Built b = large();
  std::vector<NodeId> nics;
  for (std::size_t s = 0; s < 16384; ++s) nics.push_back(b.topology->nic_node(ServerId(s), 0));
  const AggregationTree tree = b.topology->aggregation_tree(nics, 0);
  EXPECT_EQ(tree.depth, 3);
  EXPECT_EQ(tree.widest, 64);
  EXPECT_EQ(tree.switches.size(), 256U + 32 + 1);
  EXPECT_EQ(tree.edges.size(), 16384U + 256 + 32);
  EXPECT_EQ(tree.edges.back().level, 2);
  EXPECT_EQ(tree.edges.back().leaves, 512);
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
