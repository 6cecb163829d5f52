#include <fmt/format.h>

#include "reports/text.hpp"
#include "sim/cluster.hpp"
#include "sim/compare.hpp"
#include "sim/run.hpp"
#include "sim/schema.hpp"
#include "tools/commands.hpp"

namespace trainyard {
namespace {

Json describe(const LoadedScenario& loaded, const Topology& topology) {
  const Scenario& s = loaded.scenario;
  Json all = Json::object();
  all["file"] = Json(loaded.file);
  all["name"] = Json(s.name);
  all["servers"] = Json(s.cluster.servers);
  all["gpus_per_server"] = Json(s.cluster.server.gpus);
  all["gpus"] = Json(s.cluster.gpus());
  all["network"] = Json(s.cluster.network->kind());
  all["switches"] = Json(topology.switches());
  all["fabric_links"] = Json(topology.fabric_links());
  all["transport"] = Json(s.cluster.transport->kind());
  for (const char* list : {"inactive", "jobs", "probes"}) all[list] = Json::array();
  for (const std::string& reason : Routes(s.cluster, topology).inactive())
    all["inactive"].push_back(Json(reason));
  for (const Job& job : s.jobs) {
    Json& one = all["jobs"].items().emplace_back(Json::object());
    one["name"] = Json(job.name);
    one["workload"] = Json(job.workload->kind());
  }
  for (const auto& [name, probe] : s.probes) {
    Json& one = all["probes"].items().emplace_back(Json::object());
    one["name"] = Json(name);
    one["operation"] = Json(probe.operation);
    one["bytes"] = Json(probe.bytes.si());
    one["ranks"] = Json(probe.ranks > 0 ? probe.ranks : s.cluster.gpus());
  }
  std::int64_t assumed = 0, outside = 0;
  for (const Parameter& p : loaded.parameters) {
    assumed += p.kind == "assumed" ? 1 : 0;
    outside += p.outside() ? 1 : 0;
  }
  all["parameters"] = Json(loaded.parameters.size());
  all["assumed"] = Json(assumed);
  all["outside"] = Json(outside);
  return all;
}

std::string description_text(const Json& all) {
  const auto number = [&](const char* key) { return all.at(key).as_integer(); };
  std::string text = fmt::format(
      "{}: ok\n  {} servers × {} GPUs = {} GPUs; network {}: {} switches, {} fabric links; "
      "transport {}\n",
      all.at("file").as_string(), number("servers"), number("gpus_per_server"), number("gpus"),
      all.at("network").as_string(), number("switches"), number("fabric_links"),
      all.at("transport").as_string());
  for (const Json& reason : all.at("inactive").items())
    text += fmt::format("  inactive: {}\n", reason.as_string());
  for (const Json& job : all.at("jobs").items()) {
    text += fmt::format("  job \"{}\": {}\n", printable(job.at("name").as_string()),
                        job.at("workload").as_string());
  }
  for (const Json& probe : all.at("probes").items()) {
    text +=
        fmt::format("  probe \"{}\": {} of {} on {} ranks\n",
                    printable(probe.at("name").as_string()), probe.at("operation").as_string(),
                    show(Bytes::of(probe.at("bytes").as_number())), probe.at("ranks").as_integer());
  }
  return text + fmt::format(
                    "  {} parameters with a source tag, {} of them assumed, {} outside their "
                    "range\n",
                    number("parameters"), number("assumed"), number("outside"));
}

}  // namespace

ExitCode check_command(const std::vector<std::string>& scenarios, const CommonOptions& options) {
  std::vector<Diagnostic> faults;
  ExitCode code = ExitCode::kOk;
  Json all = Json::array();
  for (const std::string& file : scenarios) {
    try {
      const LoadedScenario loaded = load_scenario(file, options.load);
      load_claim(loaded.claim_file);
      all.push_back(describe(loaded, *build_design(loaded)));
      if (options.format == Format::kText) print(description_text(all.items().back()));
    } catch (const ScenarioError& e) {
      faults.insert(faults.end(), e.diagnostics().begin(), e.diagnostics().end());
      if (code != ExitCode::kScenario) code = e.exit_code();
    }
  }
  if (options.format == Format::kJson) print(dump_json(all));
  if (!faults.empty()) throw ScenarioError(std::move(faults), code);
  return ExitCode::kOk;
}

ExitCode schema_command() {
  print(dump_json(scenario_schema(Catalog::embedded())));
  return ExitCode::kOk;
}

}  // namespace trainyard
