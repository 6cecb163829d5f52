// The rules of viewers: a right trace breaks none, and each broken one its own.
#include "sim/trace_events.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/error.hpp"

namespace trainyard {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

const std::string kNamed =
    R"({"ph": "M", "name": "process_name", "pid": 0, "tid": 0, "args": {"name": "rank 0"}})";

std::string bar(double ts, double dur, const std::string& more = "", int tid = 1) {
  return fmt::format(R"({{"ph": "X", "name": "b", "pid": 0, "tid": {}, "ts": {}, "dur": {}{}}})",
                     tid, ts, dur, more);
}
std::string flow(char phase, double ts, int id, int tid = 1, const std::string& more = "") {
  return fmt::format(
      R"({{"ph": "{}", "name": "f", "cat": "c", "id": {}, "pid": 0, "tid": {}, "ts": {}{}}})",
      phase, id, tid, ts, more);
}

TraceEventReport check(const std::vector<std::string>& events) {
  const std::string text =
      fmt::format("{{\"traceEvents\": [{}, {}]}}", kNamed, fmt::join(events, ", "));
  ByteSource source("t.json", text);
  return check_trace_events(source);
}

/// "rule | first | count" of the only problem.
std::string only(const std::vector<std::string>& events) {
  const TraceEventReport report = check(events);
  std::string all;
  for (const TraceEventProblem& one : report.problems)
    all += fmt::format("{}{} | {} | {}", all.empty() ? "" : "; ", one.rule, one.first, one.count);
  return all;
}

TEST(TraceEvents, ARightTraceBreaksNoRule) {
  const std::string kernel = R"(, "cat": "kernel")";
  const TraceEventReport report = check(
      {bar(0, 10), bar(0, 4), flow('s', 1, 7), bar(5, 5), bar(10, 1), bar(0, 3, kernel, 2),
       bar(3, 3, kernel, 2), R"({"ph": "B", "name": "o", "pid": 0, "tid": 3, "ts": 0})",
       R"({"ph": "B", "name": "i", "pid": 0, "tid": 3, "ts": 1})",
       R"({"ph": "E", "pid": 0, "tid": 3, "ts": 2})",
       R"({"ph": "E", "name": "o", "pid": 0, "tid": 3, "ts": 5})",
       flow('f', 4, 7, 2, R"(, "bp": "e")"), R"({"ph": "i", "pid": 0, "tid": "x", "ts": 3})"});
  EXPECT_THAT(report.problems, IsEmpty());
  EXPECT_TRUE(report.good());
  EXPECT_EQ(report.events, 14U);
  EXPECT_EQ(report.bars, 8U);
  EXPECT_EQ(report.tracks, 4U);
  EXPECT_EQ(report.processes, 1U);
  EXPECT_EQ(report.flows, 1U);
}

TEST(TraceEvents, NamesTheEventThatLacksItsPlace) {
  EXPECT_EQ(only({bar(0, 1), R"({"ph": "X", "name": "n", "pid": 0, "ts": 5, "dur": 1})"}),
            "every event has ph, pid and tid | event 2 (n, ts 5): has no tid | 1");
  EXPECT_THAT(only({R"({"name": "n", "pid": 0, "tid": 0, "ts": 5})"}), HasSubstr("has no ph"));
  EXPECT_THAT(only({R"({"ph": "X", "tid": 0, "ts": 5})"}), HasSubstr("has no pid"));
  EXPECT_THAT(only({"5"}), HasSubstr("events are objects | event 1 (): is no object | 1"));
}

TEST(TraceEvents, NamesTimesThatAreNone) {
  const std::string rule = "events have ts >= 0, and bars dur >= 0 | ";
  EXPECT_EQ(only({bar(-1, 1)}), rule + "event 1 (b, ts -1): has no \"ts\" from 0 on | 1");
  EXPECT_EQ(only({bar(2, -1), bar(3, -5)}),
            rule + "event 1 (b, ts 2): has no \"dur\" from 0 on | 2");
  EXPECT_THAT(only({R"({"ph": "X", "pid": 0, "tid": 0, "ts": "5", "dur": 1})"}), HasSubstr(rule));
}

TEST(TraceEvents, WarnsOfDisorder) {
  const TraceEventReport report = check({bar(5, 1), bar(0, 1)});
  ASSERT_EQ(report.problems.size(), 1U);
  EXPECT_TRUE(report.problems[0].warning);
  EXPECT_TRUE(report.good());
  EXPECT_EQ(report.problems[0].first, "event 2 (b, ts 0): comes after one of ts 5 on its track");
}

TEST(TraceEvents, NamesBarsThatOverlapInPart) {
  EXPECT_EQ(only({bar(0, 10), bar(5, 6), bar(7, 9)}),
            "a bar that begins within another ends within it | event 2 (b, ts 5): begins within "
            "event 1 and ends 1 us after it | 2");
  // What viewers cannot tell from touching is no overlap.
  EXPECT_EQ(only({bar(0, 10), bar(9.9995, 5)}), "");
  EXPECT_EQ(only({bar(0, 10, "", 1), bar(5, 10, "", 2)}), "");
}

TEST(TraceEvents, KernelsMayNotEvenNest) {
  const std::string kernel = R"(, "cat": "kernel")", copy = R"(, "cat": "gpu_memcpy")";
  EXPECT_EQ(only({bar(0, 10, kernel), bar(2, 3, copy)}),
            "kernels of a track do not overlap | event 2 (b, ts 2): begins 8 us before event 1 "
            "ends | 1");
  EXPECT_EQ(only({bar(0, 10, R"(, "cat": "gpu_user_annotation")"), bar(2, 3, kernel)}), "");
}

TEST(TraceEvents, NamesBeginsAndEndsWithoutTheOther) {
  const std::string rule = "each B has its E on its track | ";
  const auto edge = [](char phase, int ts, int tid, const char* name) {
    return fmt::format(R"({{"ph": "{}", "name": "{}", "pid": 0, "tid": {}, "ts": {}}})", phase,
                       name, tid, ts);
  };
  EXPECT_EQ(only({edge('B', 0, 1, "a"), edge('E', 1, 2, "a")}),
            rule + "event 1 (a, ts 0): is a B without an E | 2");
  EXPECT_EQ(only({edge('B', 0, 1, "a"), edge('B', 1, 1, "b"), edge('E', 2, 1, "a"),
                  edge('E', 3, 1, "b")}),
            rule + "event 3 (a, ts 2): ends event 2 of another name | 2");
  // An E makes a bar, which nests like others.
  EXPECT_THAT(only({edge('B', 0, 1, "a"), bar(1, 5), edge('E', 3, 1, "a")}),
              HasSubstr("ends 3 us after it"));
}

TEST(TraceEvents, NamesFlowsThatHangInTheAir) {
  EXPECT_EQ(only({bar(0, 10), flow('s', 1, 7)}),
            "each flow has a start and a finish | event 2 (f, ts 1): starts a flow without a "
            "finish | 1");
  EXPECT_EQ(only({bar(0, 10), flow('f', 1, 7)}),
            "each flow has a start and a finish | event 2 (f, ts 1): is of a flow without a start "
            "| 1");
  EXPECT_EQ(only({bar(0, 10), flow('f', 1, 7), flow('s', 2, 7)}),
            "no flow finishes before it starts | event 2 (f, ts 1): is before the start of its "
            "flow | 1");
  EXPECT_EQ(only({bar(0, 10), flow('s', 1, 7), flow('t', 2, 7), flow('f', 3, 7), flow('f', 4, 7)}),
            "");
  EXPECT_EQ(only({bar(0, 10), flow('s', 1, 7), flow('f', 20, 7, 1, R"(, "bp": "e")")}),
            "flows begin and end at a bar of their track | event 3 (f, ts 20): meets no bar of its "
            "track | 1");
  // Without "bp" a finish is bound to the next bar.
  EXPECT_EQ(only({bar(0, 10), flow('s', 1, 7), flow('f', 20, 7), bar(30, 1)}), "");
  EXPECT_EQ(only({bar(0, 10), flow('s', 1, 7), flow('f', 2, 7, 5)}).substr(0, 5), "flows");
}

TEST(TraceEvents, WarnsOfProcessesWithoutAName) {
  const TraceEventReport report = check({R"({"ph": "X", "pid": 4, "tid": 0, "ts": 1, "dur": 1})"});
  ASSERT_EQ(report.problems.size(), 1U);
  EXPECT_EQ(report.problems[0].first, "event 1 (): is of process 4, which has no process_name");
  EXPECT_TRUE(report.problems[0].warning);
}

TEST(TraceEvents, RefusesWhatHasNoEvents) {
  const std::string text = R"({"events": []})";
  ByteSource source("t.json", text);
  EXPECT_THROW(check_trace_events(source), ScenarioError);
}

TEST(TraceEvents, DamageIsAnErrorOrAProblem) {
  const std::string text =
      fmt::format("[{}, {}, {}, {}]", kNamed, bar(0, 10, R"(, "cat": "kernel")"), flow('s', 1, 7),
                  flow('f', 2, 7));
  const auto read = [](const std::string& damaged) {
    try {
      ByteSource source("t.json", damaged);
      check_trace_events(source);
    } catch (const ScenarioError&) {
    }
  };
  for (std::size_t i = 0; i < text.size(); ++i) {
    EXPECT_THROW(
        {
          ByteSource source("t.json", std::string_view(text).substr(0, i));
          check_trace_events(source);
        },
        ScenarioError)
        << i;
    for (int bit = 0; bit < 8; ++bit) {
      std::string damaged = text;
      damaged[i] = static_cast<char>(damaged[i] ^ (1 << bit));
      read(damaged);
    }
  }
}

}  // namespace
}  // namespace trainyard
