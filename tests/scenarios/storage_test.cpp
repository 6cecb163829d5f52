// Shared storage: what binds a checkpoint, what it does to a step beside it, and published runs.
#include <cmath>

#include "tests/support_host.hpp"

namespace trainyard {
namespace {

using testing::expect_ratio;
using testing::host_fault;
using testing::host_metric;
using testing::kGptJob;
using testing::kGradients;
using testing::kPasses;
using testing::Sets;
using testing::operator+;

constexpr double kExact = 1e-9, kHand = 0.02, kDay = 86400;

/// 40 GB of checkpoint from two servers, 1,000 steps of 0.15 s and 1,000 samples.
const char* const kFixedJob = R"({"workload": {"kind": "fixed-step", "step": "0.15 s",
    "parameters": 4e9, "samples": 1000},
  "training": {"steps": 1000, "seeds": 1,
    "checkpoint": {"bytes_per_parameter": 10, "interval": "15 s"}}})";

/// The rates at which a checkpoint is written and read, in bytes/s of all servers.
void expect_rates(const Sets& sets, double write, double read, const std::string& what) {
  const Json m = testing::run_text_scenario(testing::host_scenario(kFixedJob), sets).at("metrics");
  expect_ratio(m.at("checkpoint_write_bytes_per_s").as_number(), write, kExact, what + ", writing");
  expect_ratio(m.at("checkpoint_read_bytes_per_s").as_number(), read, kExact, what + ", reading");
  EXPECT_EQ(m.at("checkpoint_bytes").as_number(), 40e9);
  expect_ratio(m.at("checkpoint_time_s").as_number(), 40e9 / write, kExact, what);
}

Sets storage(const std::string& fields) {  // a patch, field by field
  Sets sets;
  const Json patch = parse_json("{" + fields + "}", "storage");
  for (const auto& [field, value] : patch.members())
    sets.push_back("cluster.storage." + field + "=" + dump_json(value, -1));
  return sets;
}

// ---- what binds a checkpoint ----

TEST(StorageModel, EachPartOfTheWayBindsByItself) {
  expect_rates({}, 20e9, 20e9, "two ports of 10 GB/s");
  expect_rates({"cluster.server.storage_nic.efficiency=0.9"}, 18e9, 18e9, "payload of the ports");
  expect_rates({"cluster.server.storage_nics=2"}, 40e9, 40e9, "two ports each");
  expect_rates({"cluster.server.dpus=1"}, 40e9, 40e9, "a DPU's port too");
  expect_rates({"cluster.server.dpus=1", "cluster.server.storage_nics=0"}, 20e9, 20e9, "DPUs only");
  // 1 target of 4 drives at 2 (4) GB/s, of which redundancy leaves 3/4.
  expect_rates(storage(R"("targets": 1, "target.drives": 4, "target.drive.write": "2 GB/s",
                          "target.drive.read": "4 GB/s", "efficiency": 0.75)"),
               6e9, 12e9, "drives");
  expect_rates(storage(R"("targets": 3, "target.network": "2 GB/s")"), 6e9, 6e9,
               "network of the targets");
  expect_rates(storage(R"("write_limit": "5 GB/s", "read_limit": "7 GB/s")"), 5e9, 7e9,
               "file system");
  expect_rates(storage(R"("node_write_limit": "2 GB/s", "node_read_limit": "3 GB/s")"), 4e9, 6e9,
               "client of a server");
  expect_rates({"jobs.0.training.checkpoint.writers=1"}, 10e9, 20e9, "one writer, all readers");
}

TEST(StorageModel, TheServersWorkBindsByItself) {
  const auto initiator = [](const std::string& fields) {
    return Sets{R"(cluster.services.initiator={"traffic": "storage", )" + fields + "}"};
  };
  expect_rates(initiator(R"("per_core": "1 GB/s")"), 16e9, 16e9, "8 cores of a server");
  expect_rates(initiator(R"("per_core": "1 GB/s")") + Sets{"cluster.server.host.network_cores=3"},
               6e9, 6e9, "3 cores");
  expect_rates(
      initiator(R"("memory_passes": 3)") + Sets{"cluster.server.host.memory_bandwidth=15 GB/s"},
      10e9, 10e9, "memory");
  expect_rates(initiator(R"("per_core": "1 MB/s", "placement": "engine", "engine_rate": "7 GB/s")"),
               14e9, 14e9, "engine");
  expect_rates(
      initiator(R"("per_core": "1 GB/s", "placement": "dpu")") + Sets{"cluster.server.dpus=1"}, 8e9,
      8e9, "8 cores of a DPU at half the speed");
}

