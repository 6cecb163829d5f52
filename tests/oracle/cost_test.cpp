// Energy and money of a job by hand, and what a device without power or price does.
#include <tuple>

#include "sim/error.hpp"
#include "tests/oracle/support_energy.hpp"

namespace trainyard {
namespace {

using testing::number;
using testing::powered;
using testing::row;

constexpr double kRounding = 1e-9;

/// One server, 1,000 steps of 2 s that read 100 MB each, 14 GB written after every 300th at the
/// 8 GB/s of the drives: 3 times 1.75 s.
const std::vector<std::string> kByHand{"cluster.servers=1", std::string(testing::kTraining)};
constexpr double kTrains = 1000 * 2, kBlocked = 3 * 14e9 / 8e9, kWall = kTrains + kBlocked;

struct Row {
  const char* device;
  double count, training, blocked, price;
};
/// Every device of kPowered in that job, by hand.
std::vector<Row> rows_by_hand() {
  const double reads = 100e6 / 2;     // bytes/s
  const double ports = 5e9 + 12.5e9;  // of the storage NIC and the DPU
  const double hosts = 200 + 320 * (2.0 + 3) / 32, dpu = 40 + 32 * (0.5 + 0.5) / 4;
  const double read_load = reads / (2 * 4 * 2e9);
  return {{"GPUs", 2, 400, 150, 0},
          {"host CPUs", 1, hosts, hosts, 0},
          {"server boards, fans, NVSwitches", 1, 700, 700, 200000},
          {"NICs", 2, 10, 10, 0},
          {"storage NICs", 1, 12 + 7 * reads / ports, 19, 900},
          {"DPUs", 1, dpu, dpu, 2000},
          {"switches", 1, 250, 250, 20000},
          {"switch ports, cables", 4, 5, 5, 300},
          {"storage targets", 2, 300 + 260 * read_load, 560, 15000},
          {"NVMe drives", 8, 5 + 8 * read_load, 13, 500},
          {"inspectors", 0, 500, 500, 12000},
          {"managers", 1, 450, 450, 9000}};
}

void expect_near(double value, double expected, const std::string& what) {
  EXPECT_NEAR(value, expected, kRounding * std::abs(expected)) << what;
}

TEST(Energy, OfEveryDeviceByHand) {
  const Json metrics = powered(kByHand);
  expect_near(number(metrics, "training_days") * 86400, kWall, "wall");
  const std::vector<Row> rows = rows_by_hand();
  ASSERT_EQ(metrics.at("equipment").items().size(), rows.size());
  double joules = 0, nodes = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Row& r = rows[i];
    const Json& found = row(metrics, r.device);
    const double mine = r.count * (r.training * kTrains + r.blocked * kBlocked);
    expect_near(number(found, "count"), r.count, r.device);
    expect_near(number(found, "average_power_w"), mine / kWall, r.device);
    expect_near(number(found, "energy_mwh"), mine / 3.6e9, r.device);
    expect_near(number(found, "capital_usd"), r.count * r.price, r.device);
    joules += mine;
    if (i < 6) nodes += mine;
  }
  expect_near(number(metrics, "node_power_w"), nodes / kWall, "node_power_w");
  expect_near(number(metrics, "it_power_w"), joules / kWall, "it_power_w");
  expect_near(number(metrics, "average_power_w"), 1.25 * joules / kWall, "average_power_w");
  expect_near(number(metrics, "energy_mwh"), 1.25 * joules / 3.6e9, "energy_mwh");
  expect_near(number(metrics, "tflops_per_watt"), 1000 * 2e14 / (1.25 * joules) / 1e12, "FLOPS/W");
  expect_near(number(metrics, "tflops_per_watt_nodes"), 1000 * 2e14 / nodes / 1e12, "of nodes");
}

TEST(Energy, CostByHand) {
  const Json metrics = powered(kByHand);
  double capital = 0;
  for (const Row& r : rows_by_hand()) capital += r.count * r.price;
  ASSERT_EQ(capital, 200000 + 900 + 2000 + 20000 + 4 * 300 + 2 * 15000 + 8 * 500 + 9000);
  expect_near(number(metrics, "capital_usd"), capital, "capital");
  // Five years of which 80% are used.
  const double lifetime = 5 * 0.8 * 365.25 * 86400;
  const double written_off = capital * kWall / lifetime, operations = 0.03 * 5 * written_off;
  const double energy = number(metrics, "energy_mwh") * 1000 * 0.2;
  const Json& parts = metrics.at("cost_parts_usd");
  expect_near(number(parts, "capital"), written_off, "capital");
  expect_near(number(parts, "operations"), operations, "operations");
  expect_near(number(parts, "energy"), energy, "energy");
  expect_near(number(metrics, "cost_usd"), written_off + operations + energy, "cost_usd");
}

// Down, the GPUs idle and nothing moves. How long is for the job's own tests; here its share
// counts.
TEST(Energy, WhileTheJobIsDown) {
  std::vector<std::string> sets = kByHand;
  sets.emplace_back(R"(cluster.reliability={"failures_per_gpu_day": 100, "detection": "60 s",
                       "repair": "4 min"})");
  const Json metrics = powered(sets);
  const Json& share = metrics.at("job_fractions");
  const double down = number(share, "down"), blocked = number(share, "checkpoint");
  ASSERT_GT(down, 0.01);
  const std::vector<Row> rows = rows_by_hand();
  const std::map<std::string, double> idle{
      {"GPUs", 50}, {"storage NICs", 12}, {"storage targets", 300}, {"NVMe drives", 5}};
  for (const Row& r : rows) {
    const auto it = idle.find(r.device);
    const double when_down = it == idle.end() ? r.blocked : it->second;
    const double watts = r.training * (1 - down - blocked) + r.blocked * blocked + when_down * down;
    expect_near(number(row(metrics, r.device), "average_power_w"), r.count * watts, r.device);
  }
}

