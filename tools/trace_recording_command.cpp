// What is read out of a recording: the critical path; and the check of timelines of any origin.
#include <fmt/format.h>

#include <filesystem>

#include "reports/critical_text.hpp"
#include "reports/folder.hpp"
#include "reports/text.hpp"
#include "sim/run.hpp"
#include "sim/trace_events.hpp"
#include "tools/trace_command.hpp"

namespace trainyard {

Json recording_of(const std::string& source, const CommonOptions& common) {
  std::error_code code;
  if (std::filesystem::is_directory(source, code)) {
    Json document = read_folder(source);
    if (document.find("results") != nullptr)
      throw UsageError(fmt::format(
          "{} holds a comparison: name the scenario of one of its runs instead", source));
    Json* recording = document.find("recording");
    if (recording == nullptr)
      throw UsageError(fmt::format(
          "{} has no timeline.jsonl.gz: run the scenario again with --out, or name it here",
          source));
    return std::move(*recording);
  }
  std::vector<LoadedScenario> loaded;
  loaded.push_back(load_scenario(source, common.load));
  if (loaded.front().scenario.jobs.empty())
    throw ScenarioError(
        Diagnostic{source, "/jobs", "is empty: there is nothing to simulate", "add a job"});
  const RecordingOptions options = recording_options(common.timeline, loaded);
  std::vector<std::vector<ResultPart>> parts;
  run_scenarios(loaded, &parts, &options);
  return take_recording(parts.front());
}

ExitCode trace_critical_command(const std::string& source, const CommonOptions& common) {
  const Json recording = recording_of(source, common);
  const Json* path = recording.find("critical_path");
  if (path == nullptr && common.format != Format::kText)
    throw UsageError(fmt::format("{} has no critical path: run it again", source));
  print_as(
      common.format, [&] { return critical_text(recording); }, [&] { return dump_json(*path); },
      [&] { return critical_csv(recording); });
  return ExitCode::kOk;
}

ExitCode trace_check_command(const std::string& file, Format format) {
  ByteSource source(file);
  const TraceEventReport report = check_trace_events(source);
  const auto text = [&] {
    std::string out = printable(
        fmt::format("{}: {} events, {} bars on {} tracks of {} processes, {} flows", file,
                    report.events, report.bars, report.tracks, report.processes, report.flows));
    out += report.good() ? ": right\n" : "\n";
    for (const TraceEventProblem& problem : report.problems)
      out += printable(fmt::format("  {}: {}× {}; the first: {}",
                                   problem.warning ? "warning" : "wrong", problem.count,
                                   problem.rule, problem.first)) +
             "\n";
    return out;
  };
  const auto json = [&] {
    Json out = Json::object();
    out["good"] = Json(report.good());
    out["events"] = Json(report.events);
    out["bars"] = Json(report.bars);
    out["tracks"] = Json(report.tracks);
    out["processes"] = Json(report.processes);
    out["flows"] = Json(report.flows);
    out["problems"] = Json::array();
    for (const TraceEventProblem& problem : report.problems) {
      Json one = Json::object();
      one["rule"] = Json(problem.rule);
      one["first"] = Json(problem.first);
      one["count"] = Json(problem.count);
      one["warning"] = Json(problem.warning);
      out["problems"].push_back(std::move(one));
    }
    return dump_json(out);
  };
  print_as(format, text, json, text);
  return report.good() ? ExitCode::kOk : ExitCode::kScenario;
}

}  // namespace trainyard
