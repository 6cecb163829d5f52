// What the command says about services, storage, training and money that are wrong: whole messages,
// exit codes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/golden/command.hpp"

namespace trainyard::testing {
namespace {

constexpr std::string_view kServices = R"({
  "name": "services",
  "cluster": {
    "servers": 2,
    "server": {
      "base": "dgx-a100",
      "dpu": {"rate": "200 Gb/s", "cores": 8, "memory_bandwidth": "20 GB/s",
              "power": {"idle": "45 W", "busy": "75 W"}, "price_usd": 2000},
      "dpus": 1,
      "host": {"cores": 128, "memory_bandwidth": "328 GB/s",
               "power": {"idle": "250 W", "busy": "600 W"}}
    },
    "network": {"kind": "fat-tree", "switch": "qm8700", "tiers": 2, "link_latency": "50 ns"},
    "transport": "rdma",
    "gpudirect": true,
    "collectives": "nccl",
    "services": {
      "agents": {"reserved_cores": 4, "shared_cores": 2, "jitter": "1 us"},
      "guard": {"traffic": "network", "per_core": "10 GB/s"},
      "on-card": {"placement": "dpu", "reserved_cores": 2}
    },
    "storage": {"base": "nvmeof-flash"},
    "appliances": {
      "inspectors": {"load": "network", "rate": "100 Gb/s", "power": "500 W", "price_usd": 10000}
    },
    "reliability": {"base": "llama3"},
    "site": {"base": "colocation"}
  },
  "jobs": [
    {
      "workload": {"kind": "fixed-step", "step": "2 s", "parameters": 1e9, "samples": 100,
                   "tokens": 204800},
      "training": {
        "steps": 1000,
        "data": {"sample": "1 MB"},
        "checkpoint": {"bytes_per_parameter": 14, "interval": "10 min"}
      }
    }
  ]
}
)";

using Changes = std::vector<std::pair<std::string, std::string>>;

class BadServices : public ::testing::Test {
 protected:
  /// `run` and `check` of the scenario with each `from` (which must be there once) replaced by its
  /// `to` both say exactly this, after the file's name.
  void expect(const Changes& changes, int exit_code, const std::vector<std::string>& faults) {
    std::string text(kServices), message;
    for (const auto& [from, to] : changes) {
      const std::size_t at = text.find(from);
      ASSERT_NE(at, std::string::npos) << from;
      ASSERT_EQ(text.find(from, at + 1), std::string::npos) << from;
      text.replace(at, from.size(), to);
    }
    for (const std::string& fault : faults) message += "s.json: " + fault + "\n";
    folder.write("s.json", text);
    for (const std::string command : {"check", "run"}) {
      const CommandResult ran = run_command_in(TRAINYARD_BINARY, folder, {command, "s.json"});
      EXPECT_EQ(ran.err, message);
      if (!faults.empty()) {
        EXPECT_EQ(ran.out, "");
      }
      EXPECT_EQ(ran.exit_code, exit_code) << message;
    }
  }
  TemporaryFolder folder;
};

TEST_F(BadServices, TheUnchangedScenarioIsRight) { expect({}, 0, {}); }

TEST_F(BadServices, MoreCoresThanThereAre) {
  expect(
      {{"\"reserved_cores\": 4", "\"reserved_cores\": 129"}}, 4,
      {"/cluster/services/agents/reserved_cores: pins 129 cores with the services before it, and "
       "the host has 128 (reserve fewer, use shared_cores, or place services elsewhere)"});
  expect({{"\"reserved_cores\": 4", "\"reserved_cores\": 100"},
          {"\"per_core\"", "\"reserved_cores\": 28.5, \"per_core\""}},
         4,
         {"/cluster/services/guard/reserved_cores: pins 128.5 cores with the services before it, "
          "and the host has 128 (reserve fewer, use shared_cores, or place services elsewhere)"});
  expect({{"\"reserved_cores\": 2}", "\"reserved_cores\": 9}"}}, 4,
         {"/cluster/services/on-card/reserved_cores: pins 9 cores with the services before it, and "
          "the DPUs have 8 (reserve fewer, use shared_cores, or place services elsewhere)"});
  expect({{"\"reserved_cores\": 4", "\"reserved_cores\": 128"}}, 0, {});  // all there are
}

