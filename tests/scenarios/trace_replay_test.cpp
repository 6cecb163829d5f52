// Traces replayed on an ideal cluster, where times can be worked out by hand: ports of 50 GB/s, 2
// us per step of a collective, no latency of messages.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "sim/error.hpp"
#include "tests/support_scenario.hpp"

namespace trainyard {
namespace {

using ::testing::HasSubstr;
using testing::Ideal;

constexpr double kPort = 50e9, kStep = 2e-6, kExact = 1e-9;

/// A file of the test's own, by name and text: tests run beside each other.
std::string file(const std::string& name, const std::string& text) {
  static int files = 0;
  const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
  const std::string path =
      fmt::format("{}replay_{}_{}_{}", ::testing::TempDir(), test->name(), ++files, name);
  std::ofstream(path) << text;
  return path;
}

/// Lines of a JSONL trace after a header for that many ranks.
std::string trace(int ranks, const std::string& lines, const std::string& header = "") {
  return file(
      "trace.jsonl",
      fmt::format(R"({{"trainyard_trace": 1, "ranks": {}{}}})", ranks, header) + "\n" + lines);
}

Json replay(const std::string& path, const Ideal& ideal, const std::string& options = "") {
  const std::string job = fmt::format(
      R"("jobs": [{{"workload": {{"kind": "trace", "trace": "{}"{}}}}}])", path, options);
  return testing::run_text_scenario(testing::ideal_scenario(ideal, job),
                                    {"cluster.transport.latency=0 s"})
      .at("metrics");
}

Ideal servers(int count) {
  Ideal ideal;
  ideal.servers = count;
  ideal.fidelity = "flow";
  return ideal;
}

double end_of(const Json& metrics, std::size_t rank) {
  return metrics.at("replay").at("by_rank").items()[rank].at("end_s").as_number();
}

double step(const Json& metrics) { return metrics.at("step_time_s").as_number(); }

std::string error_of(const std::string& path, const Ideal& ideal, const std::string& options = "") {
  try {
    replay(path, ideal, options);
  } catch (const ScenarioError& e) {
    std::string all;
    for (const Diagnostic& d : e.diagnostics()) all += to_string(d) + "\n";
    return all;
  } catch (const StuckError& e) {
    return e.what();
  }
  return "no error";
}

// 2(n-1) steps of latency + S/n/port.
TEST(TraceReplay, AnAllReduceOfFourRanksIsItsClosedForm) {
  std::string lines;
  for (int r = 0; r < 4; ++r)
    lines += fmt::format(
        R"({{"rank": {}, "id": 1, "kind": "collective", "op": "all_reduce", "bytes": 1048576}})"
        "\n",
        r);
  for (const std::string fidelity : {"flow", "steps", "analytic"}) {
    Ideal ideal = servers(4);
    ideal.fidelity = fidelity;
    const Json m = replay(trace(4, lines), ideal);
    EXPECT_NEAR(step(m) / (6 * (kStep + 1048576 / 4.0 / kPort)), 1, kExact) << fidelity;
    EXPECT_NEAR(m.at("sent_bytes").as_number(), 1.5 * 1048576, 1e-6);
  }
}

// The whole buffer over each edge in n-1 steps; a barrier is an all_reduce of 4 bytes; the root's
// port carries all parts of a gather.
TEST(TraceReplay, EveryCollectiveIsSimulated) {
  const double s = 3e6;
  const std::vector<std::pair<std::string, double>> expected{
      {"broadcast", 2 * (kStep + s / 2 / kPort)},
      {"reduce", 2 * (kStep + s / 2 / kPort)},
      {"all_gather", 2 * (kStep + s / 3 / kPort)},
      {"reduce_scatter", 2 * (kStep + s / 3 / kPort)},
      {"barrier", 4 * (kStep + 4.0 / 3 / kPort)},
      {"gather", 2 * s / 3 / kPort},
      {"scatter", 2 * s / 3 / kPort},
  };
  for (const auto& [op, time] : expected) {
    std::string lines;
    for (int r = 0; r < 3; ++r)
      lines += fmt::format(
          R"({{"rank": {}, "id": 1, "kind": "collective", "op": "{}", "bytes": 3000000}})"
          "\n",
          r, op);
    EXPECT_NEAR(step(replay(trace(3, lines), servers(3))) / time, 1, kExact) << op;
  }
}

// Kernels of two streams run beside each other, of one stream one after the other; without streams
// one at a time.
TEST(TraceReplay, StreamsOverlap) {
  const auto two = [](const std::string& a, const std::string& b) {
    return trace(1, R"({"rank": 0, "id": 1, "kind": "compute", "duration_s": 0.010)" + a + "}\n" +
                        R"({"rank": 0, "id": 2, "kind": "compute", "duration_s": 0.010)" + b +
                        "}\n");
  };
  EXPECT_NEAR(step(replay(two(R"(, "stream": 7)", R"(, "stream": 20)"), servers(1))), 0.010, 1e-12);
  EXPECT_NEAR(step(replay(two(R"(, "stream": 7)", R"(, "stream": 7)"), servers(1))), 0.020, 1e-12);
  EXPECT_NEAR(step(replay(two("", ""), servers(1))), 0.020, 1e-12);
}

// Beside 4 ms of communication at a slowdown of 0.2, 10 ms that were measured alone take 10.8 ms;
// 10 ms that were recorded beside it take 10.
TEST(TraceReplay, RecordedKernelsAreNotSlowedTwice) {
  Ideal ideal = servers(2);
  ideal.latency_us = 0;
  ideal.slowdown = 0.2;
  std::string lines;
  for (int r = 0; r < 2; ++r) {
    lines += fmt::format(
        R"({{"rank": {0}, "id": 1, "kind": "compute", "duration_s": 0.010}})"
        "\n"
        R"({{"rank": {0}, "id": 2, "kind": "collective", "op": "all_reduce", "bytes": 200000000}})"
        "\n",
        r);
  }
  EXPECT_NEAR(step(replay(trace(2, lines), ideal)), 0.010, 1e-12);
  EXPECT_NEAR(step(replay(trace(2, lines, R"(, "durations": "alone")"), ideal)), 0.0108, 1e-12);
  const Json m = replay(trace(2, lines), ideal);
  EXPECT_NEAR(m.at("compute_time_s").as_number(), 0.010, 1e-12);
  EXPECT_NEAR(m.at("comm_time_s").as_number(), 0.004, 1e-12);
  EXPECT_NEAR(m.at("exposed_comm_time_s").as_number(), 0, 1e-12);
}

// Exposed is what of the communication no kernel covers: 4 ms after 1 ms of compute beside 2 ms.
TEST(TraceReplay, ExposedCommunicationIsWhatNoKernelCovers) {
  Ideal ideal = servers(2);
  ideal.latency_us = 0;
  std::string lines;
  for (int r = 0; r < 2; ++r)
    lines += fmt::format(
        R"({{"rank": {0}, "id": 1, "kind": "compute", "duration_s": 0.001}})"
        "\n"
        R"({{"rank": {0}, "id": 2, "kind": "compute", "duration_s": 0.002, "after": [1]}})"
        "\n"
        R"({{"rank": {0}, "id": 3, "kind": "collective", "op": "all_reduce", "bytes": 200000000, "after": [1]}})"
        "\n",
        r);
  const Json m = replay(trace(2, lines), ideal);
  EXPECT_NEAR(step(m), 0.005, 1e-12);
  EXPECT_NEAR(m.at("compute_time_s").as_number(), 0.003, 1e-12);
  EXPECT_NEAR(m.at("comm_time_s").as_number(), 0.004, 1e-12);
  EXPECT_NEAR(m.at("exposed_comm_time_s").as_number(), 0.002, 1e-12);
}

// The first receive takes the first message, whatever its size; the second is done after both.
TEST(TraceReplay, ReceivesOfOneTagMatchInProgramOrder) {
  const std::string path =
      trace(2,
            R"({"rank": 0, "id": 1, "kind": "send", "peer": 1, "tag": 5, "bytes": 50000000}
{"rank": 0, "id": 2, "kind": "send", "peer": 1, "tag": 5, "bytes": 100000000, "after": [1]}
{"rank": 1, "id": 1, "kind": "receive", "peer": 0, "tag": 5, "bytes": 50000000}
{"rank": 1, "id": 2, "kind": "receive", "peer": 0, "tag": 5, "bytes": 100000000}
{"rank": 1, "id": 3, "kind": "compute", "duration_s": 0.010, "after": [1]}
{"rank": 1, "id": 4, "kind": "compute", "duration_s": 0.001, "after": [2]}
)");
  const Json m = replay(path, servers(2));
  // 1 ms, then 2 ms beside the kernel of 10 ms, which the one of 1 ms waits for on its stream.
  EXPECT_NEAR(end_of(m, 0), 0.003, 1e-12);
  EXPECT_NEAR(end_of(m, 1), 0.012, 1e-12);
}

TEST(TraceReplay, OfReadyKernelsTheLeastIdGoesFirst) {
  // 3 is ready from the start, 1 and 2 at 1 ms, when 3 still runs: then 1, then 2, and what waits
  // for 1 begins at 6 ms.
  const std::string path = trace(1,
                                 R"({"rank": 0, "id": 9, "kind": "host", "duration_s": 0.001}
{"rank": 0, "id": 1, "kind": "compute", "duration_s": 0.001, "after": [9]}
{"rank": 0, "id": 2, "kind": "compute", "duration_s": 0.001, "after": [9]}
{"rank": 0, "id": 3, "kind": "compute", "duration_s": 0.005}
{"rank": 0, "id": 10, "kind": "host", "duration_s": 0.010, "after": [1]}
)");
  EXPECT_NEAR(step(replay(path, servers(1))), 0.016, 1e-12);
}

TEST(TraceReplay, KernelsScaleOrAreComputedAnew) {
  const std::string path =
      trace(1, R"({"rank": 0, "id": 1, "kind": "compute", "duration_s": 0.5, "flops": 1e9})"
               "\n");
  EXPECT_NEAR(step(replay(path, servers(1))), 0.5, 1e-12);
  EXPECT_NEAR(step(replay(path, servers(1), R"(, "compute_scale": 0.25)")), 0.125, 1e-12);
  // 1 GFLOP at 1 TFLOPS.
  EXPECT_NEAR(step(replay(path, servers(1), R"(, "compute": "recomputed")")), 1e-3, 1e-9);
}

// Of two ranks two replicas: the group of both spans four ranks where it is said to, else each
// replica has its own.
TEST(TraceReplay, ReplicasShareTheGroupsThatSpanThem) {
  std::string lines;
  for (int r = 0; r < 2; ++r)
    lines += fmt::format(
        R"({{"rank": {0}, "id": 1, "kind": "collective", "op": "all_reduce", "bytes": 8000000, "group": "tp"}})"
        "\n"
        R"({{"rank": {0}, "id": 2, "kind": "collective", "op": "all_reduce", "bytes": 4000000, "group": "dp{0}", "after": [1]}})"
        "\n",
        r);
  const std::string path = trace(2, lines, R"(, "groups": {"tp": [0, 1], "dp0": [0], "dp1": [1]})");
  const double tp = 2 * (kStep + 4e6 / kPort), dp = 2 * (kStep + 2e6 / kPort);
  EXPECT_NEAR(step(replay(path, servers(2))), tp, 1e-12);
  const Json m = replay(path, servers(4), R"(, "replicas": 2, "across": ["dp0", "dp1"])");
  EXPECT_NEAR(step(m) / (tp + dp), 1, kExact);
  EXPECT_THAT(error_of(path, servers(4), R"(, "replicas": 2, "across": ["dq0"])"),
              HasSubstr("/jobs/0/workload/across/0: the trace has no group \"dq0\""));
}

// One rank's trace for all: its collectives are those of groups of that size.
TEST(TraceReplay, OneRankStandsForAll) {
  const std::string path =
      trace(4, R"({"rank": 0, "id": 1, "kind": "collective", "op": "all_reduce", "bytes": 1048576})"
               "\n");
  const double four = 6 * (kStep + 1048576 / 4.0 / kPort);
  EXPECT_NEAR(step(replay(path, servers(4), R"(, "representative": true)")) / four, 1, kExact);
  EXPECT_THAT(error_of(path, servers(4)),
              HasSubstr("rank 1 and 2 more have no line (say \"representative\": true"));
  const double eight = 14 * (kStep + 1048576 / 8.0 / kPort);
  EXPECT_NEAR(step(replay(path, servers(8), R"(, "representative": true, "ranks": 8)")) / eight, 1,
              kExact);
}

// Messages with ranks that are not traced: sends take their time, receives are there at once.
TEST(TraceReplay, MessagesWithRanksThatAreNotTraced) {
  const std::string path =
      trace(3,
            R"({"rank": 0, "id": 1, "kind": "receive", "peer": 2, "bytes": 50000000}
{"rank": 0, "id": 2, "kind": "send", "peer": 1, "bytes": 100000000, "after": [1]}
)",
            R"(, "representative": true)");
  EXPECT_NEAR(step(replay(path, servers(3))), 0.002, 1e-12);
}

TEST(TraceReplay, RepeatsAfterItself) {
  std::string lines;
  for (int r = 0; r < 2; ++r)
    lines += fmt::format(
        R"({{"rank": {0}, "id": 1, "kind": "compute", "duration_s": 0.002}})"
        "\n"
        R"({{"rank": {0}, "id": 2, "kind": "collective", "op": "all_reduce", "bytes": 1000000, "after": [1]}})"
        "\n",
        r);
  const double once = 0.002 + 2 * (kStep + 5e5 / kPort);
  const Json m = replay(trace(2, lines), servers(2), R"(, "repeat": 3)");
  EXPECT_NEAR(step(m) / once, 1, kExact);
  EXPECT_NEAR(end_of(m, 0) / (3 * once), 1, kExact);
}

TEST(TraceReplay, RanksGoWhereTheyAreSent) {
  std::string lines;
  for (int r = 0; r < 2; ++r)
    lines += fmt::format(
        R"({{"rank": {}, "id": 1, "kind": "collective", "op": "all_reduce", "bytes": 1000000}})"
        "\n",
        r);
  Ideal ideal = servers(2);
  ideal.gpus_per_server = 2;
  const Json m = replay(trace(2, lines), ideal, R"(, "gpus": [3, 0])");
  EXPECT_NEAR(step(m) / (2 * (kStep + 5e5 / kPort)), 1, kExact);
  EXPECT_THAT(error_of(trace(2, lines), ideal, R"(, "gpus": [3, 3])"),
              HasSubstr("/jobs/0/workload/gpus/1: GPU 3 is taken already"));
  EXPECT_THAT(error_of(trace(2, lines), ideal, R"(, "gpus": [3])"),
              HasSubstr("/jobs/0/workload/gpus: names 1 GPUs for 2 ranks"));
  EXPECT_THAT(error_of(trace(2, lines), servers(1)),
              HasSubstr("/jobs/0/workload/trace: has 2 ranks, but the job has 1 GPUs"));
}

// Faults between ranks, strict and mended.
TEST(TraceReplay, WhatDoesNotFitTogetherIsAnError) {
  const auto rank = [](int r, const std::string& rest) {
    return fmt::format(R"({{"rank": {}, "id": 1, "kind": "collective", {}}})", r, rest) + "\n";
  };
  const std::string all_reduce = R"("op": "all_reduce", "bytes": 1000000)";
  const std::string lenient = R"(, "lenient": true)";
  const double two = 2 * (kStep + 5e5 / kPort);

  std::string path = trace(2, rank(0, all_reduce) + rank(1, R"("op": "all_reduce", "bytes": 9)"));
  EXPECT_THAT(error_of(path, servers(2)),
              HasSubstr("node 1: is of 9 bytes on rank 1 and of 1000000 on rank 0 (node 1) "
                        "(--lenient makes this of collectives that differ in size between ranks: "
                        "the largest)"));
  Json m = replay(path, servers(2), lenient);
  EXPECT_NEAR(step(m) / two, 1, kExact);
  EXPECT_EQ(m.at("replay").at("repairs").items()[0].at("count"), Json(1));

  path = trace(2, rank(0, all_reduce) + rank(1, R"("op": "all_gather", "bytes": 1000000)"));
  EXPECT_THAT(error_of(path, servers(2)),
              HasSubstr("is all_gather on rank 1 and all_reduce on rank 0"));

  path = trace(3, rank(0, all_reduce) + rank(1, all_reduce) +
                      R"({"rank": 2, "id": 1, "kind": "compute", "duration_s": 0})" + "\n");
  EXPECT_THAT(error_of(path, servers(3)),
              HasSubstr("waits for rank 2, which never joins (the group of all ranks has 3 ranks; "
                        "that rank has no collective of it)"));
  EXPECT_NEAR(step(replay(path, servers(3), lenient)) / two, 1, kExact);

  path = trace(2, R"({"rank": 0, "id": 1, "kind": "send", "peer": 1, "bytes": 10})"
                  "\n"
                  R"({"rank": 1, "id": 1, "kind": "compute", "duration_s": 0.001})"
                  "\n");
  EXPECT_THAT(error_of(path, servers(2)), HasSubstr("is never received by rank 1 (tag 0)"));
  EXPECT_NEAR(step(replay(path, servers(2), lenient)), 0.001, 1e-12);
}

TEST(TraceReplay, ACircleIsAnErrorThatNamesIt) {
  const std::string path = trace(
      1,
      R"({"rank": 0, "id": 1, "kind": "compute", "name": "a", "duration_s": 0.001, "after": [2]}
{"rank": 0, "id": 2, "kind": "compute", "name": "b", "duration_s": 0.001, "after": [1]}
{"rank": 0, "id": 3, "kind": "compute", "name": "c", "duration_s": 0.001, "after": [2]}
)");
  EXPECT_THAT(error_of(path, servers(1)),
              HasSubstr("node 1 (a): waits for itself, through node 1 (a), node 2 (b)"));
  EXPECT_NEAR(step(replay(path, servers(1), R"(, "lenient": true)")), 0.003, 1e-12);
}

// Two ranks that wait for each other's message: nothing in either file is wrong.
TEST(TraceReplay, RanksThatWaitForEachOtherAreNamed) {
  std::string lines;
  for (int r = 0; r < 2; ++r)
    lines += fmt::format(
        R"({{"rank": {0}, "id": 1, "kind": "receive", "peer": {1}, "bytes": 10}})"
        "\n"
        R"({{"rank": {0}, "id": 2, "kind": "send", "peer": {1}, "bytes": 10, "name": "late", "after": [1]}})"
        "\n",
        r, 1 - r);
  const std::string message = error_of(trace(2, lines), servers(2));
  EXPECT_THAT(message, HasSubstr("the workload can never finish"));
  EXPECT_THAT(message, HasSubstr("late"));
  EXPECT_THAT(message, HasSubstr("of rank 0"));
  EXPECT_THAT(message, HasSubstr("of rank 1"));
}

// A larger message than the limit leaves when it is waited for.
TEST(TraceReplay, LargeMessagesMeet) {
  const std::string path =
      trace(2, R"({"rank": 0, "id": 1, "kind": "send", "peer": 1, "bytes": 50000000}
{"rank": 1, "id": 1, "kind": "compute", "duration_s": 0.010}
{"rank": 1, "id": 2, "kind": "receive", "peer": 0, "bytes": 50000000, "after": [1]}
)");
  EXPECT_NEAR(step(replay(path, servers(2))), 0.010, 1e-12);
  EXPECT_NEAR(step(replay(path, servers(2), R"(, "rendezvous_above": "1 MB")")), 0.011, 1e-12);
}

// LogGOPS by hand: 1000 + o, and o + L + 999·G after 1000, o and 500.
TEST(TraceReplay, GoalWithLogGops) {
  const std::string path =
      file("loggops.goal",
           "num_ranks 2\n"
           "rank 0 {\nl1: calc 1000\nl2: send 1000b to 1\nl2 requires l1\n}\n"
           "rank 1 {\nl1: recv 1000b from 0\nl2: calc 500\nl2 requires l1\n}\n");
  const Json m =
      replay(path, servers(2),
             R"(, "loggops": {"L": "3700 ns", "o": "200 ns", "g": "5 ns", "G": "1 ns"})");
  EXPECT_NEAR(end_of(m, 0), 1200e-9, 1e-15);
  EXPECT_NEAR(end_of(m, 1), 6599e-9, 1e-15);
}

// Two messages of one rank: the second leaves when the NIC is free, g + 999·G = 1004 ns after the
// first.
TEST(TraceReplay, LogGopsKeepsTheNicFromSendingTwoAtOnce) {
  const std::string path =
      file("loggops2.goal",
           "num_ranks 2\n"
           "rank 0 {\nl1: send 1000b to 1 tag 1\nl2: send 1000b to 1 tag 2\n}\n"
           "rank 1 {\nl1: recv 1000b from 0 tag 1\nl2: recv 1000b from 0 tag 2\n}\n");
  const Json m =
      replay(path, servers(2),
             R"(, "loggops": {"L": "3700 ns", "o": "200 ns", "g": "5 ns", "G": "1 ns"})");
  EXPECT_NEAR(end_of(m, 0), 1204e-9, 1e-15);
  EXPECT_NEAR(end_of(m, 1), (1004 + 200 + 3700 + 999 + 200) * 1e-9, 1e-15);
}

}  // namespace
}  // namespace trainyard
