// What nccl-tests prints, of several versions, becomes rows.
#include "tools/nccl_output.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reports/csv.hpp"
#include "reports/text.hpp"
#include "sim/error.hpp"
#include "tests/golden/command.hpp"

namespace trainyard {
namespace {

using ::testing::HasSubstr;
using testing::TemporaryFolder;

std::vector<MeasuredRow> read(const std::string& text) {
  const TemporaryFolder folder;
  folder.write("out.txt", text);
  return read_nccl_output((folder.path() / "out.txt").string());
}

std::string fault(const std::string& text) {
  try {
    read(text);
  } catch (const ScenarioError& e) {
    return to_string(e.diagnostics().front());
  }
  return {};
}

// Laid out as nccl-tests 2.13 does; the numbers are made up.
constexpr const char* kNew =
    R"(# nThread 1 nGpus 8 minBytes 1048576 maxBytes 2097152 step: 2(factor)
#
#                                                              out-of-place                       in-place
#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)
     1048576        262144     float     sum      -1    58.70   17.86   31.26      0    57.90   18.11   31.69      0
     2097152        524288     float     sum      -1    80.00   26.21   45.88      0    79.00   26.55   46.46      0
# Out of bounds values : 0 OK
)";

TEST(NcclOutput, TheOutOfPlaceHalfIsRead) {
  const auto rows = read(kNew);
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].bytes, 1048576);
  EXPECT_NEAR(rows[0].time_s, 58.70e-6, 1e-12);
  EXPECT_NEAR(rows[1].busbw_bytes_per_s, 45.88e9, 1);
}

TEST(NcclOutput, OlderTablesHaveNoRoot) {
  const auto rows = read(
      "#       size    count   type  redop     time   algbw   busbw  error     time\n"
      "   1048576   262144  float    sum    58.70   17.86   31.26  1e-06    57.90   18.11\n");
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_NEAR(rows[0].time_s, 58.70e-6, 1e-12);
  EXPECT_NEAR(rows[0].busbw_bytes_per_s, 31.26e9, 1);
}

TEST(NcclOutput, FaultsNameTheLine) {
  EXPECT_THAT(fault("8 2 float sum -1 fast 0 0\n"), HasSubstr("line 1: is no whole row"));
  EXPECT_THAT(fault("\n1048576 262144 float\n"), HasSubstr("line 2: is no whole row"));
  EXPECT_THAT(fault("1048576 262144 float sum -1 nan 1 1\n"), HasSubstr("line 1"));
  EXPECT_THAT(fault("hello\n"), HasSubstr("has no row of nccl-tests"));
  EXPECT_THAT(fault(""), HasSubstr("has no row of nccl-tests"));
}

// 60 us where 50 were measured: +20%. Of two measurements the mean counts: (50 + 100) / 2 = 75.
TEST(NcclOutput, TheErrorIsSimulatedOverMeasured) {
  const auto timed = parse_json(
      R"({"collective": "all_reduce", "rows": [
          {"size_bytes": 1048576.0, "ranks": 8, "time_s": 60e-6, "algbw_bytes_per_s": 17e9,
           "busbw_bytes_per_s": 30e9, "algorithm": "ring", "protocol": "ll"},
          {"size_bytes": 2097152.0, "ranks": 8, "time_s": 60e-6, "algbw_bytes_per_s": 17e9,
           "busbw_bytes_per_s": 30e9, "algorithm": "ring", "protocol": "ll"}]})",
      "timed");
  const Json measured = parse_json(
      R"([{"bytes": 1048576.0, "time_s": 50e-6, "busbw_bytes_per_s": 1e9}])", "measured");
  const Json rows = collective_rows(timed, &measured);
  EXPECT_NEAR(rows.items()[0].at("error").as_number(), 0.2, 1e-12);
  EXPECT_TRUE(rows.items()[1].at("error").is_null());
  const std::string text = collective_text(timed, &measured);
  EXPECT_THAT(text, HasSubstr("  ll           50.00   +20.0%\n"));
  EXPECT_THAT(text, HasSubstr("  ll               -        -\n"));
  EXPECT_THAT(text, HasSubstr("# Mean absolute error  : 20.0% of the time, 1 sizes\n"));
  EXPECT_THAT(collective_csv(timed, &measured), HasSubstr(",protocol,measured_time_us,error\n"));
  const Json twice = parse_json(
      R"([{"bytes": 1048576.0, "time_s": 50e-6, "busbw_bytes_per_s": 1e9},
          {"bytes": 1048576.0, "time_s": 100e-6, "busbw_bytes_per_s": 1e9}])",
      "measured");
  EXPECT_NEAR(collective_rows(timed, &twice).items()[0].at("error").as_number(), -0.2, 1e-12);
}

}  // namespace
}  // namespace trainyard
