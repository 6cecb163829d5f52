// What a recording says, against hand calculations and against metrics that are measured otherwise.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "tests/support_host.hpp"
#include "tests/support_recording.hpp"

namespace trainyard {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using testing::expect_no_overlap;
using ::testing::HasSubstr;
using testing::Ideal;
using testing::keys_of;
using testing::kSmall;
using testing::mean_of;
using testing::notes_of;
using testing::record_messages;
using testing::RecordedRun;
using testing::streams_of;
using testing::values_of;

constexpr double kPort = 50e9, kExact = 1e-9;

// Two of four seconds the one port of two sends at full rate.
TEST(Recording, SeriesOfTwoMessages) {
  const Json r = record_messages(2, {{0, 1, 50, 0}, {0, 1, 50, 3}});
  EXPECT_NEAR(r.at("end_s").as_number(), 4, 4 * kExact);
  EXPECT_THAT(keys_of(r), ElementsAre("nic_out", "nic_in", "host_cpu_network", "host_memory"));
  EXPECT_NEAR(r.at("series").at("bin_s").as_number(), 4.0 / 240, kExact);
  for (const char* key : {"nic_out", "nic_in"}) {
    const std::vector<double> values = values_of(r, key);
    ASSERT_EQ(values.size(), 240U);
    for (std::size_t b = 0; b < values.size(); ++b)
      EXPECT_NEAR(values[b], b < 60 || b >= 180 ? 0.5 : 0, kExact) << key << " " << b;
  }
  EXPECT_THAT(values_of(r, "host_memory"), Each(0.0));
}

TEST(Recording, LinksOfTwoMessages) {
  const Json r = record_messages(3, {{0, 1, 50, 0}, {0, 1, 50, 3}});
  const auto& links = r.at("links").items();
  ASSERT_EQ(links.size(), 6U);
  const auto expect = [&](std::size_t i, const char* from, const char* to, const char* direction) {
    EXPECT_EQ(links[i].at("from").as_string(), from);
    EXPECT_EQ(links[i].at("to").as_string(), to);
    EXPECT_EQ(links[i].at("direction").as_string(), direction);
    EXPECT_EQ(links[i].at("tier").as_integer(), 0);
    EXPECT_EQ(links[i].at("capacity_bytes_per_s").as_number(), kPort);
    EXPECT_NEAR(links[i].at("carried_bytes").as_number(), 100e9, 100e9 * kExact);
    EXPECT_NEAR(links[i].at("load").as_number(), 0.5, kExact);
  };
  expect(0, "server0/nic0", "switch1.0", "up");
  expect(1, "switch1.0", "server1/nic0", "down");
  for (std::size_t i = 2; i < 6; ++i) EXPECT_EQ(links[i].at("load").as_number(), 0);
  EXPECT_EQ(dump_json(r.at("nodes"), -1), R"([{"name":"server0","kind":"server","tier":0},)"
                                          R"({"name":"server1","kind":"server","tier":0},)"
                                          R"({"name":"server2","kind":"server","tier":0},)"
                                          R"({"name":"switch1.0","kind":"switch","tier":1}])");
  EXPECT_EQ(r.at("links_left_out").as_integer(), 0);
}

// 100 GB alone for a second, then beside 50 GB until both end after three: the port is full all the
// time, but spread evenly the bytes would take 2/3 of it at first and 7/6 later.
TEST(Recording, NoBinHoldsMoreThanItsCapacity) {
  const Json r = record_messages(2, {{0, 1, 100, 0}, {0, 1, 50, 1}, {1, 0, 100, 0}, {1, 0, 50, 1}});
  EXPECT_NEAR(r.at("end_s").as_number(), 3, 3 * kExact);
  for (const double v : values_of(r, "nic_out")) {
    EXPECT_NEAR(v, 1, kExact);
    EXPECT_LE(v, 1 + 1e-12);
  }
}

// Whatever the dates, the bins hold the bytes that the links carried.
TEST(Recording, BinsHoldWhatWasCarried) {
  const RecordedRun run =
      testing::record_file("scale/random-4096", {"jobs.0.workload.messages=300"});
  double out = 0, in = 0, all = 0, capacity = 0;
  for (const Json& link : run.recording.at("links").items()) {
    const double bytes = link.at("carried_bytes").as_number();
    all += bytes;
    if (link.at("tier").as_integer() > 0) continue;
    (link.at("direction") == Json("up") ? out : in) += bytes;
    if (link.at("direction") == Json("up")) capacity += link.at("capacity_bytes_per_s").as_number();
  }
  ASSERT_EQ(run.recording.at("links_left_out").as_integer(), 0);
  const double end = run.recording.at("end_s").as_number();
  EXPECT_NEAR(mean_of(run.recording, "nic_out") * capacity * end / out, 1, kExact);
  EXPECT_NEAR(mean_of(run.recording, "nic_in") * capacity * end / in, 1, kExact);
  const Json& usage = run.result.at("jobs").items().front().at("usage");
  EXPECT_NEAR(mean_of(run.recording, "fabric") / usage.at("fabric_load").as_number(), 1, kExact);
  EXPECT_GT(all, out + in);
  expect_no_overlap(run.recording);
}

TEST(Recording, WithoutTimeThereIsNothingToShow) {
  Ideal ideal;
  const Json r = testing::record_text(testing::ideal_scenario(ideal, R"("jobs": [{"workload":
      {"kind": "collective", "sizes": ["1 GB"], "ranks": 1}}])"))
                     .recording;
  EXPECT_EQ(r.at("end_s").as_number(), 0);
  EXPECT_EQ(r.at("timeline").at("bars").as_integer(), 0);
  EXPECT_THAT(values_of(r, "nic_out"), Each(0.0));
}

