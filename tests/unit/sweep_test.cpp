// What a sweep file says, variant by variant.
#include "tools/sweep/sweep.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "tests/golden/command.hpp"
#include "tests/support_sweep.hpp"
#include "tools/sweep/store.hpp"

namespace trainyard {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::TemporaryFolder;

class SweepTest : public ::testing::Test {
 protected:
  Sweep read(const std::string& sweep, const SweepAdditions& additions = {}) {
    folder_.write("base.json", testing::kTwoServers);
    folder_.write("sweep.json", sweep);
    return Sweep::from_file((folder_.path() / "sweep.json").string(), additions);
  }
  Sweep axes(const std::string& axes, const std::string& more = "") {
    return read(R"({"scenario": "base.json", "axes": )" + axes + more + "}");
  }
  // The values of every variant, as text: "64|tcp".
  static std::vector<std::string> variants(const Sweep& sweep) {
    std::vector<std::string> all;
    sweep.each([&](std::uint64_t number, const std::vector<std::size_t>& digits) {
      EXPECT_EQ(number, all.size() + 1);
      EXPECT_EQ(sweep.digits_of(sweep.point_of(digits)), digits);
      std::string text;
      for (const Json& value : sweep.variant(digits).values)
        text += (text.empty() ? "" : "|") + (value.is_null() ? "-" : shown_text(value));
      all.push_back(text);
      return true;
    });
    return all;
  }
  std::vector<std::string> faults(const std::string& sweep) {
    try {
      read(sweep);
    } catch (const ScenarioError& e) {
      std::vector<std::string> all;
      for (const Diagnostic& d : e.diagnostics())
        all.push_back(d.pointer + ": " + d.message + " (" + d.hint + ")");
      return all;
    }
    return {};
  }
  std::vector<std::string> axis_faults(const std::string& axes) {
    return faults(R"({"scenario": "base.json", "axes": [)" + axes + "]}");
  }
  TemporaryFolder folder_;
};

TEST_F(SweepTest, AGridIsTheProductWithTheLastAxisFastest) {
  const Sweep sweep = axes(R"([{"path": "cluster.servers", "values": [2, 4]},
                               {"path": "probes.allreduce.bytes", "values": ["1 MiB", "1 GiB"]}])");
  EXPECT_EQ(sweep.points(), 4U);
  EXPECT_EQ(sweep.count(100), 4U);
  EXPECT_EQ(sweep.count(3), 3U);
  EXPECT_THAT(variants(sweep), ElementsAre("2|1 MiB", "2|1 GiB", "4|1 MiB", "4|1 GiB"));
}

TEST_F(SweepTest, RangesGoByFactorOrStepToTheEndIncluded) {
  EXPECT_THAT(variants(axes(R"([{"path": "cluster.servers", "from": 2, "to": 16, "factor": 2}])")),
              ElementsAre("2", "4", "8", "16"));
  EXPECT_THAT(variants(axes(R"([{"path": "cluster.servers", "from": 2, "to": 7, "step": 2}])")),
              ElementsAre("2", "4", "6"));
  EXPECT_THAT(parse_axis_option("a.b=8:64:2x").at("factor"), Json(2));
  EXPECT_THAT(parse_axis_option("a.b=8:64:+8").at("step"), Json(8));
}

TEST_F(SweepTest, OptionsTakeListsOfAnything) {
  const Json axis = parse_axis_option(R"(x=64,400 Gb/s,"a,b",[1,2],{"base":"c","d":1},true)");
  EXPECT_EQ(dump_json(axis.at("values"), -1),
            R"([64,"400 Gb/s","a,b",[1,2],{"base":"c","d":1},true])");
  EXPECT_THROW(parse_axis_option("cluster.servers"), UsageError);
  EXPECT_THROW(parse_axis_option("=4"), UsageError);
  EXPECT_THROW(parse_axis_option("cluster.servers="), UsageError);
}

TEST_F(SweepTest, ZippedListsGoInStep) {
  EXPECT_THAT(variants(axes(R"([{"zip": {"cluster.servers": [2, 4], "engine.seed": [7, 8]}}])")),
              ElementsAre("2|7", "4|8"));
  EXPECT_THAT(axis_faults(R"({"zip": {"cluster.servers": [2, 4], "engine.seed": [7]}})"),
              ElementsAre(HasSubstr("has 1 values, \"cluster.servers\" has 2")));
}

