#include "sim/outcome.hpp"

#include <algorithm>
#include <cmath>

#include "sim/background.hpp"
#include "sim/job.hpp"
#include "sim/metrics.hpp"

namespace trainyard {
namespace {

constexpr double kDay = 86400, kYear = 365.25 * kDay, kKilowattHour = 3.6e6;

/// Seconds of a job by what its servers do; without a training run, one iteration.
struct Phases {
  double training = 0, blocked = 0, down = 0;
  double wall() const { return training + blocked + down; }
};

double number(const Json& metrics, std::string_view key) {
  return metric_value(metrics, key).value_or(0);
}

class Outcome {
 public:
  Outcome(const Scenario& scenario, const Topology& topology, const Job& job, const JobParts& parts)
      : scenario_(scenario),
        cluster_(scenario.cluster),
        topology_(topology),
        job_(job),
        parts_(parts),
        facts_(job.workload->facts()),
        out_(parts.metrics),
        step_(number(parts.metrics, "step_time_s")) {}

  Json metrics() && {
    phases_.training = step_;
    iterations_ = 1;
    if (job_.training) train();
    add_cores();
    if (cluster_.site) {
      add_power();
      add_cost();
    }
    return std::move(out_);
  }

 private:
  int servers() const { return job_.server_count(cluster_); }
  double gpus() const { return servers() * static_cast<double>(cluster_.server.gpus); }
  double share(double seconds) const { return seconds / phases_.wall(); }

  JobPlan plan() const {
    const TrainingPlan& training = *job_.training;
    JobPlan plan;
    plan.steps = training.iterations(facts_);
    plan.step = step_;
    plan.draining_step = std::max(step_, parts_.draining_step);
    if (training.data.prefetch > 0) plan.batch_load = parts_.load;
    plan.prefetch = training.data.prefetch;
    if (const auto& reliability = cluster_.reliability) {
      plan.failures_per_second = reliability->failures_per_gpu_day * gpus() / kDay;
      plan.detection = reliability->detection.si();
      plan.repair = reliability->repair.si();
      plan.stalls_per_second = reliability->stalls_per_day / kDay;
      plan.stall = reliability->stall.si();
    }
    plan.restore = parts_.read;
    if (const Bytes bytes = checkpoint_bytes(job_); bytes > Bytes()) {
      const bool waits = training.checkpoint.mode == "synchronous";
      plan.checkpoint_block =
          waits ? parts_.write : bytes.si() / gpus() / training.checkpoint.copy_rate.si();
      plan.checkpoint_drain = waits ? 0 : parts_.drain;
      plan.interval_steps =
          training.checkpoint.interval > Seconds()
              ? std::max<std::int64_t>(1, std::llround(training.checkpoint.interval.si() /
                                                       std::max(step_, plan.batch_load)))
              : young_daly_steps(plan.checkpoint_block, plan.failures_per_second,
                                 std::max(step_, plan.batch_load));
      // One that still drains would keep the next waiting: no sooner by default.
      if (plan.interval_steps > 0 && training.checkpoint.interval == Seconds())
        plan.interval_steps = std::max<std::int64_t>(
            plan.interval_steps,
            static_cast<std::int64_t>(std::ceil(plan.checkpoint_drain / plan.draining_step)));
    }
    return plan;
  }

  void train() {
    const JobPlan plan = this->plan();
    const JobStatistics found = simulate_job_over_seeds(
        plan, static_cast<std::uint64_t>(scenario_.engine.seed), job_.training->seeds);
    const JobOutcome& mean = found.mean;
    phases_ = {mean.useful + mean.lost + mean.draining, mean.checkpoint + mean.stalled, mean.down};
    iterations_ = static_cast<double>(plan.steps);
    out_["training_days"] = Json(found.wall.mean / kDay);
    out_["training_days_low"] = Json(found.wall.low / kDay);
    out_["training_days_high"] = Json(found.wall.high / kDay);
    out_["training_steps"] = Json(plan.steps);
    set_pace(plan);
    out_["goodput_fraction"] = Json(iterations_ * number(out_, "step_time_s") / mean.wall);
    out_["failures"] = Json(found.failures.mean);
    add_fractions(mean, out_);
    add_checkpoints(plan);
  }

  // A loader slower than the GPUs sets the pace: what is counted per iteration is of that.
  void set_pace(const JobPlan& plan) {
    if (plan.batch_load <= step_) return;
    const double slower = plan.batch_load / step_;
    out_["step_time_s"] = Json(plan.batch_load);
    for (const char* key : {"tokens_per_s", "model_tflops_per_gpu", "mfu", "hfu"}) {
      if (const auto value = metric_value(out_, key)) out_[key] = Json(*value / slower);
    }
  }

  // Waiting within iterations counts for as long as iterations ran; the job adds its own.
  void add_fractions(const JobOutcome& mean, Json& out) const {
    const double training = share(phases_.training);
    Json& waits = out["gpu_wait_fractions"];
    for (const char* key : {"network", "host", "nvlink", "bubble", "storage"})
      waits[key] = Json(training * waits.at(key).as_number());
    waits["storage"] = Json(waits.at("storage").as_number() + share(phases_.blocked));
    waits["restart"] = Json(share(phases_.down));
    out["gpu_compute_fraction"] = Json(training * number(out, "gpu_compute_fraction"));
    out["gpu_utilization"] = Json(1 - number(waits, "network") - number(waits, "storage") -
                                  number(waits, "host") - number(waits, "restart"));
    Json time = Json::object();
    time["useful"] = Json(share(mean.useful));
    time["lost"] = Json(share(mean.lost));
    time["draining"] = Json(share(mean.draining));
    time["checkpoint"] = Json(share(mean.checkpoint));
    time["stalled"] = Json(share(mean.stalled));
    time["down"] = Json(share(mean.down));
    out["job_fractions"] = std::move(time);
  }

