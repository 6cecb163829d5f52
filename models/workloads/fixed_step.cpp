// A training step of known length, for questions about the job around it: checkpoints, failures,
// loading, power. Computes for `step` on every GPU and communicates nothing.
#include <fmt/format.h>

#include <algorithm>

#include "sim/workload.hpp"

namespace trainyard {
namespace {

class FixedStep : public Workload {
 public:
  void fields(Archive& ar) override {
    ar.required("step", step_, "time of one iteration, as measured", positive());
    ar("parameters", parameters_, "parameters of the model", non_negative());
    ar("samples", samples_, "samples per iteration", non_negative());
    ar("tokens", tokens_, "tokens per iteration", non_negative());
    ar("model_flops", model_flops_, "FLOPs of one iteration, without recomputation",
       non_negative());
  }

  void check(const Cluster& cluster, std::size_t gpus) const override {
    const Gpu& gpu = cluster.server.gpu;
    const FlopsPerSecond peak = std::max(gpu.peak_bf16, gpu.peak_fp8);
    const double share = model_flops_ / step_ / (static_cast<double>(gpus) * peak);
    if (share <= 1) return;
    throw DesignError("/model_flops",
                      fmt::format("in this step mean {:.0f}% of the GPUs' peak", 100 * share),
                      "give the FLOPs of one iteration of the whole job, or a longer step");
  }

  void lower(Lowering& lowering, std::span<const Rank> ranks) override {
    ranks_.assign(ranks.begin(), ranks.end());
    OpGraph& graph = lowering.graph();
    first_ = graph.size();
    for (const Rank rank : ranks)
      graph.add_compute(rank, step_, OpRole::kCompute, graph.label("step"));
    last_ = graph.size();
  }

  Json measure(const Lowering& lowering, const Timeline& timeline) const override {
    RankAccount sum;
    for (const RankAccount& a : account(lowering.graph(), timeline, ranks_, first_, last_))
      sum += a;
    const auto gpus = static_cast<double>(ranks_.size());
    const double step = sum.sum() / gpus;
    Json out = Json::object();
    out["step_time_s"] = Json(step);
    out["tokens_per_s"] = Json(tokens_ / step);
    out["model_tflops_per_gpu"] = Json(model_flops_.si() / step / gpus / 1e12);
    out["mfu"] =
        Json(model_flops_.si() / step / gpus / lowering.cluster().server.gpu.peak_bf16.si());
    add_account(sum, out);
    out["parameters"] = Json(parameters_);
    return out;
  }

  std::vector<RankTime> rank_times(const Lowering& lowering,
                                   const Timeline& timeline) const override {
    std::vector<RankTime> times;
    const auto accounts = account(lowering.graph(), timeline, ranks_, first_, last_);
    for (std::size_t i = 0; i < accounts.size(); ++i) times.push_back({ranks_[i], 1, accounts[i]});
    return times;
  }

  StepFacts facts() const override { return {samples_, tokens_, parameters_, model_flops_}; }

 private:
  Seconds step_;
  double parameters_ = 0, samples_ = 1, tokens_ = 0;
  Flops model_flops_;
  std::vector<Rank> ranks_;
  std::size_t first_ = 0, last_ = 0;
};

const Registration<Workload, FixedStep> registered{"fixed-step", "a training step of known length"};

}  // namespace
}  // namespace trainyard
