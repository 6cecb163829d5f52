// Topology::rails_alike(): what holds for the NICs of one number holds for those of every other.
#include <gtest/gtest.h>

#include <map>

#include "tests/support_scenario.hpp"

namespace trainyard {
namespace {

std::unique_ptr<Topology> build(const std::string& network, int servers) {
  const std::string text = R"({"name": "t", "cluster": {"servers": )" + std::to_string(servers) +
                           R"(, "server": "dgx-h100", "transport": "rdma", "gpudirect": true,
      "collectives": "nccl", "network": )" +
                           network + R"(}, "probes": {"x": {"bytes": "1 B"}}})";
  LoadedScenario loaded = load_scenario_text(text, "t.json", {});
  return build_design(loaded);
}

/// Whether exchanging NIC number 0 for any other one exchanges links one for one, with equal rates
/// and latencies, and no link serves two numbers. Looks at every pair of servers.
bool exchangeable(const Topology& topology) {
  std::map<ResourceId, int> rail_of;
  for (int n = 0; n < topology.nics_per_server(); ++n) {
    std::map<ResourceId, ResourceId> image;  // of links of rail 0
    for (int a = 0; a < topology.servers(); ++a) {
      for (int b = 0; b < topology.servers(); ++b) {
        if (a == b) continue;
        const ServerId from(static_cast<std::size_t>(a)), to(static_cast<std::size_t>(b));
        const Route first = topology.route(topology.nic_node(from, 0), topology.nic_node(to, 0));
        const Route other = topology.route(topology.nic_node(from, n), topology.nic_node(to, n));
        if (first.size() != other.size()) return false;
        auto it = other.begin();
        for (const ResourceId link : first) {
          const ResourceId mine = *it++;
          if (image.try_emplace(link, mine).first->second != mine) return false;
          if (rail_of.try_emplace(mine, n).first->second != n) return false;
          if (topology.capacity_of(link) != topology.capacity_of(mine) ||
              topology.latency_of(link) != topology.latency_of(mine))
            return false;
        }
      }
    }
  }
  return true;
}

std::string fat_tree(int tiers, int radix, int rails, double oversubscription,
                     const std::string& routing) {
  return R"({"kind": "fat-tree", "switch": "qm9700", "tiers": )" + std::to_string(tiers) +
         R"(, "radix": )" + std::to_string(radix) + R"(, "rails": )" + std::to_string(rails) +
         R"(, "oversubscription": )" + std::to_string(oversubscription) + R"(, "routing": ")" +
         routing + R"("})";
}

// The promise is kept wherever it is made, and it is made where rails are what they should be.
TEST(Rails, AreAlikeWhereTheTopologySaysSo) {
  struct Case {
    std::string network;
    int servers;
    bool alike;
  };
  const std::vector<Case> cases{
      {fat_tree(2, 64, 8, 1, "d-mod-k"), 40, true},
      {fat_tree(2, 32, 8, 3, "d-mod-k"), 50, true},
      {fat_tree(2, 20, 8, 1, "d-mod-k"), 18, true},
      {fat_tree(3, 16, 8, 1, "d-mod-k"), 60, true},
      {fat_tree(3, 32, 8, 1, "d-mod-k"), 70, true},
      {fat_tree(3, 12, 8, 1, "d-mod-k"), 24, false},  // pods cut through the rails
      {fat_tree(2, 64, 8, 1, "ecmp"), 40, false},
      {fat_tree(2, 64, 1, 1, "d-mod-k"), 40, false},
      {fat_tree(2, 64, 4, 1, "d-mod-k"), 40, false},
      {R"({"kind": "crossbar", "switch": "qm9700"})", 20, true},
  };
  for (const Case& one : cases) {
    SCOPED_TRACE(one.network);
    const auto topology = build(one.network, one.servers);
    EXPECT_EQ(topology->rails_alike(), one.alike);
    EXPECT_TRUE(!topology->rails_alike() || exchangeable(*topology));
  }
}

// The check itself can tell: hashing, and leaves that cut servers in two, are not alike.
TEST(Rails, AreToldApartWhereTheyDiffer) {
  EXPECT_FALSE(exchangeable(*build(fat_tree(2, 64, 8, 1, "ecmp"), 70)));
  EXPECT_FALSE(exchangeable(*build(fat_tree(3, 20, 1, 1, "d-mod-k"), 40)));
}

}  // namespace
}  // namespace trainyard