TEST_F(SweepTest, AListHasPointsOfItsOwn) {
  const Sweep sweep = axes(R"([{"list": [{"cluster.servers": 2},
                                         {"cluster.servers": 4, "engine.seed": 5}]}])");
  EXPECT_THAT(variants(sweep), ElementsAre("2|-", "4|5"));
  EXPECT_THAT(sweep.variant({1}).sets, ElementsAre("cluster.servers=4", "engine.seed=5"));
  EXPECT_THAT(sweep.variant({0}).sets, ElementsAre("cluster.servers=2"));
}

TEST_F(SweepTest, CasesAreMergedIntoTheScenario) {
  const Sweep sweep = axes(R"([{"name": "design", "cases": {
      "fast": {}, "slow": {"enable": ["slow"]}}}])");
  EXPECT_THAT(variants(sweep), ElementsAre("fast", "slow"));
  EXPECT_EQ(sweep.variant({0}).root.find("enable"), nullptr);
  EXPECT_EQ(dump_json(sweep.variant({1}).root.at("enable"), -1), R"(["slow"])");
}

TEST_F(SweepTest, AnAxisThatDoesNotApplyMultipliesNothing) {
  const Sweep sweep = axes(R"([
      {"path": "cluster.servers", "values": [2, 4, 8]},
      {"path": "engine.seed", "values": [1, 2], "when": "cluster.servers >= 4"},
      {"path": "probes.allreduce.bytes", "values": ["1 MiB", "2 MiB"], "when": {"engine.seed": 2}}])");
  EXPECT_EQ(sweep.points(), 12U);
  EXPECT_THAT(variants(sweep), ElementsAre("2|-|-", "4|1|-", "4|2|1 MiB", "4|2|2 MiB", "8|1|-",
                                           "8|2|1 MiB", "8|2|2 MiB"));
  EXPECT_THAT(sweep.variant({0, 0, 0}).sets, ElementsAre("cluster.servers=2"));
  EXPECT_THAT(axis_faults(R"({"path": "engine.seed", "values": [1], "when": "cluster.servers > 2"},
                             {"path": "cluster.servers", "values": [2]})"),
              ElementsAre(HasSubstr("is not an axis before this one")));
}

TEST_F(SweepTest, SeedsAreAnAxis) {
  const Sweep sweep = read(R"({"scenario": "base.json", "seeds": 3,
                               "axes": [{"path": "cluster.servers", "values": [2]}]})");
  EXPECT_THAT(variants(sweep), ElementsAre("2|1", "2|2", "2|3"));
}

TEST_F(SweepTest, ConstraintsOnAxesExcludeBeforeAnythingRuns) {
  const Sweep sweep =
      axes(R"([{"path": "cluster.servers", "values": [2, 4]},
               {"path": "probes.allreduce.bytes", "values": ["1 MiB", "1 GiB"]}])",
           R"(, "constraints": ["cluster.servers * probes.allreduce.bytes <= 2 GiB"])");
  EXPECT_EQ(sweep.variant({0, 1}).excluded_by, "");  // 2 GiB itself
  EXPECT_NE(sweep.variant({1, 1}).excluded_by, "");
  EXPECT_EQ(sweep.variant({1, 0}).excluded_by, "");
}

TEST_F(SweepTest, ConstraintsOnFieldsSeeCatalogueValues) {
  // A DGX A100 has 8 GPUs, which only the catalogue says.
  const Sweep sweep = axes(R"([{"path": "cluster.servers", "values": [2, 4]}])",
                           R"(, "constraints": ["cluster.servers * cluster.server.gpus <= 16"])");
  const auto status = [&](std::size_t digit) {
    const Variant variant = sweep.variant({digit});
    return sweep.row(variant, "x").at("status").as_string();
  };
  EXPECT_EQ(status(0), "ok");
  EXPECT_EQ(status(1), "excluded");
}