TEST(Recording, NoJobsNoRecording) {
  EXPECT_TRUE(
      testing::record_text(testing::ideal_scenario({}, R"("probes": {"one": {"bytes": "1 MB"}})"))
          .recording.is_null());
}

/// What a recording of one GPT job must agree with, measured by other code.
void expect_consistent(const RecordedRun& run, double gpus) {
  const Json &metrics = run.result.at("metrics"), &r = run.recording;
  const double step = metrics.at("step_time_s").as_number();
  EXPECT_NEAR(r.at("end_s").as_number() / step, 1, kExact);
  EXPECT_NEAR(mean_of(r, "gpu") / metrics.at("gpu_compute_fraction").as_number(), 1, kExact);
  const Json& usage = run.result.at("jobs").items().front().at("usage");
  EXPECT_NEAR(mean_of(r, "fabric") / usage.at("fabric_load").as_number(), 1, kExact);
  EXPECT_NEAR(mean_of(r, "nic_out") / usage.at("nic_load").as_number(), 1, kExact);
  std::map<std::string, double> waits;
  double count = 0;
  for (const Json& row : r.at("accounts").items()) {
    const double weight = row.at("stands_for").as_number();
    double sum = row.at("compute_s").as_number();
    for (const char* key : {"network", "nvlink", "host", "storage", "bubble"}) {
      sum += row.at(std::string(key) + "_s").as_number();
      waits[key] += weight * row.at(std::string(key) + "_s").as_number();
    }
    EXPECT_NEAR(sum / step, 1, kExact);
    count += weight;
  }
  EXPECT_EQ(count, gpus);
  for (const auto& [key, value] : metrics.at("gpu_wait_fractions").members())
    EXPECT_NEAR(waits[key] / step / gpus, value.as_number(), kExact) << key;
  for (const std::string& key : keys_of(r)) {
    for (const double v : values_of(r, key)) EXPECT_LE(v, 1 + kExact) << key;
  }
  expect_no_overlap(r);
}

