// Results side by side: what is compared, what a claim may touch, and how it is printed.
#include "sim/compare.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reports/text.hpp"
#include "sim/error.hpp"
#include "tests/golden/command.hpp"

namespace trainyard {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Json result_of(const std::string& name, double allreduce, double mfu) {
  Json result = parse_json(R"({"schema_version": 1, "metrics": {"gpu_wait_fractions": {}},
    "inactive": [], "parameters": [
      {"pointer": "/a", "value": 0.5, "kind": "assumed", "text": "a guess", "range": ["0.4", "0.6"]},
      {"pointer": "/b", "value": "9 GB/s", "kind": "assumed", "text": "a wish",
       "range": ["1 GB/s", "2 GB/s"], "outside": true},
      {"pointer": "/c", "value": 1, "kind": "sourced", "text": "a page"}]})",
                           "by hand");
  result["name"] = Json(name);
  result["metrics"]["allreduce_time_s"] = Json(allreduce);
  result["metrics"]["mfu"] = Json(mfu);
  return result;
}

/// The traditional and the DPU design: 120.5 ms and 18 ms.
std::vector<Json> two() {
  return {result_of("traditional", 0.1205, 0.3), result_of("dpu", 0.018, 0.45)};
}

Json claim_of(double traditional, double dpu) {
  Json claim = parse_json(R"({"source": "a table", "rows": {"allreduce_time_s": {}, "cost": {}}})",
                          "a claim");
  claim["rows"]["allreduce_time_s"]["traditional"] = Json(traditional);
  claim["rows"]["allreduce_time_s"]["dpu"] = Json(dpu);
  return claim;
}

const Json& row_of(const Json& comparison, const std::string& metric) {
  for (const Json& row : comparison.at("rows").items()) {
    if (row.at("metric") == Json(metric)) return row;
  }
  throw std::out_of_range(metric);
}

TEST(Compare, SetsClaimAndDeviationBesideTheValues) {
  const Json comparison = compare_results(two(), claim_of(0.12, 0.02));
  const Json& row = row_of(comparison, "allreduce_time_s");
  EXPECT_EQ(row.at("unit"), Json("s"));
  EXPECT_EQ(dump_json(row.at("values"), -1), "[0.1205,0.018]");
  EXPECT_EQ(dump_json(row.at("claim"), -1), "[0.12,0.02]");
  EXPECT_NEAR(row.at("deviation").items()[0].as_number(), 0.5 / 120, 1e-12);
  EXPECT_NEAR(row.at("deviation").items()[1].as_number(), -0.1, 1e-12);
  EXPECT_TRUE(row_of(comparison, "mfu").at("claim").is_null());
  EXPECT_TRUE(row_of(comparison, "mfu").at("deviation").is_null());
  EXPECT_EQ(dump_json(comparison.at("claimed_only"), -1), "[\"cost\"]");
  EXPECT_EQ(comparison.at("claim_source"), Json("a table"));
}

TEST(Compare, ComparesWhatAllResultsHave) {
  std::vector<Json> results = two();
  results[0]["metrics"]["hfu"] = Json(0.5);
  results[0]["metrics"]["simulated_ops"] = results[1]["metrics"]["simulated_ops"] = Json(7);
  const Json comparison = compare_results(results, Json());
  EXPECT_EQ(comparison.at("rows").items().size(), 2U);
  EXPECT_EQ(comparison.at("results").items(), results);
  EXPECT_EQ(comparison.at("schema_version"), Json(1));
  EXPECT_TRUE(comparison.at("claim_source").is_null());
}

TEST(Compare, ZeroingTheClaimLeavesEverySimulatedByte) {
  const auto simulated = [](const Json& comparison) {
    Json values = Json::array();
    values.push_back(comparison.at("results"));
    for (const Json& row : comparison.at("rows").items()) {
      for (const char* key : {"metric", "title", "unit", "values"}) values.push_back(row.at(key));
    }
    return dump_json(values);
  };
  const Json claimed = compare_results(two(), claim_of(0.12, 0.018));
  const Json zeroed = compare_results(two(), claim_of(0, 0));
  EXPECT_EQ(simulated(claimed), simulated(zeroed));
  EXPECT_EQ(simulated(claimed), simulated(compare_results(two(), Json())));
  const Json& row = row_of(zeroed, "allreduce_time_s");
  EXPECT_EQ(dump_json(row.at("claim"), -1), "[0.0,0.0]");
  EXPECT_EQ(dump_json(row.at("deviation"), -1), "[null,null]");
}

TEST(CompareText, TheWholePage) {
  EXPECT_EQ(compare_text(compare_results(two(), claim_of(0.12, 0.02))),
            "           | traditional                  | dpu                         |\n"
            "metric     | simulated   claim  deviation | simulated  claim  deviation | last/first\n"
            "all-reduce |  120.5 ms  120 ms      +0.4% |     18 ms  20 ms     -10.0% |      0.149\n"
            "MFU        |    30.00%       –          – |    45.00%      –          – |      1.500\n"
            "\n"
            "traditional: parameters: 2 assumed, 1 sourced; 1 outside their range\n"
            "    /b = 9 GB/s is outside its range, 1 GB/s to 2 GB/s: a wish\n"
            "dpu: parameters: 2 assumed, 1 sourced; 1 outside their range\n"
            "    /b = 9 GB/s is outside its range, 1 GB/s to 2 GB/s: a wish\n"
            "claimed, but not a number of every run: cost\n"
            "claim: a table\n"
            "what each row hangs on: compare --audit\n");
}