// Each is slower than what was in the way before.
TEST(StorageModel, TheSlowestPartOfTheWayDecides) {
  Sets sets;
  const auto then = [&](const Sets& more, double write, double read, const std::string& what) {
    sets = sets + more;
    expect_rates(sets, write, read, what);
  };
  then({}, 20e9, 20e9, "ports");
  then({R"(cluster.services.initiator={"traffic": "storage", "per_core": "1.125 GB/s"})"}, 18e9,
       18e9, "cores");
  then(storage(R"("node_write_limit": "8 GB/s", "node_read_limit": "8.5 GB/s")"), 16e9, 17e9,
       "clients");
  then(storage(R"("targets": 1, "target.network": "14 GB/s")"), 14e9, 14e9, "targets");
  then(storage(R"("target.drives": 2, "target.drive.write": "5 GB/s",
                  "target.drive.read": "6 GB/s")"),
       10e9, 12e9, "drives");
  then(storage(R"("write_limit": "8 GB/s", "read_limit": "9 GB/s")"), 8e9, 9e9, "file system");
}

TEST(StorageModel, OverTheFabricTheNicsOfTheGpusBind) {
  const Sets fabric = storage(R"("network": "fabric")") + Sets{"cluster.server.storage_nics=0"};
  expect_rates(fabric, 20e9, 20e9, "one NIC each");
  expect_rates(fabric + Sets{"cluster.server.gpus=2", "cluster.server.nics=2"}, 40e9, 40e9,
               "two NICs each");
  expect_rates(fabric + Sets{"cluster.server.nic.efficiency=0.5"}, 10e9, 10e9, "payload of a NIC");
}

TEST(StorageModel, WhatCannotHoldOrReachACheckpointIsRefused) {
  using Fault = std::pair<int, std::string>;
  // 100 targets of 100 drives hold 100 PB: 40 GB of checkpoint, not 400 PB.
  const std::string size = "jobs.0.training.checkpoint.bytes_per_parameter=";
  EXPECT_EQ(host_fault(kFixedJob, {size + "2e7"}), (Fault{0, ""}));
  EXPECT_EQ(host_fault(kFixedJob, {size + "1e8"}), (Fault{4, "/jobs/0/training/checkpoint"}));
  EXPECT_EQ(host_fault(kFixedJob, {size + "2e7", "cluster.storage.usable=0.5"}),
            (Fault{4, "/jobs/0/training/checkpoint"}));
  EXPECT_EQ(host_fault(kFixedJob, {"cluster.server.storage_nics=0"}),
            (Fault{3, "/cluster/storage/network"}));
  EXPECT_EQ(host_fault(kFixedJob, {"cluster.storage=null"}), (Fault{3, "/jobs/0/training"}));
}

// ---- beside a step ----

// 100 bytes of each parameter, half of them from each server, at copy_rate into host memory, and
// then beside steps of 12 ms and an all-reduce of G bytes. It outlasts the step: while gradients
// are on their way both have half of the port, so that step takes 12 ms + 2·G / 10 GB/s, and the
// drain (D + G) / 10 GB/s. 11 segments of 45 steps have 10 checkpoints between them.
constexpr double kPort = 10e9, kDrained = 100 * (kGradients / 4) / 2, kCopy = 1e12;
constexpr double kStep = kPasses + kGradients / kPort, kSegments = 11, kSegment = 45;

const Sets kDraining{R"(jobs.0.training={"steps": 495, "seeds": 1, "checkpoint": {
    "bytes_per_parameter": 100, "mode": "asynchronous", "copy_rate": "1 TB/s", "interval": "1 s"}})",
                     "probes={}"};

TEST(StorageModel, OverTheFabricADrainSlowsTheAllReduceBesideIt) {
  const Sets fabric = kDraining + storage(R"("network": "fabric")");
  const double beside = kPasses + 2 * kGradients / kPort, drain = (kDrained + kGradients) / kPort;
  ASSERT_GT(drain, beside);
  const double slower = drain / beside * (beside - kStep), block = kDrained / kCopy;
  const double wall = kSegments * kSegment * kStep + (kSegments - 1) * (block + slower);
  expect_ratio(host_metric(kGptJob, "step_time_s", fabric), kStep, kExact);
  expect_ratio(host_metric(kGptJob, "checkpoint_time_s", fabric), block, kExact);
  expect_ratio(host_metric(kGptJob, "training_days", fabric), wall / kDay, 1e-6);
  expect_ratio(host_metric(kGptJob, "job_fractions.draining", fabric),
               (kSegments - 1) * slower / wall, 1e-6);
}