TEST_F(BadServices, WrongServices) {
  expect({{"\"dpus\": 1", "\"dpus\": 0"}}, 3,
         {"/cluster/services/on-card/placement: places the service on a DPU, but the servers have "
          "none (set server.dpu and server.dpus, or another placement)"});
  expect({{"\"traffic\": \"network\"", "\"traffic\": \"net\""}}, 3,
         {"/cluster/services/guard/traffic: \"net\" is not a choice here (one of: none, network, "
          "storage, all)"});
  expect({{"\"guard\": {", "\"inspect\": \"ipsek\", \"guard\": {"}}, 3,
         {"/cluster/services/inspect: \"ipsek\" is not in the catalogue of kind service (did you "
          "mean \"ipsec\"?)"});
}

TEST_F(BadServices, StorageWithoutAWayThere) {
  expect(
      {{"\"dpus\": 1", "\"dpus\": 0, \"storage_nics\": 0"},
       {"\"placement\": \"dpu\"", "\"placement\": \"off\""}},
      3,
      {"/cluster/storage/network: is a network of its own, and the servers have no port into it: "
       "no path (set server.storage_nic and server.storage_nics, or DPUs, or \"fabric\")"});
  expect({{"\"dpus\": 1", "\"dpus\": 0, \"storage_nics\": 0"},
          {"\"placement\": \"dpu\"", "\"placement\": \"off\""},
          {"\"nvmeof-flash\"", "\"nvmeof-flash\", \"network\": \"fabric\""}},
         0, {});
}

TEST_F(BadServices, NegativeRates) {
  expect({{"\"reserved_cores\": 4, \"shared_cores\": 2, \"jitter\": \"1 us\"",
           "\"reserved_cores\": -4, \"shared_cores\": -2, \"jitter\": \"-1 us\""},
          {"\"per_core\": \"10 GB/s\"",
           "\"per_core\": \"-10 GB/s\", \"engine_rate\": \"-1 GB/s\", \"polling_threads\": -1"}},
         3,
         {"/cluster/services/agents/reserved_cores: -4 is too small (must be at least 0)",
          "/cluster/services/agents/shared_cores: -2 is too small (must be at least 0)",
          "/cluster/services/agents/jitter: -1 us is too small (must be at least 0 s)",
          "/cluster/services/guard/polling_threads: -1 is too small (must be at least 0)",
          "/cluster/services/guard/per_core: -10 GB/s is too small (must be at least 0 B/s)",
          "/cluster/services/guard/engine_rate: -1 GB/s is too small (must be at least 0 B/s)"});
  expect({{"\"llama3\"", "\"llama3\", \"failures_per_gpu_day\": -1, \"stalls_per_day\": -2"},
          {"\"nvmeof-flash\"", "\"nvmeof-flash\", \"node_write_limit\": \"-1 GB/s\""}},
         3,
         {"/cluster/storage/node_write_limit: -1 GB/s is too small (must be at least 0 B/s)",
          "/cluster/reliability/failures_per_gpu_day: -1 is too small (must be at least 0)",
          "/cluster/reliability/stalls_per_day: -2 is too small (must be at least 0)"});
}

TEST_F(BadServices, Site) {
  expect({{"\"colocation\"",
           "\"colocation\", \"pue\": 0.9, \"usd_per_kwh\": -1, \"years\": 0, "
           "\"utilization\": 1.5, \"operations_per_year\": -1"}},
         3,
         {"/cluster/site/pue: 0.9 is too small (must be at least 1)",
          "/cluster/site/usd_per_kwh: -1 is too small (must be at least 0)",
          "/cluster/site/years: 0 is too small (must be above 0)",
          "/cluster/site/utilization: 1.5 is too large (must be at most 1)",
          "/cluster/site/operations_per_year: -1 is too small (must be at least 0)"});
  expect({{"\"idle\": \"250 W\", \"busy\": \"600 W\"", "\"idle\": \"600 W\", \"busy\": \"250 W\""}},
         3, {"/cluster/server/host/power/busy: is less than idle (at least \"idle\")"});
}

