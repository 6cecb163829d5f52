// The bars of a recording: on whose lanes they are, and which are kept.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "tests/support_recording.hpp"

namespace trainyard {
namespace {

using testing::Bar;
using testing::bars;
using testing::bars_of;
using ::testing::ElementsAre;
using testing::expect_no_overlap;
using ::testing::HasSubstr;
using testing::Ideal;
using testing::kSmall;
using testing::left_out;
using ::testing::Not;
using testing::notes_of;
using testing::ranks_of;
using testing::record_messages;
using testing::streams_of;

constexpr double kPort = 50e9, kExact = 1e-9;

// Three at once share the port: 2, 4 and 6 GB end after 6, 10 and 12 / 50 s. The next two find the
// first lane free, then the second.
TEST(Recording, FlowsThatOverlapGetFurtherLanes) {
  const Json r =
      record_messages(2, {{0, 1, 2, 0}, {0, 1, 4, 0}, {0, 1, 6, 0}, {0, 1, 1, 0.13}, {0, 1, 1, 1}});
  EXPECT_THAT(streams_of(r), ElementsAre("0 collective", "0 collective 2", "0 collective 3",
                                         "0 host", "0 host 2"));
  std::map<std::int64_t, std::string> stream;  // by number of the message
  for (const Bar& bar : bars_of(r)) {
    if (bar.name == "message") stream[bar.number] = bar.stream;
  }
  EXPECT_EQ(stream[0], "collective");
  EXPECT_EQ(stream[1], "collective 2");
  EXPECT_EQ(stream[2], "collective 3");
  EXPECT_EQ(stream[3], "collective");
  EXPECT_EQ(stream[4], "collective");
  expect_no_overlap(r);
}

// A ring is one flow; every rank of it shows it.
TEST(Recording, CollectivesAreOnEveryRank) {
  Ideal ideal;
  ideal.servers = 4;
  ideal.fidelity = "flow";
  const Json r = testing::record_text(testing::ideal_scenario(ideal, R"("jobs": [{"workload":
      {"kind": "collective", "sizes": ["1 GB"], "ranks": 3}}])"))
                     .recording;
  EXPECT_THAT(streams_of(r), ElementsAre("0 collective", "1 collective", "2 collective"));
  // 4 rounds of a third of the buffer, and 2 us each.
  for (const Bar& bar : bars_of(r)) {
    EXPECT_EQ(bar.name, "ring");
    EXPECT_EQ(bar.start, 0);
    EXPECT_NEAR(bar.finish, 4 * (1e9 / 3 / kPort + 2e-6), kExact);
  }
  EXPECT_EQ(r.at("timeline").at("bars").as_integer(), 3);
  EXPECT_EQ(r.at("accounts").items().size(), 0U);
}

// In steps each message stands with its sender.
TEST(Recording, MessagesAreOnTheirSenders) {
  Ideal ideal;
  ideal.servers = 3;
  const Json r = testing::record_text(testing::ideal_scenario(ideal, R"("jobs": [{"workload":
      {"kind": "collective", "sizes": ["1 GB"]}}])"))
                     .recording;
  std::map<std::int64_t, int> sends;
  for (const Bar& bar : bars_of(r)) sends[bar.rank] += bar.name == "ring send" ? 1 : 0;
  EXPECT_THAT(sends, ElementsAre(std::pair(0, 4), std::pair(1, 4), std::pair(2, 4)));
}

// GPUs of the cluster are numbered tensor rank first, then replica, then stage.
TEST(Recording, AStepHasAllItsPasses) {
  const Json r = testing::record_file("scale/gpt3-1024", kSmall).recording;
  std::map<std::string, int> count;
  for (const Bar& bar : bars_of(r)) ++count[bar.stream + " " + bar.name];
  EXPECT_EQ(count["compute forward"], 128 * 4 + 16 * 4);  // the last stage's logits are a kernel
  EXPECT_EQ(count["pipeline activations"], 112 * 4);
  EXPECT_EQ(count["pipeline activation gradients"], 112 * 4);
  EXPECT_EQ(count["compute optimizer"], 128);
  for (const Json& lane : r.at("timeline").at("lanes").items()) {
    EXPECT_EQ(lane.at("stage").as_integer(), lane.at("rank").as_integer() / 16);
    EXPECT_EQ(lane.at("stands_for").as_integer(), 1);
  }
  EXPECT_EQ(r.at("timeline").at("left_out").as_integer(), 0);
  expect_no_overlap(r);
  // A kernel that begins when another ends is on the same lane.
  for (const std::string& stream : streams_of(r)) {
    EXPECT_THAT(stream, Not(HasSubstr("compute 2")));
    EXPECT_THAT(stream, Not(HasSubstr("tensor 2")));
  }
  // What the run itself folds does not matter.
  EXPECT_EQ(
      testing::record_file("scale/gpt3-1024", {kSmall[0], kSmall[1], "engine.fold=off"}).recording,
      r);
}

