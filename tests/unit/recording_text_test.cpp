// The text of a recording: it comes back as it was, and nothing that is damaged is taken for one.
#include "sim/recording_text.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "sim/error.hpp"
#include "tests/support_recording.hpp"

namespace trainyard {
namespace {

using ::testing::HasSubstr;
using testing::small_recording;
using ::testing::StartsWith;

/// Why the text is refused; empty when it is taken.
std::string refusal(const std::string& text) {
  try {
    parse_recording(text, "t.gz");
  } catch (const ScenarioError& e) {
    EXPECT_THAT(std::string(e.what()), StartsWith("t.gz: "));
    EXPECT_THAT(std::string(e.what()), HasSubstr("run the scenario again"));
    return e.diagnostics().front().pointer + ": " + e.diagnostics().front().message;
  }
  return {};
}

std::string with(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  if (at == std::string::npos) throw std::logic_error("the text has no " + from);
  return text.replace(at, from.size(), to);
}

TEST(RecordingText, ComesBackToTheBit) {
  const Json recording = small_recording();
  const std::string text = recording_text(recording);
  EXPECT_EQ(parse_recording(text, "t.gz"), recording);
  EXPECT_EQ(recording_text(parse_recording(text, "t.gz")), text);
  EXPECT_THAT(text, HasSubstr("\n[0,0,0,3,0,0.1,null]\n[1,1,1,0,0.30000000000000004,0.2,1024]\n"));
}

// Half a last place lies between their difference and 1.25, to which it is rounded, and another
// half between that sum and the next double after the finish, to which that one is.
TEST(RecordingText, DurationsDoNotReachBeyondTheFinish) {
  const double start = 0.5 + 3 * std::ldexp(1, -53), finish = 1.75 + std::ldexp(1, -52);
  ASSERT_GT(start + (finish - start), finish);
  EXPECT_LE(start + duration_between(start, finish), finish);
  EXPECT_NEAR(duration_between(start, finish), 1.25, 1e-15);
  EXPECT_EQ(duration_between(1, 3), 2);
}

TEST(RecordingText, RefusesBarsThatAreNone) {
  const std::string text = recording_text(small_recording()), bar = "[0,0,0,3,0,0.1,null]";
  for (const char* damaged : {"[-1,0,0,3,0,0.1,null]",
                              "[2,0,0,3,0,0.1,null]",
                              "[0,2,0,3,0,0.1,null]",
                              "[0,0,6,3,0,0.1,null]",
                              "[0,0,0,-3,0,0.1,null]",
                              "[0,0,0,3,-1,0.1,null]",
                              "[0,0,0,3,0,-0.1,null]",
                              "[0,0,0,3,0,inf,null]",
                              "[0,0,0,3,0,nan,null]",
                              "[0,0,0,3,0,0.1,-5]",
                              "[0,0,0,3,0,0.1]",
                              "[0,0,0,3,0,0.1,null,1]",
                              "[0,0,0,3,0,0.1,null",
                              "0,0,0,3,0,0.1,null]",
                              "[0.5,0,0,3,0,0.1,null]",
                              "[0,0,0,3,0,1e999,null]",
                              "[18446744073709551616,0,0,3,0,0.1,null]",
                              "[0,0,0,18446744073709551615,0,0.1,null]",
                              "[]",
                              "",
                              "{}",
                              "[0,0,0,3,0,0.1,null] "})
    EXPECT_EQ(refusal(with(text, bar, damaged)),
              "line 2: is no bar of the lanes, names and roles in the first line")
        << damaged;
}

// Which call of a collective a bar is part of: in recordings that list calls, and only there.
TEST(RecordingText, CallsComeBackAndAreChecked) {
  Json recording = small_recording();
  Json& timeline = recording["timeline"];
  const Json without = timeline;
  timeline = Json::object();
  for (const auto& [key, value] : without.members()) {
    if (key == "lane")
      timeline["calls"] = parse_json(R"([{"operation": "all_reduce", "bytes": 8.0, "ranks": 4,
                                          "algorithm": "ring", "protocol": "simple"}])",
                                     "calls");
    if (key == "bars") timeline["call"] = parse_json("[null, 0]", "call");
    timeline[key] = value;
  }
  const std::string text = recording_text(recording),
                    bar = "[1,1,1,0,0.30000000000000004,0.2,1024,0]";
  EXPECT_EQ(parse_recording(text, "t.gz"), recording);
  EXPECT_THAT(text, HasSubstr("\n[0,0,0,3,0,0.1,null,null]\n" + bar + "\n"));
  for (const char* damaged :
       {"[1,1,1,0,0.30000000000000004,0.2,1024,1]", "[1,1,1,0,0.30000000000000004,0.2,1024,-1]",
        "[1,1,1,0,0.30000000000000004,0.2,1024]", "[1,1,1,0,0.30000000000000004,0.2,1024,0,0]"})
    EXPECT_EQ(refusal(with(text, bar, damaged)),
              "line 3: is no bar of the lanes, names and roles in the first line");
  EXPECT_EQ(refusal(with(text, "\"ring\"", "7")), "/calls/0/algorithm: is no text");
}

TEST(RecordingText, RefusesWhatIsNotWhole) {
  const std::string text = recording_text(small_recording());
  EXPECT_EQ(refusal(text.substr(0, text.size() - 1)), "line 3: is cut off");
  const std::string last = "[1,1,1,0,0.30000000000000004,0.2,1024]\n";
  EXPECT_EQ(refusal(with(text, last, "")), ": holds 1 bars and should hold 2");
  EXPECT_EQ(refusal(text + last), ": holds 3 bars and should hold 2");
  EXPECT_EQ(refusal(text + "[0,0,0,3,0,0.1,null]\n"), "line 4: is out of order");
  EXPECT_EQ(refusal(""), ": has no first line that describes it");
  EXPECT_THAT(refusal("\n"), StartsWith("line 1: is not valid JSON: "));
}

