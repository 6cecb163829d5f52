// The traffic workload on a crossbar, where completion times can be worked out by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/support_scenario.hpp"

namespace trainyard {
namespace {

using testing::Ideal;

constexpr double kPort = 50e9, kExact = 1e-9;

/// The metrics of that workload ("\"pattern\": …") on so many servers of one GPU, without latency.
Json traffic(int servers, const std::string& workload, double latency_us = 0) {
  Ideal ideal;
  ideal.servers = servers;
  const std::string job = R"("jobs": [{"workload": {"kind": "traffic", )" + workload + "}}]";
  return testing::run_text_scenario(testing::ideal_scenario(ideal, job),
                                    {fmt::format("cluster.transport.latency={} us", latency_us)})
      .at("metrics");
}

double number(const Json& metrics, const std::string& key) { return metrics.at(key).as_number(); }

// k senders share the receiver's port: each takes k times as long as alone, and the port is full.
TEST(Traffic, IncastOfKTakesKTimesAsLong) {
  for (const int k : {1, 2, 7, 15}) {
    const Json m =
        traffic(16, fmt::format(R"("pattern": "incast", "messages": {}, "size": "10 MB")", k));
    EXPECT_EQ(number(m, "traffic_messages"), k);
    EXPECT_NEAR(number(m, "traffic_time_s") / (k * 10e6 / kPort), 1, kExact) << k;
    EXPECT_NEAR(number(m, "fct_slowdown_mean") / k, 1, kExact) << k;
    EXPECT_NEAR(number(m, "traffic_goodput_bytes_per_s") / kPort, 1, kExact) << k;
  }
  EXPECT_EQ(number(traffic(16, R"("pattern": "incast", "size": "1 MB")"), "traffic_messages"), 15);
}

// Every port sends one message and receives one, so each is as if alone; the latency is paid once.
TEST(Traffic, PermutationAndShiftOnACrossbarAreUndisturbed) {
  for (const std::string pattern : {R"("permutation", "seed": 1)", R"("permutation", "seed": 9)",
                                    R"("shift")", R"("shift", "shift": 5)"}) {
    const Json m = traffic(16, R"("size": "10 MB", "pattern": )" + pattern, 3);
    EXPECT_EQ(number(m, "traffic_messages"), 16);
    for (const std::string key :
         {"traffic_time_s", "fct_mean_s", "fct_p50_s", "fct_p99_s", "fct_max_s"})
      EXPECT_NEAR(number(m, key) / (3e-6 + 10e6 / kPort), 1, kExact) << pattern << " " << key;
    EXPECT_NEAR(number(m, "fct_slowdown_mean"), 1, kExact);
  }
}

// A second round is a new permutation: still two messages out of and into every port.
TEST(Traffic, RoundsOfPermutations) {
  const Json m = traffic(16, R"("pattern": "permutation", "messages": 32, "size": "10 MB")");
  EXPECT_NEAR(number(m, "traffic_time_s") / (2 * 10e6 / kPort), 1, kExact);
}

// Nobody sends to itself: between two GPUs every message crosses the network, n of them one way and
// 100 - n the other, and the larger part is the time.
TEST(Traffic, RandomPairsDiffer) {
  const Json m = traffic(2, R"("pattern": "random", "messages": 100, "size": "10 MB")");
  const double most = number(m, "traffic_time_s") * kPort / 10e6;
  EXPECT_NEAR(most, std::round(most), 1e-6);
  EXPECT_GE(most, 50);
  EXPECT_LE(most, 50 + 4 * 5) << "four standard deviations of 100 fair draws";
}

// ln(size) uniform over ln(64): the mean is 63 / ln(64) MiB and the variance 4095 / (2 ln(64)) -
// mean².
TEST(Traffic, SizesAreLogUniform) {
  const int count = 4096;
  const Json m =
      traffic(2, fmt::format(R"("messages": {}, "size": "1 MiB", "size_max": "64 MiB")", count));
  const double mean = 63 / std::log(64), sigma = std::sqrt(4095 / (2 * std::log(64)) - mean * mean);
  EXPECT_NEAR(number(m, "traffic_bytes") / count / 0x1p20, mean, 4 * sigma / std::sqrt(count));
}

// One after another, i MB at second i: completion times of 20 us per MB.
TEST(Traffic, PercentilesOfAList) {
  std::string list;
  for (int i = 1; i <= 100; ++i)
    list += fmt::format(R"({}{{"from": {}, "to": 2, "size": "{} MB", "at": "{} s"}})",
                        i == 1 ? "" : ", ", i % 2, i, i);
  const Json m = traffic(3, R"("pattern": "list", "list": [)" + list + "]");
  EXPECT_NEAR(number(m, "fct_p50_s") / 50 / 20e-6, 1, kExact);
  EXPECT_NEAR(number(m, "fct_p99_s") / 99 / 20e-6, 1, kExact);
  EXPECT_NEAR(number(m, "fct_max_s") / 100 / 20e-6, 1, kExact);
  EXPECT_NEAR(number(m, "fct_mean_s") / 50.5 / 20e-6, 1, kExact);
  EXPECT_NEAR(number(m, "traffic_time_s") / (100 + 100 * 20e-6), 1, kExact);
  EXPECT_EQ(number(m, "traffic_bytes"), 5050e6);
}

// 20 MB from 0 s and 10 MB from 0.1 ms into one port of 50 MB/ms: 5 MB alone, then 25 MB/ms each,
// until the second ends at 0.1 + 0.4 ms; 5 MB are left for 0.1 ms.
TEST(Traffic, AListedMessageBeginsWhenItSays) {
  const Json m = traffic(3, R"("pattern": "list", "list": [
      {"from": 0, "to": 2, "size": "20 MB"}, {"from": 1, "to": 2, "size": "10 MB", "at": "0.1 ms"}])");
  EXPECT_NEAR(number(m, "fct_max_s") / 0.6e-3, 1, kExact);
  EXPECT_NEAR(number(m, "fct_p50_s") / 0.4e-3, 1, kExact);
  EXPECT_NEAR(number(m, "fct_slowdown_mean"), (0.6 / 0.4 + 0.4 / 0.2) / 2, kExact);
}

// Inside a server NVLink carries it: at twice the port's rate, half the time.
TEST(Traffic, NeighboursUseNvLink) {
  Ideal ideal;
  ideal.servers = 1;
  ideal.gpus_per_server = 8;
  const Json result = testing::run_text_scenario(
      testing::ideal_scenario(
          ideal,
          R"("jobs": [{"workload": {"kind": "traffic", "pattern": "shift", "size": "10 MB"}}])"),
      {"cluster.server.nvlink.bandwidth=100 GB/s"});
  EXPECT_NEAR(number(result.at("metrics"), "traffic_time_s") / 100e-6, 1, kExact);
}

TEST(Traffic, TheSeedDecides) {
  const auto run = [](const std::string& seeds) {
    return dump_json(
        traffic(16, R"("messages": 100, "size": "1 MB", "size_max": "9 MB", "seed": )" + seeds));
  };
  EXPECT_EQ(run("7"), run("7"));
  EXPECT_NE(run("7"), run("8"));
  EXPECT_EQ(run("0"), run("1")) << "0 is the engine's seed, which is 1";
}

}  // namespace
}  // namespace trainyard
