// The charts' data in the page, and the page's frame: what browsers are told to run.
#include "reports/charts/charts.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/evp.h>

#include <array>

#include "reports/html_page.hpp"
#include "sim/report.hpp"

namespace trainyard {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

// SHA-256 in base 64, by OpenSSL alone.
std::string digest_of(const std::string& text) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  std::array<unsigned char, 2 * EVP_MAX_MD_SIZE> encoded{};
  unsigned int size = 0;
  EVP_Digest(text.data(), text.size(), digest.data(), &size, EVP_sha256(), nullptr);
  const int length = EVP_EncodeBlock(encoded.data(), digest.data(), static_cast<int>(size));
  return std::string(encoded.begin(), encoded.begin() + length);
}

std::vector<std::string> own_scripts(const std::string& page) {
  const std::string open = "<script>", close = "</script>";
  std::vector<std::string> scripts;
  for (std::size_t at = page.find(open); at != std::string::npos; at = page.find(open, at)) {
    at += open.size();
    scripts.push_back(page.substr(at, page.find(close, at) - at));
  }
  return scripts;
}

Json parsed(const char* text) { return parse_json(text, "by hand"); }

/// A result with a recording of two ranks; the second stands for three.
Json recorded() {
  return parsed(R"({"name": "x", "metrics": {}, "recording": {
    "end_s": 10, "notes": ["one stands for many"],
    "timeline": {
      "lanes": [{"rank": 0, "stream": "compute", "stage": 0, "stands_for": 1},
                {"rank": 1, "stream": "compute", "stage": 0, "stands_for": 3},
                {"rank": 1, "stream": "data", "stage": 0, "stands_for": 3}],
      "names": ["forward", "reduce"], "roles": ["compute", "network"],
      "lane": [0, 0, 1, 1, 2], "name": [0, 0, 0, 0, 1], "role": [0, 0, 0, 0, 1],
      "number": [0, 1, 0, 1, 0], "start_s": [0, 2, 0, 2, 6], "duration_s": [1, 1.5, 1, 1, 4],
      "bytes": [null, null, null, null, 5], "bars": 5, "left_out": 2},
    "links": [
      {"from": "a/nic0", "to": "leaf", "tier": 0, "direction": "up",
       "capacity_bytes_per_s": 100, "carried_bytes": 500, "load": 0.5},
      {"from": "b/nic0", "to": "leaf", "tier": 0, "direction": "up",
       "capacity_bytes_per_s": 100, "carried_bytes": 900, "load": 0.9}],
    "nodes": [{"name": "a", "kind": "server", "tier": 0}, {"name": "b", "kind": "server", "tier": 0},
              {"name": "leaf", "kind": "switch", "tier": 1}],
    "links_left_out": 3,
    "accounts": [
      {"rank": 0, "stage": 0, "stands_for": 1, "compute_s": 6, "network_s": 4, "nvlink_s": 0,
       "host_s": 0, "storage_s": 0, "bubble_s": 0},
      {"rank": 1, "stage": 0, "stands_for": 3, "compute_s": 2, "network_s": 4, "nvlink_s": 0,
       "host_s": 0, "storage_s": 0, "bubble_s": 4}]}})");
}

TEST(HtmlPage, ScriptsRunByTheirHashAlone) {
  const std::string text = page("t", "<figure></figure>");
  const std::vector<std::string> scripts = own_scripts(text);
  ASSERT_EQ(scripts.size(), 2U);
  EXPECT_THAT(text, HasSubstr("script-src 'sha256-" + digest_of(scripts[0]) + "' 'sha256-" +
                              digest_of(scripts[1]) + "'\">"));
  EXPECT_THAT(scripts[0], HasSubstr("Licensed to the Apache Software Foundation"));
  // A browser ends a script at the first of these, wherever it stands.
  for (const std::string& script : scripts) {
    EXPECT_THAT(script, Not(HasSubstr("<script")));
    EXPECT_THAT(script, Not(HasSubstr("<!--")));
  }
  EXPECT_EQ(own_scripts(page("other", "<figure>x</figure>")), scripts);
}

TEST(HtmlPage, WithoutAChartHasNoScript) {
  const std::string text = page("t", "<p>x</p>");
  EXPECT_THAT(text, Not(HasSubstr("<script")));
  EXPECT_THAT(text, HasSubstr("content=\"default-src 'none'; base-uri 'none'; form-action 'none'; "
                              "style-src 'unsafe-inline'\">"));
}

