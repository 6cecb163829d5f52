// Energy: the integral of power over a job, summed by hand and from the timeline, against the
// report.
#include <algorithm>
#include <map>

#include "sim/isolate.hpp"
#include "tests/oracle/support_energy.hpp"

namespace trainyard {
namespace {

using testing::number;
using testing::powered;
using testing::row;

constexpr double kRounding = 1e-9;

/// One iteration as a step function of time: between two neighbouring events nothing changes.
class Integral {
 public:
  Integral(const Topology& topology, const OpGraph& graph, const Timeline& timeline, double end)
      : topology_(topology), graph_(graph), happenings_(testing::happenings(graph, timeline)) {
    events_ = {0, end};
    for (const auto& one : happenings_) {
      for (const double date : {one.start, one.finish}) {
        if (date < end) events_.push_back(date);
      }
    }
    std::sort(events_.begin(), events_.end());
  }

  /// Watts at a moment, given which operations are open then.
  template <class Power>
  double joules(Power watts) const {
    double sum = 0;
    for (std::size_t e = 0; e + 1 < events_.size(); ++e) {
      const double from = events_[e], to = events_[e + 1];
      if (to <= from) continue;
      std::vector<OpId> open;
      for (const auto& one : happenings_) {
        if (one.start <= from && one.finish >= to) open.push_back(one.op);
      }
      sum += watts(open) * (to - from);
    }
    return sum;
  }

  /// A kernel runs on the rank, or it sends or receives over NVLink.
  bool computes(const std::vector<OpId>& open, Rank rank) const {
    return std::any_of(open.begin(), open.end(), [&](OpId op) {
      if (graph_.kind(op) == OpKind::kCompute) return graph_.rank(op) == rank;
      if (graph_.role(op) != OpRole::kNvLink) return false;
      if (graph_.kind(op) == OpKind::kDelay) return graph_.rank(op) == rank;
      const auto& shares = graph_.path(op).shares;
      return std::any_of(shares.begin(), shares.end(), [&](const Share& share) {
        return share.resource == topology_.nvlink_out(rank) ||
               share.resource == topology_.nvlink_in(rank);
      });
    });
  }
  bool network_open(const std::vector<OpId>& open) const {
    return std::any_of(open.begin(), open.end(), [&](OpId op) {
      return graph_.kind(op) != OpKind::kJoin && is_network(graph_.role(op));
    });
  }
  /// Bytes over a resource, counted from the flows.
  double carried(ResourceId resource) const {
    double bytes = 0;
    for (std::size_t i = 0; i < graph_.size(); ++i) {
      if (graph_.kind(OpId(i)) != OpKind::kFlow) continue;
      for (const Share& share : graph_.path(OpId(i)).shares) {
        if (share.resource == resource)
          bytes += share.weight * graph_.work(OpId(i)) * graph_.iterations(OpId(i));
      }
    }
    return bytes;
  }