// Inside a server a pipeline's messages go over NVLink and are still the pipeline's.
TEST(Recording, StreamsAreByPurpose) {
  const Json r =
      testing::record_file("scale/gpt3-1024",
                           {"cluster.servers=1", "jobs.0.workload.global_batch=4",
                            "jobs.0.workload.model=megatron-22b", "jobs.0.workload.tensor=4",
                            "jobs.0.workload.pipeline=2", "jobs.0.workload.recompute=full"})
          .recording;
  std::map<std::string, std::set<std::string>> names;
  for (const Bar& bar : bars_of(r)) names[bar.stream].insert(bar.name);
  EXPECT_THAT(names["pipeline"], ElementsAre("activation gradients", "activations"));
  EXPECT_THAT(names["tensor"], ElementsAre("tensor-parallel collectives"));
  EXPECT_EQ(names.count("collective"), 0U);
}

Json record_small(RecordingOptions options) {
  return testing::record_file("scale/gpt3-1024", kSmall, options).recording;
}

// First tensor rank 0 of replica 0 in each stage, then the other tensor ranks, then replica 1.
TEST(Recording, KeepsOneGpuOfEachStageFirst) {
  const Json all = record_small({});
  std::map<std::int64_t, std::size_t> count;
  for (const Bar& bar : bars_of(all)) ++count[bar.rank];
  std::set<std::int64_t> wanted;
  std::size_t sum = 0;
  RecordingOptions options;
  const auto expect_kept = [&](std::size_t more) {
    options.bars = sum + more;
    const Json r = record_small(options);
    EXPECT_EQ(ranks_of(r), wanted);
    EXPECT_EQ(bars(r), static_cast<std::int64_t>(sum));
    EXPECT_EQ(bars(r) + left_out(r), bars(all));
    EXPECT_THAT(notes_of(r), HasSubstr(fmt::format("of {} of the 128 GPUs", wanted.size())));
  };
  for (std::int64_t stage = 0; stage < 8; ++stage) {
    wanted.insert(16 * stage);
    sum += count[16 * stage];
  }
  expect_kept(0);
  wanted.insert(1);
  sum += count[1];
  expect_kept(count[17] - 1);
}

// A GPU with more bars than there may be keeps its first.
TEST(Recording, KeepsTheBeginningOfALoneGpu) {
  RecordingOptions options;
  options.bars = 3;
  const Json few = record_small(options), all = record_small({});
  EXPECT_EQ(ranks_of(few), std::set<std::int64_t>{0});
  EXPECT_EQ(bars(few), 3);
  double latest = 0;
  for (const Bar& bar : bars_of(few)) latest = std::max(latest, bar.start);
  std::int64_t earlier = 0;
  for (const Bar& bar : bars_of(all)) earlier += bar.rank == 0 && bar.start < latest ? 1 : 0;
  EXPECT_EQ(earlier, 2);
}

TEST(Recording, KeepsTheGpusThatWereAskedFor) {
  RecordingOptions options;
  options.ranks = {{5, 5}, {100, 102}};
  const Json r = record_small(options);
  EXPECT_EQ(ranks_of(r), (std::set<std::int64_t>{5, 100, 101, 102}));
  EXPECT_GT(left_out(r), 0);
}

TEST(Recording, KeepsTheWindowThatWasAskedFor) {
  const Json all = record_small({});
  RecordingOptions options;
  options.from = 0.25 * all.at("end_s").as_number();
  options.to = 0.5 * all.at("end_s").as_number();
  const Json r = record_small(options);
  std::int64_t expected = 0;
  for (const Bar& bar : bars_of(all))
    expected += bar.finish > options.from && bar.start < options.to ? 1 : 0;
  EXPECT_EQ(bars(r), expected);
  EXPECT_EQ(left_out(r), bars(all) - expected);
  EXPECT_EQ(r.at("series"), all.at("series"));
}

TEST(Recording, SaysWhereAnotherGpuStandsForTheOneAskedFor) {
  RecordingOptions options;
  options.ranks = {{0, 7}};
  const Json r = testing::record_file("scale/gpt3-16384", {}, options).recording;
  EXPECT_EQ(ranks_of(r), std::set<std::int64_t>{0});
  EXPECT_THAT(notes_of(r), HasSubstr("7 of the GPUs asked for were not simulated"));
}

}  // namespace
}  // namespace trainyard
