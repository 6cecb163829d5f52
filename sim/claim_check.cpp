#include "sim/claim_check.hpp"

#include <fmt/format.h>

#include <cmath>
#include <optional>

#include "sim/metrics.hpp"

namespace trainyard {
namespace {

/// Claimed and simulated values of the first and the last claimed run.
class Claim {
 public:
  Claim(const Json& first, const Json& last, const Json& claim)
      : rows_(claim.at("rows")), first_(first), last_(last) {}

  std::optional<double> claimed(std::string_view metric, bool last) const {
    const Json* row = rows_.find(metric);
    const Json* value =
        row != nullptr ? row->find((last ? last_ : first_).at("name").as_string()) : nullptr;
    if (value == nullptr || value->as_number() == 0) return std::nullopt;
    return value->as_number();
  }
  /// Last / first.
  std::optional<double> ratio(std::string_view metric) const {
    const auto a = claimed(metric, false), b = claimed(metric, true);
    return a && b ? std::optional(*b / *a) : std::nullopt;
  }
  std::optional<double> simulated(std::string_view metric) const {
    return metric_value(last_.at("metrics"), metric);
  }
  std::optional<double> simulated_ratio(std::string_view metric) const {
    const auto a = metric_value(first_.at("metrics"), metric), b = simulated(metric);
    return a && b && *a != 0 ? std::optional(*b / *a) : std::nullopt;
  }
  const Json& last() const { return last_; }
  std::string name(bool last) const { return (last ? last_ : first_).at("name").as_string(); }

 private:
  const Json& rows_;
  const Json &first_, &last_;
};

using Findings = std::vector<std::string>;

// The job's work is the same, so waiting less shortens it by the ratio of the utilizations.
void check_days(const Claim& claim, Findings& all) {
  const auto from = claim.claimed("training_days", false),
             to = claim.claimed("training_days", true);
  const auto utilization = claim.ratio("gpu_utilization");
  if (!from || !to || !utilization) return;
  const double explained = *from / *utilization;
  if (std::abs(explained / *to - 1) < 0.02) return;
  all.push_back(fmt::format(
      "days and utilization: waiting less explains {:.1f} of the {:.3g} days, not {:.3g}; "
      "the rest has to be work done twice, slower kernels, or another cluster",
      explained, *from, *to));
}

void check_cost(const Claim& claim, Findings& all) {
  const auto days = claim.ratio("training_days"), cost = claim.ratio("cost_ratio");
  if (!days || !cost || std::abs(*cost / *days - 1) < 0.02) return;
  all.push_back(fmt::format(
      "cost and days: GPU time alone gives {:.2f} of the cost, not {:.2f}; a day of the second "
      "cluster has to cost {:.0f}% less with its cards in it",
      *days, *cost, 100 * (1 - *cost / *days)));
}

void check_power(const Claim& claim, Findings& all) {
  const auto days = claim.ratio("training_days"), ratio = claim.ratio("tflops_per_watt_ratio");
  const auto servers = claim.simulated_ratio("node_power_w");
  if (!days || !ratio || !servers) return;
  const double power = 1 / *days / *ratio;
  if (power > *servers) return;
  all.push_back(fmt::format(
      "TFLOPS/W and days: {:.2f} times the work per day at {:.2f} times the work per watt means "
      "{:.2f} times the power, while busier servers draw {:.2f} times theirs: infrastructure "
      "outside the servers has to fall away",
      1 / *days, *ratio, power, *servers));
}

// No definition of TFLOPS/W gives more than a GPU's peak over its own power.
void check_rating(const Claim& claim, Findings& all) {
  const auto least = claim.claimed("rated_tflops_per_watt", false);
  const auto chip = claim.simulated("chip_tflops_per_watt");
  if (!least || !chip || *least <= *chip) return;
  all.push_back(
      fmt::format("TFLOPS/W, absolute: no reading of this GPU gives {:.3g}: achieved at the meter "
                  "{:.3g}, in the "
                  "servers alone {:.3g}, rated {:.3g}, dense peak of the GPU over its own power "
                  "{:.3g}. Only the "
                  "ratio can be compared",
                  *least, claim.simulated("tflops_per_watt").value_or(0),
                  claim.simulated("tflops_per_watt_nodes").value_or(0),
                  claim.simulated("rated_tflops_per_watt").value_or(0), *chip));
}

double gpus_of(const Json& result) {
  const Json& cluster = result.at("scenario").at("cluster");
  return cluster.at("servers").as_number() * cluster.at("server").at("gpus").as_number();
}

// MFU that the claimed days mean, on all GPUs and on those of the smallest probe.
void check_mfu(const Claim& claim, Findings& all) {
  const auto days = claim.claimed("training_days", true), took = claim.simulated("training_days"),
             mfu = claim.simulated("mfu"), goodput = claim.simulated("goodput_fraction");
  if (!days || !took || !mfu || !goodput) return;
  const double gpus = gpus_of(claim.last()), needed = *mfu * *goodput * *took / *days;
  std::string text =
      fmt::format("{:.3g} days on these {:.0f} GPUs mean {:.0f}% of peak over the whole run", *days,
                  gpus, 100 * needed);
  if (const Json* probes = claim.last().find("probes")) {
    for (const auto& [name, probe] : probes->members()) {
      const double ranks = probe.at("ranks").as_number();
      if (ranks < gpus)
        text += fmt::format("; on the {:.0f} of the probe \"{}\" they would mean {:.0f}%", ranks,
                            name, 100 * needed * gpus / ranks);
    }
  }
  all.push_back(text);
}

}  // namespace

bool is_claimed(const std::string& name, const Json& claim) {
  const Json* rows = claim.find("rows");
  if (rows == nullptr) return false;
  for (const auto& [metric, row] : rows->members()) {
    if (row.find(name) != nullptr) return true;
  }
  return false;
}

std::vector<std::string> claim_contradictions(const std::vector<Json>& results, const Json& claim) {
  const Json *first = nullptr, *last = nullptr;
  for (const Json& result : results) {
    if (!is_claimed(result.at("name").as_string(), claim)) continue;
    if (first == nullptr) first = &result;
    last = &result;
  }
  Findings all;
  if (first == last) return all;
  const Claim both(*first, *last, claim);
  check_days(both, all);
  check_mfu(both, all);
  check_cost(both, all);
  check_power(both, all);
  check_rating(both, all);
  return all;
}

}  // namespace trainyard