  void add_checkpoints(const JobPlan& plan) {
    const double bytes = checkpoint_bytes(job_).si();
    if (bytes == 0) return;
    out_["checkpoint_bytes"] = Json(bytes);
    if (plan.interval_steps == 0) return;  // nothing fails, so none is taken
    out_["checkpoint_time_s"] = Json(plan.checkpoint_block);
    out_["checkpoint_drain_s"] = Json(plan.checkpoint_drain);
    out_["checkpoint_write_bytes_per_s"] = Json(bytes / parts_.write);
    out_["checkpoint_read_bytes_per_s"] = Json(bytes / parts_.read);
    out_["checkpoint_interval_s"] =
        Json(static_cast<double>(plan.interval_steps) * std::max(plan.step, plan.batch_load));
  }

  // Reserved and shared cores are taken all the time; bytes and polling while iterations run.
  void add_cores() {
    const double cores = cluster_.server.host.cores, training = share(phases_.training);
    const double held = host_cores(cluster_.services, "network");
    const double busy = parts_.usage.network_cores * training;
    const double polling = parts_.usage.polling_cores * training;
    out_["host_cpu_network_fraction"] =
        Json(std::min(1.0, (held + std::max(busy, polling)) / cores));
    out_["host_cpu_network_fraction_busy"] = Json(busy / cores);
    out_["host_cpu_network_fraction_polling"] = Json(polling / cores);
    out_["host_cpu_network_fraction_reserved"] = Json(held / cores);
    // Who asks for more than there is gets what there is, and delays grow instead.
    out_["host_cpu_infrastructure_fraction"] =
        Json(std::min(1.0, (host_cores(cluster_.services, "") + std::max(busy, polling) +
                            parts_.usage.storage_cores * training) /
                               cores));
    if (const double stretch = cluster_.load().stretch; stretch > 1)
      out_["host_stretch"] = Json(stretch);
  }

  Activity activity() const {
    Activity a;
    a.servers = servers();
    a.usage = parts_.usage;
    if (job_.training)
      a.data_rate = facts_.samples * job_.training->data.sample.si() / std::max(step_, parts_.load);
    if (parts_.write > 0) a.checkpoint_rate = checkpoint_bytes(job_).si() / parts_.write;
    return a;
  }

  void add_power() {
    equipment_ = equipment(cluster_, topology_, activity());
    double nodes = 0, all = 0;
    Json rows = Json::array();
    for (const Equipment& e : equipment_) {
      const double training = e.training.si() * phases_.training,
                   blocked = e.blocked.si() * phases_.blocked, down = e.down.si() * phases_.down;
      const double joules = e.count * (training + blocked + down);
      all += joules;
      if (e.in_server) nodes += joules;
      Json row = Json::object();
      row["equipment"] = Json(e.name);
      row["count"] = Json(e.count);
      row["average_power_w"] = Json(share(joules));
      row["energy_mwh"] = Json(joules / kKilowattHour / 1000);
      row["capital_usd"] = Json(e.count * e.price_usd);
      rows.push_back(std::move(row));
    }
    energy_ = all * cluster_.site->pue;
    const double flops = facts_.model_flops.si() * iterations_;
    const double power = share(energy_);
    out_["node_power_w"] = Json(share(nodes) / servers());
    out_["it_power_w"] = Json(share(all));
    out_["average_power_w"] = Json(power);
    out_["tflops_per_watt"] = Json(flops / energy_ / 1e12);
    out_["tflops_per_watt_nodes"] = Json(flops / nodes / 1e12);
    out_["rated_tflops_per_watt"] = Json(gpus() * cluster_.server.gpu.peak_bf16.si() / 1e12 *
                                         number(out_, "gpu_utilization") / power);
    const Gpu& gpu = cluster_.server.gpu;
    out_["chip_tflops_per_watt"] =
        Json(std::max(gpu.peak_bf16, gpu.peak_fp8).si() / gpu.power->computing.si() / 1e12);
    if (job_.training) out_["energy_mwh"] = Json(energy_ / kKilowattHour / 1000);
    out_["equipment"] = std::move(rows);
  }

  void add_cost() {
    const Site& site = *cluster_.site;
    double capital = 0;
    for (const Equipment& e : equipment_) capital += e.count * e.price_usd;
    out_["capital_usd"] = Json(capital);
    if (!job_.training) return;
    const double years = phases_.wall() / kYear / site.utilization;
    Json parts = Json::object();
    parts["capital"] = Json(capital * years / site.years);
    parts["operations"] = Json(capital * site.operations_per_year * years);
    parts["energy"] = Json(energy_ / kKilowattHour * site.usd_per_kwh);
    double sum = 0;
    for (const auto& [name, usd] : parts.members()) sum += usd.as_number();
    out_["cost_usd"] = Json(sum);
    out_["cost_parts_usd"] = std::move(parts);
  }

  const Scenario& scenario_;
  const Cluster& cluster_;
  const Topology& topology_;
  const Job& job_;
  const JobParts& parts_;
  StepFacts facts_;
  Json out_;
  double step_ = 0, iterations_ = 0, energy_ = 0;
  Phases phases_;
  std::vector<Equipment> equipment_;
};

}  // namespace

Json job_metrics(const Scenario& scenario, const Topology& topology, const Job& job,
                 const JobParts& parts) {
  if (!metric_value(parts.metrics, "step_time_s")) return parts.metrics;
  return Outcome(scenario, topology, job, parts).metrics();
}

}  // namespace trainyard
