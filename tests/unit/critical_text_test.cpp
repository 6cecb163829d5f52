// The critical path as text, CSV and chart.
#include "reports/critical_text.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reports/charts/charts.hpp"
#include "tests/support_recording.hpp"

namespace trainyard {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

Json recorded() {
  Json recording = testing::small_recording();
  recording["critical_path"] = parse_json(R"({"waiting_s": 0.05,
    "segments": [[0, "forward", "compute", 3, 0.0, 0.25, 0.125], [1, "=ring", "network", 0, 0.3, 0.2, null]],
    "labels": [{"name": "forward", "role": "compute", "stream": "compute", "time_s": 0.25,
                "share": 0.5, "gain_s": 0.2, "gain_10_percent_s": 0.025},
               {"name": "=ring", "role": "network", "stream": "data", "time_s": 0.2, "share": 0.4,
                "gain_s": null, "gain_10_percent_s": null}],
    "notes": ["A gain is a gain."]})",
                                          "by hand");
  return recording;
}
Json result_of(Json recording) {
  Json result = Json::object();
  result["recording"] = std::move(recording);
  return result;
}

TEST(CriticalText, SaysWhatTheStepHangsOn) {
  EXPECT_EQ(
      critical_text(recorded()),
      "critical path of 500 ms, 50 ms of it waiting\n\n"
      "  what the step hangs on     role   stream  on the path   share    gain  gain at 10% less\n"
      "  forward                 compute  compute       250 ms  50.00%  200 ms             25 ms\n"
      "  =ring                   network     data       200 ms  40.00%       –                 "
      "–\n\n"
      "  the path     role  rank  number   start  duration    gain\n"
      "  forward   compute     0       3     0 s    250 ms  125 ms\n"
      "  =ring     network     1       0  300 ms    200 ms       –\n\n"
      "  A gain is a gain.\n");
}

TEST(CriticalText, ShowsTheFirstOfMany) {
  Json recording = recorded();
  Json::Array& segments = recording["critical_path"]["segments"].items();
  for (int i = 0; i < 23; ++i) segments.push_back(segments.front());
  const std::string text = critical_text(recording);
  EXPECT_THAT(text, HasSubstr("  the path (the first 20 of 25)  "));
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 6 + 21 + 2);
}

TEST(CriticalText, SaysWhereThereIsNone) {
  EXPECT_EQ(critical_text(testing::small_recording()),
            "This recording has no critical path: run the scenario again with --out.\n");
  Json recording = recorded();
  recording["critical_path"]["segments"] = Json::array();
  recording["critical_path"]["labels"] = Json::array();
  EXPECT_EQ(critical_text(recording),
            "critical path of 500 ms, 50 ms of it waiting\n\n  A gain is a gain.\n");
}

TEST(CriticalText, IsCsv) {
  EXPECT_EQ(critical_csv(recorded()),
            "rank,name,role,number,start_s,duration_s,gain_s\n"
            "0,forward,compute,3,0.0,0.25,0.125\n1,'=ring,network,0,0.3,0.2,\n");
  EXPECT_EQ(critical_labels_csv(recorded()),
            "name,role,stream,time_s,share,gain_s,gain_10_percent_s\n"
            "forward,compute,compute,0.25,0.5,0.2,0.025\n'=ring,network,data,0.2,0.4,,\n");
}

TEST(CriticalText, IsAChart) {
  const auto chart = critical_chart(result_of(recorded()));
  ASSERT_TRUE(chart);
  EXPECT_EQ(chart->summary,
            "The longest chain of operations takes 500 ms in 2 segments: forward (compute) is "
            "50.0% of it, and without it the run would end 200 ms earlier; =ring (data, network) "
            "is 40.0% of it. A gain is a gain.");
  EXPECT_THAT(
      chart->rows,
      ElementsAre(
          Json::Array{Json("forward (compute)"), Json(0.25), Json(0.5), Json(0.2), Json(0.025)},
          Json::Array{Json("=ring (data, network)"), Json(0.2), Json(0.4), Json(), Json()}));
  EXPECT_EQ(dump_json(chart->more.at("roles"), -1), R"(["compute","network"])");
  EXPECT_FALSE(critical_chart(result_of(testing::small_recording())));
}

TEST(CriticalText, TheTimelineHasItOnTop) {
  const auto chart = timeline_chart(result_of(recorded()), 100);
  EXPECT_EQ(chart->more.at("path"), recorded().at("critical_path").at("segments"));
  EXPECT_THAT(chart->summary, HasSubstr("The lane on top is the critical path"));
  const auto without = timeline_chart(result_of(testing::small_recording()), 100);
  EXPECT_EQ(without->more.find("path"), nullptr);
  EXPECT_THAT(without->summary, Not(HasSubstr("critical path")));
  Json refused = recorded();
  refused["critical_path"]["segments"] = Json::array();
  refused["critical_path"]["labels"] = Json::array();
  refused["critical_path"]["notes"] = Json(Json::Array{Json("There is no critical path: so.")});
  EXPECT_THAT(timeline_chart(result_of(refused), 100)->summary,
              HasSubstr("There is no critical path: so."));
  EXPECT_FALSE(critical_chart(result_of(refused)));
}

}  // namespace
}  // namespace trainyard
