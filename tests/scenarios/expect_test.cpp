// Ready scenarios against closed forms: NAME.expect.json says what NAME.json comes to, and why.
#include <gtest/gtest.h>

#include <filesystem>
#include <set>

#include "sim/metrics.hpp"
#include "tests/support_scenario.hpp"

namespace trainyard {
namespace {

namespace fs = std::filesystem;

const fs::path kScenarios = fs::path(TRAINYARD_SOURCE_DIR) / "scenarios";
constexpr std::string_view kEnding = ".expect.json";

bool is_expectation(const fs::path& path) { return path.string().ends_with(kEnding); }

/// The JSON files below scenarios/ in order of their names, without the sweeps.
std::set<fs::path> files() {
  std::set<fs::path> found;
  for (const auto& entry : fs::recursive_directory_iterator(kScenarios)) {
    const fs::path& path = entry.path();
    if (path.extension() == ".json" && path.parent_path() != kScenarios / "sweeps")
      found.insert(path);
  }
  return found;
}

/// "services/rdma-on.expect.json" -> "services/rdma-on.json"
fs::path scenario_of(const fs::path& expectation) {
  const std::string path = expectation.string();
  return path.substr(0, path.size() - kEnding.size()) + ".json";
}

Json read(const fs::path& path) { return parse_json(read_text_file(path.string()), path.string()); }

double metric_of(const fs::path& scenario, const std::string& metric) {
  const Json result = testing::run_file_scenario(scenario.string());
  const std::optional<double> value = metric_value(result.at("metrics"), metric);
  EXPECT_TRUE(value) << scenario << " has no " << metric;
  return value.value_or(0);
}

void expect_near(double value, double expected, double tolerance, const fs::path& scenario) {
  EXPECT_NEAR(value / expected, 1, tolerance)
      << scenario << ": " << value << " where the formula gives " << expected;
}

TEST(Expect, EveryClosedFormHolds) {
  for (const fs::path& file : files()) {
    if (!is_expectation(file)) continue;
    const Json e = read(file);
    const fs::path scenario = scenario_of(file),
                   against = file.parent_path() / e.at("against").as_string();
    const std::string& metric = e.at("metric").as_string();
    const double tolerance = e.at("tolerance").as_number();
    const double value = metric_of(scenario, metric), other = metric_of(against, metric);
    expect_near(value, e.at("value").as_number(), tolerance, scenario);
    expect_near(other, e.at("against_value").as_number(), tolerance, against);
    if (e.at("direction").as_string() == "less")
      EXPECT_LT(value, other) << file;
    else
      EXPECT_GT(value, other) << file;
  }
}

TEST(Expect, FilesSayWhatHowFarAndWhyAndNothingElse) {
  const std::vector<std::string> fields{"metric",        "against",   "direction", "value",
                                        "against_value", "tolerance", "why"};
  int found = 0;
  for (const fs::path& file : files()) {
    if (!is_expectation(file)) continue;
    ++found;
    const Json e = read(file);
    std::vector<std::string> names;
    for (const auto& [name, value] : e.members()) names.push_back(name);
    EXPECT_EQ(names, fields) << file;
    EXPECT_TRUE(fs::exists(scenario_of(file))) << file;
    EXPECT_TRUE(fs::exists(file.parent_path() / e.at("against").as_string())) << file;
    const std::string& direction = e.at("direction").as_string();
    EXPECT_TRUE(direction == "less" || direction == "greater") << file;
    EXPECT_GT(e.at("tolerance").as_number(), 0) << file;
    EXPECT_LE(e.at("tolerance").as_number(), 0.02) << file;
    // Too near each other, and the two values would not tell the scenarios apart.
    EXPECT_GT(std::abs(e.at("value").as_number() / e.at("against_value").as_number() - 1),
              2 * e.at("tolerance").as_number())
        << file;
    EXPECT_GT(e.at("why").as_string().size(), 40U) << file;
  }
  EXPECT_GE(found, 6);
}

TEST(Expect, EachFunctionOfADpuHasAPairThatDiffersInWhatIsEnabled) {
  for (const std::string name : {"rdma", "in-network", "storage", "security", "management"}) {
    const fs::path stem = kScenarios / "services" / name;
    ASSERT_TRUE(fs::exists(stem.string() + "-on.expect.json")) << name;
    EXPECT_EQ(read(stem.string() + "-on.expect.json").at("against").as_string(),
              name + "-off.json");
    std::set<std::string> fields;
    const Json on = read(stem.string() + "-on.json");
    for (const auto& [field, value] : on.members()) fields.insert(field);
    EXPECT_EQ(fields, (std::set<std::string>{"extends", "name", "description", "enable"})) << name;
    EXPECT_EQ(on.at("extends").as_string(), name + "-off.json");
    EXPECT_FALSE(on.at("enable").items().empty()) << name;
    const Json off = read(stem.string() + "-off.json");
    EXPECT_EQ(off.find("enable"), nullptr) << name;
    EXPECT_EQ(off.at("features").members().size(), on.at("enable").items().size()) << name;
  }
}

TEST(Expect, EveryReadyScenarioLoadsAndItsDesignFits) {
  int loaded_files = 0;
  for (const fs::path& file : files()) {
    if (is_expectation(file)) continue;
    const Json root = read(file);
    if (root.find("name") == nullptr) continue;
    if (root.find("cluster") == nullptr && root.find("extends") == nullptr) continue;
    ++loaded_files;
    try {
      const LoadedScenario loaded = load_scenario(file.string(), {});
      EXPECT_EQ(loaded.scenario.name, root.at("name").as_string());
      build_design(loaded);
    } catch (const ScenarioError& error) {
      for (const Diagnostic& fault : error.diagnostics()) ADD_FAILURE() << to_string(fault);
    }
  }
  EXPECT_GE(loaded_files, 13);
}

TEST(Expect, TheFiveFunctionsAreNamedAndDescribed) {
  for (const fs::path& file : files()) {
    if (file.parent_path() != kScenarios / "services" || is_expectation(file)) continue;
    const Json root = read(file);
    EXPECT_EQ(root.at("name").as_string(), file.stem().string());
    EXPECT_GT(root.at("description").as_string().size(), 40U) << file;
  }
}

}  // namespace
}  // namespace trainyard
