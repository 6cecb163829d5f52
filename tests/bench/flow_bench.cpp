// How fast the max-min solver and its calendar are, without SimGrid: irregular traffic on a fat
// tree, rings in steps, and one flow over very many resources. What is checked is only what a hand
// calculation gives; the rest is for tests/unit/flow_*.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/flow_core.hpp"
#include "sim/random.hpp"
#include "tests/bench/check.hpp"

namespace trainyard {
namespace {

constexpr double kCapacity = 50e9;  // bytes/s of every link

/// Two tiers, as many links up as down: hosts' links, then each leaf's links to every spine.
class FatTree {
 public:
  explicit FatTree(std::size_t hosts) : hosts_(hosts) {}
  std::vector<double> capacities() const { return std::vector<double>(4 * hosts_, kCapacity); }

  FlowPath route(std::size_t from, std::size_t to, std::uint64_t hash) const {
    const std::size_t spine = hash % kRadix;
    FlowPath path;
    use(path, from);
    if (from / kRadix != to / kRadix) {
      use(path, 2 * hosts_ + from / kRadix * kRadix + spine);
      use(path, 3 * hosts_ + to / kRadix * kRadix + spine);
    }
    use(path, hosts_ + to);
    return path;
  }

 private:
  static constexpr std::size_t kRadix = 32;  // hosts of a leaf, and spines
  static void use(FlowPath& path, std::size_t resource) {
    path.shares.push_back({ResourceId(resource), 1});
  }
  std::size_t hosts_;
};

struct Traffic {
  std::vector<FlowPath> paths;
  std::vector<double> bytes;
};

enum class Sizes { kEqual, kUniform, kExponential };

/// `flows` between random hosts, 1 GB each or on average.
Traffic random_traffic(const FatTree& tree, std::size_t hosts, std::size_t flows, Sizes sizes) {
  Random random(20240607);
  const auto below = [&random](std::size_t n) {
    return static_cast<std::size_t>(random.uniform() * static_cast<double>(n));
  };
  Traffic traffic;
  for (std::size_t i = 0; i < flows; ++i) {
    const std::size_t from = below(hosts), to = (from + 1 + below(hosts - 1)) % hosts;
    traffic.paths.push_back(tree.route(from, to, below(1U << 30)));
    traffic.bytes.push_back(sizes == Sizes::kEqual     ? 1e9
                            : sizes == Sizes::kUniform ? 2e9 * random.uniform()
                                                       : random.exponential(1e9));
  }
  return traffic;
}

/// Runs until nothing is left; returns the number of events.
std::size_t drain(FlowCore& core) {
  std::size_t events = 0;
  for (; !core.idle(); ++events) core.advance(core.next_date());
  return events;
}

void report(benchmark::State& state, const FlowCore& core, std::size_t events) {
  const FlowSolver::Counters& c = core.solver().counters();
  state.counters["events"] = static_cast<double>(events);
  state.counters["solves"] = static_cast<double>(c.solves);
  state.counters["evaluations"] = static_cast<double>(c.evaluations);
  state.counters["changed"] = static_cast<double>(c.flows_changed);
  state.counters["component_solves"] = static_cast<double>(c.component_solves);
}

/// Every link has carried what its flows lay on it, and none faster than it is.
void expect_all_carried(benchmark::State& state, const FlowCore& core, const Traffic& traffic) {
  const std::vector<double> carried = core.carried();
  std::vector<double> expected(carried.size());
  for (std::size_t i = 0; i < traffic.paths.size(); ++i) {
    for (const Share& share : traffic.paths[i].shares)
      expected[share.resource.index()] += traffic.bytes[i];
  }
  for (std::size_t r = 0; r < carried.size(); ++r) {
    if (!bench::expect(state, "what a link carried", carried[r], expected[r])) return;
  }
  const double least = *std::max_element(expected.begin(), expected.end()) / kCapacity;
  if (core.now() < least * (1 - bench::kRounding)) state.SkipWithError("ended too early");
}

/// All start at once, or one after another within as long as two of them take alone.
void random_flows(benchmark::State& state, Sizes sizes, bool staggered) {
  const auto hosts = static_cast<std::size_t>(state.range(0));
  const FatTree tree(hosts);
  const Traffic traffic = random_traffic(tree, hosts, 4 * hosts, sizes);
  const double gap = staggered ? 2 * 1e9 / kCapacity / static_cast<double>(4 * hosts) : 0;
  for (auto _ : state) {
    FlowCore core(tree.capacities());
    std::size_t events = 0;
    for (std::size_t i = 0; i < traffic.paths.size(); ++i) {
      const double start = gap * static_cast<double>(i);
      for (; staggered && core.next_date() <= start; ++events) core.advance(core.next_date());
      core.pass_to(start);
      core.start_flow(OpId(i), traffic.paths[i], traffic.bytes[i]);
    }
    report(state, core, events + drain(core));
    expect_all_carried(state, core, traffic);
  }
}

void BM_RandomSizes(benchmark::State& state) { random_flows(state, Sizes::kUniform, false); }
void BM_EqualSizes(benchmark::State& state) { random_flows(state, Sizes::kEqual, false); }
void BM_ExponentialSizes(benchmark::State& state) {
  random_flows(state, Sizes::kExponential, false);
}
void BM_EqualSizesStaggered(benchmark::State& state) { random_flows(state, Sizes::kEqual, true); }
BENCHMARK(BM_RandomSizes)->Arg(1024)->Iterations(1)->Unit(benchmark::kSecond);
BENCHMARK(BM_ExponentialSizes)->Arg(1024)->Iterations(1)->Unit(benchmark::kSecond);
BENCHMARK(BM_EqualSizes)->Arg(16384)->Iterations(1)->Unit(benchmark::kSecond);
BENCHMARK(BM_EqualSizesStaggered)->Arg(1024)->Arg(16384)->Iterations(1)->Unit(benchmark::kSecond);

/// A ring of 1,024 messages, 2,000 times. Each is over 8 resources of its own, or over 6 and one
/// that it shares with each neighbour (a host's memory: written by one message, read by the next).
void ring_steps(benchmark::State& state, double latency) {
  constexpr std::size_t kRanks = 1024, kSteps = 2000, kOwn = 8;
  constexpr double kBytes = 1e6;
  const bool shared = state.range(0) != 0;
  std::vector<FlowPath> ring(kRanks);
  for (std::size_t i = 0; i < kRanks; ++i) {
    for (std::size_t k = 0; k < (shared ? kOwn - 2 : kOwn); ++k) {
      ring[i].shares.push_back({ResourceId(i * kOwn + k), 1});
    }
    if (shared) {
      ring[i].shares.push_back({ResourceId(kRanks * kOwn + i), 1});
      ring[i].shares.push_back({ResourceId(kRanks * kOwn + (i + 1) % kRanks), 1});
    }
    ring[i].latency = Seconds::of(latency);
  }
  for (auto _ : state) {
    FlowCore core(std::vector<double>(kRanks * (kOwn + 1), kCapacity));
    std::size_t events = 0;
    for (std::size_t step = 0; step < kSteps; ++step) {
      for (std::size_t i = 0; i < kRanks; ++i) core.start_flow(OpId(i), ring[i], kBytes);
      events += drain(core);
    }
    report(state, core, events);
    bench::expect(state, "the end", core.now(),
                  kSteps * (latency + (shared ? 2 : 1) * kBytes / kCapacity));
  }
}

void BM_Ring(benchmark::State& state) { ring_steps(state, 0); }
void BM_RingWithLatency(benchmark::State& state) { ring_steps(state, 2e-6); }
BENCHMARK(BM_Ring)->ArgName("shared")->Arg(0)->Arg(1)->Iterations(1)->Unit(benchmark::kSecond);
BENCHMARK(BM_RingWithLatency)
    ->ArgName("shared")
    ->Arg(0)
    ->Arg(1)
    ->Iterations(1)
    ->Unit(benchmark::kSecond);

/// Messages of one path, 32 at a time, each replaced when it ends: micro-batches of a pipeline.
void BM_EqualMessages(benchmark::State& state) {
  constexpr std::size_t kAtOnce = 32, kMessages = 100'000;
  FlowPath path;
  for (std::size_t r = 0; r < 8; ++r) path.shares.push_back({ResourceId(r), 1});
  for (auto _ : state) {
    FlowCore core(std::vector<double>(8, kCapacity));
    std::size_t started = 0;
    for (; started < kAtOnce; ++started) {
      core.start_flow(OpId(started), path, 1e6 * static_cast<double>(1 + started));
    }
    std::size_t events = 0;
    for (; !core.idle(); ++events) {
      core.advance(core.next_date());
      for (std::size_t i = 0; i < core.ended().size() && started < kMessages; ++i) {
        core.start_flow(OpId(started++), path, 32e6);
      }
    }
    report(state, core, events);
    // The links never idle: 1 + … + 32 MB, and 32 MB for each of the others.
    bench::expect(state, "the end", core.now(),
                  (1e6 * kAtOnce * (kAtOnce + 1) / 2 + 32e6 * (kMessages - kAtOnce)) / kCapacity);
  }
}
BENCHMARK(BM_EqualMessages)->Iterations(1)->Unit(benchmark::kSecond);

/// A collective as one flow over every link of its tree, 1,000 times.
void BM_OneWideFlow(benchmark::State& state) {
  constexpr std::size_t kResources = 20'000, kTimes = 1000;
  FlowPath path;
  for (std::size_t r = 0; r < kResources; ++r) path.shares.push_back({ResourceId(r), 1});
  for (auto _ : state) {
    FlowCore core(std::vector<double>(kResources, kCapacity));
    std::size_t events = 0;
    for (std::size_t i = 0; i < kTimes; ++i) {
      core.start_flow(OpId(i), path, 1e9);
      events += drain(core);
    }
    report(state, core, events);
    bench::expect(state, "the end", core.now(), kTimes * 1e9 / kCapacity);
  }
}
BENCHMARK(BM_OneWideFlow)->Iterations(1)->Unit(benchmark::kSecond);

}  // namespace
}  // namespace trainyard