TEST_F(SweepTest, TheIdIsThatOfTheContent) {
  const Sweep sweep = axes(R"([{"path": "cluster.servers", "values": [2, 4, 2]}])");
  const auto id = [](const Sweep& of, std::size_t digit) { return of.id(of.variant({digit})); };
  EXPECT_EQ(id(sweep, 0).size(), 32U);
  EXPECT_EQ(id(sweep, 0), id(sweep, 2));
  EXPECT_NE(id(sweep, 0), id(sweep, 1));
  // The same variant of another sweep, with other axes and a name.
  const Sweep other = axes(R"([{"list": [{"cluster.servers": 4}]}])", R"(, "name": "other")");
  EXPECT_EQ(id(other, 0), id(sweep, 1));
  // A feature switched on changes it, and so does a --set.
  const Sweep slow = axes(R"([{"name": "d", "cases": {"s": {"enable": ["slow"]}}}])");
  EXPECT_NE(id(slow, 0), id(sweep, 0));
  SweepAdditions additions;
  additions.load.sets = {"engine.seed=9"};
  const Sweep set = read(R"({"scenario": "base.json",
                             "axes": [{"path": "cluster.servers", "values": [2]}]})",
                         additions);
  EXPECT_NE(id(set, 0), id(sweep, 0));
}

TEST_F(SweepTest, ManifestsHoldAllThereIsToKnow) {
  const Sweep sweep = axes(R"([{"path": "cluster.servers", "values": [2, 4]},
                               {"name": "d", "cases": {"fast": {}, "slow": {"enable": ["slow"]}}}])",
                           R"(, "constraints": ["cluster.servers < 4"])");
  const Json manifest = parse_json(dump_json(sweep.manifest()), "manifest");
  const Sweep again = Sweep::from_manifest(manifest, "sweep.json");
  EXPECT_EQ(variants(again), variants(sweep));
  sweep.each([&](std::uint64_t, const std::vector<std::size_t>& digits) {
    EXPECT_EQ(again.id(again.variant(digits)), sweep.id(sweep.variant(digits)));
    EXPECT_EQ(again.variant(digits).excluded_by, sweep.variant(digits).excluded_by);
    return true;
  });
  EXPECT_EQ(dump_json(manifest).find(folder_.path().string()), std::string::npos)
      << "no path of this machine";
}

TEST_F(SweepTest, EveryIdFallsToOneShard) {
  const Sweep sweep = axes(R"([{"path": "engine.seed", "from": 1, "to": 400, "step": 1}])");
  std::vector<int> size(4);
  sweep.each([&](std::uint64_t, const std::vector<std::size_t>& digits) {
    const std::string id = sweep.id(sweep.variant(digits));
    int owners = 0;
    for (int i = 0; i < 4; ++i) {
      const bool mine = Shard{i, 4, ""}.has(id);
      owners += mine ? 1 : 0;
      size[static_cast<std::size_t>(i)] += mine ? 1 : 0;
    }
    EXPECT_EQ(owners, 1);
    return true;
  });
  // 400 fair draws of 100 ± 8.7: four standard deviations.
  for (const int n : size) EXPECT_NEAR(n, 100, 35);
}