 private:
  const Topology& topology_;
  const OpGraph& graph_;
  std::vector<testing::Happening> happenings_;
  std::vector<double> events_;
};

double port_load(const testing::Iteration& it, const Integral& power, ResourceId a, ResourceId b) {
  return std::max(power.carried(a), power.carried(b)) / it.topology->capacity_of(a) / it.end;
}

/// Joules of one iteration by device, with the watts of kPowered written out.
std::map<std::string, double> joules_of(const testing::Iteration& it) {
  const Topology& topology = *it.topology;
  const Integral power(topology, it.lowering->graph(), it.timeline, it.end);
  std::map<std::string, double> sum;
  sum["GPUs"] = power.joules([&](const std::vector<OpId>& open) {
    double watts = 0;
    for (std::size_t r = 0; r < topology.ranks(); ++r)
      watts += power.computes(open, Rank(r)) ? 400 : 150;
    return watts;
  });
  // 2 cores pinned and 3 shared; 4 threads spin while the network is in use, which takes both
  // servers at once here.
  sum["host CPUs"] = power.joules([&](const std::vector<OpId>& open) {
    return 2 * (200 + 320 * (2.0 + 3.0 + (power.network_open(open) ? 4 : 0)) / 32);
  });
  for (std::size_t s = 0; s < 2; ++s) {
    for (int n = 0; n < 2; ++n) {
      const double load =
          port_load(it, power, topology.port_out(ServerId(s), n), topology.port_in(ServerId(s), n));
      sum["NICs"] += (10 + 8 * load) * it.end;
    }
    const double storage = port_load(it, power, topology.storage()->ports_in[ServerId(s)],
                                     topology.storage()->ports_out[ServerId(s)]);
    sum["storage NICs"] += (12 + 7 * storage) * it.end;
  }
  double fabric = 0;  // eight links of 10 GB/s, all equal
  topology.each_resource([&](ResourceId id, const ResourceTraits& traits) {
    if (traits.kind == ResourceKind::kLink) fabric += power.carried(id) / 10e9 / it.end / 8;
  });
  sum["switches"] = (250 + 160 * fabric) * it.end;
  sum["server boards, fans, NVSwitches"] = 2 * 700 * it.end;
  sum["DPUs"] = 2 * (40 + 32 * (1 * 0.5 + 0.5) / (8 * 0.5)) * it.end;
  sum["switch ports, cables"] = 8 * 5 * it.end;
  sum["managers"] = 450 * it.end;
  return sum;
}

std::map<std::string, double> integrate(const std::vector<std::string>& sets) {
  LoadedScenario loaded = testing::load_powered(sets);
  const auto task = [&] {
    Json out = Json::object();
    for (const auto& [device, joules] : joules_of(testing::iterate(loaded)))
      out[device] = Json(joules);
    return out;
  };
  std::map<std::string, double> found;
  const Json all = run_isolated({task}).front();
  for (const auto& [device, joules] : all.members()) found[device] = joules.as_number();
  return found;
}

double sum_of_rows(const Json& metrics, const std::string& column) {
  double sum = 0;
  for (const Json& one : metrics.at("equipment").items()) sum += number(one, column);
  return sum;
}

void expect_near(double value, double expected, const std::string& what) {
  EXPECT_NEAR(value / expected, 1, kRounding) << what << ": " << value << ", not " << expected;
}

TEST(Energy, OfAnIterationIsTheIntegralOverItsTimeline) {
  for (const std::string_view job :
       {testing::kTensorJob, testing::kWideJob, testing::kPipelineJob}) {
    const std::vector<std::string> sets{std::string(job)};
    const Json metrics = powered(sets);
    const double step = number(metrics, "step_time_s");
    double all = 0;
    for (const auto& [device, joules] : integrate(sets)) {
      expect_near(number(row(metrics, device), "average_power_w") * step, joules, device);
      all += joules;
    }
    // Nothing is loaded, so the drives idle; the inspectors are as many as the traffic asks for.
    const double steady = 2 * 300 + 8 * 5 + 500 * number(row(metrics, "inspectors"), "count");
    expect_near(number(metrics, "it_power_w") * step, all + steady * step, "all");
    expect_near(number(metrics, "average_power_w") * step, 1.25 * (all + steady * step), "PUE");
    expect_near(sum_of_rows(metrics, "average_power_w"), number(metrics, "it_power_w"), "rows");
    EXPECT_LT(number(metrics, "gpu_compute_fraction"), 0.9);  // there is something to integrate
  }
}

// 10 iterations with data, and one checkpoint of 14 bytes of each parameter after the fifth, at the
// 8 GB/s of the drives.
TEST(Energy, OfAJobIsThatOfItsIterationsAndItsCheckpoints) {
  const std::string job(testing::kTensorJob);
  const double step = number(powered({job}), "step_time_s");
  const std::vector<std::string> sets{
      job, fmt::format(R"(jobs.0.training={{"steps": 10, "data": {{"sample": "100 kB"}},
        "checkpoint": {{"bytes_per_parameter": 14, "interval": "{} s"}}, "seeds": 1}})",
                       5 * step)};
  const Json metrics = powered(sets);
  EXPECT_DOUBLE_EQ(number(metrics, "step_time_s"), step);
  const double block = 14 * number(metrics, "parameters") / 8e9;
  const double wall = number(metrics, "training_days") * 86400;
  expect_near(wall, 10 * step + block, "wall");
  // Everything waits, with the drives and the way to them at work.
  const std::map<std::string, double> blocked{
      {"GPUs", 4 * 150},      {"host CPUs", 2 * (200 + 320 * 5.0 / 32)},
      {"NICs", 4 * 10},       {"storage NICs", 2 * 19},
      {"switches", 250},      {"server boards, fans, NVSwitches", 2 * 700},
      {"DPUs", 2 * (40 + 8)}, {"switch ports, cables", 8 * 5},
      {"managers", 450}};
  double all = 0;
  for (const auto& [device, joules] : integrate(sets)) {
    const double sum = 10 * joules + blocked.at(device) * block;
    expect_near(number(row(metrics, device), "average_power_w") * wall, sum, device);
    expect_near(number(row(metrics, device), "energy_mwh") * 3.6e9, sum, device);
    all += sum;
  }
  const double reading = 8 * 100e3 / step / 16e9;
  all +=
      (2 * (300 + 260 * reading) + 8 * (5 + 8 * reading)) * 10 * step + (2 * 560 + 8 * 13) * block;
  all += 500 * number(row(metrics, "inspectors"), "count") * wall;
  expect_near(number(metrics, "average_power_w") * wall, 1.25 * all, "all");
  expect_near(number(metrics, "energy_mwh") * 3.6e9, 1.25 * all, "energy_mwh");
  expect_near(sum_of_rows(metrics, "energy_mwh") * 1.25, number(metrics, "energy_mwh"), "rows");
}

}  // namespace
}  // namespace trainyard
