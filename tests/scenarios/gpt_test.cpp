// The GPT step: counts, FLOPs, memory and accounts against published formulas and hand counts.
#include <gtest/gtest.h>

#include "models/transformer.hpp"
#include "sim/isolate.hpp"
#include "sim/measure.hpp"
#include "tests/support_graph.hpp"

namespace trainyard {
namespace {

const std::string kDpu = std::string(TRAINYARD_SOURCE_DIR) + "/scenarios/claim/dpu.json";

TEST(GptStep, Gpt3On1024Gpus) {
  const Json m =
      testing::run_file_scenario(kDpu, {"cluster.servers=128", "probes={}"}).at("metrics");
  const double step = m.at("step_time_s").as_number();
  // 1,536 sequences of 2,048 tokens; 72·B·s·l·h² = 3.2831e18, times 1 + 0.027778 + 0.003617.
  const double batch = 1536, s = 2048, flops = 3.3861967463873e18;
  EXPECT_NEAR(m.at("tokens_per_s").as_number(), batch * s / step, 1e-6 * batch * s / step);
  EXPECT_NEAR(m.at("mfu").as_number(), flops / step / 1024 / 312e12, 1e-9);
  // Published runs of this size on A100: 0.38 to 0.52 (Narayanan et al. 2021, Korthikanti et al.
  // 2022).
  EXPECT_GT(m.at("mfu").as_number(), 0.38);
  EXPECT_LT(m.at("mfu").as_number(), 0.55);
  EXPECT_LT(m.at("gpu_memory_peak_bytes").as_number(), 80 * 1073741824.0);
  // The first stage holds most: 12 layers of 12h² + 13h and (V + s)·h of embedding, over 8 ranks,
  // at 2 + 4 + 12 bytes; 8 micro-batches of 12 layers at 34·s·b·h/8 bytes.
  EXPECT_NEAR(m.at("gpu_memory_peak_bytes").as_number(), 18 * 2799937536.0 + 96 * 106954752.0, 1);
  EXPECT_GT(m.at("gpu_wait_fractions").at("bubble").as_number(), 0.02);
  EXPECT_GT(m.at("exposed_comm_fraction").as_number(), 0);
  EXPECT_NEAR(m.at("parameters").as_number(), 174.6e9, 0.1e9);
}

/// The accounts of every rank of the scenario's first job, and when it ended.
struct Accounts {
  std::vector<RankAccount> ranks;
  double end = 0;
};

Accounts accounts(LoadedScenario& loaded) {
  const auto task = [&] {
    const Cluster& cluster = loaded.scenario.cluster;
    const auto topology = cluster.network->build(cluster.server, cluster.servers);
    Lowering lowering(cluster, *topology, Fidelity::kFlow, Fidelity::kAnalytic);
    std::vector<Rank> ranks;
    for (std::size_t i = 0; i < topology->ranks(); ++i) ranks.emplace_back(i);
    loaded.scenario.jobs.front().workload->lower(lowering, ranks);
    lowering.graph().freeze();
    const auto executor = make_flow_executor(*topology);
    const Timeline t = Engine(lowering.graph(), *executor, ranks.size()).run();
    Json out = testing::to_json({t.end()});
    for (const RankAccount& a : account(lowering.graph(), t, ranks, 0, lowering.graph().size()))
      for (const double v : {a.compute, a.network, a.nvlink, a.bubble}) out.push_back(Json(v));
    return out;
  };
  const std::vector<double> all = testing::numbers(run_isolated({task}).front());
  Accounts found{{}, all[0]};
  for (std::size_t i = 1; i < all.size(); i += 4) {
    RankAccount account;
    account.compute = all[i], account.network = all[i + 1];
    account.nvlink = all[i + 2], account.bubble = all[i + 3];
    found.ranks.push_back(account);
  }
  return found;
}

TEST(GptStep, EveryRanksTimeIsAccountedFor) {
  LoadOptions options;
  options.sets = {"cluster.servers=128", "probes={}"};
  LoadedScenario loaded = load_scenario(kDpu, options);
  const Accounts found = accounts(loaded);
  ASSERT_EQ(found.ranks.size(), 1024U);
  for (std::size_t r = 0; r < found.ranks.size(); ++r) {
    const RankAccount& a = found.ranks[r];
    EXPECT_NEAR(a.sum() / found.end, 1, 1e-9) << "rank " << r;
    EXPECT_GT(a.compute, found.end / 2) << "rank " << r;
    EXPECT_GE(a.network, 0) << "rank " << r;
    EXPECT_GE(a.bubble, 0) << "rank " << r;
  }
}

// Two stages, one micro-batch, forward 1 ms, backward 2 ms, 50 MB of activations (1 ms) each way:
//   stage 0: F 0-1, waits 1-6 for F (1) and B (2) of stage 1 and two messages (1 + 1), B 6-8
//   stage 1: waits 0-2 for F of stage 0 and a message, F 2-3, B 3-5, waits 5-8 for a message and B
TEST(GptStep, AccountsByHand) {
  testing::Ideal c;
  const std::string job =
      R"("jobs": [{"workload": {"kind": "gpt", "tensor": 1, "pipeline": 2, "global_batch": 1,
    "model": {"layers": 2, "hidden": 5000, "heads": 1, "sequence": 5000, "vocabulary": 10},
    "stage_forward": "1 ms", "stage_backward": "2 ms"}}])";
  LoadedScenario loaded = load_scenario_text(testing::ideal_scenario(c, job), "t", {});
  const Accounts found = accounts(loaded);
  EXPECT_NEAR(found.end, 8e-3, 1e-12);
  ASSERT_EQ(found.ranks.size(), 2U);
  for (const RankAccount& a : found.ranks) {
    EXPECT_NEAR(a.compute, 3e-3, 1e-12);
    EXPECT_NEAR(a.network, 2e-3, 1e-12);
    EXPECT_NEAR(a.bubble, 3e-3, 1e-12);
  }
}

