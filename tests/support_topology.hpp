// Clusters of a given network, built from a scenario as a user writes it.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "sim/topology.hpp"
#include "tests/support_scenario.hpp"

namespace trainyard::testing {

struct Built {
  LoadedScenario loaded;
  std::unique_ptr<Topology> topology;
};

/// Servers of as many GPUs as NICs, whose ports carry 50 GB/s; `network` is the scenario's.
inline Built build(int servers, int nics, const std::string& network,
                   const std::vector<std::string>& more = {}) {
  Ideal c;
  c.servers = servers;
  c.gpus_per_server = nics;
  LoadOptions options;
  options.sets = {"cluster.network=" + network};
  options.sets.insert(options.sets.end(), more.begin(), more.end());
  Built b{
      load_scenario_text(ideal_scenario(c, R"("probes": {"p": {"bytes": "1 B"}})"), "t", options),
      nullptr};
  b.topology = b.loaded.scenario.cluster.network->build(b.loaded.scenario.cluster.server, servers);
  return b;
}

inline std::string fat_tree(int tiers, int radix, int rails, double oversubscription,
                            const std::string& routing = "d-mod-k") {
  return fmt::format(
      R"({{"kind":"fat-tree","tiers":{},"rails":{},"oversubscription":{},"routing":"{}","switch":{{"ports":{},"rate":"50 GB/s"}}}})",
      tiers, rails, oversubscription, routing, radix);
}

inline std::string crossbar() {
  return R"({"kind":"crossbar","switch":{"ports":64,"rate":"50 GB/s"}})";
}

/// Shapes that differ in what a fat tree distinguishes: small enough to look at every pair.
struct Shape {
  std::string what;
  int servers, nics;
  std::string network;
};
inline std::vector<Shape> shapes(const std::string& routing = "d-mod-k") {
  return {
      {"crossbar", 5, 3, crossbar()},
      {"one leaf", 3, 1, fat_tree(2, 8, 1, 1, routing)},
      {"one leaf, 3 tiers", 3, 1, fat_tree(3, 8, 1, 1, routing)},
      {"2 tiers", 16, 1, fat_tree(2, 8, 1, 1, routing)},
      {"2 tiers, last leaf not full", 14, 1, fat_tree(2, 8, 1, 1, routing)},
      {"2 tiers, odd radix", 12, 1, fat_tree(2, 7, 1, 1, routing)},
      {"2 tiers, rails, oversubscribed", 16, 2, fat_tree(2, 16, 2, 3, routing)},
      {"3 tiers", 16, 1, fat_tree(3, 4, 1, 1, routing)},
      {"3 tiers, odd radix", 15, 1, fat_tree(3, 5, 1, 1, routing)},
      {"3 tiers, one pod", 6, 1, fat_tree(3, 8, 1, 1, routing)},
      {"3 tiers, rails", 12, 2, fat_tree(3, 8, 2, 1, routing)},
      {"3 tiers, two NICs a rail, oversubscribed", 20, 4, fat_tree(3, 8, 2, 3, routing)},
  };
}

}  // namespace trainyard::testing
