// How fast a cluster is built, routes through it are found, and replicas on it are folded.
#include <benchmark/benchmark.h>

#include <cstddef>
#include <utility>
#include <vector>

#include "sim/folding.hpp"
#include "sim/random.hpp"
#include "sim/routes.hpp"
#include "tests/bench/check.hpp"
#include "tests/support_topology.hpp"

namespace trainyard {
namespace {

constexpr std::size_t kGpus = 8;  // of a server, and NICs, and rails

/// 128 servers on leaves of 32 ports down, or 16,384 of them on leaves of 64 in pods of 64 leaves.
testing::Built cluster(std::size_t servers) {
  const bool large = servers > 128;
  return testing::build(static_cast<int>(servers), kGpus,
                        testing::fat_tree(large ? 3 : 2, large ? 128 : 64, kGpus, 1));
}

void BM_BuildTopology(benchmark::State& state) {
  const auto servers = static_cast<std::size_t>(state.range(0)) / kGpus;
  const testing::Built built = cluster(servers);
  const Cluster& design = built.loaded.scenario.cluster;
  // 1,024 GPUs: 8 · 128/32 leaves and 32 · 32/64 spines. 131,072: 8 · 16384/64 leaves, in each of
  // their 32 pods 64 switches, and 64 · 16 cores (32 pods · 64/16 uplinks fill a core's 128 ports).
  const bool large = servers > 128;
  const double switches = large ? 2048 + 32 * 64 + 64 * 16 : 32 + 16;
  const double links = large ? 131072 + 2048 * 64 + 32 * 64 * 64 : 1024 + 32 * 32;
  for (auto _ : state) {
    const auto topology = design.network->build(design.server, design.servers);
    if (!bench::expect(state, "switches", static_cast<double>(topology->switches()), switches) ||
        !bench::expect(state, "links", static_cast<double>(topology->fabric_links()), links))
      return;
  }
}
BENCHMARK(BM_BuildTopology)
    ->ArgName("gpus")
    ->Arg(1024)
    ->Arg(131'072)
    ->Unit(benchmark::kMicrosecond);

/// NVLink out and in; or PCIe out and in and, on 131,072 GPUs, the links up to what leaf, pod or
/// core the two have in common and down again. A leaf serves a rail of 64 servers, a pod 512.
std::size_t uses_by_hand(Rank from, Rank to) {
  const std::size_t a = from.index() / kGpus, b = to.index() / kGpus;
  if (a == b) return 2;
  if (a / 64 == b / 64 && from.index() % kGpus == to.index() % kGpus) return 2 + 2;
  return a / 512 == b / 512 ? 2 + 4 : 2 + 6;
}

void BM_Message(benchmark::State& state) {
  constexpr std::size_t kServers = 16'384, kPairs = 4096, kNear = 1024;
  const testing::Built built = cluster(kServers);
  const Routes routes(built.loaded.scenario.cluster, *built.topology);
  Random random(1);
  std::vector<std::pair<Rank, Rank>> pairs;
  std::size_t expected = 0;
  while (pairs.size() < kPairs) {
    // Half of the pairs are near each other, so that all kinds of routes are among them.
    const double all = kServers * kGpus, reach = pairs.size() % 2 == 0 ? all : kNear;
    const Rank from(static_cast<std::size_t>(random.uniform() * all)),
        to((from.index() + static_cast<std::size_t>(random.uniform() * reach)) %
           (kServers * kGpus));
    if (from == to) continue;
    pairs.emplace_back(from, to);
    expected += uses_by_hand(from, to);
  }
  for (auto _ : state) {
    std::size_t uses = 0;
    for (const auto& [from, to] : pairs) uses += routes.message(from, to).shares.size();
    if (!bench::expect(state, "resources used", static_cast<double>(uses),
                       static_cast<double>(expected)))
      return;
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(kPairs));
}
BENCHMARK(BM_Message)->Unit(benchmark::kMicrosecond);

/// The messages of replicas of 8 stages, a server each: replica r's stage s is server s·R + r.
FlowCollection pipelines(const Routes& routes, std::size_t replicas) {
  constexpr std::size_t kStages = 8;
  FlowCollection flows;
  for (std::size_t stage = 0; stage + 1 < kStages; ++stage) {
    for (std::size_t r = 0; r < replicas; ++r) {
      for (std::size_t gpu = 0; gpu < kGpus; ++gpu) {
        const Rank from((stage * replicas + r) * kGpus + gpu);
        const Rank to(from.index() + replicas * kGpus);
        flows.add(static_cast<FlowCollection::Kind>(stage * kGpus + gpu),
                  static_cast<FlowCollection::Member>(r), routes.message(from, to));
      }
    }
  }
  return flows;
}

// Replicas are blocks of consecutive servers that leaves and pods hold whole, so that destination
// routing gives each message links of its own: all replicas are one class, and a NIC's port stands
// for all links of the messages that it is for. Those stay below a leaf (2 links each) or, of
// 131,072 GPUs, go from pod to pod (6).
void BM_Fold(benchmark::State& state) {
  const auto servers = static_cast<std::size_t>(state.range(0)) / kGpus;
  const std::size_t replicas = servers / 8, links = servers > 128 ? 6 : 2;
  const testing::Built built = cluster(servers);
  const Routes routes(built.loaded.scenario.cluster, *built.topology);
  for (auto _ : state) {
    const auto folding = Folding::find(*built.topology, pipelines(routes, replicas),
                                       std::vector<std::uint32_t>(replicas));
    if (!bench::expect(state, "classes", folding ? folding->class_count() : 0, 1)) return;
    const ResourceId port = built.topology->port_out(ServerId(0), 0);
    if (!bench::expect(state, "links that one stands for",
                       folding->stands_for(folding->stand_in(port)),
                       static_cast<double>(replicas * links)))
      return;
  }
}
BENCHMARK(BM_Fold)->ArgName("gpus")->Arg(1024)->Arg(131'072)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace trainyard
