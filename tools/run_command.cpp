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
  switch (options.format) {
    case Format::kText:
      print(run_text(result));
      break;
    case Format::kJson:
      print(dump_json(result));
      break;
    case Format::kCsv:
      print(metrics_csv(result));
      break;
  }
  return code;
}

ExitCode compare_command(const std::vector<std::string>& scenarios, const CommonOptions& options) {
  std::vector<LoadedScenario> loaded;
  loaded.reserve(scenarios.size());
  for (const std::string& file : scenarios) loaded.push_back(load_scenario(file, options.load));
  const Json claim = load_claim(loaded.front().claim_file);
  const Json comparison = compare_results(run_scenarios(loaded), claim);
  if (!options.out.empty()) write_folder(options.out, comparison);
  switch (options.format) {
    case Format::kText:
      print(compare_text(comparison));
      break;
    case Format::kJson:
      print(dump_json(comparison));
      break;
    case Format::kCsv:
      print(metrics_csv(comparison));
      break;
  }
  return ExitCode::kOk;
}

}  // namespace trainyard
