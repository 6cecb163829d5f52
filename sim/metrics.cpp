#include "sim/metrics.hpp"

#include <fmt/format.h>

#include <algorithm>
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
    Metric{"gpu_utilization", "GPU not waiting", "1",
           "1 - gpu_wait_fractions (network + storage + host + restart), of the wall time of the "
           "job; without training, of an iteration. NVLink collectives and the pipeline bubble are "
           "no waiting: they are reported apart",
           Show::kFraction},
    Metric{"training_days", "training time", "d",
           "wall time of the job, mean over the seeds: useful iterations, iterations that failures "
           "undid, checkpoints, stalls and downtime",
           Show::kNumber},
    Metric{"host_cpu_network_fraction", "host cores for networking", "1",
           "(reserved + max(busy, polling)) / cores of the host, time-averaged over the job: cores "
           "of services charged to the network, busy with bytes between servers, or spinning while "
           "a network operation of the server is open",
           Show::kFraction},
    Metric{"host_cpu_network_fraction_reserved", "… reserved", "1",
           "part of host_cpu_network_fraction: services charged to the network", Show::kFraction,
           false},
    Metric{"host_cpu_network_fraction_busy", "… busy with bytes", "1",
           "part of host_cpu_network_fraction: core time per byte of the network stack and of "
           "services that network traffic passes through",
           Show::kFraction, false},
    Metric{"host_cpu_network_fraction_polling", "… polling", "1",
           "part of host_cpu_network_fraction: threads that spin, capped at the cores that nothing "
           "is pinned to",
           Show::kFraction, false},
    Metric{"cost_ratio", "cost per job", "1", "cost_usd / cost_usd of the baseline run",
           Show::kFraction, true, "cost_usd"},
    Metric{"tflops_per_watt_ratio", "TFLOPS/W, ratio", "1",
           "tflops_per_watt / tflops_per_watt of the baseline run", Show::kNumber, true,
           "tflops_per_watt"},
    Metric{"rated_tflops_per_watt", "TFLOPS/W, rated", "TFLOPS/W",
           "dense BF16 peak of all GPUs · gpu_utilization / average_power_w: what GPUs that do not "
           "wait are rated at",
           Show::kNumber},
    Metric{"tflops_per_watt", "TFLOPS/W, achieved", "TFLOPS/W",
           "model FLOPs of the job / energy at the meter", Show::kNumber},
    Metric{"tflops_per_watt_nodes", "TFLOPS/W, servers only", "TFLOPS/W",
           "model FLOPs of the job / energy of the training servers, before PUE", Show::kNumber},
    Metric{"chip_tflops_per_watt", "TFLOPS/W, GPU peak", "TFLOPS/W",
           "highest dense peak of the GPU / its power while computing: no run reaches more",
           Show::kNumber},
    Metric{"cost_usd", "cost", "USD",
           "capital written off over the job's wall time + operations + energy", Show::kNumber},
    Metric{"step_time_s", "step time", "s",
           "time of one training iteration, from its first kernel to its last operation; the time "
           "to load its data where that is longer",
           Show::kSeconds},
    Metric{"tokens_per_s", "tokens per second", "1/s", "global_batch · sequence / step_time_s",
           Show::kNumber},
    Metric{"model_tflops_per_gpu", "model TFLOPS per GPU", "TFLOPS",
           "72·B·s·l·h²·(1 + s/6h + V/12lh) / step_time_s / GPUs / 1e12; no recomputation counted"},
    Metric{"mfu", "MFU", "1", "model FLOPS per GPU / dense peak of the precision in use",
           Show::kFraction},
    Metric{"hfu", "HFU", "1",
           "the same with recomputed FLOPs: 96·B·s·l·h²·(1 + s/6h + V/16lh) for full "
           "recomputation; model FLOPs + 4·B·s²·h·l for selective",
           Show::kFraction},
    Metric{"goodput_fraction", "goodput", "1",
           "iterations that count · step_time_s / mean wall time of the job over the seeds",
           Show::kFraction},
    Metric{"training_days_low", "training time, 5th percentile", "d",
           "5th percentile of the wall time over the seeds (nearest rank)", Show::kNumber, false},
    Metric{"training_days_high", "training time, 95th percentile", "d",
           "95th percentile of the wall time over the seeds (nearest rank)", Show::kNumber, false},
    Metric{"training_steps", "iterations", "1", "iterations of the job that count", Show::kNumber,
           false},
    Metric{"failures", "failures", "1", "failures that stopped the job, mean over the seeds",
           Show::kNumber},
    Metric{"compute_time_s", "computing", "s",
           "of a replayed trace: time in which at least one kernel runs on a GPU, mean over GPUs",
           Show::kSeconds, false},
    Metric{
        "comm_time_s", "communicating", "s",
        "of a replayed trace: time in which at least one collective or message of a GPU is under "
        "way, from when its last rank joins, mean over GPUs",
        Show::kSeconds, false},
    Metric{"exposed_comm_time_s", "… exposed", "s",
           "part of comm_time_s in which no kernel of the GPU runs", Show::kSeconds, false},
    Metric{"sent_bytes", "bytes sent per GPU", "B",
           "of a replayed trace: messages, and of collectives what a bandwidth-optimal algorithm "
           "sends (all_reduce 2(n-1)/n of the buffer, others (n-1)/n), mean over GPUs",
           Show::kBytes, false},
    Metric{"exposed_comm_fraction", "exposed communication", "1",
           "share of an iteration, mean over GPUs, in which a GPU's compute stream waited for "
           "communication: network and NVLink",
           Show::kFraction},
    Metric{"gpu_compute_fraction", "computing", "1",
           "share of the wall time, mean over GPUs, in which kernels of the model run",
           Show::kFraction, false},
    Metric{"gpu_wait_fractions.network", "waiting for network", "1",
           "time on which the last-arriving dependency was communication between servers, back "
           "along the chain of dependencies, / wall time, mean over GPUs",
           Show::kFraction},
    Metric{"gpu_wait_fractions.storage", "waiting for storage", "1",
           "the same where it was training data; and checkpoints and stalls of the job",
           Show::kFraction},
    Metric{"gpu_wait_fractions.host", "waiting for the host", "1",
           "the same where it was a kernel launch that the host was late with", Show::kFraction},
    Metric{"gpu_wait_fractions.restart", "down", "1",
           "detection, repair and restore after failures / wall time", Show::kFraction},
    Metric{"gpu_wait_fractions.nvlink", "NVLink collectives", "1",
           "waiting for communication inside a server / wall time", Show::kFraction},
    Metric{"gpu_wait_fractions.bubble", "pipeline bubble", "1",
           "waiting for another GPU's compute / wall time", Show::kFraction},
    Metric{"job_fractions.useful", "iterations that count", "1",
           "share of the wall time of the job; the job_fractions sum to 1", Show::kFraction, false},
    Metric{"job_fractions.lost", "iterations undone by failures", "1",
           "running since the checkpoint that a failure fell back to", Show::kFraction},
    Metric{"job_fractions.draining", "slower beside a checkpoint", "1",
           "extra time of iterations beside an asynchronous checkpoint", Show::kFraction, false},
    Metric{"job_fractions.checkpoint", "checkpoints", "1", "GPUs stand still for checkpoints",
           Show::kFraction, false},
    Metric{"job_fractions.stalled", "stalled", "1", "waiting for data beyond what is prefetched",
           Show::kFraction, false},
    Metric{"job_fractions.down", "down after failures", "1", "detection, repair and restore",
           Show::kFraction, false},
    Metric{"checkpoint_bytes", "checkpoint size", "B", "bytes_per_parameter · parameters",
           Show::kBytes, false},
    Metric{"checkpoint_time_s", "checkpoint", "s",
           "GPUs stand still for one checkpoint: until it is written, or (asynchronous) until it "
           "is in host memory",
           Show::kSeconds},
    Metric{"checkpoint_drain_s", "checkpoint drain", "s",
           "asynchronous: from then until it is in storage, beside iterations; 0 when synchronous",
           Show::kSeconds, false},
    Metric{"checkpoint_write_bytes_per_s", "checkpoint write rate", "B/s",
           "checkpoint_bytes / time until all of it is written, nothing else running", Show::kRate,
           false},
    Metric{"checkpoint_read_bytes_per_s", "checkpoint read rate", "B/s", "the same, read back",
           Show::kRate, false},
    Metric{"checkpoint_interval_s", "checkpoint interval", "s",
           "training between checkpoints: as given, or sqrt(2 · checkpoint_time_s · MTBF) (Young, "
           "Daly) and at least checkpoint_drain_s",
           Show::kSeconds, false},
    Metric{"host_cpu_network_fraction_peak_allreduce", "host cores for networking in an all-reduce",
           "1", "host_cpu_network_fraction during the probe named \"allreduce\"", Show::kFraction},
    Metric{"host_cpu_infrastructure_fraction", "host cores for infrastructure", "1",
           "host_cpu_network_fraction + storage, security and management services / cores",
           Show::kFraction},
    Metric{"host_stretch", "overload of the host", "1",
           "cores that services ask for / cores, where they ask for more: launches and jitter take "
           "so much longer",
           Show::kNumber},
    Metric{"average_power_w", "power at the meter", "W",
           "energy of the job's equipment · PUE / wall time; network, storage and infrastructure "
           "servers by the job's share of servers",
           Show::kNumber},
    Metric{"it_power_w", "power of the equipment", "W", "the same without PUE", Show::kNumber,
           false},
    Metric{"node_power_w", "power of a training server", "W",
           "mean over the job: GPUs, host, boards, NICs, DPUs", Show::kNumber},
    Metric{"energy_mwh", "energy", "MWh", "average_power_w · wall time", Show::kNumber},
    Metric{"capital_usd", "capital", "USD",
           "price of the job's servers and of its share of network, storage and infrastructure",
           Show::kNumber},
    Metric{"cost_parts_usd.capital", "… capital", "USD",
           "capital_usd · wall time / (years · utilization)", Show::kNumber, false},
    Metric{"cost_parts_usd.operations", "… operations", "USD",
           "capital_usd · operations_per_year · wall time / utilization", Show::kNumber, false},
    Metric{"cost_parts_usd.energy", "… energy", "USD", "energy_mwh · 1000 · usd_per_kwh",
           Show::kNumber, false},
    Metric{"traffic_time_s", "all messages", "s",
           "from the start of the run until the last message of a traffic workload has arrived",
           Show::kSeconds},
    Metric{"traffic_messages", "messages", "1", "messages of a traffic workload", Show::kNumber,
           false},
    Metric{"traffic_bytes", "bytes of messages", "B",
           "payload of all messages of a traffic workload", Show::kBytes, false},
    Metric{"traffic_goodput_bytes_per_s", "goodput of messages", "B/s",
           "traffic_bytes / traffic_time_s", Show::kRate},
    Metric{"fct_mean_s", "flow completion time, mean", "s",
           "from the begin of a message until its last byte has arrived, mean over messages",
           Show::kSeconds},
    Metric{"fct_p50_s", "flow completion time, median", "s",
           "50th percentile of the same (nearest rank)", Show::kSeconds},
    Metric{"fct_p99_s", "flow completion time, 99th percentile", "s",
           "99th percentile of the same (nearest rank)", Show::kSeconds},
    Metric{"fct_max_s", "flow completion time, longest", "s", "the largest of them",
           Show::kSeconds},
    Metric{"fct_slowdown_mean", "slowdown of messages", "1",
           "flow completion time / that of the same message alone on the idle network "
           "(latency + bytes / its slowest resource's rate), mean over messages",
           Show::kNumber},
    Metric{"gpu_memory_peak_bytes", "GPU memory", "B",
           "weights + gradients + optimizer + activations + logits of the fullest stage "
           "(docs/models/training.md)",
           Show::kBytes},
    Metric{"parameters", "model parameters", "1", "l·(12h² + 13h) + (V + s)·h", Show::kNumber,
           false},
    Metric{"simulated_ops", "simulated operations", "1",
           "iterations of operations that were simulated, main run and probes", Show::kNumber,
           false},
};

}  // namespace

