// Recordings as Chrome traces: what a bar becomes, and that viewers take the whole.
#include "reports/chrome_trace.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "sim/recording_text.hpp"
#include "sim/trace_events.hpp"
#include "tests/support_recording.hpp"

namespace trainyard {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using testing::small_recording;

// The small recording, its second bar part of an all-reduce.
Json with_calls() {
  Json recording = small_recording();
  Json& timeline = recording["timeline"];
  timeline["calls"] = parse_json(
      R"([{"operation": "all_reduce", "bytes": 4096.0, "ranks": 8, "algorithm": "ring",
           "protocol": "simple"}])",
      "");
  timeline["call"] = parse_json("[null, 0]", "");
  return recording;
}

std::vector<Json> bars_of(const std::string& text) {
  std::vector<Json> bars;
  const Json trace = parse_json(text, "trace");
  for (const Json& event : trace.at("traceEvents").items()) {
    if (event.at("ph") == Json("X")) bars.push_back(event);
  }
  return bars;
}

TraceEventReport check(const std::string& text) {
  ByteSource source("trace", text);
  return check_trace_events(source);
}

TEST(ChromeTrace, ABarIsAKernelOfItsRankAndLane) {
  const std::string text = chrome_trace(with_calls());
  const std::vector<Json> bars = bars_of(text);
  ASSERT_EQ(bars.size(), 2U);
  EXPECT_EQ(dump_json(bars[0], -1),
            R"({"ph":"X","cat":"kernel","name":"forward","pid":0,"tid":0,"ts":0,"dur":100000,)"
            R"("args":{"number":3,"role":"compute","stream":0,"correlation":1}})");
  EXPECT_EQ(dump_json(bars[1], -1),
            R"({"ph":"X","cat":"kernel","name":"activations","pid":0,"tid":1,)"
            R"("ts":300000.00000000006,"dur":200000,"args":{"number":0,"role":"network",)"
            R"("stream":1,"correlation":2,"bytes":1024.0,"Collective name":"allreduce",)"
            R"("Group size":8,"buffer bytes":4096.0,"algorithm":"ring","protocol":"simple"}})");
  // No digit is lost on the way: the point is moved.
  EXPECT_THAT(text, HasSubstr("\"ts\": 300000.00000000004,"));
  EXPECT_THAT(text, HasSubstr("\"name\": \"rank 0 (for 2)\""));
  EXPECT_THAT(text, HasSubstr(R"("tid": 1, "ts": 0, "args": {"name": "pipeline"})"));
}

TEST(ChromeTrace, RecordingsWithoutCallsDoWithout) {
  const std::string text = chrome_trace(small_recording());
  EXPECT_THAT(text, Not(HasSubstr("Collective name")));
  EXPECT_EQ(bars_of(text).size(), 2U);
  EXPECT_THAT(check(text).problems, IsEmpty());
}

TEST(ChromeTrace, KeepsRanksWindowAndNumber) {
  ChromeTraceOptions options;
  options.keep.from = 0.2;
  EXPECT_EQ(bars_of(chrome_trace(with_calls(), options)).size(), 1U);
  options.keep.from = 0;
  options.keep.to = 0.3;
  EXPECT_EQ(bars_of(chrome_trace(with_calls(), options))[0].at("name"), Json("forward"));
  options.keep.to = 1;
  options.keep.ranks = {{1, 5}};
  EXPECT_EQ(bars_of(chrome_trace(with_calls(), options)).size(), 0U);
  options.keep.ranks = {{0, 0}};
  options.keep.bars = 1;
  options.world_size = 64;
  const Json trace = parse_json(chrome_trace(with_calls(), options), "");
  EXPECT_EQ(dump_json(trace.at("distributedInfo"), -1),
            R"({"backend":"nccl","rank":0,"world_size":64})");
}

TEST(ChromeTrace, TimesAreExactDecimals) {
  const auto us = [](double seconds) {
    std::string text;
    append_microseconds(seconds, text);
    return text;
  };
  EXPECT_EQ(us(0), "0");
  EXPECT_EQ(us(1), "1000000");
  EXPECT_EQ(us(1e-6), "1");
  EXPECT_EQ(us(1.5e-9), "0.0015");
  EXPECT_EQ(us(0.1), "100000");
  EXPECT_EQ(us(123.456), "123456000");
  EXPECT_EQ(us(12345.6789012345), "12345678901.2345");
  EXPECT_EQ(us(1e20), "100000000000000000000000000");
  EXPECT_EQ(us(-2.5e-6), "-2.5");
}

// A whole run: every bar of the recording is there, with what it is part of, and viewers take it.
TEST(ChromeTrace, ARunPassesTheRules) {
  const Json recording = testing::record_file("scale/gpt3-1024", testing::kSmall).recording;
  const std::string text = chrome_trace(recording);
  const TraceEventReport report = check(text);
  EXPECT_THAT(report.problems, IsEmpty());
  const Json& timeline = recording.at("timeline");
  EXPECT_EQ(report.bars, timeline.at("lane").items().size());
  EXPECT_EQ(report.tracks, timeline.at("lanes").items().size());
  EXPECT_EQ(text, chrome_trace(parse_recording(recording_text(recording), "again")));
  std::set<std::string> collectives;
  for (const Json& bar : bars_of(text)) {
    const Json* name = bar.at("args").find("Collective name");
    if (name == nullptr) continue;
    collectives.insert(name->as_string());
    EXPECT_EQ(bar.at("args").at("stream"), bar.at("tid"));
  }
  EXPECT_THAT(collectives, Not(IsEmpty()));
}

// Two collectives one after another: each bar names its own.
TEST(ChromeTrace, BarsNameTheirCollective) {
  testing::Ideal ideal;
  ideal.servers = 4;
  const Json recording =
      testing::record_text(testing::ideal_scenario(ideal, R"("jobs": [{"workload":
        {"kind": "collective", "operation": "all_gather", "sizes": ["1 MB", "2 MB"]}}])"))
          .recording;
  std::set<std::string> seen;
  for (const Json& bar : bars_of(chrome_trace(recording))) {
    const Json& args = bar.at("args");
    seen.insert(dump_json(args.at("Collective name"), -1) + dump_json(args.at("Group size"), -1) +
                dump_json(args.at("buffer bytes"), -1));
  }
  EXPECT_THAT(seen, ElementsAre("\"_allgather_base\"41000000.0", "\"_allgather_base\"42000000.0"));
}

}  // namespace
}  // namespace trainyard
