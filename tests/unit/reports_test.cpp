// Reports of documents written by hand: what a reader of the files must be able to rely on.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reports/csv.hpp"
#include "reports/folder.hpp"
#include "reports/html_parts.hpp"
#include "reports/text.hpp"
#include "sim/compare.hpp"
#include "sim/error.hpp"
#include "sim/report.hpp"
#include "tests/golden/command.hpp"

namespace trainyard {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kHostile = "</script><img src=x onerror=alert(1)>";

/// A result with `text` in every field that a scenario can put text into.
Json result_with(const std::string& text) {
  Json document = parse_json(R"({
    "schema_version": 1, "name": "@",
    "provenance": {"program": "trainyard", "version": "@", "git": "@",
                   "simgrid": {"version": "@", "options": {"@": "@"}}, "seed": 1,
                   "scenario_sha256": "@"},
    "metrics": {"step_time_s": 2.5, "mfu": 0.4, "allreduce_time_s": 0.0082},
    "inactive": ["@"],
    "jobs": [{"name": "@", "metrics": {}}],
    "collectives": [{"operation": "@", "bytes": 1024, "ranks": 16, "servers": 2, "algorithm": "@",
                     "protocol": "@", "estimate_s": 0.001, "calls": 3, "refused": "@"}],
    "probes": {"@": {"size_bytes": 1024, "ranks": 16, "time_s": 0.0082, "algbw_bytes_per_s": 1,
                     "busbw_bytes_per_s": 1, "algorithm": "@", "protocol": "@", "collectives": [
                       {"operation": "@", "bytes": 1024, "ranks": 16, "servers": 2,
                        "algorithm": "@", "protocol": "@", "estimate_s": 0.001, "calls": 1,
                        "refused": "@"}]}},
    "parameters": [{"pointer": "@", "value": "@", "kind": "@", "text": "@", "range": ["@", "@"],
                    "outside": true}],
    "scenario": {"description": "@", "@": ["@"]}
  })",
                             "by hand");
  const auto fill = [&](auto&& self, Json& node) -> void {
    if (node == Json("@")) node = Json(text);
    if (node.is_array()) {
      for (Json& item : node.items()) self(self, item);
    }
    if (!node.is_object()) return;
    for (auto& [key, member] : node.members()) {
      if (key == "@") key = text;
      self(self, member);
    }
  };
  fill(fill, document);
  return document;
}

Json claim_of(const std::string& name, double step_time) {
  Json claim = parse_json(R"({"source": "a table", "rows": {"step_time_s": {}, "cost": {}}})", "c");
  claim["rows"]["step_time_s"][name] = Json(step_time);
  return claim;
}

TEST(Csv, QuotesWhatNeedsIt) {
  EXPECT_EQ(csv_line({Json("a"), Json("b,c"), Json("say \"x\""), Json("two\nlines"), Json()}),
            "a,\"b,c\",\"say \"\"x\"\"\",\"two\nlines\",\n");
  EXPECT_EQ(csv_line({Json(0.1), Json(-3), Json(true), Json(1e-9)}), "0.1,-3,true,1e-09\n");
}

TEST(Csv, DisarmsFormulas) {
  for (const char first : {'=', '+', '-', '@', '\t'}) {
    const std::string text = std::string(1, first) + "cmd";
    EXPECT_EQ(csv_line({Json(text)}), "'" + text + "\n");
  }
  EXPECT_EQ(csv_line({Json("\rcmd")}), "\"'\rcmd\"\n");
  EXPECT_EQ(csv_line({Json("=A1,\"B\"")}), "\"'=A1,\"\"B\"\"\"\n");
  const Json document = result_with("=1+1");
  for (const std::string& csv :
       {collectives_csv(document), parameters_csv(document),
        metrics_csv(compare_results({document, document}, claim_of("=1+1", 2)))}) {
    EXPECT_THAT(csv, Not(::testing::ContainsRegex("(^|,|\n|\")=")));
  }
}

TEST(Html, EscapesEveryField) {
  EXPECT_EQ(escape("<a href=\"x\">&'"), "&lt;a href=&quot;x&quot;&gt;&amp;&#39;");
  const Json document = result_with(kHostile);
  Json claim = claim_of(kHostile, 2);
  claim["source"] = Json(kHostile);
  claim["rows"][kHostile] = Json::object();
  const auto html = Registry<Report>::of().make("html");
  for (const Json& shown : {document, compare_results({document, document}, claim)}) {
    const std::string page = html->render(shown);
    EXPECT_THAT(page, Not(HasSubstr("<img")));
    EXPECT_THAT(page, Not(HasSubstr("<script")));
    EXPECT_THAT(page, Not(HasSubstr("</script")));
    EXPECT_THAT(page, HasSubstr("&lt;/script&gt;&lt;img src=x onerror=alert(1)&gt;"));
  }
}

