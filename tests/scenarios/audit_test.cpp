// The audit of a claim: which assumed parameters its rows hang on, tried at the far end of their
// range, against direct runs and by hand.
#include "sim/audit.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/claim_check.hpp"
#include "tests/golden/command.hpp"
#include "tests/support_scenario.hpp"

namespace trainyard {
namespace {

using ::testing::HasSubstr;

// One server of one GPU: a step of 1 s, 86,400 of them, 100 W while computing, PUE 1.2 assumed.
constexpr const char* kBase = R"({
  "name": "first",
  "cluster": {
    "servers": 1,
    "server": {"gpus": 1, "nics": 1, "price_usd": 1000, "base_power": "0 W",
      "gpu": {"peak_bf16": "1 TFLOPS", "hbm_bandwidth": "1 TB/s", "memory": "80 GiB",
        "power": {"computing": "100 W", "waiting": "50 W", "idle": "10 W"}},
      "nvlink": {"bandwidth": "50 GB/s"},
      "nic": {"rate": "50 GB/s", "pcie_bandwidth": "50 GB/s", "power": {"idle": "0 W", "busy": "0 W"}},
      "host": {"cores": 8, "memory_bandwidth": "100 GB/s", "power": {"idle": "0 W", "busy": "0 W"}}},
    "network": {"kind": "crossbar", "switch": {"ports": 2, "rate": "50 GB/s",
      "power": {"idle": "0 W", "busy": "0 W"}, "price_usd": 0, "port_power": "0 W",
      "port_price_usd": 0}},
    "transport": {"kind": "rdma"},
    "collectives": {"protocols": {"simple": {}}},
    "reliability": {"failures_per_gpu_day": 1,
      "repair": {"value": "14.4 min", "assumed": true, "range": ["0 min", "144 min"], "why": "a guess"}},
    "slowest_gpu": {"value": 1, "assumed": true, "range": [1, 1.1], "why": "a guess"},
    "site": {"usd_per_kwh": 0.1, "years": 1,
      "pue": {"value": 1.2, "assumed": true, "range": [1.3, 1.5], "why": "a wish"}}},
  "jobs": [{"workload": {"kind": "fixed-step", "step": "1 s", "tokens": 1, "model_flops": "1 TFLOP"},
            "training": {"steps": 86400, "seeds": 64}}]})";

struct Audited {
  std::vector<AuditedRun> runs;
  Json audit;
};

Audited audited(const testing::TemporaryFolder& folder, const std::string& claim) {
  const std::string first = (folder.path() / "first.json").string(),
                    second = (folder.path() / "second.json").string();
  folder.write("first.json", kBase);
  folder.write("second.json", R"({"extends": "first.json", "name": "second",
    "cluster": {"reliability": {"failures_per_gpu_day": 0}}})");
  Audited out;
  for (const std::string& file : {first, second}) {
    std::vector<LoadedScenario> loaded;
    loaded.push_back(load_scenario(file, {}));
    std::vector<std::vector<ResultPart>> parts;
    Json result = run_scenarios(loaded, &parts).front();
    out.runs.push_back({file,
                        {},
                        loaded[0].parameters,
                        simulation_key(loaded[0]),
                        std::move(result),
                        std::move(parts[0])});
  }
  out.audit = audit_claim(out.runs, parse_json(claim, "claim"));
  return out;
}

const Json* effect(const Json& audit, const std::string& metric, const std::string& pointer) {
  for (const Json& row : audit.at("rows").items()) {
    if (row.at("metric").as_string() != metric) continue;
    for (const Json& e : row.at("hangs_on").items()) {
      if (e.at("pointer").as_string() == pointer) return &e;
    }
  }
  return nullptr;
}

constexpr const char* kClaim =
    R"({"rows": {"average_power_w": {"first": 120, "second": 120},
                 "training_days": {"first": 1, "second": 1}}})";

TEST(Audit, FindsWhatARowHangsOnAndByHowMuch) {
  const testing::TemporaryFolder folder;
  const Json audit = audited(folder, kClaim).audit;
  EXPECT_EQ(audit.at("tried").as_integer(), 3);
  // Nothing fails in the second: 100 W of GPU at a PUE of 1.2; tried at the nearest end, 1.3.
  const Json* pue = effect(audit, "average_power_w", "/cluster/site/pue");
  ASSERT_NE(pue, nullptr);
  EXPECT_EQ(pue->at("tried").as_string(), "1.3");
  EXPECT_TRUE(pue->at("outside").as_bool());
  EXPECT_NEAR(pue->at("change").items()[1].as_number(), 1.3 / 1.2 - 1, 1e-9);
  EXPECT_EQ(effect(audit, "training_days", "/cluster/site/pue"), nullptr);
  // Kernels 10% slower, and nothing else, in a job without failures.
  const Json* slow = effect(audit, "training_days", "/cluster/slowest_gpu");
  ASSERT_EQ(slow, nullptr) << "a fixed step is as it was measured";
  const Json* repair = effect(audit, "training_days", "/cluster/reliability/repair");
  ASSERT_NE(repair, nullptr);
  EXPECT_EQ(repair->at("tried").as_string(), "144 min");
  EXPECT_GT(repair->at("change").items()[0].as_number(), 0.05);
  EXPECT_EQ(repair->at("change").items()[1].as_number(), 0);
}

