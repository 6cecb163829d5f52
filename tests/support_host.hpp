// Two small servers whose host is the limit: round numbers, and nothing else that costs time.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "sim/metrics.hpp"
#include "tests/support_scenario.hpp"

namespace trainyard::testing {

/// One GPU and one 10 GB/s port each, 8 cores, kernel TCP at 5 GB/s a core: an all-reduce among two
/// sends and receives the buffer once, so full speed takes 2 · 10 / 5 = 4 cores of each server.
/// Storage: one port of 10 GB/s per server, and a store that is never the limit.
inline const char* const kHostCluster = R"("cluster": {
  "servers": 2,
  "server": {"gpus": 1, "nics": 1,
    "gpu": {"peak_bf16": "1000 TFLOPS", "hbm_bandwidth": "1000 TB/s", "memory": "80 GiB"},
    "nvlink": {"bandwidth": "1e6 GB/s"},
    "nic": {"rate": "10 GB/s", "pcie_bandwidth": "1e6 GB/s"},
    "storage_nic": {"rate": "10 GB/s", "pcie_bandwidth": "1e6 GB/s"}, "storage_nics": 1,
    "dpu": {"rate": "10 GB/s", "cores": 8, "memory_bandwidth": "1e6 GB/s", "core_speed": 0.5},
    "host": {"cores": 8, "memory_bandwidth": "1e6 GB/s"}},
  "network": {"kind": "crossbar", "switch": {"ports": 64, "rate": "10 GB/s"}},
  "transport": {"kind": "tcp", "per_core": "5 GB/s", "send_passes": 4, "receive_passes": 4},
  "collectives": {"algorithm": "ring", "protocols": {"simple": {}}},
  "services": {},
  "storage": {"targets": 100,
    "target": {"drives": 100, "network": "1000 GB/s",
      "drive": {"read": "10 GB/s", "write": "10 GB/s", "capacity": "10 TB"}}}})";

/// 4 ms forward, 8 ms backward, then the gradients of `kGradients` bytes.
inline const char* const kGptJob = R"({"workload": {"kind": "gpt", "tensor": 1, "pipeline": 1,
  "global_batch": 2, "gradient_bytes": 4,
  "model": {"layers": 2, "hidden": 1000, "heads": 1, "sequence": 1000, "vocabulary": 1000},
  "stage_forward": "4 ms", "stage_backward": "8 ms"}})";
/// 2 layers of 12 h² + 13 h parameters and (V + s)·h of embedding, 4 bytes each.
constexpr double kGradients = 4 * (2 * (12e6 + 13e3) + 2e6);
constexpr double kPasses = 12e-3;

inline std::string host_scenario(const std::string& jobs) {
  return std::string(R"({"name": "host", )") + kHostCluster + R"(, "jobs": [)" + jobs +
         R"(], "probes": {"allreduce": {"operation": "all_reduce", "bytes": "1 GB"}}})";
}

using Sets = std::vector<std::string>;

inline Sets operator+(Sets a, const Sets& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

/// One metric of the scenario of that job with these --set.
inline double host_metric(const std::string& job, const std::string& key, const Sets& sets = {}) {
  const Json result = run_text_scenario(host_scenario(job), sets);
  const std::optional<double> value = metric_value(result.at("metrics"), key);
  EXPECT_TRUE(value) << "no metric " << key;
  return value.value_or(0);
}

/// The exit code and the pointer of the first fault of building it; 0 and "" when there is none.
inline std::pair<int, std::string> host_fault(const std::string& job, const Sets& sets) {
  try {
    LoadOptions options;
    options.sets = sets;
    build_design(load_scenario_text(host_scenario(job), "test.json", options));
  } catch (const ScenarioError& error) {
    return {static_cast<int>(error.exit_code()), error.diagnostics().front().pointer};
  }
  return {0, ""};
}

/// EXPECT_NEAR of a ratio, which names both when it fails.
inline void expect_ratio(double value, double expected, double tolerance,
                         const std::string& what = "") {
  EXPECT_NEAR(value / expected, 1, tolerance) << what << ": " << value << " against " << expected;
}

}  // namespace trainyard::testing