TEST_F(SweepTest, FaultsNameFieldAndRemedy) {
  EXPECT_THAT(axis_faults(R"({"path": "cluster.servrs", "values": [2, 4]})"),
              ElementsAre("/axes/0: /cluster/servrs is not a field here (did you mean "
                          "\"servers\"?)"));
  EXPECT_THAT(axis_faults(R"({"path": "cluster.server.nic.rat", "values": ["1 Gb/s"]})"),
              ElementsAre(HasSubstr("did you mean \"rate\"?")));
  EXPECT_THAT(axis_faults(R"({"path": "jobs.0.workload.tensor", "values": [2]})"),
              ElementsAre(HasSubstr("/axes/0: ")));
  EXPECT_THAT(axis_faults(R"({"name": "d", "cases": {"a": {}, "b": {"clustr": {}}}})"),
              ElementsAre("/axes/0: /clustr is not a field here (did you mean \"cluster\"?)"));
  EXPECT_THAT(axis_faults(R"({"path": "cluster.servers", "values": []})"),
              ElementsAre(HasSubstr("has no values: the sweep would be empty")));
  EXPECT_THAT(axis_faults(R"({"path": "cluster.servers", "values": 4})"),
              ElementsAre(HasSubstr("/axes/0/values: is a number, not a list")));
  EXPECT_THAT(axis_faults(R"({"path": "cluster.servers", "from": 4, "to": 8, "factor": 1})"),
              ElementsAre(HasSubstr("/axes/0/factor: never gets")));
  EXPECT_THAT(axis_faults(R"({"path": "cluster.servers", "value": [4]})"),
              ::testing::Contains(HasSubstr("/axes/0/value: is not a field here (did you mean")));
  EXPECT_THAT(axis_faults(R"({"path": "cluster.servers", "values": [2]},
                             {"path": "cluster.servers", "values": [4]})"),
              ElementsAre(HasSubstr("varied by an axis before it too")));
  EXPECT_THAT(axis_faults(R"({"path": "engine.seed", "name": "step_time_s", "values": [2]})"),
              ElementsAre(HasSubstr("is a column of every table")));
  EXPECT_THAT(axis_faults(R"({"cases": {"a": {}}})"), ElementsAre(HasSubstr("no name")));
  EXPECT_THAT(axis_faults("7"), ElementsAre(HasSubstr("is a number, not an axis")));
  EXPECT_THAT(faults(R"({"scenario": "base.json", "axes": []})"),
              ElementsAre(HasSubstr("nothing is varied")));
  EXPECT_THAT(faults(R"({"scenario": "gone.json", "axes": []})"),
              ElementsAre(HasSubstr("there is no file")));
  EXPECT_THAT(faults(R"({"axes": [{"path": "cluster.servers", "values": [2]}]})"),
              ElementsAre(HasSubstr("/scenario: is missing")));
  const std::string one = R"("scenario": "base.json",
                             "axes": [{"path": "cluster.servers", "values": [2]}])";
  EXPECT_THAT(faults("{" + one + R"(, "axis": 1})"),
              ElementsAre(HasSubstr("/axis: is not a field of a sweep (did you mean \"axes\"?)")));
  EXPECT_THAT(faults("{" + one + R"(, "constraints": ["cluster.srvers < 4"]})"),
              ElementsAre(HasSubstr("no axis, no metric and no number")));
  EXPECT_THAT(faults("{" + one + R"(, "constraints": ["cluster.servers <"]})"),
              ElementsAre(HasSubstr("is no condition")));
  EXPECT_THAT(faults("{" + one + R"(, "constraints": ["system(1) > 0"]})"),
              ElementsAre(HasSubstr("is no condition")));
  EXPECT_THAT(faults("{" + one + R"(, "objectives": ["step_time"]})"),
              ElementsAre(HasSubstr("did you mean \"step_time_s\"?")));
  EXPECT_THAT(faults("{" + one + R"(, "seeds": 0})"), ElementsAre(HasSubstr("/seeds")));
}

TEST_F(SweepTest, AxesThatWriteOverEachOtherAreRefused) {
  const char* clashes[] = {
      R"({"path": "cluster.server.nic.rate", "values": ["100 Gb/s"]},
         {"path": "cluster.server", "values": ["dgx-a100", "dgx-h100"]})",
      R"({"path": "cluster.servers", "values": [2]}, {"path": "/cluster/servers", "values": [4]})",
      R"({"name": "d", "cases": {"a": {"cluster": {"servers": 4}}}},
         {"path": "cluster.servers", "values": [2]})"};
  for (const char* axes : clashes)
    EXPECT_THAT(axis_faults(axes), ::testing::Contains(HasSubstr("would write over the other")))
        << axes;
  EXPECT_THAT(axis_faults(R"({"path": "engine.seed", "name": "Seed", "values": [2]},
                             {"path": "cluster.servers", "name": "seed", "values": [2]})"),
              ElementsAre(HasSubstr("is the name of two axes")));
}