std::span<const Metric> metrics() { return kMetrics; }

const Metric* find_metric(std::string_view key) {
  const auto* at = std::find_if(kMetrics.begin(), kMetrics.end(),
                                [&](const Metric& metric) { return metric.key == key; });
  return at != kMetrics.end() ? at : nullptr;
}

bool higher_is_better(std::string_view key) {
  constexpr std::array<std::string_view, 16> kKeys{"gpu_utilization",
                                                   "gpu_compute_fraction",
                                                   "rated_tflops_per_watt",
                                                   "tflops_per_watt",
                                                   "tflops_per_watt_nodes",
                                                   "tflops_per_watt_ratio",
                                                   "chip_tflops_per_watt",
                                                   "tokens_per_s",
                                                   "model_tflops_per_gpu",
                                                   "mfu",
                                                   "hfu",
                                                   "goodput_fraction",
                                                   "job_fractions.useful",
                                                   "checkpoint_write_bytes_per_s",
                                                   "checkpoint_read_bytes_per_s",
                                                   "traffic_goodput_bytes_per_s"};
  return std::find(kKeys.begin(), kKeys.end(), key) != kKeys.end() ||
         key.ends_with("bw_bytes_per_s");
}

std::vector<MetricName> probe_metrics(const std::string& probe) {
  return {{probe + "_time_s", probe + ", time", "s"},
          {probe + "_algbw_bytes_per_s", probe + ", algorithm bandwidth", "B/s"},
          {probe + "_busbw_bytes_per_s", probe + ", bus bandwidth", "B/s"}};
}

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
    case Show::kRate:
      return show(BytesPerSecond::of(value));
    case Show::kFraction:
      return fmt::format("{:.2f}%", 100 * value);
    case Show::kNumber:
      return fmt::format("{:.4g}", value);
  }
  return {};
}

}  // namespace trainyard