TEST(RecordingText, RefusesAnotherVersion) {
  EXPECT_EQ(refusal(with(recording_text(small_recording()), "\"schema_version\":1",
                         "\"schema_version\":2")),
            "/schema_version: is of another version of trainyard");
}

// Each member of the first line, taken out or of another kind.
TEST(RecordingText, RefusesAHeaderThatLacksAnything) {
  const std::string text = recording_text(small_recording());
  const std::size_t end = text.find('\n');
  const Json header = parse_json(text.substr(0, end), "header");
  for (const auto& [key, value] : header.members()) {
    Json without = header;
    without.erase(key);
    EXPECT_EQ(refusal(dump_json(without, -1) + text.substr(end)), ": has no \"" + key + "\"");
    for (const Json& wrong :
         {Json(), Json("text"), Json(-1), Json(0.5), Json(Json::Array{Json()})}) {
      if (key == "end_s" && wrong == Json(0.5)) continue;
      Json other = header;
      other[key] = wrong;
      EXPECT_NE(refusal(dump_json(other, -1) + text.substr(end)), "")
          << key << " " << dump_json(wrong, -1);
    }
  }
}

// Each member of the rows that the first line lists.
TEST(RecordingText, RefusesRowsThatLackAnything) {
  const std::string text = recording_text(small_recording());
  const std::size_t end = text.find('\n');
  for (const char* list : {"lanes", "links", "nodes", "accounts"}) {
    Json header = parse_json(text.substr(0, end), "header");
    const Json row = header[list].items().front();
    for (const auto& [key, value] : row.members()) {
      Json& changed = header[list].items().front();
      changed.erase(key);
      EXPECT_EQ(refusal(dump_json(header, -1) + text.substr(end)),
                fmt::format("/{}/0: has no \"{}\"", list, key));
      changed[key] = value.is_string() ? Json(1) : Json("text");
      EXPECT_THAT(refusal(dump_json(header, -1) + text.substr(end)),
                  StartsWith(fmt::format("/{}/0/{}: is no ", list, key)));
      changed = row;
    }
  }
}

Json with_critical_path() {
  Json recording = small_recording();
  recording["critical_path"] = parse_json(R"({"waiting_s": 0.0,
    "segments": [[0, "forward", "compute", 3, 0.0, 0.1, 0.05], [1, "send", "network", 0, 0.1, 0.4, null]],
    "labels": [{"name": "forward", "role": "compute", "stream": "compute", "time_s": 0.1,
                "share": 0.2, "gain_s": 0.05, "gain_10_percent_s": 0.01},
               {"name": "send", "role": "network", "stream": "data", "time_s": 0.4, "share": 0.8,
                "gain_s": null, "gain_10_percent_s": null}],
    "notes": ["A gain is a gain."]})",
                                          "by hand");
  return recording;
}

// Recordings may have it or not.
TEST(RecordingText, ACriticalPathComesBack) {
  const Json recording = with_critical_path();
  const std::string text = recording_text(recording);
  EXPECT_EQ(parse_recording(text, "t.gz"), recording);
  EXPECT_EQ(recording_text(parse_recording(text, "t.gz")), text);
  EXPECT_EQ(parse_recording(recording_text(small_recording()), "t.gz").find("critical_path"),
            nullptr);
}

TEST(RecordingText, RefusesACriticalPathThatIsNone) {
  const std::string text = recording_text(with_critical_path());
  const auto changed = [&](const char* from, const char* to) {
    return refusal(with(text, from, to));
  };
  const std::string row = "is no list of rank, name, role, number, start, duration and gain";
  EXPECT_EQ(changed("[1,\"send\",", "[\"send\","), "/critical_path/segments/1: " + row);
  EXPECT_EQ(changed("[1,\"send\",", "[-1,\"send\","),
            "/critical_path/segments/1/0: is no whole number from 0 on");
  EXPECT_EQ(changed("0.1,0.05]", "0.1,\"x\"]"),
            "/critical_path/segments/0/6: is no number from 0 on");
  EXPECT_EQ(changed("0.1,0.4,null]", "null,0.4,null]"),
            "/critical_path/segments/1/4: is no number from 0 on");
  EXPECT_EQ(changed("\"stream\":\"data\",", ""), "/critical_path/labels/1: has no \"stream\"");
  EXPECT_EQ(changed("\"gain_s\":0.05", "\"gain_s\":-0.05"),
            "/critical_path/labels/0/gain_s: is no number from 0 on");
  EXPECT_EQ(changed("\"waiting_s\":0.0,", ""), "/critical_path: has no \"waiting_s\"");
  EXPECT_EQ(changed("[\"A gain is a gain.\"]", "[1]"), "/critical_path/notes/0: is no text");
  Json header = parse_json(text.substr(0, text.find('\n')), "header");
  header["critical_path"] = Json(1);
  EXPECT_EQ(refusal(dump_json(header, -1) + text.substr(text.find('\n'))),
            "/critical_path: is no object");
}

TEST(RecordingText, RefusesSeriesOfAnotherLength) {
  const std::string text = recording_text(small_recording());
  EXPECT_EQ(refusal(with(text, "\"values\":[0.5,1.0]", "\"values\":[0.5]")),
            "/series/columns/gpu: has 1 values for 2 bins");
  EXPECT_EQ(refusal(with(text, "\"values\":[0.5,1.0]", "\"values\":[0.5,null]")),
            "/series/columns/gpu/1: is no number from 0 on");
}

}  // namespace
}  // namespace trainyard
