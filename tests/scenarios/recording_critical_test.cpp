// The critical path of a recording: against hand calculations, and what is said of its limits.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support_recording.hpp"

namespace trainyard {
namespace {

using ::testing::HasSubstr;
using testing::kSmall;
using ::testing::Not;
using testing::record_messages;

constexpr double kExact = 1e-9;

const Json& path_of(const Json& recording) { return recording.at("critical_path"); }
const Json::Array& segments(const Json& recording) {
  return path_of(recording).at("segments").items();
}
const Json::Array& labels(const Json& recording) { return path_of(recording).at("labels").items(); }
std::string notes(const Json& recording) { return dump_json(path_of(recording).at("notes"), -1); }

const Json& label(const Json& recording, const std::string& name, const std::string& stream) {
  for (const Json& one : labels(recording)) {
    if (one.at("name") == Json(name) && one.at("stream") == Json(stream)) return one;
  }
  throw std::logic_error("no label " + name);
}

// Each follows the one before, and they last to the end.
void expect_whole(const Json& recording) {
  const double end = recording.at("end_s").as_number();
  double sum = path_of(recording).at("waiting_s").as_number(), until = 0, of_labels = 0;
  for (const Json& segment : segments(recording)) {
    const Json::Array& cells = segment.items();
    EXPECT_NEAR(cells[4].as_number(), until, 1e-12 * end);
    until = cells[4].as_number() + cells[5].as_number();
    sum += cells[5].as_number();
    EXPECT_LE(cells[6].as_number(), cells[5].as_number());
  }
  EXPECT_NEAR(sum, end, 1e-12 * end);
  for (const Json& one : labels(recording)) {
    of_labels += one.at("time_s").as_number();
    EXPECT_NEAR(one.at("share").as_number() * end, one.at("time_s").as_number(), 1e-12 * end);
    EXPECT_LE(one.at("gain_10_percent_s").as_number(), one.at("gain_s").as_number());
  }
  EXPECT_NEAR(of_labels, sum, 1e-12 * end);
}

// The second message waits for 3 s and takes one, the first ends after 2 s: without the wait the
// run ends with the first, without the second message with the wait.
TEST(RecordingCritical, OfTwoMessages) {
  const Json r = record_messages(3, {{0, 1, 100, 0}, {2, 1, 50, 3}});
  expect_whole(r);
  ASSERT_EQ(segments(r).size(), 2U);
  const auto expect = [&](std::size_t i, const char* name, const char* role, double start,
                          double duration, double gain) {
    const Json::Array& cells = segments(r)[i].items();
    EXPECT_EQ(cells[0], Json(2));
    EXPECT_EQ(cells[1], Json(name));
    EXPECT_EQ(cells[2], Json(role));
    EXPECT_EQ(cells[3], Json(1));
    EXPECT_NEAR(cells[4].as_number(), start, kExact);
    EXPECT_NEAR(cells[5].as_number(), duration, kExact);
    EXPECT_NEAR(cells[6].as_number(), gain, kExact);
  };
  expect(0, "wait to send", "other", 0, 3, 2);
  expect(1, "message", "network", 3, 1, 1);
  ASSERT_EQ(labels(r).size(), 2U);
  EXPECT_EQ(labels(r)[0].at("name"), Json("wait to send"));
  const Json& message = label(r, "message", "collective");
  EXPECT_NEAR(message.at("time_s").as_number(), 1, kExact);
  EXPECT_NEAR(message.at("share").as_number(), 0.25, kExact);
  EXPECT_NEAR(message.at("gain_s").as_number(), 1, kExact);
  EXPECT_NEAR(message.at("gain_10_percent_s").as_number(), 0.1, kExact);
}

// 4 micro-batches on 8 stages: the first stage's optimizer, after the all-reduce of its gradients,
// ends the step; forward and backward of all others are on the way.
TEST(RecordingCritical, OfATrainingStep) {
  const testing::RecordedRun run = testing::record_file("scale/gpt3-1024", kSmall);
  const Json& r = run.recording;
  expect_whole(r);
  EXPECT_THAT(notes(r), HasSubstr("A gain is how much earlier"));
  EXPECT_THAT(notes(r), Not(HasSubstr("stands for several")));
  const Json::Array& last = segments(r).back().items();
  EXPECT_EQ(last[1], Json("optimizer"));
  EXPECT_EQ(last[2], Json("compute"));
  EXPECT_NEAR(last[4].as_number() + last[5].as_number(),
              run.result.at("metrics").at("step_time_s").as_number(), kExact);
  // The pipeline's fill and drain: 4 + 8 - 1 passes of each kind, all of one length but for the
  // last stage's, which has the logits too.
  const double forward = label(r, "forward", "compute").at("time_s").as_number();
  EXPECT_NEAR(forward / segments(r).front().items()[5].as_number(), 11, 0.5);
  // A pass of one GPU: the other 127 still take as long.
  EXPECT_EQ(segments(r).front().items()[6], Json(0.0));
  EXPECT_NEAR(label(r, "forward", "compute").at("gain_s").as_number(), forward, kExact);
}

TEST(RecordingCritical, SaysWhereOneGpuStandsForSeveral) {
  const Json r = testing::record_file("scale/gpt3-16384",
                                      {"cluster.servers=512", "jobs.0.workload.global_batch=1024"})
                     .recording;
  expect_whole(r);
  EXPECT_THAT(notes(r), HasSubstr("Where one GPU stands for several"));
}

TEST(RecordingCritical, IsNotOfAStretchedTimeline) {
  const Json r =
      testing::record_file("scale/gpt3-16384", {"jobs.0.workload.global_batch=4194304"}).recording;
  EXPECT_TRUE(segments(r).empty());
  EXPECT_TRUE(labels(r).empty());
  EXPECT_THAT(notes(r), HasSubstr("There is no critical path: periods that recur"));
}

// Each all-reduce is a ring's 126 rounds on one rank.
TEST(RecordingCritical, MergesManySteps) {
  testing::Ideal ideal;
  ideal.servers = 64;
  std::string sizes;
  for (int i = 1; i <= 20; ++i) sizes += fmt::format("{}\"{} MiB\"", i > 1 ? ", " : "", i);
  const Json r = testing::record_text(
                     testing::ideal_scenario(
                         ideal, R"("jobs": [{"workload": {"kind": "collective", "operation": )"
                                R"("all_reduce", "sizes": [)" +
                                    sizes + "]}}]"))
                     .recording;
  expect_whole(r);
  EXPECT_LE(segments(r).size(), 20U);
  EXPECT_THAT(notes(r), HasSubstr("2520 operations on the path are shown as "));
}

}  // namespace
}  // namespace trainyard