TEST(Charts, DataCannotEndItsElement) {
  EXPECT_EQ(script_json(Json("</script><!--")), "\"\\u003c/script>\\u003c!--\"");
  Chart chart{"claim", "<t>", "<s>", {{"<c>"}}, {{Json("<v>")}}};
  const std::string html = figure(chart, "\"<i>");
  EXPECT_THAT(html, HasSubstr("<figure id=\"&quot;&lt;i&gt;\" data-chart=\"claim\">\n"
                              "<figcaption>&lt;t&gt;</figcaption>\n"
                              "<p class=\"summary\">&lt;s&gt;</p>"));
  EXPECT_THAT(html, HasSubstr("<script type=\"application/json\">{\"columns\":[{\"title\":"
                              "\"\\u003cc>\",\"form\":\"text\"}],\"rows\":[[\"\\u003cv>\"]]}"));
  EXPECT_THAT(html, HasSubstr("<th scope=\"row\">&lt;v&gt;</th>"));
}

TEST(Charts, CellsAreShownByTheirForm) {
  EXPECT_EQ(show_cell({"", Form::kSeconds}, Json(0.0184216)), "18.42 ms");
  EXPECT_EQ(show_cell({"", Form::kBytes}, Json(1024)), "1.024 kB");
  EXPECT_EQ(show_cell({"", Form::kSize}, Json(1024)), "1 KiB");
  EXPECT_EQ(show_cell({"", Form::kSize}, Json(3 << 20)), "3 MiB");
  EXPECT_EQ(show_cell({"", Form::kSize}, Json(1e6)), "1 MB");
  EXPECT_EQ(show_cell({"", Form::kSize}, Json(12)), "12 B");
  EXPECT_EQ(show_cell({"", Form::kRate}, Json(5e10)), "50 GB/s");
  EXPECT_EQ(show_cell({"", Form::kShare}, Json(0.5)), "50.00%");
  EXPECT_EQ(show_cell({"", Form::kNumber, "USD"}, Json(1234567)), "1,234,567 USD");
  EXPECT_EQ(show_cell({"", Form::kNumber, "1"}, Json(12)), "12");
  EXPECT_EQ(show_cell({"", Form::kNumber, "1"}, Json()), "–");
  EXPECT_EQ(show_cell({""}, Json("text")), "text");
}

// Weighted by whom they stand for: (6 + 3·2) / 4 = 3, network 4, bubble 3·4/4 = 3.
TEST(Charts, StagesAreMeansOverAllRanks) {
  const auto chart = stage_time_chart(recorded());
  ASSERT_TRUE(chart);
  ASSERT_EQ(chart->rows.size(), 1U);
  EXPECT_EQ(chart->rows[0], (Json::Array{Json("stage 0"), Json(3.0), Json(4.0), Json(0.0),
                                         Json(0.0), Json(0.0), Json(3.0)}));
  EXPECT_EQ(chart->summary,
            "stage 0: computing 30%, waiting for network 40%, pipeline bubble 30%.");
  EXPECT_FALSE(stage_time_chart(parsed(R"({"metrics": {}})")));
}

TEST(Charts, RunsAreComparedWhereAllAreRecorded) {
  const Json result = recorded(), bare = parsed(R"({"metrics": {}})");
  const auto chart = iteration_time_chart({{"a", &result}, {"b", &result}});
  ASSERT_TRUE(chart);
  EXPECT_EQ(chart->rows[1][1], Json(3.0));
  EXPECT_FALSE(iteration_time_chart({{"a", &result}, {"b", &bare}}));
}

TEST(Charts, WaitsOfTheJobAreInDaysWhereThereAreDays) {
  const Json a = parsed(R"({"metrics": {"step_time_s": 2, "training_days": 10,
    "gpu_wait_fractions": {"network": 0.25, "restart": 0.05}}})");
  const Json b = parsed(R"({"metrics": {"step_time_s": 2,
    "gpu_wait_fractions": {"network": 0.5}}})");
  const auto days = job_time_chart({{"a", &a}});
  ASSERT_TRUE(days);
  EXPECT_EQ(days->columns.back().title, "down");
  EXPECT_NEAR(days->rows[0][1].as_number(), 7, 1e-12);
  EXPECT_NEAR(days->rows[0][2].as_number(), 2.5, 1e-12);
  EXPECT_NEAR(days->rows[0].back().as_number(), 0.5, 1e-12);
  const auto seconds = job_time_chart({{"a", &a}, {"b", &b}});
  EXPECT_EQ(seconds->columns[1].form, Form::kSeconds);
  EXPECT_NEAR(seconds->rows[1][1].as_number(), 1, 1e-12);
  EXPECT_EQ(seconds->rows[1].size(), seconds->rows[0].size());
}