TEST_F(SweepTest, ConditionsThatCouldNeverTellAreRefused) {
  const auto constraint = [&](const std::string& text) {
    return faults(R"({"scenario": "base.json", "axes": [
        {"name": "design", "cases": {"fast": {}, "slow": {"enable": ["slow"]}}},
        {"path": "cluster.servers", "values": [2, 4]}], "constraints": [")" +
                  text + "\"]}");
  };
  EXPECT_THAT(constraint("cluster.servers = 2"), ElementsAre(HasSubstr("== is")));
  EXPECT_THAT(constraint("1 < cluster.servers < 4"), ElementsAre(HasSubstr("joined by &&")));
  EXPECT_THAT(constraint("1 < cluster.servers && (cluster.servers < 4 || 2 > 1)"), ElementsAre());
  EXPECT_THAT(constraint("design == 1"), ElementsAre(HasSubstr("which may be \"fast\"")));
  EXPECT_THAT(constraint("design == 'fast'"), ElementsAre(HasSubstr("text is compared by")));
  EXPECT_THAT(constraint("training_days < 200 d"), ElementsAre(HasSubstr("leave the unit out")));
  EXPECT_THAT(constraint("training_days < 200"), ElementsAre());
  EXPECT_THAT(constraint("step_time_s < 200 ms"), ElementsAre());
  EXPECT_THAT(constraint("allreduce_busbw_bytes_per_s > 1 GBps"), ElementsAre());
  EXPECT_THAT(axis_faults(R"({"name": "design", "cases": {"fast": {}}},
                             {"path": "engine.seed", "values": [1], "when": {"design": "fats"}})"),
              ElementsAre("/axes/1/when: \"design\" is never \"fats\" (did you mean \"fast\"?)"));
  EXPECT_THAT(axis_faults(R"({"name": "design", "cases": {"fast": {}}},
                             {"path": "engine.seed", "values": [1], "when": "design > 3"})"),
              ElementsAre(HasSubstr("/axes/1/when: computes with \"design\"")));
}

// The base has a probe of 1 MiB; the axis sets 4 MiB where there are 4 servers.
TEST_F(SweepTest, WhereAnAxisDoesNotApplyTheScenariosValueCounts) {
  const Sweep sweep = axes(R"([{"path": "cluster.servers", "values": [2, 4]},
               {"path": "probes.allreduce.bytes", "values": ["4 MiB"], "when": "cluster.servers > 2"}])",
                           R"(, "constraints": ["probes.allreduce.bytes >= 2 MiB"])");
  EXPECT_EQ(sweep.row(sweep.variant({0, 0}), "x").at("status"), Json("excluded"));
  EXPECT_EQ(sweep.row(sweep.variant({1, 0}), "x").at("status"), Json("ok"));
}

TEST_F(SweepTest, AConditionThatCannotBeToldExcludes) {
  const Sweep sweep = axes(R"([{"path": "cluster.servers", "values": [2]}])",
                           R"(, "constraints": ["cost_usd < 10", "allreduce_time_s < 1 h"])");
  const Json row = sweep.row(sweep.variant({0}), "x");
  EXPECT_EQ(row.at("status"), Json("ok"));
  EXPECT_EQ(sweep.broken_constraint({Json(2)}, row),
            "cost_usd < 10 cannot be told: there is no cost_usd");
}

TEST_F(SweepTest, ProbesAddMetrics) {
  const Sweep sweep = axes(R"([{"path": "cluster.servers", "values": [2]}])",
                           R"(, "objectives": ["allreduce_busbw_bytes_per_s"])");
  const Json row = sweep.row(sweep.variant({0}), "x");
  // An all-reduce over n ranks moves 2(n-1)/n of the buffer: 16 ranks, 30/16.
  const double busbw = row.at("metrics").at("allreduce_busbw_bytes_per_s").as_number();
  EXPECT_NEAR(busbw, 0x1p20 / row.at("metrics").at("allreduce_time_s").as_number() * 30 / 16,
              1e-6 * busbw);
}