TEST(Recording, AgreesWithTheMetrics) {
  expect_consistent(testing::record_file("scale/gpt3-1024", kSmall), 128);
}
TEST(Recording, AgreesWithTheMetricsWhereGpusAreFolded) {
  const RecordedRun run = testing::record_file("scale/gpt3-16384", {});
  expect_consistent(run, 16384);
  EXPECT_THAT(notes_of(run.recording), HasSubstr("One GPU was simulated for several"));
  EXPECT_THAT(notes_of(run.recording), HasSubstr("the first of 8 rails"));
}
// All 512 servers send, and each of the 8 rails of which one is listed as much.
TEST(Recording, LinksOfFoldedGpusAreThoseOfAll) {
  const RecordedRun run = testing::record_file(
      "scale/gpt3-16384", {"cluster.servers=512", "jobs.0.workload.global_batch=1024"});
  EXPECT_THAT(notes_of(run.recording), HasSubstr("the first of 8 rails"));
  double sent = 0;
  int ports = 0;
  for (const Json& link : run.recording.at("links").items()) {
    if (link.at("tier").as_integer() > 0 || link.at("direction") != Json("up")) continue;
    sent += link.at("carried_bytes").as_number();
    ++ports;
  }
  EXPECT_EQ(ports, 512);
  const Json& usage = run.result.at("jobs").items().front().at("usage");
  EXPECT_NEAR(sent * 8 / 512 / run.recording.at("end_s").as_number() /
                  usage.at("sent_bytes_per_s").as_number(),
              1, kExact);
}
// 32,768 micro-batches of each replica.
TEST(Recording, AgreesWithTheMetricsWhereTimeIsStretched) {
  const RecordedRun run =
      testing::record_file("scale/gpt3-16384", {"jobs.0.workload.global_batch=4194304"});
  expect_consistent(run, 16384);
  EXPECT_THAT(notes_of(run.recording), HasSubstr("Periods that recur were simulated once"));
}
// More iterations than a recording simulates, on few enough GPUs: folded after all.
TEST(Recording, SlowAgreesWithTheMetricsWhereASmallRunIsLong) {
  const RecordedRun run = testing::record_file(
      "scale/gpt3-1024", {"cluster.servers=16", "jobs.0.workload.global_batch=100000"});
  expect_consistent(run, 128);
  EXPECT_THAT(notes_of(run.recording), HasSubstr("One GPU was simulated for several"));
}

TEST(Recording, ResultsAreTheSameWithout) {
  for (const char* file : {"scale/gpt3-1024", "storage/megatron-1t-checkpoint"}) {
    const std::string path = std::string(TRAINYARD_SOURCE_DIR) + "/scenarios/" + file + ".json";
    EXPECT_EQ(dump_json(testing::record_file(file, {}).result),
              dump_json(testing::run_file_scenario(path)))
        << file;
  }
}

// 10 GB of training data at 10 GB/s take a second, the kernels 0.15 s.
TEST(Recording, EndsWithTheSlowestOfStepAndLoading) {
  const RecordedRun run = testing::record_text(
      testing::host_scenario(R"({"workload": {"kind": "fixed-step", "step": "0.15 s",
          "samples": 1000}, "training": {"steps": 1000, "seeds": 1,
          "data": {"sample": "10 MB", "prefetch": 2}}})"),
      {"cluster.storage.read_limit=10 GB/s"});
  EXPECT_NEAR(run.result.at("metrics").at("step_time_s").as_number(), 1, kExact);
  EXPECT_NEAR(run.recording.at("end_s").as_number(), 1, kExact);
  EXPECT_NEAR(mean_of(run.recording, "storage_read"), 1, kExact);
  EXPECT_NEAR(mean_of(run.recording, "gpu"), 0.15, kExact);
  EXPECT_THAT(streams_of(run.recording), ::testing::Contains("0 storage"));
}

TEST(Recording, TwoJobsAtOnce) {
  Ideal ideal;
  ideal.servers = 5;
  const Json r = testing::record_text(testing::ideal_scenario(ideal, R"("jobs": [
      {"first_server": 0, "servers": 2, "workload": {"kind": "fixed-step", "step": "2 s"}},
      {"first_server": 3, "servers": 2, "workload": {"kind": "traffic", "pattern": "list",
       "list": [{"from": 0, "to": 1, "size": "50 GB"}]}}])"))
                     .recording;
  EXPECT_THAT(streams_of(r), ElementsAre("0 compute", "1 compute", "3 collective"));
  // Of four GPUs and four ports.
  EXPECT_NEAR(mean_of(r, "gpu"), 0.5, kExact);
  EXPECT_NEAR(values_of(r, "nic_out").front(), 0.25, kExact);
  EXPECT_NEAR(values_of(r, "nic_out").back(), 0, kExact);
  EXPECT_EQ(r.at("accounts").items().size(), 2U);
}

}  // namespace
}  // namespace trainyard
