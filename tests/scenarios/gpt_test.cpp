// The GPT step: counts, FLOPs, memory and accounts against published formulas and hand counts.
#include <gtest/gtest.h>

#include "models/transformer.hpp"
#include "tests/support_scenario.hpp"

namespace trainyard {
namespace {

const std::string kDpu = std::string(TRAINYARD_SOURCE_DIR) + "/scenarios/claim/dpu.json";

TEST(GptStep, Gpt3On1024Gpus) {
  const Json m =
      testing::run_file_scenario(kDpu, {"cluster.servers=128", "probes={}"}).at("metrics");
  const double step = m.at("step_time_s").as_number();
  // 1,536 sequences of 2,048 tokens; 72 B s l h² (1 + s/6h + V/12lh) = 4.515e20 … by hand:
  const double h = 12288, s = 2048, l = 96, v = 51200, batch = 1536;
  const double flops = 72 * batch * s * l * h * h * (1 + s / (6 * h) + v / (12 * l * h));
  EXPECT_NEAR(m.at("tokens_per_s").as_number(), batch * s / step, 1e-6 * batch * s / step);
  EXPECT_NEAR(m.at("mfu").as_number(), flops / step / 1024 / 312e12, 1e-9);
  // Published runs of this size on A100: 0.38 to 0.52 (Narayanan et al. 2021, Korthikanti et al.
  // 2022).
  EXPECT_GT(m.at("mfu").as_number(), 0.38);
  EXPECT_LT(m.at("mfu").as_number(), 0.55);
  EXPECT_LT(m.at("gpu_memory_peak_bytes").as_number(), 80 * 1073741824.0);
  EXPECT_GT(m.at("gpu_wait_fractions").at("bubble").as_number(), 0.02);
  EXPECT_GT(m.at("exposed_comm_fraction").as_number(), 0);
  EXPECT_NEAR(m.at("parameters").as_number(), 174.6e9, 0.1e9);
}

std::map<std::string, double> tensor_calls(bool sequence_parallel) {
  testing::Ideal c;
  c.gpus_per_server = 4;
  c.servers = 1;
  c.fidelity = "flow";
  const std::string job = fmt::format(
      R"("jobs": [{{"workload": {{"kind": "gpt", "tensor": 4, "pipeline": 1, "global_batch": 3,
    "model": {{"layers": 5, "hidden": 64, "heads": 4, "sequence": 8, "vocabulary": 64}}, "sequence_parallel": {}}}}}])",
      sequence_parallel);
  std::map<std::string, double> calls;
  const Json result = testing::run_text_scenario(testing::ideal_scenario(c, job));
  for (const Json& choice : result.at("collectives").items()) {
    // s·b·h activations of 2 bytes.
    EXPECT_DOUBLE_EQ(choice.at("bytes").as_number(), 8 * 64 * 2);
    calls[choice.at("operation").as_string()] += choice.at("calls").as_number();
  }
  return calls;
}

// Megatron: 2 all_reduce forward and 2 backward per layer and micro-batch; with sequence
// parallelism each is an all_gather and a reduce_scatter.
TEST(GptStep, TensorParallelCollectives) {
  const double layers_and_batches = 5 * 3;
  EXPECT_EQ(tensor_calls(false),
            (std::map<std::string, double>{{"all_reduce", 4 * layers_and_batches}}));
  EXPECT_EQ(tensor_calls(true),
            (std::map<std::string, double>{{"all_gather", 4 * layers_and_batches},
                                           {"reduce_scatter", 4 * layers_and_batches}}));
}

// Korthikanti et al. 2022, table 2, by hand for the 22B model: s=2048, b=4, h=6144, a=64, t=8.
TEST(Transformer, ActivationsOfALayer) {
  TransformerModel m;
  m.layers = 48, m.hidden = 6144, m.heads = 64, m.sequence = 2048, m.vocabulary = 51200;
  TransformerSplit split;
  split.tensor = 8, split.micro_batch = 4;
  const double sbh = 2048.0 * 4 * 6144, scores = 5.0 * 64 * 2048 / 6144;
  EXPECT_NEAR(layer_activations(m, split).si() / (sbh * (10 + 24.0 / 8 + scores / 8)), 1, 1e-12);
  split.sequence_parallel = true;
  EXPECT_NEAR(layer_activations(m, split).si() / (sbh / 8 * (34 + scores)), 1, 1e-12);
  split.recompute = "selective";
  EXPECT_NEAR(layer_activations(m, split).si() / (sbh * 34 / 8), 1, 1e-12);
  split.recompute = "full";
  split.sequence_parallel = false;
  EXPECT_NEAR(layer_activations(m, split).si() / (2 * sbh), 1, 1e-12);
}

// Published layer of the 22B model on 8 A100 (Korthikanti et al. 2022, table 4, sequence
// parallelism, no recomputation): 7.2 ms forward, 11.8 backward, communication included.
TEST(Transformer, LayerTimeIsNearTheMeasured) {
  LoadOptions options;
  options.sets = {"probes={}", "cluster.servers=1"};
  const LoadedScenario loaded = load_scenario(kDpu, options);
  const Cluster& cluster = loaded.scenario.cluster;
  TransformerModel m;
  m.layers = 48, m.hidden = 6144, m.heads = 64, m.sequence = 2048, m.vocabulary = 51200;
  TransformerSplit split;
  split.tensor = 8, split.micro_batch = 4, split.sequence_parallel = true;
  // Two all_gathers and two reduce_scatters of 100.7 MB at 232 GB/s bus bandwidth.
  const double communication = 4 * 7.0 / 8 * (2048.0 * 4 * 6144 * 2) / 232e9;
  const double forward =
      layer_forward(m, split, cluster.server.gpu, *cluster.kernels).sum().si() + communication;
  const double backward =
      layer_backward(m, split, cluster.server.gpu, *cluster.kernels).sum().si() + communication;
  EXPECT_NEAR(forward / 7.2e-3, 1, 0.15);
  EXPECT_NEAR(backward / 11.8e-3, 1, 0.15);
}

TEST(Transformer, FlopsFormulas) {
  TransformerModel m;
  m.layers = 2, m.hidden = 8, m.heads = 2, m.sequence = 4, m.vocabulary = 16;
  // 72·3·4·2·64·(1 + 4/48 + 16/192) = 110592·7/6 = 129024
  EXPECT_NEAR(model_flops(m, 3).si(), 129024, 1e-6);
  // 96·3·4·2·64·(1 + 4/48 + 16/256) = 147456·55/48 = 168960
  EXPECT_NEAR(hardware_flops(m, 3, "full").si(), 168960, 1e-6);
  EXPECT_NEAR(hardware_flops(m, 3, "selective").si(), 129024 + 4 * 3 * 16 * 8 * 2, 1e-6);
}

}  // namespace
}  // namespace trainyard
