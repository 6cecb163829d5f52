#include <fmt/format.h>

#include "reports/csv.hpp"
#include "reports/folder.hpp"
#include "reports/text.hpp"
#include "sim/compare.hpp"
#include "sim/run.hpp"
#include "tools/commands.hpp"

namespace trainyard {

ExitCode run_command(const std::string& scenario, const CommonOptions& options) {
  // What is wrong with an assertion is said before anything is simulated, or at least written.
  const std::vector<Assertion> asserts = parse_asserts(options.asserts);
  LoadedScenario loaded = load_scenario(scenario, options.load);
  const Json result = run_scenario(loaded);
  const ExitCode code = check_asserts(asserts, result);
  if (!options.out.empty()) write_folder(options.out, result);
  print_as(
      options.format, [&] { return run_text(result); }, [&] { return dump_json(result); },
      [&] { return metrics_csv(result); });
  return code;
}

ExitCode compare_command(const std::vector<std::string>& scenarios, const CommonOptions& options) {
  std::vector<LoadedScenario> loaded;
  loaded.reserve(scenarios.size());
  for (const std::string& file : scenarios) loaded.push_back(load_scenario(file, options.load));
  const Json claim = load_claim(loaded.front().claim_file);
  const Json comparison = compare_results(run_scenarios(loaded), claim);
  if (!options.out.empty()) write_folder(options.out, comparison);
  print_as(
      options.format, [&] { return compare_text(comparison); },
      [&] { return dump_json(comparison); }, [&] { return metrics_csv(comparison); });
  return ExitCode::kOk;
}

}  // namespace trainyard
