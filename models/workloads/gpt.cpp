// GPT training: one iteration with tensor, pipeline (1F1B) and data parallelism.
//
// Leaves out: interleaved schedules, ZeRO, loss of the tied embedding's all-reduce, the all_gather
// after a scattered pipeline message (docs/models/training.md).
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "models/workloads/gpt_step.hpp"
#include "sim/workload.hpp"

namespace trainyard {
namespace {

/// What one rank of a stage keeps in GPU memory.
struct MemoryUse {
  Bytes weights, gradients, optimizer, activations, logits;
  Bytes sum() const { return weights + gradients + optimizer + activations + logits; }
};

class Gpt : public Workload {
 public:
  void fields(Archive& ar) override {
    ar.required("model", plan_.model, "the transformer");
    ar.required("tensor", plan_.layout.tensor, "tensor-parallel ranks", at_least(1));
    ar.required("pipeline", plan_.layout.pipeline, "pipeline stages", at_least(1));
    ar("data", data_, "data-parallel replicas (0: GPUs / tensor / pipeline)", non_negative());
    ar.required("global_batch", global_batch_, "sequences per iteration", at_least(1));
    ar("micro_batch", plan_.split.micro_batch, "sequences per micro-batch", at_least(1));
    ar("sequence_parallel", plan_.split.sequence_parallel,
       "split norms and dropouts over the tensor ranks too");
    ar.choice("recompute", plan_.split.recompute, {"none", "selective", "full"},
              "activations recomputed in the backward pass");
    ar("fused_attention", plan_.split.fused_attention,
       "attention as one kernel that keeps the scores on the chip");
    ar("scatter_gather", plan_.scatter_gather, "cut pipeline messages over the tensor ranks");
    ar("overlap_gradients", plan_.overlap_gradients,
       "reduce gradients while the backward pass goes on");
    ar("gradient_bytes", plan_.gradient_bytes, "bytes of one gradient", between(1, 8));
    ar("bucket", bucket_, "gradients reduced at once", positive());
    ar.choice("precision", precision_, {"bf16", "fp8"},
              "of the layers' weight products; attention and logits stay in BF16");
    ar("stage_forward", plan_.fixed_forward,
       "time of a stage's forward pass of one micro-batch, instead of a computed one",
       non_negative());
    ar("stage_backward", plan_.fixed_backward, "the same for its backward pass", non_negative());
    ar.check((plan_.fixed_forward > Seconds()) == (plan_.fixed_backward > Seconds()),
             "stage_forward", "is given without stage_backward or the other way round",
             "give both or neither");
    plan_.split.fp8 = precision_ == "fp8";
  }

  void check(const Cluster& cluster, std::size_t gpus) const override {
    const GptLayout& l = plan_.layout;
    const std::size_t model_parallel =
        static_cast<std::size_t>(l.tensor) * static_cast<std::size_t>(l.pipeline);
    const std::size_t data = data_ > 0 ? static_cast<std::size_t>(data_) : gpus / model_parallel;
    if (model_parallel * data != gpus || data == 0) {
      throw DesignError(
          "/tensor",
          fmt::format("tensor {} × pipeline {} × data {} is {}, not the job's {} GPUs", l.tensor,
                      l.pipeline, data, model_parallel * data, gpus),
          "change one of them, or the servers of the job");
    }
    const TransformerModel& m = plan_.model;
    divides("/pipeline", l.pipeline, "pipeline stages", m.layers, "layers");
    divides("/tensor", l.tensor, "tensor ranks", m.heads, "attention heads");
    divides("/tensor", l.tensor, "tensor ranks", m.vocabulary, "vocabulary entries");
    divides("/micro_batch", static_cast<int>(data) * plan_.split.micro_batch,
            "sequences (data × micro_batch)", global_batch_, "sequences of global_batch");
    if (plan_.split.fp8 && cluster.server.gpu.peak_fp8 == FlopsPerSecond()) {
      throw DesignError("/precision", "is fp8, and the GPU has no FP8 peak",
                        "use bf16, or set the GPU's peak_fp8");
    }
    check_memory(cluster, plan_for(gpus));
  }

  void lower(Lowering& lowering, std::span<const Rank> ranks) override {
    ranks_.assign(ranks.begin(), ranks.end());
    GptPlan plan = plan_for(ranks.size());
    plan.tensor_fidelity = lowering.tensor_fidelity();
    plan.seed = lowering.seed();
    first_ = lowering.graph().size();
    GptStep step(plan, lowering, ranks);
    step.lower();
    simulated_.clear();
    weights_.clear();
    for (const auto& [rank, weight] : step.simulated()) {
      simulated_.push_back(rank);
      weights_.push_back(weight);
    }
    last_ = lowering.graph().size();
  }

  Json measure(const Lowering& lowering, const Timeline& timeline) const override {
    const std::vector<RankAccount> accounts = this->accounts(lowering, timeline);
    RankAccount mean;
    double all = 0;
    for (std::size_t i = 0; i < accounts.size(); ++i) {
      mean += weights_[i] * accounts[i];
      all += weights_[i];
    }
    const auto gpus = static_cast<double>(ranks_.size());
    const double step = mean.sum() / all;
    const Gpu& gpu = lowering.cluster().server.gpu;
    const FlopsPerSecond peak = plan_.split.fp8 ? gpu.peak_fp8 : gpu.peak_bf16;
    const Flops model = model_flops(plan_.model, global_batch_);
    const Flops hardware = hardware_flops(plan_.model, global_batch_, plan_.split.recompute);
    const FlopsPerSecond achieved = model / Seconds::of(step * gpus);
    Json out = Json::object();
    out["step_time_s"] = Json(step);
    out["tokens_per_s"] = Json(static_cast<double>(global_batch_) * plan_.model.sequence / step);
    out["model_tflops_per_gpu"] = Json(achieved.si() / 1e12);
    out["mfu"] = Json(achieved / peak);
    out["hfu"] = Json(hardware / Seconds::of(step * gpus) / peak);
    add_account(mean, out);
    out["gpu_memory_peak_bytes"] = Json(peak_memory(plan_for(ranks_.size())).sum().si());
    out["parameters"] = Json(plan_.model.parameters());
    return out;
  }

