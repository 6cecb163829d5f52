// A cluster whose every device has a power and a price of its own, for the tests of energy and
// cost.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "sim/background.hpp"
#include "sim/engine.hpp"
#include "sim/lowering.hpp"
#include "tests/support_scenario.hpp"
#include "tests/support_timeline.hpp"

namespace trainyard::testing {

constexpr std::string_view kPowered = R"({
  "name": "powered",
  "engine": {"executor": "flow", "fidelity": "steps", "tensor_fidelity": "analytic"},
  "cluster": {
    "servers": 2,
    "server": {
      "gpus": 2,
      "gpu": {"peak_bf16": "100 TFLOPS", "hbm_bandwidth": "1 TB/s", "memory": "80 GiB",
              "power": {"computing": "400 W", "waiting": "150 W", "idle": "50 W"}},
      "nvlink": {"bandwidth": "100 GB/s"},
      "nics": 2,
      "nic": {"rate": "80 Gb/s", "pcie_bandwidth": "100 GB/s",
              "power": {"idle": "10 W", "busy": "18 W"}},
      "host": {"cores": 32, "memory_bandwidth": "300 GB/s",
               "power": {"idle": "200 W", "busy": "520 W"}},
      "dpu": {"rate": "100 Gb/s", "cores": 8, "memory_bandwidth": "20 GB/s", "core_speed": 0.5,
              "power": {"idle": "40 W", "busy": "72 W"}, "price_usd": 2000},
      "dpus": 1,
      "storage_nic": {"rate": "40 Gb/s", "pcie_bandwidth": "100 GB/s",
                      "power": {"idle": "12 W", "busy": "19 W"}, "price_usd": 900},
      "storage_nics": 1,
      "base_power": "700 W",
      "price_usd": 200000
    },
    "network": {"kind": "crossbar",
                "switch": {"ports": 64, "rate": "80 Gb/s",
                           "power": {"idle": "250 W", "busy": "410 W"}, "price_usd": 20000,
                           "port_power": "5 W", "port_price_usd": 300}},
    "transport": {"kind": "rdma"},
    "gpudirect": true,
    "collectives": {"algorithm": "ring", "channels": 1, "chunks": 1,
                    "protocols": {"simple": {"intra_latency": "1 us", "network_latency": "2 us"}}},
    "services": {
      "proxies": {"polling_threads": 4},
      "agents": {"shared_cores": 3},
      "pinned": {"reserved_cores": 2},
      "on the card": {"placement": "dpu", "reserved_cores": 1, "shared_cores": 0.5}
    },
    "storage": {
      "targets": 2,
      "target": {
        "drives": 4,
        "drive": {"read": "2 GB/s", "write": "1 GB/s", "capacity": "1 TB",
                  "power": {"idle": "5 W", "busy": "13 W"}, "price_usd": 500},
        "network": "20 GB/s",
        "power": {"idle": "300 W", "busy": "560 W"},
        "price_usd": 15000
      }
    },
    "appliances": {
      "managers": {"load": "servers", "servers": 2, "power": "450 W", "price_usd": 9000},
      "inspectors": {"load": "network", "rate": "1 GB/s", "power": "500 W", "price_usd": 12000}
    },
    "site": {"pue": 1.25, "usd_per_kwh": 0.2, "years": 5, "utilization": 0.8,
             "operations_per_year": 0.03}
  },
  "jobs": [{
    "name": "job",
    "workload": {"kind": "fixed-step", "step": "2 s", "parameters": 1e9, "samples": 100,
                 "tokens": 204800, "model_flops": "0.2 PFLOP"}
  }]
})";

/// A step of two tensor ranks in each of two servers, which reduce gradients over the network.
constexpr std::string_view kTensorJob = R"(jobs.0.workload={"kind": "gpt",
  "tensor": 2, "pipeline": 1, "global_batch": 8, "sequence_parallel": true, "bucket": "26 MB",
  "overlap_gradients": true,
  "model": {"layers": 4, "hidden": 1024, "heads": 8, "sequence": 512, "vocabulary": 1024}})";
/// A step of four tensor ranks over both servers.
constexpr std::string_view kWideJob = R"(jobs.0.workload={"kind": "gpt",
  "tensor": 4, "pipeline": 1, "global_batch": 8, "sequence_parallel": true,
  "model": {"layers": 4, "hidden": 1024, "heads": 8, "sequence": 512, "vocabulary": 1024}})";
/// Four stages of one GPU each: pipeline messages over NVLink and network, and a bubble.
constexpr std::string_view kPipelineJob = R"(jobs.0.workload={"kind": "gpt",
  "tensor": 1, "pipeline": 4, "global_batch": 8, "stage_forward": "3 ms", "stage_backward": "5 ms",
  "model": {"layers": 4, "hidden": 1024, "heads": 8, "sequence": 512, "vocabulary": 1024}})";
/// 1,000 steps with a checkpoint of 14 bytes a parameter every 10 minutes, and data.
constexpr std::string_view kTraining = R"(jobs.0.training={"steps": 1000,
  "data": {"sample": "1 MB"},
  "checkpoint": {"bytes_per_parameter": 14, "interval": "10 min"}, "seeds": 1})";

/// The operations and dates of one iteration of the scenario's job, its data loading included.
struct Iteration {
  std::unique_ptr<Topology> topology;
  std::unique_ptr<Lowering> lowering;
  Timeline timeline;
  double end = 0;
};

inline Iteration iterate(LoadedScenario& loaded) {
  Iteration it;
  it.topology = build_design(loaded);
  const Cluster& cluster = loaded.scenario.cluster;
  it.lowering =
      std::make_unique<Lowering>(cluster, *it.topology, Fidelity::kSteps, Fidelity::kAnalytic);
  std::vector<Rank> ranks;
  for (std::size_t i = 0; i < it.topology->ranks(); ++i) ranks.emplace_back(i);
  Job& job = loaded.scenario.jobs.front();
  const auto loading = announce_loading(*it.lowering, job);
  job.workload->lower(*it.lowering, ranks);
  const std::size_t last = it.lowering->graph().size();
  add_background(*it.lowering, loading);
  it.lowering->graph().freeze();
  const auto executor = loaded.scenario.engine.executor == "stock"
                            ? make_stock_executor(*it.topology)
                            : make_flow_executor(*it.topology);
  it.timeline = Engine(it.lowering->graph(), *executor, ranks.size()).run();
  for (std::size_t i = 0; i < last; ++i) it.end = std::max(it.end, it.timeline.finish(OpId(i)));
  return it;
}

inline LoadedScenario load_powered(const std::vector<std::string>& sets) {
  LoadOptions options;
  options.sets = sets;
  return load_scenario_text(std::string(kPowered), "test.json", options);
}

inline Json powered(const std::vector<std::string>& sets) {
  return run_text_scenario(std::string(kPowered), sets).at("metrics");
}

/// The row of that device in a job's equipment.
inline const Json& row(const Json& metrics, const std::string& device) {
  for (const Json& one : metrics.at("equipment").items()) {
    if (one.at("equipment").as_string() == device) return one;
  }
  throw std::out_of_range("no equipment " + device);
}

inline double number(const Json& object, const std::string& key) {
  return object.at(key).as_number();
}

}  // namespace trainyard::testing