// Loading takes 100 GB / 16 GB/s, three times the step: ports at work all the time, and not more.
TEST(Energy, OfALoaderThatSetsThePace) {
  std::vector<std::string> sets = kByHand;
  sets.emplace_back("jobs.0.training.data.sample=1 GB");
  sets.emplace_back("cluster.server.dpu.rate=11 GB/s");  // 16 GB/s into the server, as the drives
  const Json metrics = powered(sets);
  ASSERT_GT(number(metrics.at("job_fractions"), "stalled"), 0.5);
  expect_near(number(row(metrics, "storage NICs"), "average_power_w"), 19, "storage NICs");
}

/// The powered scenario without the member at that pointer.
std::string without(const std::string& pointer, Json scenario) {
  const std::vector<std::string> keys = split_pointer(pointer);
  Json* at = &scenario;
  for (std::size_t i = 0; i + 1 < keys.size(); ++i) at = at->find(keys[i]);
  at->erase(keys.back());
  return dump_json(scenario);
}

Json scenario_with(const std::vector<std::pair<std::string, Json>>& values) {
  Json scenario = parse_json(testing::kPowered, "test.json");
  for (const auto& [pointer, value] : values) set_at(scenario, split_pointer(pointer), value);
  return scenario;
}

const std::vector<std::pair<std::string, std::string>>& needed() {
  static const std::vector<std::pair<std::string, std::string>> all{
      {"server/gpu/power", "power"},
      {"server/host/power", "power"},
      {"server/base_power", "power"},
      {"server/price_usd", "price"},
      {"server/nic/power", "power"},
      {"server/storage_nic/power", "power"},
      {"server/storage_nic/price_usd", "price"},
      {"server/dpu/power", "power"},
      {"server/dpu/price_usd", "price"},
      {"network/switch/power", "power"},
      {"network/switch/price_usd", "price"},
      {"network/switch/port_power", "power"},
      {"network/switch/port_price_usd", "price"},
      {"storage/target/power", "power"},
      {"storage/target/price_usd", "price"},
      {"storage/target/drive/power", "power"},
      {"storage/target/drive/price_usd", "price"},
      {"appliances/managers/power", "power"},
      {"appliances/managers/price_usd", "price"}};
  return all;
}