// An all-reduce of n ranks moves 2·(n-1)/n of the buffer over each rank's link:
// 2^30 B / 8.2 ms = 130.94 GB/s, times 14/8 = 229.15 GB/s.
TEST(NcclTests, ColumnsOfAHandCalculatedRow) {
  const double time = 8.2e-3, algbw = 0x1p30 / time, busbw = algbw * 2 * 7 / 8;
  Json row = Json::object();
  row["size_bytes"] = Json(0x1p30);
  row["ranks"] = Json(8);
  row["time_s"] = Json(time);
  row["algbw_bytes_per_s"] = Json(algbw);
  row["busbw_bytes_per_s"] = Json(busbw);
  row["algorithm"] = Json("ring");
  row["protocol"] = Json("simple");
  Json measured = Json::object();
  measured["collective"] = Json("all_reduce");
  measured["rows"] = Json(Json::Array{row});
  const std::string text = collective_text(measured);
  EXPECT_THAT(text, HasSubstr("     1073741824     268435456    float     sum      -1    8200.00 "
                              "  130.94   229.15  ring          simple\n"));
  EXPECT_THAT(text, HasSubstr("# Avg bus bandwidth    : 229.1522\n"));
  const Json cells = collective_rows(measured).items().front();
  EXPECT_EQ(cells.at("size"), Json(std::int64_t{1} << 30));
  EXPECT_EQ(cells.at("count"), Json(std::int64_t{1} << 28));
  EXPECT_NEAR(cells.at("busbw_gb_per_s").as_number(), 229.15, 0.005);
  EXPECT_THAT(collective_csv(measured),
              ::testing::StartsWith("size,count,type,time_us,algbw_gb_per_s,busbw_gb_per_s,"
                                    "algorithm,protocol\n1073741824,268435456,float,"));
}

TEST(Compare, SimulatedValuesDoNotDependOnTheClaim) {
  const std::vector<Json> results{result_with("one"), result_with("two")};
  const auto simulated = [](const Json& comparison) {
    Json values = comparison.at("results");
    for (const Json& row : comparison.at("rows").items()) {
      values.push_back(row.at("metric"));
      values.push_back(row.at("values"));
    }
    return dump_json(values);
  };
  const Json claimed = compare_results(results, claim_of("one", 2));
  const Json zeroed = compare_results(results, claim_of("one", 0));
  const Json unclaimed = compare_results(results, Json());
  EXPECT_EQ(simulated(claimed), simulated(zeroed));
  EXPECT_EQ(simulated(claimed), simulated(unclaimed));
  for (const Json& row : claimed.at("rows").items()) {
    if (row.at("metric") != Json("step_time_s")) continue;
    EXPECT_EQ(dump_json(row.at("claim"), -1), "[2.0,null]");
    EXPECT_EQ(dump_json(row.at("deviation"), -1), "[0.25,null]");
  }
  EXPECT_EQ(dump_json(claimed.at("claimed_only"), -1), "[\"cost\"]");
}

TEST(Folder, RoundTripGivesTheSameBytes) {
  const testing::TemporaryFolder folder;
  const std::string first = (folder.path() / "first").string(),
                    second = (folder.path() / "second").string();
  const Json document = result_with("plain, \"text\"");
  for (const Json& written : {document, compare_results({document, document}, Json())}) {
    write_folder(first, written);
    write_folder(second, read_folder(first));
    std::size_t files = 0;
    for (const auto& entry : std::filesystem::directory_iterator(first)) {
      const std::string name = entry.path().filename().string();
      EXPECT_EQ(folder.read("first/" + name), folder.read("second/" + name)) << name;
      EXPECT_NE(entry.path().extension(), ".part");
      ++files;
    }
    EXPECT_GE(files, 5U);
    std::filesystem::remove_all(first);
    std::filesystem::remove_all(second);
  }
  EXPECT_THROW(read_folder(folder.path().string()), ScenarioError);
}

}  // namespace
}  // namespace trainyard
