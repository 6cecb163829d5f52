#include <fmt/format.h>

#include "reports/chrome_trace.hpp"
#include "reports/text.hpp"
#include "sim/packed_file.hpp"
#include "sim/run.hpp"
#include "sim/trace_capture.hpp"
#include "sim/trace_format.hpp"
#include "tools/trace_command.hpp"

namespace trainyard {
namespace {

// The generated workload, for other programs to run.
std::vector<std::string> export_workload(const ExportOptions& options, const std::string& to,
                                         const LoadOptions& load) {
  if (to == "kineto")
    throw UsageError(
        "--to: a workload has no recorded times, as kineto needs them; chrome is the timeline of "
        "its run, in the same shape");
  const std::unique_ptr<TraceFormat> writer = Registry<TraceFormat>::of().make(to);
  if (!writer->writes()) throw UsageError(fmt::format("--to: {} is only read", to));
  CapturedTrace captured = capture_trace(load_scenario(options.source, load));
  for (std::string& loss : writer->write(captured.trace, options.out))
    captured.notes.push_back(std::move(loss));
  captured.notes.insert(
      captured.notes.begin(),
      fmt::format("{} operations of {} ranks", captured.trace.size(), captured.trace.ranks));
  return captured.notes;
}

std::vector<std::string> export_paje(const ExportOptions& options, LoadOptions load) {
  for (const char* set :
       {"engine.executor=stock", "engine.fidelity=steps", "engine.tensor_fidelity=steps"})
    load.sets.emplace_back(set);
  LoadedScenario loaded = load_scenario(options.source, load);
  write_paje(loaded, options.out);
  return {"every message, as SimGrid's own models simulate it"};
}

// What was simulated, for viewers.
std::vector<std::string> export_chrome(const ExportOptions& options, const CommonOptions& common) {
  const Json recording = recording_of(options.source, common);
  PackedFile file(options.out);
  ChromeTraceOptions chrome;
  chrome.keep = recording_options(common.timeline, {});
  const std::size_t bars =
      write_chrome_trace(recording, chrome, [&](const std::string& piece) { file.add(piece); });
  if (const std::string why = file.keep(); !why.empty())
    throw UsageError(fmt::format("{}: cannot be written: {}", options.out, why));
  std::vector<std::string> notes{fmt::format("{} bars", bars)};
  for (const Json& note : recording.at("notes").items()) notes.push_back(note.as_string());
  return notes;
}

}  // namespace

ExitCode trace_export_command(const ExportOptions& options, const CommonOptions& common) {
  // By its ending .json is the timeline: the workload has no times that a viewer could show.
  std::string to = options.to.empty() ? trace_format_of(options.out) : options.to;
  if (options.to.empty() && to == "kineto") to = "chrome";
  std::vector<std::string> notes;
  if (to == "paje") {
    notes = export_paje(options, common.load);
  } else if (to == "chrome") {
    notes = export_chrome(options, common);
  } else {
    check_trace_format("--to", to, {"chrome", "paje"});
    notes = export_workload(options, to, common.load);
  }
  std::string text = printable(options.out) + "\n";
  for (const std::string& note : notes) text += "  " + printable(note) + "\n";
  print(text);
  return ExitCode::kOk;
}

}  // namespace trainyard