TEST_F(BadServices, PowerOrPriceMissing) {
  const std::string power =
      ": is missing, and the site asks for the power of every device in use (give it, or take the "
      "device from the catalogue, or leave \"site\" out)";
  const std::string price =
      ": is missing, and the site asks for the price of every device in use (give it, or take the "
      "device from the catalogue, or leave \"site\" out)";
  expect({{",\n              \"power\": {\"idle\": \"45 W\", \"busy\": \"75 W\"}", ""}}, 3,
         {"/cluster/server/dpu/power" + power});
  expect({{", \"price_usd\": 2000", ""}}, 3, {"/cluster/server/dpu/price_usd" + price});
  expect({{", \"power\": \"500 W\"", ""}}, 3, {"/cluster/appliances/inspectors/power" + power});
  expect({{", \"price_usd\": 10000", ""}}, 3, {"/cluster/appliances/inspectors/price_usd" + price});
  expect({{"\"qm8700\"", R"({"ports": 40, "rate": "200 Gb/s", "power": {"idle": "250 W",
                             "busy": "400 W"}, "price_usd": 20000, "port_price_usd": 300})"}},
         3, {"/cluster/network/switch/port_power" + power});
  // Nobody asks for them where the device is not there.
  expect({{", \"price_usd\": 2000", ""},
          {"\"dpus\": 1", "\"dpus\": 0"},
          {"\"placement\": \"dpu\"", "\"placement\": \"off\""}},
         0, {});
}

TEST_F(BadServices, AppliancesOfUnknownSize) {
  expect({{"\"rate\": \"100 Gb/s\", ", ""}}, 3,
         {"/cluster/appliances/inspectors/rate: is missing, and the appliance is sized by traffic "
          "(what one carries, like \"100 Gb/s\")"});
  expect({{"\"load\": \"network\"", "\"load\": \"traffic\""}}, 3,
         {"/cluster/appliances/inspectors/load: \"traffic\" is not a choice here (one of: servers, "
          "network, checkpoint, data)"});
}

// 16 targets of 24 drives of 7.68 TB, 70% of them usable: 2.064 PB.
TEST_F(BadServices, ACheckpointLargerThanTheStorage) {
  expect({{"\"parameters\": 1e9", "\"parameters\": 1e15"}}, 4,
         {"/jobs/0/training/checkpoint: one checkpoint of 14 PB is larger than the storage, "
          "2.064 PB (more targets or drives, or fewer bytes_per_parameter)"});
}

TEST_F(BadServices, TrainingWithoutWhatItNeeds) {
  expect({{"\"storage\": {\"base\": \"nvmeof-flash\"},", ""}}, 3,
         {"/jobs/0/training: reads or writes storage, and the cluster has none (set "
          "cluster.storage, like \"nvmeof-flash\")"});
  expect({{"\"kind\": \"fixed-step\", \"step\": \"2 s\", \"parameters\": 1e9, \"samples\": 100,\n"
           "                   \"tokens\": 204800",
           "\"kind\": \"collective\", \"sizes\": [\"1 MiB\"]"}},
         3,
         {"/jobs/0/training: the workload \"collective\" counts no samples: it is no training (use "
          "a training workload, or leave \"training\" out)"});
  expect({{"\"parameters\": 1e9, ", ""}}, 3,
         {"/jobs/0/training/checkpoint: the workload counts no parameters (set its "
          "\"parameters\")"});
  expect({{"\"sample\": \"1 MB\"", "\"preprocess\": \"1 ms\""}}, 3,
         {"/jobs/0/training/data/preprocess: preprocesses samples without bytes (give data.sample "
          "too)"});
}

