// The all-reduce row of the claim: its values, and how it moves when the hardware does.
#include <gtest/gtest.h>

#include "tests/support_scenario.hpp"

namespace trainyard {
namespace {

constexpr double kBytes = 2147483648.0;  // 2 GiB
constexpr double kRanks = 1024;
constexpr double kPayload = 0.95;  // LL128
constexpr double kPasses = 9;      // over host memory, sent and received
constexpr double kNic = 24e9;      // bytes/s of payload
const double kRingBytes = 2 * (kRanks - 1) / kRanks * kBytes;

double allreduce(const std::string& name, std::vector<std::string> sets = {}) {
  sets.emplace_back("jobs=[]");
  const std::string path = std::string(TRAINYARD_SOURCE_DIR) + "/scenarios/claim/" + name + ".json";
  return testing::run_file_scenario(path, sets).at("metrics").at("allreduce_time_s").as_number();
}

void expect_within(double value, double expected, double tolerance) {
  EXPECT_NEAR(value / expected, 1, tolerance) << value << " against " << expected;
}

// Three chunks follow each other: reduce_scatter inside (a), the tree (b), all_gather inside (a).
// The tree is the busiest stage, so the first chunk's a, three b and the last chunk's a remain.
double sharp_pipeline(double bytes, double nic) {
  const double a = 7.0 / 8 * bytes / 3 / 232e9, b = bytes / 8 / 3 / (nic * 0.95);
  return 2 * a + 3 * b;
}

TEST(Claim, AllReduceRowHolds) {
  expect_within(allreduce("traditional"), 0.120, 0.05);
  expect_within(allreduce("dpu"), 0.018, 0.05);
}

TEST(Claim, FilesDifferOnlyInWhatIsEnabled) {
  Json a = parse_json(
      read_text_file(std::string(TRAINYARD_SOURCE_DIR) + "/scenarios/claim/traditional.json"), "a");
  Json b = parse_json(
      read_text_file(std::string(TRAINYARD_SOURCE_DIR) + "/scenarios/claim/dpu.json"), "b");
  for (Json* one : {&a, &b}) {
    one->erase("enable");
    one->erase("name");
  }
  EXPECT_EQ(a, b);
}

TEST(Claim, TraditionalIsBoundByHostMemory) {
  expect_within(allreduce("traditional"), kRingBytes * kPasses / kPayload / 328e9, 0.05);
  expect_within(allreduce("traditional", {"cluster.server.host.memory_bandwidth=230 GB/s"}),
                kRingBytes * kPasses / kPayload / 230e9, 0.05);
}

TEST(Claim, FewCoresBindTcp) {
  // 42 Gb/s a core; every byte of a node's ring is received by one core and sent by another.
  const double node = 4 * 42e9 / 8 * kPayload / 2;
  expect_within(allreduce("traditional", {"cluster.server.host.network_cores=4"}),
                kRingBytes / node, 0.05);
}

TEST(Claim, DpuFollowsThePipeline) {
  expect_within(allreduce("dpu"), sharp_pipeline(kBytes, kNic), 0.05);
  expect_within(allreduce("dpu", {"probes.allreduce.bytes=4 GiB"}),
                sharp_pipeline(2 * kBytes, kNic), 0.05);
  expect_within(allreduce("traditional", {"probes.allreduce.bytes=4 GiB"}),
                2 * allreduce("traditional"), 0.05);
}

TEST(Claim, HalfTheLinkRate) {
  const std::vector<std::string> half{"cluster.server.nic.rate=100 Gb/s",
                                      "cluster.network.switch.rate=100 Gb/s"};
  expect_within(allreduce("dpu", half), sharp_pipeline(kBytes, kNic / 2), 0.05);
  // Host memory, not the link, sets the pace of the other design.
  EXPECT_DOUBLE_EQ(allreduce("traditional", half), allreduce("traditional"));
}

// NCCL takes its tree there: a card sends two eighths of the buffer at 0.87 of its rate. Forced,
// the ring takes what its bytes do.
TEST(Claim, WithoutSharpTheTreeRuns) {
  const std::vector<std::string> without{R"(enable=["rdma","gpudirect"])"};
  expect_within(allreduce("dpu", without), 2 * kBytes / (8 * kNic * kPayload * 0.87), 0.05);
  const double ring = kRingBytes / (8 * kNic * kPayload);
  expect_within(allreduce("dpu", {without[0], "cluster.collectives.algorithm=ring",
                                  "cluster.collectives.protocol=simple"}),
                ring, 0.05);
}

TEST(Claim, WithoutRdmaNothingElseHelps) {
  // GPUDirect and SHARP need RDMA: switched on without it they are inactive, and listed.
  const std::vector<std::string> sets{R"(enable=["gpudirect","sharp"])"};
  EXPECT_DOUBLE_EQ(allreduce("dpu", sets), allreduce("traditional"));
  const Json result =
      testing::run_file_scenario(std::string(TRAINYARD_SOURCE_DIR) + "/scenarios/claim/dpu.json",
                                 {R"(enable=["gpudirect","sharp"])", "jobs=[]"});
  ASSERT_EQ(result.at("inactive").items().size(), 1U);
  EXPECT_NE(result.at("inactive").items()[0].as_string().find("gpudirect"), std::string::npos);
}

// Staged, every byte passes the host's memory twice on each side, and 8 rails share it: 10.25 GB/s
// for each, less than the 12 GB/s that PCIe gives both ways at once.
TEST(Claim, WithoutGpuDirectHostMemoryIsInTheWay) {
  const std::vector<std::string> staged{R"(enable=["rdma","sharp"])"};
  const double rail = 328e9 / (8 * 2 * 2);
  expect_within(allreduce("dpu", staged), sharp_pipeline(kBytes, rail / 0.95), 0.05);
}

TEST(Claim, HostDoesNotMoveTheDpuDesign) {
  for (const std::string set :
       {"cluster.server.host.network_cores=4", "cluster.server.host.network_cores=1",
        "cluster.server.host.memory_bandwidth=230 GB/s",
        "cluster.server.host.memory_bandwidth=10 GB/s"})
    EXPECT_DOUBLE_EQ(allreduce("dpu", {set}), allreduce("dpu")) << set;
}

}  // namespace
}  // namespace trainyard
