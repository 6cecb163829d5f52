// The builder on inputs that are made to be slow or wrong: many circles, ids in any order.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support_trace.hpp"

namespace trainyard {
namespace {

using ::testing::HasSubstr;

TraceOp marker(std::uint64_t id) {
  TraceOp op;
  op.id = id;
  return op;
}

/// `count` operations, each waiting for the next `width`, the last ones for the first.
TraceBuilder ring(std::uint64_t count, std::uint64_t width, bool lenient) {
  TraceBuilder builder("jsonl", {lenient, false});
  builder.begin(0, "t");
  for (std::uint64_t i = 0; i < count; ++i) {
    std::vector<TraceNeedById> needs;
    for (std::uint64_t n = 1; n <= width; ++n) needs.push_back({(i + n) % count});
    builder.add(marker(i), needs);
  }
  return builder;
}

TEST(TraceBuilderLimits, ACircleIsOpenedAtItsFirstOperation) {
  TraceBuilder builder = ring(20, 1, true);
  const Trace trace = builder.finish();
  EXPECT_EQ(trace.programs[0].ops[0].needs, 0U);
  for (std::size_t i = 1; i < 20; ++i) EXPECT_EQ(trace.programs[0].ops[i].needs, 1U);
  ASSERT_EQ(builder.repairs().size(), 1U);
  EXPECT_THAT(
      builder.repairs()[0].first,
      HasSubstr("through node 0, node 1, node 2, node 3, node 4, node 5, node 6, node 7 and "
                "12 more"));
}

// Opening a circle of `width` chains leaves one with a chain less: without an end to it, the work
// is the square of what a file has.
TEST(TraceBuilderLimits, ThereIsAnEndToCircles) {
  for (const bool lenient : {false, true}) {
    TraceBuilder builder = ring(3'000, 1'001, lenient);
    try {
      builder.finish();
      FAIL();
    } catch (const ScenarioError& error) {
      EXPECT_THAT(std::string(error.what()), HasSubstr("too many circles"));
    }
  }
}

TEST(TraceBuilderLimits, IdsComeInAnyOrder) {
  TraceBuilder builder("jsonl", {});
  builder.begin(0, "t");
  const std::vector<TraceNeedById> last{{18446744073709551615U}}, middle{{7}}, none;
  builder.add(marker(7), none);
  builder.add(marker(18446744073709551615U), middle);
  builder.add(marker(0), last);
  builder.add(marker(8), last);
  const Trace trace = builder.finish();
  const std::vector<TraceNeed>& needs = trace.programs[0].needs;
  ASSERT_EQ(needs.size(), 3U);
  EXPECT_EQ(needs[0].op, 0U);
  EXPECT_EQ(needs[1].op, 1U);
  EXPECT_EQ(needs[2].op, 1U);
}

TEST(TraceBuilderLimits, OfOneIdTheFirstIsMeant) {
  TraceBuilder builder("jsonl", {true, false});
  builder.begin(0, "t");
  const std::vector<TraceNeedById> four{{4}}, none;
  for (const std::uint64_t id : {3, 4, 4, 4, 5}) builder.add(marker(id), none);
  builder.add(marker(6), four);
  const Trace trace = builder.finish();
  ASSERT_EQ(trace.programs[0].needs.size(), 1U);
  EXPECT_EQ(trace.programs[0].needs[0].op, 1U);
  ASSERT_EQ(builder.repairs().size(), 1U);
  EXPECT_EQ(builder.repairs()[0].count, 2U);
}

TEST(TraceBuilderLimits, ProgramsAreResumed) {
  TraceBuilder builder("jsonl", {});
  const std::size_t one = builder.begin(1, "t"), zero = builder.begin(0, "t");
  const std::vector<TraceNeedById> none;
  builder.add(marker(1), none);
  builder.resume(one);
  builder.add(marker(2), none);
  builder.resume(zero);
  builder.add(marker(3), none);
  const Trace trace = builder.finish();
  EXPECT_EQ(trace.programs[0].ops.size(), 2U);
  EXPECT_EQ(trace.programs[1].ops.size(), 1U);
}

}  // namespace
}  // namespace trainyard
