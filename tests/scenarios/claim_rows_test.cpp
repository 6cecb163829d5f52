// The six rows of the claim, and how each moves when one physical input does: by as much as a
// closed form says, from the values before.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "sim/compare.hpp"
#include "sim/metrics.hpp"
#include "tests/support_difference.hpp"
#include "tests/support_scenario.hpp"

namespace trainyard {
namespace {

using Sets = std::vector<std::string>;

std::string path_of(const std::string& name) {
  return std::string(TRAINYARD_SOURCE_DIR) + "/scenarios/" + name + ".json";
}

/// The result of a design; each is simulated once.
const Json& run(const std::string& name, const Sets& sets = {}) {
  static std::map<std::pair<std::string, Sets>, Json> known;
  const auto [it, is_new] = known.try_emplace({name, sets});
  if (is_new) it->second = testing::run_file_scenario(path_of(name), sets);
  return it->second;
}

double value(const Json& result, std::string_view key) {
  const auto found = metric_value(result.at("metrics"), key);
  EXPECT_TRUE(found) << key;
  return found.value_or(0);
}
double metric(const std::string& name, std::string_view key, const Sets& sets = {}) {
  return value(run("claim/" + name, sets), key);
}

const Json& equipment(const Json& result, const std::string& name) {
  for (const Json& one : result.at("metrics").at("equipment").items()) {
    if (one.at("equipment").as_string() == name) return one;
  }
  throw std::out_of_range(name);
}

/// The row moved from `before` to `after` by what is expected, within 5% of the move.
void expect_moved(double before, double after, double expected) {
  EXPECT_NEAR((after - before) / (expected - before), 1, 0.05)
      << before << " -> " << after << ", expected " << expected;
}

Json compared(const std::vector<std::string>& names) {
  std::vector<Json> results;
  for (const std::string& name : names) results.push_back(run(name));
  return compare_results(results, load_claim(path_of("claim/claim")));
}

TEST(ClaimRowsSlow, EachWithinFivePercent) {
  const Json comparison = compared({"claim/traditional", "claim/dpu"});
  std::map<std::string, bool> rows{
      {"allreduce_time_s", false}, {"gpu_utilization", false},
      {"training_days", false},    {"host_cpu_network_fraction", false},
      {"cost_ratio", false},       {"tflops_per_watt_ratio", false}};
  for (const Json& row : comparison.at("rows").items()) {
    const auto it = rows.find(row.at("metric").as_string());
    if (it == rows.end()) continue;
    it->second = true;
    for (const Json& deviation : row.at("deviation").items())
      EXPECT_LE(std::abs(deviation.as_number()), 0.05) << it->first;
  }
  for (const auto& [metric, seen] : rows) EXPECT_TRUE(seen) << metric;
  EXPECT_TRUE(comparison.at("claimed_only").items().empty());
}

TEST(ClaimRowsSlow, EveryAssumptionHasARangeAndAReasonAndOneLiesOutside) {
  for (const std::string name : {"claim/traditional", "claim/dpu"}) {
    std::vector<std::string> outside;
    for (const Json& p : run(name).at("parameters").items()) {
      EXPECT_NE(p.at("text").as_string(), "") << p.at("pointer").as_string();
      EXPECT_TRUE(p.at("kind").as_string() != "assumed" || p.find("range") != nullptr)
          << p.at("pointer").as_string();
      if (p.find("outside") != nullptr) outside.push_back(p.at("pointer").as_string());
    }
    if (name == "claim/dpu") {
      EXPECT_TRUE(outside.empty());
    } else {
      EXPECT_EQ(outside,
                (std::vector<std::string>{"/cluster/appliances/security-appliances/share"}));
    }
  }
}

// What public measurements support: rows that hold only with the claim's assumptions do not here.
TEST(ClaimRowsSlow, EvidenceHasTwoBaselines) {
  const Json comparison =
      compared({"evidence/traditional", "evidence/rdma", "evidence/dpu", "claim/traditional"});
  const auto row = [&](std::string_view metric, std::size_t run) {
    for (const Json& one : comparison.at("rows").items()) {
      if (one.at("metric").as_string() == metric) return one.at("values").items()[run].as_number();
    }
    return 0.0;
  };
  // Without a DPU, RDMA and GPUDirect alone bring most of the days and of the all-reduce.
  EXPECT_LT(row("training_days", 1), row("training_days", 0) * 0.85);
  EXPECT_LT(row("allreduce_time_s", 1), row("allreduce_time_s", 0) / 4);
  EXPECT_GT(row("cost_ratio", 2) / row("cost_ratio", 1), 0.85);
  EXPECT_GT(row("cost_ratio", 2), 0.65);
  EXPECT_LT(row("tflops_per_watt_ratio", 2), 1.4);
  EXPECT_LT(row("host_cpu_network_fraction", 0), 0.06);
  for (const std::string name : {"evidence/traditional", "evidence/rdma", "evidence/dpu"}) {
    for (const Json& p : run(name).at("parameters").items())
      EXPECT_EQ(p.find("outside"), nullptr) << name << " " << p.at("pointer").as_string();
  }
}

// The gradients of the first stage, reduced over 32 replicas: 8 ranks of a server move 2·31/32 of
// 4 bytes for each of 2,799,937,536 parameters, at 9 passes over host memory, by Simple, which
// sends nothing beside. By as much as that takes longer, every GPU waits longer in every iteration.
TEST(ClaimRowsSlow, UtilizationAndDaysFollowHostMemory) {
  const Sets slower{"cluster.server.host.memory_bandwidth=230 GB/s"};
  const double bytes = 8 * 2 * 31.0 / 32 * 4 * 2799937536.0;
  const double more = bytes * 9 * (1 / 230e9 - 1 / 328e9);
  const double step = metric("traditional", "step_time_s");
  expect_moved(step, metric("traditional", "step_time_s", slower), step + more);
  const double days = metric("traditional", "training_days");
  const double longer = more / step;
  expect_moved(days, metric("traditional", "training_days", slower), days * (1 + longer));
  // Restarts come per day and keep their share; what comes per iteration is part of a longer one.
  const double restart = metric("traditional", "gpu_wait_fractions.restart");
  const double waits = 1 - metric("traditional", "gpu_utilization") - restart;
  const double iterations = 1 - restart;
  expect_moved(metric("traditional", "gpu_utilization"),
               metric("traditional", "gpu_utilization", slower),
               1 - restart - iterations * (waits / iterations + longer) / (1 + longer));
}

// Every failure costs detection, repair and reading the checkpoint back.
TEST(ClaimRowsSlow, UtilizationFollowsRepair) {
  const Sets sets{"cluster.reliability.repair=40 min"};
  const double per_second = 0.00073 * 2048 / 86400;
  const double more = per_second * 35 * 60;  // of the wall time
  const double before = metric("dpu", "gpu_utilization"), wall = 1 + more;
  // The share of down time grows by what is added; all else shrinks by the longer wall time.
  const double waits = 1 - before;
  expect_moved(before, metric("dpu", "gpu_utilization", sets), 1 - (waits + more) / wall);
}

TEST(ClaimRowsSlow, DaysFollowTheTokens) {
  const double days = metric("dpu", "training_days");
  expect_moved(days, metric("dpu", "training_days", {"jobs.0.training.tokens=6e11"}), 2 * days);
}

// Kernels a tenth faster shorten what computes and what waits for another's compute.
TEST(ClaimRowsSlow, DaysFollowTheSlowestGpu) {
  const double days = metric("dpu", "training_days");
  const double compute =
      metric("dpu", "gpu_compute_fraction") + metric("dpu", "gpu_wait_fractions.bubble");
  expect_moved(days, metric("dpu", "training_days", {"cluster.slowest_gpu=1"}),
               days * (1 - compute * (1 - 1 / 1.09)));
}

TEST(ClaimRowsSlow, CoresFollowWhatIsReserved) {
  const double before = metric("dpu", "host_cpu_network_fraction");
  expect_moved(before,
               metric("dpu", "host_cpu_network_fraction",
                      {"cluster.services.network-daemons.reserved_cores=7"}),
               before + 3.5 / 128);
}

// Half the threads spin on half the cores; bytes need fewer than that.
TEST(ClaimRowsSlow, CoresFollowThePollingThreads) {
  const double before = metric("traditional", "host_cpu_network_fraction");
  const double reserved = metric("traditional", "host_cpu_network_fraction_reserved");
  const double free = 128 - 8 - 3.5;  // launch threads and daemons are pinned
  expect_moved(before,
               metric("traditional", "host_cpu_network_fraction",
                      {"cluster.services.socket-helpers.polling_threads=56",
                       "cluster.services.proxies.polling_threads=0"}),
               reserved + (before - reserved) * 56 / free);
}

// Capital is written off over 4 years and costs 2% a year beside.
TEST(ClaimRowsSlow, CostFollowsAPrice) {
  const Json& base = run("claim/traditional");
  const double servers = equipment(base, "security-appliances").at("count").as_number();
  const double years = value(base, "training_days") / 365.25;
  const double more = servers * 18000 * years * (1.0 / 4 + 0.02);
  expect_moved(
      value(base, "cost_usd"),
      metric("traditional", "cost_usd", {"cluster.appliances.security-appliances.price_usd=36000"}),
      value(base, "cost_usd") + more);
}

TEST(ClaimRowsSlow, CostFollowsElectricity) {
  const Json& base = run("claim/dpu");
  expect_moved(value(base, "cost_usd"), metric("dpu", "cost_usd", {"cluster.site.usd_per_kwh=0.2"}),
               value(base, "cost_usd") + value(base, "energy_mwh") * 1000 * 0.1);
}

TEST(ClaimRowsSlow, TflopsPerWattFollowsAPower) {
  const Json& base = run("claim/traditional");
  const double servers = equipment(base, "security-appliances").at("count").as_number();
  const double power = value(base, "average_power_w"), more = servers * 250 * 1.3;
  expect_moved(value(base, "tflops_per_watt"),
               metric("traditional", "tflops_per_watt",
                      {"cluster.appliances.security-appliances.power=800 W"}),
               value(base, "tflops_per_watt") * power / (power + more));
}

TEST(ClaimRowsSlow, NothingSimulatedDependsOnTheClaim) {
  const Json claim = load_claim(path_of("claim/claim"));
  Json zero = claim;
  for (auto& [metric, row] : zero["rows"].members()) {
    for (auto& [name, number] : row.members()) number = Json(0.0);
  }
  const std::vector<Json> results{run("claim/traditional"), run("claim/dpu")};
  const Json with = compare_results(results, claim), without = compare_results(results, zero);
  ASSERT_EQ(with.at("rows").items().size(), without.at("rows").items().size());
  for (std::size_t i = 0; i < with.at("rows").items().size(); ++i) {
    EXPECT_EQ(dump_json(with.at("rows").items()[i].at("values")),
              dump_json(without.at("rows").items()[i].at("values")));
  }
  EXPECT_EQ(dump_json(with.at("results")), dump_json(without.at("results")));
  // Nor does a run that names another claim.
  EXPECT_EQ(dump_json(run("claim/dpu", {"claim=zero.json"}).at("metrics")),
            dump_json(run("claim/dpu").at("metrics")));
}

TEST(ClaimRowsSlow, SameSeedSameBytes) {
  const Json again = testing::run_file_scenario(path_of("claim/traditional"));
  EXPECT_EQ(dump_json(again), dump_json(run("claim/traditional")));
  EXPECT_NE(dump_json(run("claim/traditional", {"engine.seed=2"}).at("metrics")),
            dump_json(run("claim/traditional").at("metrics")));
}

// One for all that do the same gives what each of them gives. In the DPU design SHARP's trees load
// the rails unevenly, and training data comes in beside the step: its ranks are simulated one by
// one, and what is left out are micro-batches that repeat others.
TEST(ClaimRowsSlow, FoldedAsUnfolded) {
  for (const std::string name : {"claim/traditional", "claim/dpu"}) {
    EXPECT_THAT(testing::differences(run(name), run(name, {"engine.fold=off"})),
                ::testing::IsEmpty())
        << name;
  }
  const Json& traditional = run("claim/traditional").at("folding");
  EXPECT_EQ(traditional.at("tensor_ranks").as_integer(), 8);
  EXPECT_EQ(traditional.at("repeated_operations").as_integer(), 0);  // each has jitter of its own
  EXPECT_GT(metric("traditional", "simulated_ops", {"engine.fold=off"}),
            4 * metric("traditional", "simulated_ops"));
  const Json& dpu = run("claim/dpu").at("folding");
  EXPECT_EQ(dpu.at("tensor_ranks").as_integer(), 1);
  EXPECT_EQ(dpu.at("one_by_one").items().size(), 2U);
  EXPECT_GT(metric("dpu", "simulated_ops", {"engine.fold=off"}),
            2 * metric("dpu", "simulated_ops"));
}

}  // namespace
}  // namespace trainyard
