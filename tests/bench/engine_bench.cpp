// How fast the op graph is built and run, without SimGrid: one stage of a pipeline.
#include <benchmark/benchmark.h>

#include <cstdint>

#include "sim/engine.hpp"
#include "tests/bench/check.hpp"
#include "tests/unit/loop_executor.hpp"

namespace trainyard {
namespace {

constexpr double kCapacity = 50e9, kBytes = 25e6;    // a message takes 0.5 ms
constexpr double kForward = 1e-3, kBackward = 2e-3;  // seconds
constexpr double kArrival = kBytes / kCapacity;

/// The operations of one micro-batch, or of as many as there are iterations.
struct Pass {
  OpId arrival, forward, backward;
};

Pass add_pass(OpGraph& graph, PathId path, std::uint32_t number) {
  const Pass pass{graph.add_flow(Rank(0), path, Bytes::of(kBytes), OpRole::kPipelineComm,
                                 graph.label("activations"), number),
                  graph.add_compute(Rank(0), Seconds::of(kForward), OpRole::kCompute,
                                    graph.label("forward"), number),
                  graph.add_compute(Rank(0), Seconds::of(kBackward), OpRole::kCompute,
                                    graph.label("backward"), number)};
  graph.add_edge(pass.arrival, pass.forward);
  graph.add_edge(pass.forward, pass.backward);
  return pass;
}

/// The activations of one micro-batch after another come in; each goes forward, then backward.
OpGraph stage(std::uint32_t micro_batches, bool repeated) {
  OpGraph graph;
  FlowPath link;
  link.shares = {{ResourceId(0), 1}};
  const PathId path = graph.add_path(link);
  if (repeated) {
    graph.set_iterations(micro_batches);
    const Pass all = add_pass(graph, path, 0);
    graph.add_edge(all.arrival, all.arrival, 1);
    graph.add_edge(all.backward, all.forward, 1);
  } else {
    Pass before;
    for (std::uint32_t i = 0; i < micro_batches; ++i) {
      const Pass pass = add_pass(graph, path, i);
      graph.add_edge(before.arrival, pass.arrival);
      graph.add_edge(before.backward, pass.forward);
      before = pass;
    }
  }
  graph.freeze();
  return graph;
}

void BM_BuildStage(benchmark::State& state) {
  const auto micro_batches = static_cast<std::uint32_t>(state.range(0));
  const bool repeated = state.range(1) != 0;
  for (auto _ : state) {
    const OpGraph graph = stage(micro_batches, repeated);
    if (!bench::expect(state, "operations", static_cast<double>(graph.size()),
                       repeated ? 3 : 3.0 * micro_batches) ||
        !bench::expect(state, "iterations", static_cast<double>(graph.instances()),
                       3.0 * micro_batches))
      return;
  }
}

// Only the first message is waited for: each other arrives while a micro-batch is computed.
void BM_RunStage(benchmark::State& state) {
  const auto micro_batches = static_cast<std::uint32_t>(state.range(0));
  const OpGraph graph = stage(micro_batches, state.range(1) != 0);
  for (auto _ : state) {
    testing::LoopExecutor executor({kCapacity});
    const Timeline timeline = Engine(graph, executor, 1).run();
    if (!bench::expect(state, "the end", timeline.end(),
                       kArrival + micro_batches * (kForward + kBackward)))
      return;
  }
  state.SetItemsProcessed(state.iterations() * 3 * state.range(0));
}

void both_forms(benchmark::internal::Benchmark* benchmark) {
  benchmark->ArgNames({"micro_batches", "repeated"})->ArgsProduct({{32, 32'768}, {0, 1}});
}
BENCHMARK(BM_BuildStage)->Apply(both_forms)->Unit(benchmark::kMicrosecond);
BENCHMARK(BM_RunStage)->Apply(both_forms)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace trainyard