/// Calls by operation of 5 layers on 4 tensor ranks, 3 micro-batches of each of 2 replicas.
std::map<std::string, double> tensor_calls(bool sequence_parallel, const std::string& recompute) {
  testing::Ideal c;
  c.gpus_per_server = 4;
  c.servers = 2;
  c.fidelity = "flow";
  const std::string job = fmt::format(
      R"("jobs": [{{"workload": {{"kind": "gpt", "tensor": 4, "pipeline": 1, "global_batch": 12, "micro_batch": 2,
    "model": {{"layers": 5, "hidden": 64, "heads": 4, "sequence": 8, "vocabulary": 64}},
    "sequence_parallel": {}, "recompute": "{}"}}}}])",
      sequence_parallel, recompute);
  std::map<std::string, double> calls;
  const Json result = testing::run_text_scenario(testing::ideal_scenario(c, job));
  for (const Json& choice : result.at("collectives").items()) {
    if (choice.at("ranks").as_number() == 2) continue;  // the gradients of two replicas
    // s·b·h activations of 2 bytes.
    EXPECT_DOUBLE_EQ(choice.at("bytes").as_number(), 8 * 2 * 64 * 2);
    calls[choice.at("operation").as_string()] += choice.at("calls").as_number();
  }
  return calls;
}

// Megatron: 2 all_reduce forward and 2 backward per layer and micro-batch; with sequence
// parallelism each is an all_gather and a reduce_scatter. Full recomputation does forward's again.
TEST(GptStep, TensorParallelCollectives) {
  using Calls = std::map<std::string, double>;
  const double layers_and_batches = 5 * 3 * 2;
  for (const std::string recompute : {"none", "selective", "full"}) {
    const double calls = (recompute == "full" ? 6 : 4) * layers_and_batches;
    EXPECT_EQ(tensor_calls(false, recompute), (Calls{{"all_reduce", calls}})) << recompute;
    EXPECT_EQ(tensor_calls(true, recompute),
              (Calls{{"all_gather", calls}, {"reduce_scatter", calls}}))
        << recompute;
  }
}

// Korthikanti et al. 2022, table 2, by hand for the 22B model: s=2048, b=4, h=6144, a=64, t=8.
TEST(Transformer, ActivationsOfALayer) {
  TransformerModel m;
  m.layers = 48, m.hidden = 6144, m.heads = 64, m.sequence = 2048, m.vocabulary = 51200;
  TransformerSplit split;
  split.tensor = 8, split.micro_batch = 4;
  const double sbh = 2048.0 * 4 * 6144, scores = 5.0 * 64 * 2048 / 6144;
  EXPECT_NEAR(layer_activations(m, split).si() / (sbh * (10 + 24.0 / 8 + scores / 8)), 1, 1e-12);
  EXPECT_NEAR(layer_activations(m, split).si(), 1325400064, 1);  // 26.33 bytes of each activation
  split.sequence_parallel = true;
  EXPECT_NEAR(layer_activations(m, split).si() / (sbh / 8 * (34 + scores)), 1, 1e-12);
  split.recompute = "selective";
  EXPECT_NEAR(layer_activations(m, split).si() / (sbh * 34 / 8), 1, 1e-12);
  split.recompute = "full";
  split.sequence_parallel = false;
  EXPECT_NEAR(layer_activations(m, split).si() / (2 * sbh), 1, 1e-12);
}

// The 22B model on 8 GPUs: 48 layers of 453,064,704 parameters and 327,155,712 of embedding, over 8
// ranks at 18 bytes, is 49.7 GB. Batch 4 keeps 48 x 50,331,648 x 4.25 bytes (34/8) = 10.3 GB with
// selective recomputation and sequence parallelism, and 48 x 1.325 GB = 63.6 GB with neither: more
// than the 85.9 GB of the GPU. Logits in FP32: 4·s·b·V/8 bytes = 0.2 GB.
TEST(GptStep, MemoryOfThe22BModel) {
  const std::vector<std::string> sets{"probes={}",
                                      "cluster.servers=1",
                                      "jobs.0.workload.model=megatron-22b",
                                      "jobs.0.workload.pipeline=1",
                                      "jobs.0.workload.global_batch=4",
                                      "jobs.0.workload.micro_batch=4"};
  const Json m = testing::run_file_scenario(kDpu, sets).at("metrics");
  EXPECT_NEAR(m.at("gpu_memory_peak_bytes").as_number(), 49667088384.0 + 10267656192.0 + 209715200,
              1);
  std::vector<std::string> without = sets;
  without.insert(without.end(),
                 {"jobs.0.workload.recompute=none", "jobs.0.workload.sequence_parallel=false"});
  try {
    testing::run_file_scenario(kDpu, without);
    ADD_FAILURE() << "113 GB were put into a GPU of 80 GiB";
  } catch (const ScenarioError& error) {
    EXPECT_EQ(error.exit_code(), ExitCode::kInfeasible);
    ASSERT_EQ(error.diagnostics().size(), 1U);
    EXPECT_EQ(error.diagnostics()[0].pointer, "/jobs/0/workload");
    EXPECT_NE(error.diagnostics()[0].message.find("113.5 GB"), std::string::npos)
        << error.diagnostics()[0].message;
  }
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
