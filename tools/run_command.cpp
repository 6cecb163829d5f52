#include <fmt/format.h>

#include "reports/csv.hpp"
#include "reports/folder.hpp"
#include "reports/text.hpp"
#include "sim/audit.hpp"
#include "sim/compare.hpp"
#include "sim/run.hpp"
#include "tools/commands.hpp"

namespace trainyard {

ExitCode run_command(const std::string& scenario, const CommonOptions& options) {
  // What is wrong with an assertion is said before anything is simulated, or at least written.
  const std::vector<Assertion> asserts = parse_asserts(options.asserts);
  std::vector<LoadedScenario> loaded;
  loaded.push_back(load_scenario(scenario, options.load));
  std::vector<std::vector<ResultPart>> parts;
  const Json result = run_scenarios(loaded, &parts).front();
  const ExitCode code = check_asserts(asserts, result);
  if (!options.out.empty()) write_folder(options.out, result);
  print_as(
      options.format, [&] { return run_text(result); }, [&] { return dump_json(result); },
      [&] { return metrics_csv(result); });
  if (options.profile) fmt::print(stderr, "{}", profile_text(parts.front()));
  return code;
}

ExitCode compare_command(const std::vector<std::string>& scenarios, bool audited,
                         const CommonOptions& options) {
  std::vector<LoadedScenario> loaded;
  loaded.reserve(scenarios.size());
  for (const std::string& file : scenarios) loaded.push_back(load_scenario(file, options.load));
  const Json claim = load_claim(loaded.front().claim_file);
  std::vector<std::vector<ResultPart>> parts;
  const std::vector<Json> results = run_scenarios(loaded, &parts);
  Json comparison = compare_results(results, claim);
  if (audited && !claim.is_null()) {
    std::vector<AuditedRun> runs;
    for (std::size_t i = 0; i < loaded.size(); ++i) {
      runs.push_back({scenarios[i], options.load, loaded[i].parameters, simulation_key(loaded[i]),
                      results[i], std::move(parts[i])});
    }
    comparison["audit"] = audit_claim(runs, claim);
  }
  if (!options.out.empty()) write_folder(options.out, comparison);
  print_as(
      options.format, [&] { return compare_text(comparison); },
      [&] { return dump_json(comparison); }, [&] { return metrics_csv(comparison); });
  return ExitCode::kOk;
}

}  // namespace trainyard