TEST(StorageModel, OverPortsOfItsOwnADrainSlowsNothing) {
  const double block = kDrained / kCopy;
  const double wall = kSegments * kSegment * kStep + (kSegments - 1) * block;
  EXPECT_NEAR(host_metric(kGptJob, "job_fractions.draining", kDraining), 0, kExact);
  expect_ratio(host_metric(kGptJob, "training_days", kDraining), wall / kDay, kExact);
}

// The same cores move gradients and checkpoints: 8 of them, of which each asks for 4, have room for
// both; 4 have not.
TEST(StorageModel, ADrainTakesCoresFromTheNetwork) {
  const Sets initiator{
      R"(cluster.services.initiator={"traffic": "storage", "per_core": "2.5 GB/s"})"};
  EXPECT_NEAR(host_metric(kGptJob, "job_fractions.draining", kDraining + initiator), 0, kExact);
  const Sets few{"cluster.server.host.network_cores=4"};
  expect_ratio(host_metric(kGptJob, "step_time_s", kDraining + initiator + few), kStep, kExact);
  // Both at 4 / (2 / 5 + 1 / 2.5) = 5 GB/s while gradients are on their way: as on one port.
  const double beside = kPasses + 2 * kGradients / kPort, drain = (kDrained + kGradients) / kPort;
  const double slower = drain / beside * (beside - kStep);
  const double wall = kSegments * kSegment * kStep + (kSegments - 1) * (kDrained / kCopy + slower);
  expect_ratio(host_metric(kGptJob, "training_days", kDraining + initiator + few), wall / kDay,
               1e-6);
}

// ---- training data ----

/// A step of `step` seconds whose 1,000 samples of 1 MB come through two ports in 0.05 s.
double loading(const std::string& key, double step, int prefetch) {
  return host_metric(
      kFixedJob, key,
      {fmt::format("jobs.0.workload.step={} s", step),
       fmt::format(R"(jobs.0.training.data={{"sample": "1 MB", "prefetch": {}}})", prefetch),
       "jobs.0.training.checkpoint.bytes_per_parameter=0"});
}
constexpr double kLoad = 500 * 1e6 / 10e9;

TEST(StorageModel, WithoutPrefetchLoadingIsPartOfTheStep) {
  for (const double step : {0.15, 0.05, 0.02}) {
    expect_ratio(loading("step_time_s", step, 0), step + kLoad, kExact);
    expect_ratio(loading("training_days", step, 0), 1000 * (step + kLoad) / kDay, kExact);
    expect_ratio(loading("gpu_wait_fractions.storage", step, 0), kLoad / (step + kLoad), kExact);
    expect_ratio(loading("gpu_utilization", step, 0), step / (step + kLoad), kExact);
  }
}

TEST(StorageModel, PrefetchHidesLoadingThatIsFasterThanTheStep) {
  for (const int prefetch : {1, 2, 10}) {
    expect_ratio(loading("step_time_s", 0.15, prefetch), 0.15, kExact);
    expect_ratio(loading("training_days", 0.15, prefetch), 150 / kDay, kExact);
    EXPECT_NEAR(loading("gpu_wait_fractions.storage", 0.15, prefetch), 0, kExact);
  }
}

TEST(StorageModel, LoadingThatIsSlowerThanTheStepSetsThePace) {
  for (const double step : {0.04, 0.02, 0.01}) {
    expect_ratio(loading("training_days", step, 2), 1000 * kLoad / kDay, kExact);
    expect_ratio(loading("gpu_wait_fractions.storage", step, 2), (kLoad - step) / kLoad, kExact);
  }
}

// ---- published runs ----

Json metrics_of(const std::string& scenario, const Sets& sets = {}) {
  return testing::run_file_scenario(
             std::string(TRAINYARD_SOURCE_DIR) + "/scenarios/" + scenario + ".json", sets)
      .at("metrics");
}

// Narayanan et al., SC'21, section 5.10: 13.8 TB, written at 273 GB/s and read at 1 TB/s. At 14
// bytes of 1,008 billion parameters it is 14.1 TB, 2.3% more; of a round trillion, 1.4% more.
TEST(StorageModel, CheckpointOfTheTrillionParameterModel) {
  const Json m = metrics_of("storage/megatron-1t-checkpoint");
  expect_ratio(m.at("checkpoint_bytes").as_number(), 14 * 1.008e12, kExact);
  expect_ratio(
      metrics_of("storage/megatron-1t-checkpoint", {"jobs.0.workload.parameters=1000000000000"})
          .at("checkpoint_bytes")
          .as_number(),
      13.8e12, 0.02);
  expect_ratio(m.at("checkpoint_write_bytes_per_s").as_number(), 273e9, 0.15);
  expect_ratio(m.at("checkpoint_read_bytes_per_s").as_number(), 1e12, 0.15);
  // The catalogue's model has as many parameters as the scenario says.
  const std::string path = std::string(TRAINYARD_SOURCE_DIR) + "/models/catalog/model.json";
  const Json model = parse_json(read_text_file(path), path).at("megatron-1t");
  const auto field = [&](const char* key) { return model.at(key).as_number(); };
  const double h = field("hidden");
  expect_ratio(
      m.at("parameters").as_number(),
      field("layers") * (12 * h * h + 13 * h) + (field("vocabulary") + field("sequence")) * h,
      1e-3);
}

