// Nodes and resources by number: what stands at the borders of blocks, that every accessor names
// what it says, and that the whole is the network that Boost's algorithms expect of its formulas.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/fake_topology.hpp"
#include "tests/support_topology.hpp"
#include "tests/topology_graph.hpp"

namespace trainyard {
namespace {

using testing::build;
using testing::Built;
using ::testing::ElementsAre;
using testing::fat_tree;

ResourceTraits traits(double capacity, bool of_server = false) {
  return {ResourceKind::kLink, capacity, Seconds(), of_server};
}

TEST(ResourceBlocks, RepeatTheirPattern) {
  ResourceBlocks blocks;
  const auto between = [](std::size_t i, std::size_t way) {
    return way == 0 ? Ends{NodeId(i), NodeId(9)} : Ends{NodeId(9), NodeId(i)};
  };
  EXPECT_EQ(blocks.add(3, {traits(1), traits(2)}, between), ResourceId(0));
  EXPECT_EQ(blocks.add(2, {traits(3, true)}), ResourceId(6));
  EXPECT_EQ(blocks.add(1, {traits(4), traits(5), traits(6)}), ResourceId(8));
  EXPECT_EQ(blocks.size(), 11U);
  std::vector<double> capacities;
  std::vector<std::size_t> ids;
  blocks.each([&](ResourceId id, const ResourceTraits& all) {
    ids.push_back(id.index());
    capacities.push_back(all.capacity);
    EXPECT_EQ(blocks.traits(id).capacity, all.capacity);
    EXPECT_EQ(blocks.resource(id).capacity, all.capacity);
  });
  EXPECT_THAT(capacities, ElementsAre(1, 2, 1, 2, 1, 2, 3, 3, 4, 5, 6));
  EXPECT_THAT(ids, ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10));
  // The last of one block and the first of the next.
  EXPECT_EQ(blocks.resource(ResourceId(5)).from, NodeId(9));
  EXPECT_EQ(blocks.resource(ResourceId(5)).to, NodeId(2));
  EXPECT_FALSE(blocks.resource(ResourceId(6)).from.valid());
  EXPECT_FALSE(blocks.server_of(ResourceId(5)).valid());
  EXPECT_EQ(blocks.server_of(ResourceId(6)), ServerId(0));
  EXPECT_EQ(blocks.server_of(ResourceId(7)), ServerId(1));
  EXPECT_EQ(blocks.resource(ResourceId(7)).server, ServerId(1));
  EXPECT_FALSE(blocks.server_of(ResourceId(8)).valid());
  blocks.set_capacity(ResourceId(7), 30);
  EXPECT_EQ(blocks.traits(ResourceId(6)).capacity, 30);
}

TEST(ResourceBlocks, MoreThanIdsCanNumberIsADesignError) {
  ResourceBlocks blocks;
  blocks.add(std::size_t{1} << 31, {traits(1)});
  EXPECT_THROW(blocks.add(std::size_t{1} << 30, {traits(1), traits(1)}), DesignError);
  EXPECT_EQ(blocks.size(), std::size_t{1} << 31) << "nothing is left of a block that was refused";
}

// A million servers cost no more than one: by the resource they would need a hundred gigabytes.
TEST(Topology, NothingIsStoredPerServer) {
  const Built b = build(1000000, 4, testing::crossbar());
  EXPECT_EQ(b.topology->resource_count(), 1000000U * (2 * 4 + 2 * 4 + 2 + 2 * 4));
  EXPECT_EQ(b.topology->resource_name(ResourceId(26000000 - 1)), "switch1.0 -> server999999/nic3");
}

// Two GPUs share a NIC; a DPU, an engine and storage over a network of its own follow the fabric.
TEST(Topology, EveryAccessorNamesWhatItSays) {
  Built b =
      build(3, 2, testing::crossbar(),
            {"cluster.server.gpus=4",
             R"(cluster.server.dpu={"rate":"10 GB/s","cores":8,"memory_bandwidth":"20 GB/s"})",
             "cluster.server.dpus=1"});
  Topology& t = *b.topology;
  const auto expect = [&](ResourceId id, ResourceKind kind, const std::string& name) {
    EXPECT_EQ(t.resource_name(id), name);
    EXPECT_EQ(t.kind_of(id), kind) << name;
    EXPECT_EQ(t.resource(id).kind, kind) << name;
    EXPECT_EQ(t.resource(id).capacity, t.capacity_of(id)) << name;
    EXPECT_EQ(t.resource(id).latency, t.latency_of(id)) << name;
    EXPECT_EQ(t.resource(id).server, t.server_of_resource(id)) << name;
  };
  const auto expect_edges = [&](ResourceId there, ResourceId back, ResourceKind kind,
                                const std::string& low, const std::string& high) {
    expect(there, kind, fmt::format("{} -> {}", low, high));
    expect(back, kind, fmt::format("{} -> {}", high, low));
  };
  for (std::size_t r = 0; r < 12; ++r) {
    expect_edges(t.nvlink_out(Rank(r)), t.nvlink_in(Rank(r)), ResourceKind::kNvLink,
                 fmt::format("server{}/gpu{}", r / 4, r % 4),
                 fmt::format("server{}/nvswitch", r / 4));
  }
  for (std::size_t s = 0; s < 3; ++s) {
    const ServerId id(s);
    const std::string server = fmt::format("server{}", s);
    for (int n = 0; n < 2; ++n) {
      const std::string nic = fmt::format("{}/nic{}", server, n);
      EXPECT_EQ(t.node_name(t.nic_node(id, n)), nic);
      expect_edges(t.pcie_tx(id, n), t.pcie_rx(id, n), ResourceKind::kPcie,
                   fmt::format("{}/gpu{}", server, 2 * n), nic);
      expect_edges(t.port_out(id, n), t.port_in(id, n), ResourceKind::kLink, nic, "switch1.0");
      EXPECT_FALSE(t.server_of_resource(t.port_out(id, n)).valid());
    }
    expect(t.host_memory(id), ResourceKind::kHostMemory, server + " host memory");
    expect(t.network_cores(id), ResourceKind::kNetworkCores, server + " network cores");
    expect(t.dpu_cores(id), ResourceKind::kDpuCores, server + " DPU cores");
    expect(t.dpu_memory(id), ResourceKind::kDpuMemory, server + " DPU memory");
    EXPECT_EQ(t.server_of_resource(t.dpu_memory(id)), id);
  }
}

TEST(Topology, FurnitureFollowsTheFabric) {
  Built b = build(3, 2, testing::crossbar());
  Topology& t = *b.topology;
  const std::size_t bare = t.resource_count();
  Service inspect;
  inspect.placement = "engine";
  inspect.engine_rate = BytesPerSecond::of(7e9);
  ServerLoad load;
  load.host_for_bytes = 5;
  t.add_services(load, {{"inspect", inspect}});
  Storage storage;
  storage.network = "own";
  t.add_storage(storage);
  for (std::size_t s = 0; s < 3; ++s) {
    EXPECT_EQ(t.capacity_of(t.network_cores(ServerId(s))), 5);
    EXPECT_EQ(t.engine("inspect")[ServerId(s)], ResourceId(bare + s));
    EXPECT_EQ(t.resource_name(ResourceId(bare + s)), fmt::format("server{} service engine", s));
    // Four of the storage itself, then each server's ports in and out.
    EXPECT_EQ(t.storage()->ports_in[ServerId(s)], ResourceId(bare + 3 + 4 + 2 * s));
    EXPECT_EQ(t.storage()->ports_out[ServerId(s)], ResourceId(bare + 3 + 4 + 2 * s + 1));
    EXPECT_EQ(t.server_of_resource(t.storage()->ports_out[ServerId(s)]), ServerId(s));
  }
  EXPECT_EQ(t.capacity_of(ResourceId(bare)), 7e9);
  EXPECT_EQ(t.resource_name(t.storage()->targets_in), "storage targets");
  EXPECT_FALSE(t.engine("other").valid());
  EXPECT_FALSE(t.engine("other")[ServerId(1)].valid());
  EXPECT_FALSE(t.dpu_cores(ServerId(0)).valid()) << "these servers have no DPU";
}

TEST(Topology, NodesAreServersThenTiers) {
  const Built b = build(16, 1, fat_tree(3, 4, 1, 1));  // 8 leaves, 8 aggregation switches, 4 cores
  const Topology& t = *b.topology;
  EXPECT_EQ(t.nodes(), 16U * 3 + 8 + 8 + 4);
  EXPECT_EQ(t.first_switch(), NodeId(48));
  const auto name = [&](std::size_t id) { return t.node_name(NodeId(id)); };
  EXPECT_EQ(name(0), "server0/nvswitch");
  EXPECT_EQ(name(46), "server15/gpu0");
  EXPECT_EQ(name(47), "server15/nic0");
  EXPECT_EQ(name(48), "switch1.0");
  EXPECT_EQ(name(55), "switch1.7");
  EXPECT_EQ(name(56), "switch2.0");
  EXPECT_EQ(name(63), "switch2.7");
  EXPECT_EQ(name(64), "switch3.0");
  EXPECT_EQ(name(67), "switch3.3");
  EXPECT_FALSE(testing::FakeTopology().first_switch().valid());
}

// Every link is in the fabric once: a switch has no more links than ports, and what one end counts
// the other does.
TEST(Topology, NoSwitchHasMoreLinksThanPorts) {
  for (const testing::Shape& shape : testing::shapes()) {
    if (shape.what == "crossbar") continue;  // as many ports as it takes
    const Built b = build(shape.servers, shape.nics, shape.network);
    const Topology& t = *b.topology;
    std::vector<int> out(t.nodes()), in(t.nodes());
    for (std::size_t i = 0; i < t.resource_count(); ++i) {
      const Resource r = t.resource(ResourceId(i));
      if (r.kind != ResourceKind::kLink) continue;
      ++out[r.from.index()];
      ++in[r.to.index()];
    }
    EXPECT_EQ(out, in) << shape.what;
    for (std::size_t n = 0; n < t.nodes(); ++n) {
      const bool is_switch = t.node(NodeId(n)).kind == NodeKind::kSwitch;
      if (is_switch) {
        EXPECT_LE(out[n], t.switch_at(NodeId(n)).ports) << shape.what;
      } else if (t.node(NodeId(n)).kind == NodeKind::kNic) {
        EXPECT_EQ(out[n], 1) << shape.what;
      }
    }
  }
}

// From a NIC every node can be reached, another NIC in at most two links per tier; the route is no
// detour.
TEST(Topology, BoostFindsNoShorterWay) {
  for (const testing::Shape& shape : testing::shapes()) {
    const Built b = build(shape.servers, shape.nics, shape.network);
    const Topology& t = *b.topology;
    const testing::TopologyGraph graph = testing::graph_of(t);
    const NodeId from = t.nic_node(ServerId(0), 0);
    const std::vector<int> hops = testing::distances(graph, from);
    EXPECT_LT(*std::max_element(hops.begin(), hops.end()), 1 << 30) << shape.what;
    if (shape.nics > 1) continue;  // there is a way over the NVSwitches of servers, too
    for (int s = 1; s < shape.servers; ++s) {
      const NodeId to = t.nic_node(ServerId(static_cast<std::size_t>(s)), 0);
      EXPECT_EQ(t.route(from, to).size(), static_cast<std::size_t>(hops[to.index()]))
          << shape.what << ", server " << s;
    }
  }
}

TEST(FatTree, DiameterIsTwoLinksPerTier) {
  for (const int tiers : {2, 3}) {
    const Built b = build(16, 1, fat_tree(tiers, tiers == 2 ? 8 : 4, 1, 1));
    const Topology& t = *b.topology;
    const std::vector<int> hops =
        testing::distances(testing::graph_of(t), t.nic_node(ServerId(0), 0));
    int most = 0;
    for (std::size_t s = 0; s < 16; ++s)
      most = std::max(most, hops[t.nic_node(ServerId(s), 0).index()]);
    EXPECT_EQ(most, 2 * tiers);
  }
}

// Half the ports at 50 GB/s, less the oversubscription where halves are whole leaves.
TEST(FatTree, BisectionByMaximumFlow) {
  EXPECT_NEAR(testing::bisection(*build(16, 1, fat_tree(2, 8, 1, 1)).topology), 8 * 50e9, 1);
  EXPECT_NEAR(testing::bisection(*build(16, 1, fat_tree(3, 4, 1, 1)).topology), 8 * 50e9, 1);
  EXPECT_NEAR(testing::bisection(*build(24, 1, fat_tree(2, 8, 1, 3)).topology), 12 * 50e9 / 3, 1);
  EXPECT_NEAR(testing::bisection(*build(6, 2, testing::crossbar()).topology), 6 * 50e9, 1);
}

}  // namespace
}  // namespace trainyard