// What the rows do not show by themselves is said.
TEST(Compare, NotesOnBaselinesMissingRowsAndSeveralJobs) {
  std::vector<Json> results = two();
  results[0]["metrics"]["cost_usd"] = Json(100);
  results[0]["jobs"] = parse_json(R"([{"name": "first"}, {"name": "second"}])", "by hand");
  results[1]["scenario"] = parse_json(R"({"baseline": "nobody"})", "by hand");
  const Json comparison = compare_results(results, Json());
  ASSERT_EQ(comparison.at("notes").items().size(), 3U);
  EXPECT_EQ(comparison.at("notes").items()[0],
            Json("traditional: the rows are of \"first\", the first of its 2 jobs"));
  EXPECT_EQ(
      comparison.at("notes").items()[1],
      Json("dpu: its baseline \"nobody\" is not among the runs; ratios are to \"traditional\""));
  EXPECT_EQ(comparison.at("notes").items()[2], Json("not in every run, so not compared: cost_usd"));
  EXPECT_TRUE(compare_results(two(), Json()).at("notes").items().empty());
}

// Ratios are to the run that the scenario names, or to the first.
TEST(Compare, RatiosToTheBaseline) {
  std::vector<Json> results{result_of("a", 1, 1), result_of("b", 1, 1), result_of("c", 1, 1)};
  const double cost[] = {100, 50, 25};
  for (std::size_t i = 0; i < 3; ++i) results[i]["metrics"]["cost_usd"] = Json(cost[i]);
  results[2]["scenario"] = parse_json(R"({"baseline": "b"})", "by hand");
  EXPECT_EQ(dump_json(row_of(compare_results(results, Json()), "cost_ratio").at("values"), -1),
            "[1.0,0.5,0.5]");
}

TEST(CompareText, NoClaimNoColumnsForIt) {
  const std::string none = compare_text(compare_results(two(), Json()));
  EXPECT_THAT(none, Not(HasSubstr("claim")));
  EXPECT_THAT(none, HasSubstr("\nall-reduce |    120.5 ms |     18 ms |      0.149\n"));
  Json one = claim_of(0.12, 0.02);
  one["rows"]["allreduce_time_s"].erase("traditional");
  EXPECT_THAT(compare_text(compare_results(two(), one)),
              HasSubstr("\nmetric     |   simulated | simulated  claim  deviation | last/first\n"));
}

TEST(CompareText, TellsRunsOfOneNameApart) {
  const Json same = result_of("a rather long name of a scenario", 0, 0.1);
  const std::string text = compare_text(compare_results({same, same, same}, Json()));
  EXPECT_THAT(text, HasSubstr(" | a rather long name of a scenario | "
                              "a rather long name of a scenario (2) | "));
  EXPECT_THAT(text, HasSubstr("\na rather long name of a scenario (3): parameters: "));
  EXPECT_THAT(text, HasSubstr("last/first\n"));
  EXPECT_THAT(text, HasSubstr("|          –\n"));  // no ratio to zero
}

TEST(CompareText, SaysWhatIsInactiveAndRefused) {
  std::vector<Json> results = two();
  results[1]["inactive"].push_back(Json("a switch without trees"));
  results[1]["collectives"] = parse_json(
      R"([{"operation": "all_reduce", "bytes": 1e9, "ranks": 8, "servers": 2, "refused": "sharp: no"},
          {"operation": "all_reduce", "bytes": 1e9, "ranks": 8, "servers": 1, "refused": "one"}])",
      "by hand");
  const std::string text = compare_text(compare_results(results, Json()));
  EXPECT_THAT(text, HasSubstr("\n    inactive: a switch without trees\n"
                              "    all_reduce of 1 GB on 8 ranks could not use sharp: no\n"));
  EXPECT_THAT(text, Not(HasSubstr("could not use one")));
}

std::string fault_of(const std::string& claim) {
  const testing::TemporaryFolder folder;
  folder.write("c.json", claim);
  try {
    load_claim((folder.path() / "c.json").string());
  } catch (const ScenarioError& e) {
    return e.diagnostics().front().pointer + ": " + e.diagnostics().front().message;
  }
  return {};
}

TEST(Claim, IsCheckedWhenRead) {
  EXPECT_TRUE(load_claim("").is_null());
  EXPECT_EQ(fault_of(R"({"rows": {"mfu": {"dpu": 0.5}}})"), "");
  EXPECT_EQ(fault_of("{}"), "/rows: is missing or not an object");
  EXPECT_EQ(fault_of(R"({"rows": {"mfu": 1}})"),
            "/rows/mfu: is not an object of values by scenario name");
  EXPECT_EQ(fault_of(R"({"rows": {"mfu": {"dpu": "50%"}}})"),
            "/rows/mfu/dpu: is a string, not a number");
}

}  // namespace
}  // namespace trainyard
