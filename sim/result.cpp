#include "sim/result.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/build_info.hpp"
#include "sim/error.hpp"
#include "sim/metrics.hpp"
#include "sim/outcome.hpp"
#include "sim/sha256.hpp"
#include "sim/simgrid_platform.hpp"
#include "sim/writer.hpp"

namespace trainyard {
namespace {

constexpr int kSchemaVersion = 1;

Json choice_to_json(const CollectiveChoice& c) {
  Json out = Json::object();
  out["operation"] = Json(collective_name(c.op));
  out["bytes"] = Json(c.bytes.si());
  out["ranks"] = Json(c.ranks);
  out["servers"] = Json(c.servers);
  out["algorithm"] = Json(c.algorithm);
  out["protocol"] = Json(c.protocol);
  out["estimate_s"] = Json(c.estimate.si());
  out["calls"] = Json(c.calls);
  if (!c.refused.empty()) out["refused"] = Json(c.refused);
  return out;
}

Json parameter_to_json(const Parameter& p) {
  Json out = Json::object();
  out["pointer"] = Json(p.pointer);
  out["value"] = p.value;
  out["kind"] = Json(p.kind);
  out["text"] = Json(p.text);
  if (!p.low.empty()) out["range"] = Json(Json::Array{Json(p.low), Json(p.high)});
  if (p.outside()) out["outside"] = Json(true);
  return out;
}

Json provenance(const LoadedScenario& loaded, const Json& scenario) {
  Json simgrid = Json::object();
  simgrid["version"] = Json(simgrid_version());
  Json options = Json::object();
  for (const auto& [key, value] : simgrid_options()) options[key] = Json(value);
  simgrid["options"] = std::move(options);
  Json out = Json::object();
  out["program"] = Json("trainyard");
  out["version"] = Json(version_string());
  out["git"] = Json(git_id());
  out["simgrid"] = std::move(simgrid);
  out["seed"] = Json(loaded.scenario.engine.seed);
  out["scenario_sha256"] = Json(sha256_hex(dump_json(scenario, -1)));
  return out;
}

void add_probe(const std::string& name, const Json& part, const Cluster& cluster, Json& result) {
  Json& metrics = result["metrics"];
  const Json& job = part.at("jobs").items().front();
  const Json& row = job.at("metrics").at("rows").items().front();
  metrics[name + "_time_s"] = row.at("time_s");
  metrics[name + "_algbw_bytes_per_s"] = row.at("algbw_bytes_per_s");
  metrics[name + "_busbw_bytes_per_s"] = row.at("busbw_bytes_per_s");
  // Over the servers that take part, all the time of the probe.
  const Usage usage = usage_from_json(job.at("usage"));
  const double part_of = std::ceil(row.at("ranks").as_number() / cluster.server.gpus) /
                         static_cast<double>(cluster.servers);
  const double cores = std::max(usage.network_cores, usage.polling_cores) / part_of;
  metrics["host_cpu_network_fraction_peak_" + name] =
      Json((host_cores(cluster.services, "network") + cores) / cluster.server.host.cores);
  Json probe = row;
  probe["collectives"] = part.at("collectives");
  result["probes"][name] = std::move(probe);
}

// Puts the parts of the jobs together, in place of their iterations' metrics.
Json finished_jobs(const LoadedScenario& loaded, const Topology& topology,
                   const std::vector<ResultPart>& parts) {
  const Scenario& scenario = loaded.scenario;
  std::vector<JobParts> jobs(scenario.jobs.size());
  Json out = Json::array();
  for (const ResultPart& part : parts) {
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      if (part.kind != ResultPart::Kind::kJobs && part.kind != ResultPart::Kind::kDraining)
        continue;
      const Json& one = part.found.at("jobs").items()[i];
      if (part.kind == ResultPart::Kind::kDraining) {
        jobs[i].draining_step = metric_value(one.at("metrics"), "step_time_s").value_or(0);
        jobs[i].drain = one.at("drain_s").as_number();
        continue;
      }
      jobs[i].metrics = one.at("metrics");
      jobs[i].usage = usage_from_json(one.at("usage"));
      jobs[i].load = one.at("load_s").as_number();
    }
    if (part.kind == ResultPart::Kind::kWrite)
      jobs[part.job].write = part.found.at("time_s").as_number();
    if (part.kind == ResultPart::Kind::kRead)
      jobs[part.job].read = part.found.at("time_s").as_number();
  }
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    Json one = Json::object();
    one["name"] = Json(scenario.jobs[i].name);
    try {
      one["metrics"] = job_metrics(scenario, topology, scenario.jobs[i], jobs[i]);
    } catch (const DesignError& e) {
      throw ScenarioError(
          Diagnostic{loaded.file, fmt::format("/jobs/{}/training{}", i, e.pointer()), e.what(),
                     e.hint()},
          e.exit_code());
    }
    one["usage"] = usage_to_json(jobs[i].usage);
    out.push_back(std::move(one));
  }
  return out;
}

