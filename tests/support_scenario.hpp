// Scenarios for tests: an ideal cluster whose only limit is one port per rank.
#pragma once

#include <fmt/format.h>

#include <string>
#include <vector>

#include "sim/run.hpp"

namespace trainyard::testing {

struct Ideal {
  int servers = 2, gpus_per_server = 1;
  double port = 50e9;     ///< bytes/s per rank and direction, NVLink and network alike
  double latency_us = 2;  ///< per step
  std::string algorithm = "ring", law = "additive", fidelity = "steps", executor = "flow";
  double slowdown = 0;
};

/// The cluster and engine of an ideal scenario; `rest` adds jobs and probes ("jobs": […]).
inline std::string ideal_scenario(const Ideal& c, const std::string& rest) {
  const std::string port = fmt::format("{} B/s", c.port),
                    latency = fmt::format("{} us", c.latency_us);
  return fmt::format(
      R"({{"name": "ideal", "engine": {{"executor": "{}", "fidelity": "{}", "tensor_fidelity": "{}"}}, "cluster": {{
        "servers": {}, "server": {{"gpus": {}, "nics": {},
          "gpu": {{"peak_bf16": "1 TFLOPS", "hbm_bandwidth": "1 TB/s", "memory": "80 GiB"}},
          "nvlink": {{"bandwidth": "{}"}},
          "nic": {{"rate": "{}", "pcie_bandwidth": "1e6 GB/s"}},
          "host": {{"cores": 64, "memory_bandwidth": "1e6 GB/s"}}}},
        "network": {{"kind": "crossbar", "switch": {{"ports": 64, "rate": "{}",
          "sharp": {{"enabled": true, "efficiency": 1, "streaming_trees": 1000, "low_latency_trees": 1000}}}}}},
        "transport": {{"kind": "rdma"}}, "gpudirect": true,
        "collectives": {{"algorithm": "{}", "channels": 1, "chunks": 1, "slowdown": {},
          "protocols": {{"simple": {{"intra_latency": "{}", "network_latency": "{}", "law": "{}"}}}}}}}}, {}}})",
      c.executor, c.fidelity, c.fidelity, c.servers, c.gpus_per_server, c.gpus_per_server, port,
      port, port, c.algorithm, c.slowdown, latency, latency, c.law, rest);
}

inline Json run_text_scenario(const std::string& text, const std::vector<std::string>& sets = {}) {
  LoadOptions options;
  options.sets = sets;
  LoadedScenario loaded = load_scenario_text(text, "test.json", options);
  return run_scenario(loaded);
}

inline Json run_file_scenario(const std::string& path, const std::vector<std::string>& sets = {}) {
  LoadOptions options;
  options.sets = sets;
  LoadedScenario loaded = load_scenario(path, options);
  return run_scenario(loaded);
}

/// The simulated seconds of a collective of each size ("1 MiB") over all ranks of the cluster.
inline std::vector<double> collective_times(const Ideal& c, const std::string& op,
                                            const std::vector<std::string>& sizes) {
  const std::string rest = fmt::format(
      R"("jobs": [{{"workload": {{"kind": "collective", "operation": "{}", "sizes": ["{}"]}}}}])",
      op, fmt::join(sizes, "\", \""));
  const Json result = run_text_scenario(ideal_scenario(c, rest));
  std::vector<double> seconds;
  for (const Json& row : result.at("jobs").items()[0].at("metrics").at("rows").items()) {
    EXPECT_EQ(row.at("algorithm").as_string(), c.algorithm);
    seconds.push_back(row.at("time_s").as_number());
  }
  return seconds;
}

}  // namespace trainyard::testing
