// Generated workloads written as traces: read back, they take the same time and move the same
// bytes.
#include "sim/trace_capture.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "sim/trace_format.hpp"
#include "sim/trace_stats.hpp"
#include "tests/support_scenario.hpp"

namespace trainyard {
namespace {

using testing::Ideal;

/// TP 2, PP 2, DP 2, 4 micro-batches, on 4 servers of 2 GPUs; communication slows kernels.
std::string gpt(const std::string& more = "") {
  Ideal ideal;
  ideal.servers = 4;
  ideal.gpus_per_server = 2;
  ideal.fidelity = "flow";
  ideal.slowdown = 0.2;
  return testing::ideal_scenario(ideal, R"("jobs": [{"workload": {"kind": "gpt", "tensor": 2,
    "pipeline": 2, "global_batch": 8, "micro_batch": 1, "bucket": "4 MB",
    "model": {"layers": 4, "hidden": 1024, "heads": 8, "sequence": 1024, "vocabulary": 4096})" +
                                            more + "}}]");
}

std::string replay_of(const std::string& path) {
  Ideal ideal;
  ideal.servers = 4;
  ideal.gpus_per_server = 2;
  ideal.fidelity = "flow";
  ideal.slowdown = 0.2;
  return testing::ideal_scenario(
      ideal, fmt::format(R"("jobs": [{{"workload": {{"kind": "trace", "trace": "{}"}}}}])", path));
}

double step(const Json& result) { return result.at("metrics").at("step_time_s").as_number(); }

class TraceCaptureFormats : public ::testing::TestWithParam<std::string> {};

TEST_P(TraceCaptureFormats, ReadBackAWorkloadTakesTheSameTime) {
  for (const std::string more : {"", R"(, "sequence_parallel": true, "recompute": "full")",
                                 R"(, "scatter_gather": true, "overlap_gradients": false)"}) {
    const std::string text = gpt(more);
    const std::string path = ::testing::TempDir() + "captured_" + GetParam();
    const LoadedScenario loaded = load_scenario_text(text, "gpt.json", {});
    const CapturedTrace captured = capture_trace(loaded);
    const auto format = Registry<TraceFormat>::of().make(GetParam());
    const std::vector<std::string> losses = format->write(captured.trace, path);
    EXPECT_THAT(losses, ::testing::IsEmpty()) << losses.front();
    const double original = step(testing::run_text_scenario(text));
    const Json replayed = testing::run_text_scenario(replay_of(path));
    EXPECT_NEAR(step(replayed) / original, 1, 1e-9) << more;
    // Bytes by hand: per micro-batch and stage 2 layers, each with 2 all_reduces forward and 2
    // backward of s·b·h·2 bytes in each of the 4 tensor groups; with sequence parallelism as many
    // all_gathers and reduce_scatters, and with full recomputation the forward ones twice.
    std::map<std::string, double> bytes;
    for (const Json& row : replayed.at("metrics").at("replay").at("communication").items())
      bytes[row.at("operation").as_string()] += row.at("bytes").as_number();
    const double activations = 1024.0 * 1024 * 2, micro_batches = 4;
    if (more.find("sequence_parallel") != std::string::npos) {
      EXPECT_EQ(bytes["all_gather"], 4 * micro_batches * 2 * (2 + 2 + 2) * activations);
      EXPECT_EQ(bytes["reduce_scatter"], bytes["all_gather"]);
    }
    // Activations forward and gradients back, for each of 2 replicas and 2 tensor ranks; each rank
    // its half where they are split.
    const double parts = more.empty() ? 1 : 2;
    EXPECT_EQ(bytes["send"], 2 * 2 * 2 * micro_batches * activations / parts);
  }
}

INSTANTIATE_TEST_SUITE_P(Each, TraceCaptureFormats, ::testing::Values("jsonl", "chakra"),
                         [](const auto& one) { return one.param; });

TEST(TraceCapture, SaysWhatItCannotTake) {
  LoadedScenario loaded = load_scenario_text(
      testing::ideal_scenario({}, R"("probes": {"p": {"bytes": "1 B"}})"), "p.json", {});
  EXPECT_THROW(capture_trace(loaded), ScenarioError);
}

}  // namespace
}  // namespace trainyard