TEST(Charts, ATimelineKeepsWholeLanes) {
  const Json result = recorded();
  const auto whole = timeline_chart(result, 5);
  ASSERT_TRUE(whole);
  EXPECT_EQ(whole->more.at("lane").items().size(), 5U);
  EXPECT_EQ(whole->summary,
            "5 operations in 3 lanes over 10 s. 2 operations of other ranks were not kept. One "
            "stands for many.");
  EXPECT_EQ(whole->tables->front().rows.front(),
            (std::vector<std::string>{"rank 0 compute", "forward", "2", "2.5 s"}));
  EXPECT_EQ(whole->tables->front().rows.back(),
            (std::vector<std::string>{"rank 1 data (for 3)", "reduce", "1", "4 s"}));
  // A third bar would be half of the second lane.
  const auto part = timeline_chart(result, 3);
  EXPECT_EQ(part->more.at("lane").items().size(), 2U);
  EXPECT_EQ(part->more.at("lanes").items().size(), 1U);
  EXPECT_THAT(part->summary, HasSubstr("2 more lanes are in timeline.jsonl.gz"));
  EXPECT_EQ(timeline_chart(result, 1)->more.at("start_s").items().size(), 1U);
}

TEST(Charts, LinksNameTheNodesOfTheirPorts) {
  const auto chart = network_chart(recorded());
  ASSERT_TRUE(chart);
  EXPECT_EQ(chart->kind, "topology");
  EXPECT_EQ(chart->rows[1][7], Json("b"));
  EXPECT_EQ(chart->rows[1][8], Json("leaf"));
  EXPECT_EQ(chart->summary,
            "2 links; the busiest is b/nic0 → leaf with 90.0% of its capacity. 3 that carry less "
            "are left out.");
  EXPECT_THAT(chart->tables->front().rows.front(),
              ElementsAre("servers and tier 1, up", "2", "70.00%", "90.00%", "1.4 kB"));
  Json large = recorded();
  for (int i = 0; i < 62; ++i) {
    Json node = parsed(R"({"kind": "server", "tier": 0})");
    node["name"] = Json("s" + std::to_string(i));
    large["recording"]["nodes"].push_back(node);
  }
  EXPECT_EQ(network_chart(large)->kind, "links");
}

TEST(Charts, MeasuredPointsStandBesideTheSimulated) {
  const Json result = parsed(R"({"metrics": {}, "jobs": [{"name": "j",
    "metrics": {"rows": [{"size_bytes": 8, "ranks": 2, "time_s": 1, "algbw_bytes_per_s": 8,
      "busbw_bytes_per_s": 9, "algorithm": "ring", "protocol": "simple"}]},
    "measured": [{"bytes": 16, "time_s": 3}]}]})");
  const auto chart = collectives_chart({{"a", &result}});
  ASSERT_TRUE(chart);
  ASSERT_EQ(chart->rows.size(), 2U);
  EXPECT_EQ(chart->rows[1][1], Json("measured"));
  EXPECT_EQ(chart->rows[1][4], Json(3));
  EXPECT_TRUE(chart->rows[1][6].is_null());
  EXPECT_THAT(chart->summary, HasSubstr("1 simulated and 1 measured points"));
  EXPECT_EQ(chart->columns.size(), 9U);  // no size has both
  EXPECT_EQ(collectives_chart({{"a", &result}, {"b", &result}})->rows[0][0], Json("a: j"));
}

// Measured twice in 0.5 and 1.1 s, 0.8 s in the mean: 1 / 0.8 - 1 = 0.25.
TEST(Charts, MeasuredSizesHaveAnError) {
  const Json result = parsed(R"({"metrics": {}, "jobs": [{"name": "j",
    "metrics": {"rows": [{"size_bytes": 8, "ranks": 2, "time_s": 1, "algbw_bytes_per_s": 8,
      "busbw_bytes_per_s": 9, "algorithm": "ring", "protocol": "simple"}]},
    "measured": [{"bytes": 8, "time_s": 0.5}, {"bytes": 8, "time_s": 1.1}]}]})");
  const auto chart = collectives_chart({{"a", &result}});
  ASSERT_TRUE(chart);
  ASSERT_EQ(chart->columns.size(), 11U);
  EXPECT_NEAR(chart->rows[0][9].as_number(), 0.8, 1e-12);
  EXPECT_NEAR(chart->rows[0][10].as_number(), 0.25, 1e-12);
  EXPECT_TRUE(chart->rows[1][10].is_null());
  EXPECT_THAT(chart->summary,
              HasSubstr("Mean absolute error of the time: 25.0%, over 1 measured size."));
}

