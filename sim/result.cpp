#include "sim/result.hpp"

#include <fmt/format.h>

#include "sim/build_info.hpp"
#include "sim/error.hpp"
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

void add_probe(const std::string& name, const Json& part, Json& result) {
  Json& metrics = result["metrics"];
  const Json& row = part.at("jobs").items().front().at("metrics").at("rows").items().front();
  metrics[name + "_time_s"] = row.at("time_s");
  metrics[name + "_algbw_bytes_per_s"] = row.at("algbw_bytes_per_s");
  metrics[name + "_busbw_bytes_per_s"] = row.at("busbw_bytes_per_s");
  Json probe = row;
  probe["collectives"] = part.at("collectives");
  result["probes"][name] = std::move(probe);
}

}  // namespace

Json measure_run(const std::vector<Job>& jobs, const Lowering& lowering, const Timeline& timeline) {
  Json out = Json::object();
  Json all = Json::array();
  for (const Job& job : jobs) {
    Json one = Json::object();
    one["name"] = Json(job.name);
    one["metrics"] = job.workload->measure(lowering, timeline);
    all.push_back(std::move(one));
  }
  out["jobs"] = std::move(all);
  Json choices = Json::array();
  for (const CollectiveChoice& c : lowering.choices()) choices.push_back(choice_to_json(c));
  out["collectives"] = std::move(choices);
  Json inactive = Json::array();
  for (const std::string& reason : lowering.routes().inactive()) inactive.push_back(Json(reason));
  out["inactive"] = std::move(inactive);
  out["operations"] = Json(lowering.graph().size());
  return out;
}

void check_invariants(const Topology& topology, const OpGraph& graph, const Timeline& timeline) {
  constexpr double kRounding = 1e-9;
  for (std::size_t i = 0; i < timeline.carried.size(); ++i) {
    const double most = topology.resources()[i].capacity * timeline.end;
    require(timeline.carried[i] <= most * (1 + kRounding) + kRounding,
            "a resource carried more than its capacity");
  }
  for (std::size_t i = 0; i < graph.size(); ++i) {
    require(timeline.finish[i] >= timeline.start[i] && timeline.start[i] >= 0,
            "time ran backwards");
    for (const OpId next : graph.successors(OpId(i))) {
      require(timeline.start[next.index()] >= timeline.finish[i],
              "an operation started before what it waits for");
    }
  }
}

Json assemble_result(LoadedScenario& loaded, const std::vector<Json>& parts) {
  Scenario& scenario = loaded.scenario;
  Json result = Json::object();
  Json resolved = Writer::write_moved(scenario);
  result["schema_version"] = Json(kSchemaVersion);
  result["name"] = Json(scenario.name);
  result["provenance"] = provenance(loaded, resolved);
  result["metrics"] = Json::object();
  auto part = parts.begin();
  std::int64_t operations = 0;
  for (const Json& one : parts) operations += one.at("operations").as_integer();
  result["inactive"] = parts.front().at("inactive");
  if (!scenario.jobs.empty()) {
    result["metrics"] = part->at("jobs").items().front().at("metrics");
    result["jobs"] = part->at("jobs");
    result["collectives"] = part->at("collectives");
    ++part;
  }
  for (const auto& [name, probe] : scenario.probes) add_probe(name, *part++, result);
  result["metrics"]["simulated_ops"] = Json(operations);
  Json parameters = Json::array();
  for (const Parameter& p : loaded.parameters) parameters.push_back(parameter_to_json(p));
  result["parameters"] = std::move(parameters);
  result["scenario"] = std::move(resolved);
  return result;
}

}  // namespace trainyard