TEST_F(BadServices, HowLongToTrain) {
  expect({{"\"steps\": 1000", "\"steps\": 1000, \"tokens\": 1e9"}}, 3,
         {"/jobs/0/training/tokens: is given, and \"steps\" too (give one of them)"});
  expect({{"\"steps\": 1000,", ""}}, 3,
         {"/jobs/0/training/tokens: is missing, and so is \"steps\" (give one of them)"});
  expect({{"\"tokens\": 204800", "\"tokens\": 0"}, {"\"steps\": 1000", "\"tokens\": 1e9"}}, 3,
         {"/jobs/0/training/tokens: the workload counts no tokens (give \"steps\" instead)"});
}

TEST_F(BadServices, AsynchronousCheckpoints) {
  expect({{"\"interval\"", "\"mode\": \"asynchronous\", \"interval\""}}, 3,
         {"/jobs/0/training/checkpoint/copy_rate: is missing, and checkpoints are asynchronous "
          "(like \"20 GB/s\")"});
  expect({{"\"interval\"", "\"mode\": \"async\", \"interval\""}}, 3,
         {"/jobs/0/training/checkpoint/mode: \"async\" is not a choice here (one of: synchronous, "
          "asynchronous)"});
}

// What lacks room and what is wrong are told at once; the graver exit code counts.
TEST_F(BadServices, SeveralFaultsAtOnce) {
  expect(
      {{"\"reserved_cores\": 4", "\"reserved_cores\": 200"},
       {"\"storage\": {\"base\": \"nvmeof-flash\"},", ""}},
      3,
      {"/cluster/services/agents/reserved_cores: pins 200 cores with the services before it, and "
       "the host has 128 (reserve fewer, use shared_cores, or place services elsewhere)",
       "/jobs/0/training: reads or writes storage, and the cluster has none (set "
       "cluster.storage, like \"nvmeof-flash\")"});
}

// null takes out what the catalogue gives, through any number of names.
TEST(BadServicesRun, NullRemovesWhatTheCatalogueGives) {
  const TemporaryFolder folder;
  const std::string llama =
      std::string(TRAINYARD_SOURCE_DIR) + "/scenarios/reliability/llama3-16384.json";
  folder.write("s.json", R"({"extends": ")" + llama + R"(",
    "cluster": {"site": "colocation", "server": {"gpu": {"power": null}}}})");
  const CommandResult ran = run_command_in(TRAINYARD_BINARY, folder, {"check", "s.json"});
  EXPECT_EQ(ran.exit_code, 3);
  EXPECT_THAT(ran.err, ::testing::HasSubstr("/cluster/server/gpu/power: is missing, and the site"));
}

// The forced algorithm did not run: a reader of the row must know.
TEST(BadServicesRun, AForcedAlgorithmThatCannotRunIsSaid) {
  const TemporaryFolder folder;
  const CommandResult ran = run_command_in(
      TRAINYARD_BINARY, folder,
      {"collective", std::string(TRAINYARD_SOURCE_DIR) + "/scenarios/evidence/rdma.json",
       "--algorithm", "sharp", "--sizes", "1M"});
  EXPECT_EQ(ran.exit_code, 0);
  EXPECT_THAT(ran.err, ::testing::HasSubstr("1.049 MB took "));
  EXPECT_THAT(ran.err,
              ::testing::HasSubstr(" instead of sharp: sharp: its switches do not reduce"));
}

// Failures that leave no time between them: found out by simulating, in a second or two.
TEST(BadServicesRun, AJobThatNeverFinishes) {
  const TemporaryFolder folder;
  const CommandResult ran = run_command_in(
      TRAINYARD_BINARY, folder,
      {"run", std::string(TRAINYARD_SOURCE_DIR) + "/scenarios/reliability/llama3-16384.json",
       "--set", "cluster.reliability.failures_per_gpu_day=50", "--set", "jobs.0.training.seeds=1"});
  EXPECT_EQ(ran.exit_code, 4);
  EXPECT_EQ(ran.out, "");
  EXPECT_THAT(ran.err, ::testing::HasSubstr("llama3-16384.json: /jobs/0/training: the job "
                                            "practically never finishes: after 10000000 failures"));
  EXPECT_THAT(ran.err, ::testing::HasSubstr("(shorten the interval between checkpoints"));
}

}  // namespace
}  // namespace trainyard::testing