TEST_F(SweepTest, RangesOfQuantities) {
  EXPECT_THAT(variants(axes(
                  R"([{"path": "cluster.server.nic.rate", "from": "100 Gb/s", "to": "400 Gb/s",
                       "factor": 2}])")),
              ElementsAre("100 Gb/s", "200 Gb/s", "400 Gb/s"));
  EXPECT_EQ(parse_axis_option("a.b=1 us:2 us:+0.5 us").at("step"), Json("0.5 us"));
  EXPECT_THAT(axis_faults(R"({"path": "cluster.server.nic.rate", "from": "100 Gb/s",
                              "to": "1 Tb/s", "factor": 2})"),
              ElementsAre(HasSubstr("mixes units")));
  for (const char* wrong : {"a=64:256", "a=64:256:2", "a=64:8:-8", "a=8,,16", "a=1:2:x"})
    EXPECT_THROW(parse_axis_option(wrong), UsageError) << wrong;
}

TEST_F(SweepTest, ACatalogueTravelsWithTheSweep) {
  folder_.write("cat/nic.json", R"({"mine": {"base": "connectx-6-200g", "rate": {"value": "50 Gb/s",
                                    "source": "a test"}}})");
  SweepAdditions additions;
  additions.load.catalog_directory = (folder_.path() / "cat").string();
  const Sweep sweep = read(R"({"scenario": "base.json", "objectives": ["allreduce_time_s"],
      "axes": [{"path": "cluster.server.nic", "values": ["mine"]}]})",
                           additions);
  std::filesystem::remove_all(folder_.path() / "cat");
  const Sweep again = Sweep::from_manifest(parse_json(dump_json(sweep.manifest()), "m"), "m");
  EXPECT_EQ(again.row(again.variant({0}), "x").at("reason"), Json(""));
  EXPECT_EQ(again.id(again.variant({0})), sweep.id(sweep.variant({0})));
}

TEST_F(SweepTest, WhatIsWrongWithoutAnyAxisIsSaidOnce) {
  folder_.write("wrong.json", R"({"cluster": {"servers": 2, "server": "dgx-a10"}})");
  try {
    read(R"({"scenario": "wrong.json", "axes": [{"path": "engine.seed", "values": [1, 2]}]})");
    FAIL() << "a scenario that no axis mends";
  } catch (const ScenarioError& e) {
    EXPECT_THAT(e.diagnostics().front().file, HasSubstr("wrong.json"));
    EXPECT_EQ(e.diagnostics().front().pointer, "/cluster/server");
  }
}

TEST(Expression, ComputesWithUnits) {
  const auto value = [](const std::string& text) {
    return Expression(text).evaluate([](const std::string& name) -> std::optional<double> {
      if (name == "a.b_1") return 7;
      return {};
    });
  };
  EXPECT_EQ(value("2 * a.b_1 + 1"), 15);
  EXPECT_EQ(value("1 GiB"), 1073741824);
  EXPECT_EQ(value("400 Gbps"), 50e9);
  EXPECT_EQ(value("a.b_1 < 8 && a.b_1 >= 7"), 1);
  EXPECT_EQ(value("a.b_1 == 8 || 1 > 2"), 0);
  EXPECT_EQ(value("max(1, 3) - min(4, 2)"), 1);
  EXPECT_EQ(value("unknown < 3"), std::nullopt);
  EXPECT_THAT(Expression("x + a.b * x").names(), ElementsAre("a.b", "x"));
}

TEST(Expression, NumbersAreReadFromQuantities) {
  EXPECT_EQ(number_of(Json("400 Gb/s")), 50e9);
  EXPECT_EQ(number_of(Json("1.5 us")), 1.5e-6);
  EXPECT_EQ(number_of(Json("24 GiB")), 24.0 * (1 << 30));
  EXPECT_EQ(number_of(Json("312 TFLOPS")), 312e12);
  EXPECT_EQ(number_of(Json(true)), 1);
  EXPECT_EQ(number_of(Json("tcp")), std::nullopt);
  EXPECT_EQ(number_of(Json()), std::nullopt);
}

TEST(Shards, AreReadStrictly) {
  EXPECT_EQ(parse_shard("3/16").index, 3);
  EXPECT_EQ(parse_shard("3/16").count, 16);
  for (const char* bad : {"", "3", "3/", "/3", "16/16", "-1/4", "1/0", "a/4", "1/4x", "1/4/5"})
    EXPECT_THROW(parse_shard(bad), UsageError) << bad;
}

}  // namespace
}  // namespace trainyard