// Llama Team 2024, sections 3.3.1 and 3.3.4: 419 unexpected stops in 54 days of 16,384 GPUs, more
// than 90% of the time effective. The mean of 256 runs deviates by sqrt(419 / 256).
TEST(StorageModel, FiftyFourDaysOfLlama3) {
  const Json m = metrics_of("reliability/llama3-16384");
  EXPECT_GT(m.at("goodput_fraction").as_number(), 0.90);
  EXPECT_LT(m.at("goodput_fraction").as_number(), 0.97);
  expect_ratio(m.at("training_days").as_number(), 54, 0.01);
  EXPECT_NEAR(m.at("failures").as_number(), 419, 3 * std::sqrt(419.0 / 256));
  EXPECT_EQ(m.at("checkpoint_write_bytes_per_s").as_number(), 2e12);
  // One run may have any number within three deviations of a Poisson count.
  const Json one = metrics_of("reliability/llama3-16384", {"jobs.0.training.seeds=1"});
  EXPECT_NEAR(one.at("failures").as_number(), 419, 3 * std::sqrt(419.0));
}

// After a failure: 2 minutes until it is noticed, 8 until servers run again, and the checkpoint is
// read at 2 TB/s. Failures while it is down begin that anew, on average when half of it is over.
TEST(StorageModel, EachRestartReadsTheCheckpoint) {
  for (const double terabytes_per_second : {2.0, 0.02}) {
    const Json m =
        metrics_of("reliability/llama3-16384",
                   {fmt::format("cluster.storage.read_limit={} TB/s", terabytes_per_second)});
    const double each = 600 + 4.05e11 * 14 / (terabytes_per_second * 1e12);
    const double mtbf = kDay / (0.000474 * 16384);
    const double down =
        m.at("job_fractions").at("down").as_number() * m.at("training_days").as_number() * kDay;
    expect_ratio(down / m.at("failures").as_number(), mtbf * (1 - std::exp(-each / mtbf)), kHand);
  }
}

// A default interval shorter than the drain would keep every checkpoint waiting for the last one.
TEST(StorageModel, TheDefaultIntervalLeavesTimeToDrain) {
  const Sets sets{R"(cluster.reliability={"failures_per_gpu_day": 50})",
                  R"(jobs.0={"workload": {"kind": "fixed-step", "step": "1 s", "parameters": 1e9},
         "training": {"steps": 2000, "checkpoint": {"bytes_per_parameter": 100,
           "mode": "asynchronous", "copy_rate": "100 GB/s"}}})",
                  "cluster.storage.write_limit=1 GB/s"};
  // 100 GB at 1 GB/s; a copy of half a second alone would ask for an interval of 29 s.
  expect_ratio(host_metric(kGptJob, "checkpoint_drain_s", sets), 100, kExact);
  expect_ratio(host_metric(kGptJob, "checkpoint_interval_s", sets), 100, kExact);
}

// A loader slower than the GPUs sets the pace, and what is counted per second with it.
TEST(StorageModel, TheLoaderSetsThePace) {
  const Sets sets{
      R"(jobs.0={"workload": {"kind": "fixed-step", "step": "1 s", "samples": 20, "tokens": 1000,
                              "model_flops": "1 TFLOP"},
                 "training": {"steps": 100, "data": {"sample": "2 GB"}}})"};
  const double pace = 20 / 2 * 2.0 / 10;  // 10 samples of 2 GB a server, at 10 GB/s
  expect_ratio(host_metric(kGptJob, "step_time_s", sets), pace, kExact);
  expect_ratio(host_metric(kGptJob, "tokens_per_s", sets), 1000 / pace, kExact);
  expect_ratio(host_metric(kGptJob, "mfu", sets), 1e12 / pace / 2e15, kExact);
  expect_ratio(host_metric(kGptJob, "training_days", sets), 100 * pace / 86400, kExact);
  expect_ratio(host_metric(kGptJob, "goodput_fraction", sets), 1, kExact);
}

}  // namespace
}  // namespace trainyard