  RankPlace place(std::size_t gpu) const override {
    const GptLayout& l = plan_.layout;
    const auto tensor = static_cast<std::size_t>(l.tensor),
               data = ranks_.size() / tensor / static_cast<std::size_t>(l.pipeline);
    return {static_cast<int>(gpu / tensor / data), static_cast<int>(gpu / tensor % data),
            static_cast<int>(gpu % tensor)};
  }

  std::vector<RankTime> rank_times(const Lowering& lowering,
                                   const Timeline& timeline) const override {
    const std::vector<RankAccount> accounts = this->accounts(lowering, timeline);
    std::vector<RankTime> times;
    for (std::size_t i = 0; i < accounts.size(); ++i)
      times.push_back({simulated_[i], weights_[i] * lowering.folded().tensor_ranks, accounts[i]});
    return times;
  }

  StepFacts facts() const override {
    const double samples = global_batch_;
    return {samples, samples * plan_.model.sequence, plan_.model.parameters(),
            model_flops(plan_.model, samples)};
  }

 private:
  std::vector<RankAccount> accounts(const Lowering& lowering, const Timeline& timeline) const {
    return account(lowering.graph(), timeline, simulated_, first_, last_);
  }

  static void divides(const std::string& pointer, int parts, const char* parts_name, int whole,
                      const char* whole_name) {
    if (whole % parts == 0) return;
    throw DesignError(
        pointer, fmt::format("{} {} do not divide {} {}", parts, parts_name, whole, whole_name),
        fmt::format("use a divisor of {}", whole));
  }

  GptPlan plan_for(std::size_t gpus) const {
    GptPlan plan = plan_;
    GptLayout& l = plan.layout;
    plan.split.tensor = l.tensor;
    l.data = static_cast<int>(gpus) / (l.tensor * l.pipeline);
    l.micro_batches = global_batch_ / l.data / plan.split.micro_batch;
    plan.layers_per_stage = plan.model.layers / l.pipeline;
    const double gradients = plan.parameters_per_rank(0) * plan.gradient_bytes;
    plan.buckets = std::clamp(static_cast<int>(std::lround(gradients / bucket_.si())), 1,
                              plan.layers_per_stage);
    return plan;
  }

  // BF16 weights, gradients, FP32 master weights and two Adam moments; activations of as many
  // micro-batches as 1F1B keeps; the last stage's logits in FP32.
  static MemoryUse memory(const GptPlan& plan, int stage) {
    const double parameters = plan.parameters_per_rank(stage);
    MemoryUse use;
    use.weights = Bytes::of(2 * parameters);
    use.gradients = Bytes::of(plan.gradient_bytes * parameters);
    use.optimizer = Bytes::of(12 * parameters);
    const int in_flight = std::min(plan.layout.pipeline - stage, plan.layout.micro_batches);
    use.activations = in_flight * plan.layers_per_stage * layer_activations(plan.model, plan.split);
    if (plan.split.recompute == "full") {  // one layer at a time is there whole
      TransformerSplit whole = plan.split;
      whole.recompute = "none";
      use.activations += layer_activations(plan.model, whole);
    }
    if (stage == plan.layout.pipeline - 1) {
      use.logits = Bytes::of(4.0 * plan.model.sequence * plan.split.micro_batch *
                             plan.model.vocabulary / plan.layout.tensor);
    }
    return use;
  }

  static MemoryUse peak_memory(const GptPlan& plan) {
    MemoryUse worst;
    for (int stage = 0; stage < plan.layout.pipeline; ++stage) {
      const MemoryUse use = memory(plan, stage);
      if (use.sum() > worst.sum()) worst = use;
    }
    return worst;
  }

  static void check_memory(const Cluster& cluster, const GptPlan& plan) {
    const MemoryUse use = peak_memory(plan);
    if (use.sum() <= cluster.server.gpu.memory) return;
    throw DesignError("",
                      fmt::format("needs {} of GPU memory and the GPU has {}: weights {}, "
                                  "gradients {}, optimizer {}, activations {}, logits {}",
                                  show(use.sum()), show(cluster.server.gpu.memory),
                                  show(use.weights), show(use.gradients), show(use.optimizer),
                                  show(use.activations), show(use.logits)),
                      "more tensor or pipeline ranks, a smaller micro_batch, or recompute",
                      ExitCode::kInfeasible);
  }

  GptPlan plan_;
  std::string precision_ = "bf16";
  int data_ = 0, global_batch_ = 1;
  Bytes bucket_ = 400_MB;
  std::vector<Rank> ranks_, simulated_;
  std::vector<double> weights_;  ///< of simulated ranks: replicas for which each stands
  std::size_t first_ = 0, last_ = 0;
};

const Registration<Workload, Gpt> registered{
    "gpt", "GPT training step: TP × PP × DP, 1F1B, bucketed gradient all-reduce"};

}  // namespace
}  // namespace trainyard