// Largest first, as a run with the value set by hand gives it.
TEST(Audit, AgreesWithDirectRuns) {
  const testing::TemporaryFolder folder;
  const Audited all = audited(folder, kClaim);
  const double before = all.runs[0].result.at("metrics").at("training_days").as_number();
  LoadOptions options;
  options.sets = {"cluster.reliability.repair=144 min"};
  LoadedScenario loaded = load_scenario(all.runs[0].file, options);
  const double after = run_scenario(loaded).at("metrics").at("training_days").as_number();
  const Json* repair = effect(all.audit, "training_days", "/cluster/reliability/repair");
  ASSERT_NE(repair, nullptr);
  EXPECT_DOUBLE_EQ(repair->at("change").items()[0].as_number(), after / before - 1);
}

TEST(Audit, SaysWhereTheClaimStopsHolding) {
  const testing::TemporaryFolder folder;
  const Json holding = audited(folder, R"({"rows": {"average_power_w": {"second": 120}}})").audit;
  const Json* pue = effect(holding, "average_power_w", "/cluster/site/pue");
  ASSERT_NE(pue, nullptr);
  EXPECT_TRUE(holding.at("rows").items()[0].at("holds").as_bool());
  EXPECT_TRUE(pue->at("breaks").as_bool());  // 130 W against 120
  const Json wrong = audited(folder, R"({"rows": {"average_power_w": {"second": 200}}})").audit;
  EXPECT_FALSE(wrong.at("rows").items()[0].at("holds").as_bool());
  EXPECT_FALSE(effect(wrong, "average_power_w", "/cluster/site/pue")->at("breaks").as_bool());
}

TEST(Audit, AccountsNeedNoNewSimulation) {
  const testing::TemporaryFolder folder;
  folder.write("first.json", kBase);
  const auto key = [&](const std::vector<std::string>& sets) {
    LoadOptions options;
    options.sets = sets;
    LoadedScenario loaded = load_scenario((folder.path() / "first.json").string(), options);
    return simulation_key(loaded);
  };
  const std::string base = key({});
  for (const char* set : {"cluster.site.pue=2", "cluster.server.gpu.power.computing=200 W",
                          "cluster.reliability.repair=1 h", "jobs.0.training.steps=5",
                          "cluster.server.price_usd=7", "name=other"})
    EXPECT_EQ(key({set}), base) << set;
  for (const char* set :
       {"jobs.0.workload.step=2 s", "cluster.slowest_gpu=1.1", "cluster.server.host.cores=9",
        "cluster.server.nic.rate=1 GB/s", "engine.seed=3"})
    EXPECT_NE(key({set}), base) << set;
}

Json result_of(const std::string& name, double days, double node_power) {
  Json result = parse_json(R"({"metrics": {"mfu": 0.4, "goodput_fraction": 0.9,
    "tflops_per_watt": 0.1, "tflops_per_watt_nodes": 0.2, "rated_tflops_per_watt": 0.3,
    "chip_tflops_per_watt": 0.9},
    "scenario": {"cluster": {"servers": 256, "server": {"gpus": 8}}},
    "probes": {"allreduce": {"ranks": 1024}}})",
                           "by hand");
  result["name"] = Json(name);
  result["metrics"]["training_days"] = Json(days);
  result["metrics"]["node_power_w"] = Json(node_power);
  return result;
}

TEST(Audit, ContradictionsByHand) {
  const Json claim = parse_json(R"({"rows": {
    "gpu_utilization": {"a": 0.68, "b": 0.94}, "training_days": {"a": 21, "b": 14},
    "cost_ratio": {"a": 1, "b": 0.62}, "tflops_per_watt_ratio": {"a": 1, "b": 1.62},
    "rated_tflops_per_watt": {"a": 4.2, "b": 6.8}}})",
                                "claim");
  const std::vector<std::string> all =
      claim_contradictions({result_of("a", 21, 4000), result_of("b", 14, 4400)}, claim);
  ASSERT_EQ(all.size(), 5U);
  EXPECT_THAT(all[0], HasSubstr("15.2 of the 21 days, not 14"));                  // 21 · 68/94
  EXPECT_THAT(all[1], HasSubstr("14 days on these 2048 GPUs mean 36% of peak"));  // 0.4 · 0.9
  EXPECT_THAT(all[1], HasSubstr("on the 1024 of the probe \"allreduce\" they would mean 72%"));
  EXPECT_THAT(all[2], HasSubstr("0.67 of the cost, not 0.62"));
  EXPECT_THAT(all[2], HasSubstr("7% less"));  // 1 - 0.62 / (14/21)
  EXPECT_THAT(all[3], HasSubstr("0.93 times the power, while busier servers draw 1.10"));
  EXPECT_THAT(all[4], HasSubstr("no reading of this GPU gives 4.2"));
  EXPECT_THAT(all[4], HasSubstr("over its own power 0.9"));
  // A claim that agrees with itself has only its MFU worked out.
  const Json sound = parse_json(R"({"rows": {
    "gpu_utilization": {"a": 0.5, "b": 1}, "training_days": {"a": 28, "b": 14},
    "cost_ratio": {"a": 1, "b": 0.5}, "tflops_per_watt_ratio": {"a": 1, "b": 1.8},
    "rated_tflops_per_watt": {"a": 0.4, "b": 0.8}}})",
                                "claim");
  EXPECT_EQ(
      claim_contradictions({result_of("a", 28, 4000), result_of("b", 14, 4400)}, sound).size(), 1U);
}

}  // namespace
}  // namespace trainyard
