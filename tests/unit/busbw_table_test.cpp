// busbw.yaml: what it says, what of it is refused, and how long collectives take by it.
#include "models/workloads/busbw_table.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/error.hpp"

namespace trainyard {
namespace {

using ::testing::HasSubstr;

const std::string kFile =
    "test\nTP:\nallreduce,: 300\nallgather,: 280\nreducescatter,: 280\nalltoall,: 230\n"
    "DP:\r\n  allreduce,: null\n  allgather,: 380.5\n\n# none of EP\nEP:\nalltoall,: 80\n"
    "PP:\nbusbw: 47.5";

double rate(const BusbwTable& table, BusbwGroup group, TraceCollective op) {
  return table.rate(group, op).value_or(BytesPerSecond::of(-1)).si();
}

TEST(BusbwTable, ReadsGigabytesPerSecond) {
  const BusbwTable table = parse_busbw(kFile, "b.yaml");
  EXPECT_EQ(rate(table, BusbwGroup::kTp, TraceCollective::kAllReduce), 300e9);
  EXPECT_EQ(rate(table, BusbwGroup::kTp, TraceCollective::kAllToAll), 230e9);
  EXPECT_EQ(rate(table, BusbwGroup::kDp, TraceCollective::kAllReduce), -1);
  EXPECT_EQ(rate(table, BusbwGroup::kDp, TraceCollective::kAllGather), 380.5e9);
  EXPECT_EQ(rate(table, BusbwGroup::kDp, TraceCollective::kReduceScatter), -1);
  EXPECT_EQ(rate(table, BusbwGroup::kEp, TraceCollective::kAllToAll), 80e9);
  EXPECT_EQ(rate(table, BusbwGroup::kTp, TraceCollective::kBroadcast), -1);
  ASSERT_TRUE(table.pipeline);
  EXPECT_EQ(table.pipeline->si(), 47.5e9);
  EXPECT_FALSE(parse_busbw("PP:\nbusbw: null\n", "b.yaml").pipeline);
}

// 64 MiB over 8 ranks at 300 GB/s: 67,108,864 x 1.75 / 300e9 = 391.47 us; 16 MiB at 360: 81.556 us.
TEST(BusbwTable, TimeByTheFactorsOfNcclTests) {
  const BusbwTable table = parse_busbw(kFile, "b.yaml");
  const auto time = [&](BusbwGroup group, TraceCollective op, std::size_t ranks, Bytes bytes) {
    return busbw_time(table, group, op, ranks, bytes).value_or(Seconds::of(-1)).si();
  };
  EXPECT_NEAR(time(BusbwGroup::kTp, TraceCollective::kAllReduce, 8, 64_MiB), 391.47e-6, 5e-9);
  EXPECT_NEAR(time(BusbwGroup::kTp, TraceCollective::kAllGather, 8, 64_MiB),
              67108864 * 0.875 / 280e9, 1e-15);
  EXPECT_NEAR(time(BusbwGroup::kEp, TraceCollective::kAllToAll, 2, 80_MB), 0.5e-3, 1e-15);
  EXPECT_EQ(time(BusbwGroup::kTp, TraceCollective::kAllReduce, 1, 64_MiB), 0);
  EXPECT_EQ(time(BusbwGroup::kDp, TraceCollective::kAllReduce, 8, 64_MiB), -1);
  const BusbwTable fast = parse_busbw("TP:\nallreduce,: 360\n", "b.yaml");
  EXPECT_NEAR(busbw_time(fast, BusbwGroup::kTp, TraceCollective::kAllReduce, 8, 16_MiB)->si(),
              81.5559e-6, 1e-10);
}

TEST(BusbwTable, KnowsGroupsByName) {
  EXPECT_EQ(busbw_group("tp of stage 3"), BusbwGroup::kTp);
  EXPECT_EQ(busbw_group("dp_ep of stage 0"), BusbwGroup::kDp);
  EXPECT_EQ(busbw_group("ep of stage 0"), BusbwGroup::kEp);
  EXPECT_EQ(busbw_group(""), std::nullopt);
  EXPECT_EQ(busbw_group("tpx"), std::nullopt);
}

TEST(BusbwTable, RefusesAnythingElseByLine) {
  for (const auto& [text, message] : std::vector<std::pair<std::string, std::string>>{
           {"", "line 0: has no section"},
           {"title\n", "line 1: has no section"},
           {"title\nmore\nTP:\n", "line 2: \"more\" has no colon"},
           {"allreduce,: 3\n", "line 1: \"allreduce,\" is in no section"},
           {"TP:\nallreduce: 300\n", "line 2: \"allreduce\" is no key of TP"},
           {"TP:\nallreduce,: fast\n", "line 2: \"allreduce,\" is \"fast\""},
           {"TP:\nallreduce,: -3\n", "line 2: \"allreduce,\" is \"-3\""},
           {"TP:\nallreduce,: 0\n", "is \"0\""},
           {"TP:\nallreduce,: nan\n", "is \"nan\""},
           {"TP:\nallreduce,: inf\n", "is \"inf\""},
           {"TP:\nallreduce,: 1e308\n", "is \"1e308\""},
           {"TP:\nallreduce,:\n", "line 2: \"allreduce,\" is \"\""},
           {"TP:\nallreduce,: 3\nallreduce,: 4\n", "line 3: \"allreduce,\" comes twice"},
           {"TP:\nDP:\nTP:\n", "line 3: the section TP comes twice"},
           {"TP: 3\n", "line 1: TP is a section, and has \"3\""},
           {"PP:\nallreduce,: 3\n", "line 2: \"allreduce,\" is no key of PP"},
           {"TP:\nbusbw: 3\n", "line 2: \"busbw\" is no key of TP"},
           {"XP:\n", "line 1: \"XP\" is in no section"}}) {
    try {
      parse_busbw(text, "b.yaml");
      ADD_FAILURE() << text;
    } catch (const ScenarioError& e) {
      EXPECT_THAT(e.what(), HasSubstr("b.yaml: "));
      EXPECT_THAT(e.what(), HasSubstr(message));
    }
  }
}

}  // namespace
}  // namespace trainyard