TEST(Energy, ADeviceWithoutPowerOrPriceIsNamed) {
  for (const auto& [field, what] : needed()) {
    try {
      testing::run_text_scenario(without("/cluster/" + field, scenario_with({})));
      ADD_FAILURE() << field << " was missing and nobody said so";
    } catch (const ScenarioError& error) {
      EXPECT_EQ(error.exit_code(), ExitCode::kScenario) << field;
      ASSERT_EQ(error.diagnostics().size(), 1U) << field;
      EXPECT_EQ(error.diagnostics()[0].pointer, "/cluster/" + field);
      EXPECT_NE(error.diagnostics()[0].message.find("asks for the " + what), std::string::npos)
          << error.diagnostics()[0].message;
    }
  }
}

TEST(Energy, ADeviceThatIsNotUsedNeedsNeither) {
  for (const auto& [field, what] : needed()) {  // nobody asks
    Json scenario = scenario_with({});
    scenario["cluster"].erase("site");
    EXPECT_NO_THROW(testing::run_text_scenario(without("/cluster/" + field, scenario))) << field;
  }
  const auto runs = [](const std::string& field, const Json& scenario) {
    EXPECT_NO_THROW(testing::run_text_scenario(without("/cluster/" + field, scenario))) << field;
  };
  const Json off = scenario_with({{"/cluster/server/dpus", Json(0)},
                                  {"/cluster/services/on the card/placement", Json("off")}});
  runs("server/dpu/power", off);
  runs("server/dpu/price_usd", off);
  const Json no_ports = scenario_with({{"/cluster/server/storage_nics", Json(0)}});
  runs("server/storage_nic/power", no_ports);
  runs("server/storage_nic/price_usd", no_ports);
  runs("server/nic/price_usd", scenario_with({{"/cluster/server/nic/price_usd", Json(1)}}));
}

// A device of twice the power (price) adds its own row once more and moves nothing else.
TEST(Energy, TwiceADeviceIsTwiceItsRow) {
  const Json base = powered(kByHand);
  using Case = std::tuple<const char*, std::vector<const char*>>;
  for (const auto& [device, sets] : std::vector<Case>{
           {"GPUs", {R"(server.gpu.power={"computing":"800 W","waiting":"300 W","idle":"100 W"})"}},
           {"host CPUs", {R"(server.host.power={"idle":"400 W","busy":"1040 W"})"}},
           {"server boards, fans, NVSwitches",
            {"server.base_power=1400 W", "server.price_usd=400000"}},
           {"NICs", {R"(server.nic.power={"idle":"20 W","busy":"36 W"})"}},
           {"storage NICs",
            {R"(server.storage_nic.power={"idle":"24 W","busy":"38 W"})",
             "server.storage_nic.price_usd=1800"}},
           {"DPUs",
            {R"(server.dpu.power={"idle":"80 W","busy":"144 W"})", "server.dpu.price_usd=4000"}},
           {"switches",
            {R"(network.switch.power={"idle":"500 W","busy":"820 W"})",
             "network.switch.price_usd=40000"}},
           {"switch ports, cables",
            {"network.switch.port_power=10 W", "network.switch.port_price_usd=600"}},
           {"storage targets",
            {R"(storage.target.power={"idle":"600 W","busy":"1120 W"})",
             "storage.target.price_usd=30000"}},
           {"NVMe drives",
            {R"(storage.target.drive.power={"idle":"10 W","busy":"26 W"})",
             "storage.target.drive.price_usd=1000"}},
           {"managers",
            {"appliances.managers.power=900 W", "appliances.managers.price_usd=18000"}}}) {
    std::vector<std::string> all = kByHand;
    for (const std::string set : sets) all.push_back("cluster." + set);
    const Json twice = powered(all);
    const Json& own = row(base, device);
    expect_near(number(twice, "energy_mwh") - number(base, "energy_mwh"),
                1.25 * number(own, "energy_mwh"), device);
    expect_near(number(twice, "capital_usd") - number(base, "capital_usd"),
                number(own, "capital_usd"), device);
    for (const Json& one : base.at("equipment").items()) {
      const std::string name = one.at("equipment").as_string();
      const double factor = name == device ? 2 : 1;
      expect_near(number(row(twice, name), "energy_mwh"), factor * number(one, "energy_mwh"), name);
      expect_near(number(row(twice, name), "capital_usd"), factor * number(one, "capital_usd"),
                  name);
    }
  }
}

}  // namespace
}  // namespace trainyard