TEST(Charts, NvLinksOfPausesAreNotShownAsIdle) {
  Json result = parsed(R"({"recording": {"notes": ["no NVLink here", "periods recur"],
    "series": {"bin_s": 1, "bins": 2, "columns": [
      {"key": "gpu", "title": "GPU", "resource": "GPU", "values": [0, 0]},
      {"key": "nvlink", "title": "NVLink", "resource": "NVLink", "values": [0, 0]}]}}})");
  const auto chart = utilization_chart(result);
  ASSERT_TRUE(chart);
  EXPECT_EQ(chart->columns.size(), 2U);
  EXPECT_EQ(chart->summary, "Mean shares of capacity: GPU 0.0%. No NVLink here.");
  EXPECT_EQ(chart->tables->front().rows.size(), 1U);
  result["recording"]["series"]["columns"].items()[1]["values"].items()[1] = Json(0.5);
  EXPECT_EQ(utilization_chart(result)->columns.size(), 3U);
}

TEST(Charts, VariantsBeginWithTheirObjectives) {
  const Json sweep = parsed(R"({"name": "s", "axes": [{"name": "a", "values": [null, "2"]}],
    "metrics": [{"key": "unheard", "title": "unheard", "unit": "1"},
                {"key": "mfu", "title": "MFU", "unit": "1"},
                {"key": "cost_usd", "title": "cost", "unit": "USD"}],
    "objectives": ["cost_usd"], "variants": [
      {"id": "1", "axes": [null], "status": "ok", "reason": "", "values": [1, 2, 3]}]})");
  const auto chart = variants_chart(sweep);
  ASSERT_TRUE(chart);
  EXPECT_EQ(chart->columns[3].title, "cost");
  EXPECT_EQ(chart->columns[4].title, "MFU");
  EXPECT_EQ(chart->columns[5].title, "unheard");
  EXPECT_EQ(Json::Array(chart->rows[0].begin() + 3, chart->rows[0].begin() + 6),
            (Json::Array{Json(3), Json(2), Json(1)}));
  EXPECT_EQ(chart->more.at("leading"), Json(5));
  EXPECT_EQ(chart->more.at("metrics").items()[0].at("key"), Json("cost_usd"));
  EXPECT_TRUE(chart->more.at("axes").items()[0].at("values").items()[0].is_null());
  EXPECT_THAT(figure(*chart, "v"), HasSubstr("<td>not set</td>"));
}

TEST(Charts, LongCellsAreClippedAndWholeInTheirTitle) {
  const std::string text(30, 'x');
  Table table{"c", {"a", "b"}, "ll", {{"short", text}}, {}, {}, true};
  EXPECT_THAT(render(table), HasSubstr("<td title=\"" + text + "\">" + text + "</td>"));
  EXPECT_THAT(render(table), HasSubstr("<th scope=\"row\">short</th>"));
  table.clipped = false;
  EXPECT_THAT(render(table), Not(HasSubstr("title=")));
  EXPECT_EQ(shortened("abc", 3), "abc");
  EXPECT_EQ(shortened("a\u00e9b", 2), "a…");  // not half of the é
}

TEST(Charts, ASweepNeedsTwoAxesForACellOfBoth) {
  Json sweep = parsed(R"({"name": "s", "axes": [{"name": "a", "values": ["1", "2"]},
      {"name": "b", "values": ["x"]}],
    "metrics": [{"key": "mfu", "title": "MFU", "unit": "1"},
                {"key": "cost_usd", "title": "cost", "unit": "USD"}],
    "objectives": [], "variants": [
      {"id": "1", "axes": [1, "x"], "status": "ok", "reason": "", "values": [0.5, 7]},
      {"id": "2", "axes": [2, "x"], "status": "failed", "reason": "why", "values": [null, null]}]})");
  const auto variants = variants_chart(sweep);
  ASSERT_TRUE(variants);
  EXPECT_EQ(variants->rows[0],
            (Json::Array{Json(1), Json("ok"), Json("1"), Json("x"), Json(0.5), Json(7), Json("")}));
  EXPECT_EQ(variants->columns[4].form, Form::kShare);
  EXPECT_TRUE(variants->more.at("metrics").items()[0].at("higher_is_better").as_bool());
  EXPECT_FALSE(variants->more.at("metrics").items()[1].at("higher_is_better").as_bool());
  EXPECT_EQ(variants->summary, "1 of 2 variants have results.");
  EXPECT_TRUE(pareto_chart(sweep));
  EXPECT_FALSE(grid_chart(sweep));
  sweep["axes"].items()[1]["values"].push_back(Json("y"));
  EXPECT_TRUE(grid_chart(sweep));
}

}  // namespace
}  // namespace trainyard
