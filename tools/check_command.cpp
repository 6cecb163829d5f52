#include <fmt/format.h>

#include "sim/cluster.hpp"
#include "sim/compare.hpp"
#include "sim/run.hpp"
#include "sim/schema.hpp"
#include "tools/commands.hpp"

namespace trainyard {
namespace {

std::string describe(const LoadedScenario& loaded, const Topology& topology) {
  const Scenario& s = loaded.scenario;
  std::string text = fmt::format("{}: ok\n", loaded.file);
  text += fmt::format(
      "  {} servers × {} GPUs = {} GPUs; network {}: {} switches, {} fabric links; transport {}\n",
      s.cluster.servers, s.cluster.server.gpus, s.cluster.gpus(), s.cluster.network->kind(),
      topology.switches(), topology.fabric_links(), s.cluster.transport->kind());
  for (const std::string& reason : Routes(s.cluster, topology).inactive())
    text += fmt::format("  inactive: {}\n", reason);
  for (const Job& job : s.jobs)
    text += fmt::format("  job \"{}\": {}\n", job.name, job.workload->kind());
  for (const auto& [name, probe] : s.probes) {
    text += fmt::format("  probe \"{}\": {} of {} on {} ranks\n", name, probe.operation,
                        show(probe.bytes), probe.ranks > 0 ? probe.ranks : s.cluster.gpus());
  }
  std::size_t assumed = 0, outside = 0;
  for (const Parameter& p : loaded.parameters) {
    assumed += p.kind == "assumed" ? 1 : 0;
    outside += p.outside() ? 1 : 0;
  }
  return text +
         fmt::format(
             "  {} parameters with a source tag, {} of them assumed, {} outside their range\n",
             loaded.parameters.size(), assumed, outside);
}

}  // namespace

ExitCode check_command(const std::vector<std::string>& scenarios, const CommonOptions& options) {
  std::vector<Diagnostic> faults;
  ExitCode code = ExitCode::kOk;
  for (const std::string& file : scenarios) {
    try {
      const LoadedScenario loaded = load_scenario(file, options.load);
      load_claim(loaded.claim_file);
      print(describe(loaded, *build_design(loaded)));
    } catch (const ScenarioError& e) {
      faults.insert(faults.end(), e.diagnostics().begin(), e.diagnostics().end());
      if (code != ExitCode::kScenario) code = e.exit_code();
    }
  }
  if (!faults.empty()) throw ScenarioError(std::move(faults), code);
  return ExitCode::kOk;
}

ExitCode schema_command() {
  print(dump_json(scenario_schema(Catalog::embedded())));
  return ExitCode::kOk;
}

}  // namespace trainyard
