#include "sim/metrics.hpp"

#include <fmt/format.h>

#include <array>

#include "sim/units.hpp"

namespace trainyard {
namespace {

using Show = Metric::Show;

constexpr std::array kMetrics{
    Metric{"allreduce_time_s", "all-reduce", "s",
           "time of the probe named \"allreduce\" on the idle cluster, from the moment all its "
           "ranks enter until the last has the result",
           Show::kSeconds},
    Metric{"step_time_s", "step time", "s",
           "time of one training iteration, from its first kernel to its last operation",
           Show::kSeconds},
    Metric{"tokens_per_s", "tokens per second", "1/s", "global_batch · sequence / step_time_s",
           Show::kNumber},
    Metric{"model_tflops_per_gpu", "model TFLOPS per GPU", "TFLOPS",
           "72·B·s·l·h²·(1 + s/6h + V/12lh) / step_time_s / GPUs / 1e12; no recomputation counted"},
    Metric{"mfu", "MFU", "1", "model FLOPS per GPU / dense BF16 peak", Show::kFraction},
    Metric{"hfu", "HFU", "1",
           "the same with recomputed FLOPs: 96·B·s·l·h²·(1 + s/6h + V/16lh) for full "
           "recomputation; model FLOPs + 4·B·s²·h·l for selective",
           Show::kFraction},
    Metric{"gpu_utilization", "GPU not waiting on network", "1",
           "1 - gpu_wait_fractions.network; the pipeline bubble is not counted as waiting; "
           "storage, host and restart waits are not modelled yet",
           Show::kFraction},
    Metric{"exposed_comm_fraction", "exposed communication", "1",
           "share of step_time_s, mean over GPUs, in which a GPU's compute stream waited for "
           "communication",
           Show::kFraction},
    Metric{"gpu_wait_fractions.network", "waiting for network", "1",
           "time on which the last-arriving dependency was communication, back along the chain of "
           "dependencies, / step_time_s, mean over GPUs",
           Show::kFraction, false},
    Metric{"gpu_wait_fractions.bubble", "pipeline bubble", "1",
           "the same where it was another GPU's compute", Show::kFraction},
    Metric{"gpu_memory_peak_bytes", "GPU memory", "B",
           "weights + gradients + optimizer + activations + logits of the fullest stage "
           "(docs/models/training.md)",
           Show::kBytes},
    Metric{"parameters", "model parameters", "1", "l·(12h² + 13h) + (V + s)·h", Show::kNumber,
           false},
    Metric{"simulated_ops", "simulated operations", "1",
           "operations of the op graphs, main run and probes", Show::kNumber, false},
};

}  // namespace

std::span<const Metric> metrics() { return kMetrics; }

std::optional<double> metric_value(const Json& metrics, std::string_view key) {
  const Json* at = &metrics;
  while (at != nullptr && !key.empty()) {
    const std::size_t dot = std::min(key.find('.'), key.size());
    at = at->find(key.substr(0, dot));
    key.remove_prefix(std::min(dot + 1, key.size()));
  }
  if (at == nullptr || !at->is_number()) return std::nullopt;
  return at->as_number();
}

std::string show_metric(const Metric& metric, double value) {
  switch (metric.show) {
    case Show::kSeconds:
      return show(Seconds::of(value));
    case Show::kBytes:
      return show(Bytes::of(value));
    case Show::kFraction:
      return fmt::format("{:.2f}%", 100 * value);
    case Show::kNumber:
      return fmt::format("{:.4g}", value);
  }
  return {};
}

}  // namespace trainyard