Json folding_to_json(const Folded& folded, std::uint64_t left_out) {
  Json out = Json::object();
  out["tensor_ranks"] = Json(folded.tensor_ranks);
  out["replicas"] = Json(folded.replicas);
  out["replica_classes"] = Json(folded.replica_classes);
  out["repeated_operations"] = Json(left_out);
  out["one_by_one"] = Json::array();
  for (const std::string& reason : folded.reasons) out["one_by_one"].push_back(Json(reason));
  return out;
}

// Of a condition between iterations, the first that it concerns.
bool in_order(const Timeline& time, OpId op, const OpEdge& edge) {
  if (edge.shift == OpEdge::kAfterLast) return time.start(edge.op) >= time.finish(op);
  if (edge.shift == OpEdge::kLastAfterLast)
    return time.start(time.record(edge.op, time.iterations(edge.op) - 1)) >= time.finish(op);
  const std::int64_t before = std::max(0, -edge.shift), after = before + edge.shift;
  if (before >= time.iterations(op) || after >= time.iterations(edge.op)) return true;
  return time.start(time.record(edge.op, static_cast<std::uint32_t>(after))) >=
         time.finish(time.record(op, static_cast<std::uint32_t>(before)));
}

}  // namespace

Json measure_run(const std::vector<Job>& jobs, const std::vector<JobOps>& ops,
                 const Lowering& lowering, const Timeline& timeline) {
  const Cluster& cluster = lowering.cluster();
  const auto last = [&](const std::vector<OpId>& all) {
    double end = 0;
    for (const OpId op : all) end = std::max(end, timeline.finish(op));
    return end;
  };
  Json out = Json::object();
  Json all = Json::array();
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const Job& job = jobs[i];
    Json one = Json::object();
    one["name"] = Json(job.name);
    one["metrics"] = job.workload->measure(lowering, timeline);
    const double end = metric_value(one.at("metrics"), "step_time_s").value_or(timeline.end());
    one["usage"] = usage_to_json(usage_of(lowering, timeline,
                                          ServerId(static_cast<std::size_t>(job.first_server)),
                                          job.server_count(cluster), end));
    one["load_s"] = Json(last(ops[i].loading));
    one["drain_s"] = Json(last(ops[i].draining));
    all.push_back(std::move(one));
  }
  out["jobs"] = std::move(all);
  Json choices = Json::array();
  for (const CollectiveChoice& c : lowering.choices()) choices.push_back(choice_to_json(c));
  out["collectives"] = std::move(choices);
  Json inactive = Json::array();
  for (const std::string& reason : lowering.routes().inactive()) inactive.push_back(Json(reason));
  out["inactive"] = std::move(inactive);
  const std::uint64_t simulated = timeline.iterations();
  out["operations"] = Json(simulated);
  out["folding"] = folding_to_json(lowering.folded(), lowering.graph().instances() - simulated);
  return out;
}

void check_invariants(const Topology& topology, const OpGraph& graph, const Timeline& timeline) {
  constexpr double kRounding = 1e-9;
  for (const auto& [resource, carried] : timeline.carried()) {
    const double most = topology.capacity_of(resource) * timeline.end();
    require(carried <= most * (1 + kRounding) + kRounding,
            "a resource carried more than its capacity");
  }
  for (std::size_t i = 0; i < graph.size(); ++i) {
    const OpId op(i);
    require(timeline.finish(op) >= timeline.start(op) && timeline.start(op) >= 0,
            "time ran backwards");
    for (const OpEdge& edge : graph.successors(op))
      require(in_order(timeline, op, edge), "an operation started before what it waits for");
  }
}

Json assemble_result(LoadedScenario& loaded, const Topology& topology,
                     const std::vector<ResultPart>& parts) {
  Scenario& scenario = loaded.scenario;
  Json result = Json::object();
  Json resolved = Writer::write_moved(scenario);
  result["schema_version"] = Json(kSchemaVersion);
  result["name"] = Json(scenario.name);
  result["provenance"] = provenance(loaded, resolved);
  result["metrics"] = Json::object();
  std::int64_t operations = 0;
  for (const ResultPart& part : parts) {
    if (part.kind != ResultPart::Kind::kRecording)
      operations += part.found.at("operations").as_integer();
  }
  result["inactive"] = parts.front().found.at("inactive");
  if (!scenario.jobs.empty()) {
    result["jobs"] = finished_jobs(loaded, topology, parts);
    result["metrics"] = result["jobs"].items().front().at("metrics");
    result["collectives"] = parts.front().found.at("collectives");
    result["folding"] = parts.front().found.at("folding");
  }
  for (const ResultPart& part : parts) {
    if (part.kind == ResultPart::Kind::kProbe)
      add_probe(part.probe, part.found, scenario.cluster, result);
  }
  result["metrics"]["simulated_ops"] = Json(operations);
  Json parameters = Json::array();
  for (const Parameter& p : loaded.parameters) parameters.push_back(parameter_to_json(p));
  result["parameters"] = std::move(parameters);
  result["scenario"] = std::move(resolved);
  return result;
}

}  // namespace trainyard
