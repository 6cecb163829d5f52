// What a message costs at its ends, by hand.
#include <gtest/gtest.h>

#include "sim/error.hpp"
#include "tests/support_scenario.hpp"

namespace trainyard {
namespace {

using testing::Ideal;
using Sets = std::vector<std::string>;

// Two ranks in a ring without latency pass half of the buffer to each other in each of two rounds.
double two_ranks(const std::string& bytes, const Sets& sets) {
  Ideal c;
  c.latency_us = 0;
  const Json result = testing::run_text_scenario(
      testing::ideal_scenario(c, R"("probes": {"p": {"bytes": ")" + bytes + "\"}}"), sets);
  return result.at("metrics").at("p_time_s").as_number();
}

TEST(Endpoints, ACardSendsSoManyMessagesASecond) {
  EXPECT_NEAR(two_ranks("8 B", {"cluster.server.nic.message_rate=1e6"}), 2e-6, 1e-12);
  // 1 MB at 50 GB/s takes 20 us, longer than a message has to.
  EXPECT_NEAR(two_ranks("2 MB", {"cluster.server.nic.message_rate=1e6"}), 40e-6, 1e-12);
}

// One core does all: 1 MB sent and 1 MB received at 1 GB/s in each round.
TEST(Endpoints, TcpPaysForBytesForMessagesAndForTheOtherSocket) {
  const std::string tcp =
      R"(cluster.transport={"kind": "tcp", "per_core": "1 GB/s", "send_passes": 1, "receive_passes": 1})";
  const Sets bytes{tcp, "cluster.server.host.network_cores=1"};
  EXPECT_NEAR(two_ranks("2 MB", bytes), 2 * 2e-3, 1e-9);
  Sets messages = bytes;
  messages.emplace_back("cluster.transport.message_cost=10 us");
  EXPECT_NEAR(two_ranks("2 MB", messages), 2 * (2e-3 + 2 * 10e-6), 1e-9);
  Sets remote = bytes;
  remote.emplace_back("cluster.transport.remote_numa_share=0.5");
  remote.emplace_back("cluster.transport.remote_numa_loss=0.2");
  // Half of the bytes at 0.8 of the rate.
  EXPECT_NEAR(two_ranks("2 MB", remote), 2 * 2e-3 * (0.5 + 0.5 / 0.8), 1e-9);
}

// GPUs 0 and 1 of the first of two servers of two send 50 MB to their like in the second, or both
// to GPU 3: over cards of 50 GB/s each, unless something else is said.
double messages(const std::string& list, const Sets& sets) {
  Ideal c;
  c.gpus_per_server = 2;
  const Json result = testing::run_text_scenario(
      testing::ideal_scenario(
          c, R"("jobs": [{"workload": {"kind": "traffic", "pattern": "list", "list": [)" + list +
                 "]}}]"),
      sets);
  return result.at("metrics").at("traffic_time_s").as_number();
}
const std::string kStraight =
    R"({"from": 0, "to": 2, "size": "50 MB"}, {"from": 1, "to": 3, "size": "50 MB"})";

TEST(Endpoints, GpusThatShareACardShareItsRate) {
  EXPECT_NEAR(messages(kStraight, {}), 1e-3, 1e-9);
  EXPECT_NEAR(messages(kStraight, {"cluster.server.nic_affinity=[1, 1]"}), 2e-3, 1e-9);
}

// From rail 0 to rail 1: over NVLink of 10 GB/s first, or straight over the sender's own card.
TEST(Endpoints, PxnCrossesRailsOverNvLink) {
  const std::string across = R"({"from": 0, "to": 3, "size": "50 MB"})";
  const Sets slow{"cluster.server.nvlink.bandwidth=10 GB/s"};
  EXPECT_NEAR(messages(across, slow), 1e-3, 1e-9);
  Sets pxn = slow;
  pxn.emplace_back("cluster.pxn=true");
  EXPECT_NEAR(messages(across, pxn), 5e-3, 1e-9);
  EXPECT_NEAR(messages(kStraight, pxn), 1e-3, 1e-9);
}

TEST(Endpoints, AWrongAffinityIsRefused) {
  for (const std::string wrong : {"[0]", "[0, 2]", "[0, -1]"}) {
    EXPECT_THROW(messages(kStraight, {"cluster.server.nic_affinity=" + wrong}), ScenarioError)
        << wrong;
  }
}

}  // namespace
}  // namespace trainyard
