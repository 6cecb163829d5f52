#include <fmt/format.h>

#include "reports/csv.hpp"
#include "reports/folder.hpp"
#include "reports/text.hpp"
#include "sim/audit.hpp"
#include "sim/compare.hpp"
#include "sim/run.hpp"
#include "tools/commands.hpp"

namespace trainyard {
namespace {

std::vector<Json> run_recorded(std::vector<LoadedScenario>& loaded, const CommonOptions& options,
                               std::vector<std::vector<ResultPart>>& parts) {
  if (options.out.empty()) return run_scenarios(loaded, &parts);
  prepare_folder(options.out);
  const RecordingOptions recording = recording_options(options.timeline, loaded);
  return run_scenarios(loaded, &parts, &recording);
}

void attach(Json recording, Json& result) {
  if (!recording.is_null()) result["recording"] = std::move(recording);
}

}  // namespace

ExitCode run_command(const std::string& scenario, const CommonOptions& options) {
  // What is wrong with an assertion is said before anything is simulated, or at least written.
  const std::vector<Assertion> asserts = parse_asserts(options.asserts);
  std::vector<LoadedScenario> loaded;
  loaded.push_back(load_scenario(scenario, options.load));
  std::vector<std::vector<ResultPart>> parts;
  Json result = run_recorded(loaded, options, parts).front();
  const ExitCode code = check_asserts(asserts, result);
  if (!options.out.empty()) {
    attach(take_recording(parts.front()), result);
    write_folder(options.out, result);
    result.erase("recording");
  }
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
  const std::vector<Json> results = run_recorded(loaded, options, parts);
  std::vector<Json> recordings;
  recordings.reserve(parts.size());
  for (std::vector<ResultPart>& part : parts) recordings.push_back(take_recording(part));
  Json comparison = compare_results(results, claim);
  if (audited && !claim.is_null()) {
    std::vector<AuditedRun> runs;
    for (std::size_t i = 0; i < loaded.size(); ++i) {
      runs.push_back({scenarios[i], options.load, loaded[i].parameters, simulation_key(loaded[i]),
                      results[i], std::move(parts[i])});
    }
    comparison["audit"] = audit_claim(runs, claim);
  }
  if (!options.out.empty()) {
    std::vector<Json>& runs = comparison["results"].items();
    for (std::size_t i = 0; i < runs.size(); ++i) attach(std::move(recordings[i]), runs[i]);
    write_folder(options.out, comparison);
    for (Json& run : runs) run.erase("recording");
  }
  print_as(
      options.format, [&] { return compare_text(comparison); },
      [&] { return dump_json(comparison); }, [&] { return metrics_csv(comparison); });
  return ExitCode::kOk;
}

}  // namespace trainyard
