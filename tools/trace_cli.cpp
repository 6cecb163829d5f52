// What can be said of traces on the command line.
#include <CLI/CLI.hpp>
#include <memory>

#include "tools/cli_format.hpp"
#include "tools/trace_command.hpp"

namespace trainyard {
namespace {

/// Everything that these commands are told; the callbacks keep it alive.
struct TraceLine {
  ImportOptions import;
  ExportOptions exported;
};
using Line = std::shared_ptr<TraceLine>;

void add_reading(CLI::App* command, ImportOptions& options) {
  command->add_option("trace", options.path, "file, folder, or prefix of PREFIX.RANK.et files")
      ->required();
  command->add_option("--from", options.from, "format of the trace (found out if not given)")
      ->type_name("FORMAT");
  command->add_option("--ranks", options.ranks, "ranks of the traced job, where it does not say")
      ->check(CLI::NonNegativeNumber);
  command->add_flag("--lenient", options.lenient,
                    "mend what is wrong with the trace, and say what was mended");
  command->add_flag("--representative", options.representative,
                    "ranks without a trace do what the traced ones do");
}

void add_scenario(CLI::App* command, ExportOptions& options, CommonOptions& common) {
  command->add_option("source", options.source, "scenario file, or an --out folder")->required();
  command
      ->add_option("--set", common.load.sets,
                   "change a value: cluster.servers=8 or /cluster/servers=8; may be repeated")
      ->type_name("PATH=VALUE");
  command
      ->add_option("--catalog", common.load.catalog_directory,
                   "folder with more catalogue entries (JSON)")
      ->type_name("DIR");
}

void add_import(CLI::App& app, const Line& line, CommonOptions& common,
                std::function<ExitCode()>& action) {
  CLI::App* command = app.add_subcommand("import", "read a trace and write it in another format");
  add_reading(command, line->import);
  command
      ->add_option("--out", line->import.out, "file to write, or prefix where each rank has a file")
      ->required();
  command
      ->add_option("--to", line->import.to, "format to write (by the ending of --out if not given)")
      ->type_name("FORMAT");
  add_format(command, common, {"text", "json"});
  command->callback(
      [&, line] { action = [&, line] { return import_command(line->import, common.format); }; });
}

void add_export(CLI::App& trace, const Line& line, CommonOptions& common,
                std::function<ExitCode()>& action) {
  CLI::App* command = trace.add_subcommand(
      "export", "write the workload of a scenario for other programs, or its run for viewers");
  add_scenario(command, line->exported, common);
  command
      ->add_option("--out", line->exported.out,
                   "file to write, or prefix where each rank has a file")
      ->required();
  command
      ->add_option("--to", line->exported.to,
                   "the workload: chakra, jsonl, goal; its run: chrome, paje (by the ending of "
                   "--out if not given)")
      ->type_name("FORMAT");
  command->add_option("--timeline-ranks", common.timeline.ranks,
                      "chrome: only these GPUs, like 0,8,16-23");
  command
      ->add_option("--timeline-window", common.timeline.window,
                   "chrome: only this stretch of time, like 0s:1.5s")
      ->type_name("FROM:TO");
  command->callback(
      [&, line] { action = [&, line] { return trace_export_command(line->exported, common); }; });
}

}  // namespace

void add_trace_commands(CLI::App& app, CommonOptions& common, std::function<ExitCode()>& action) {
  const Line line = std::make_shared<TraceLine>();
  add_import(app, line, common, action);
  CLI::App* trace = app.add_subcommand("trace", "count, check and write traces");
  trace->require_subcommand(1);
  CLI::App* stats = trace->add_subcommand(
      "stats", "what a trace holds: operations, bytes by group, the longest chain");
  add_reading(stats, line->import);
  add_format(stats, common, {"text", "json", "csv"});
  stats->callback([&, line] {
    action = [&, line] { return trace_stats_command(line->import, common.format); };
  });
  CLI::App* check = trace->add_subcommand(
      "check", "check a Chrome trace (.json, .json.gz) against what viewers take");
  check->add_option("file", line->exported.source, "the file")->required();
  add_format(check, common, {"text", "json"});
  check->callback([&, line] {
    action = [&, line] { return trace_check_command(line->exported.source, common.format); };
  });
  CLI::App* critical = trace->add_subcommand(
      "critical", "what the length of a run hangs on, and what shortening it would gain");
  add_scenario(critical, line->exported, common);
  add_format(critical, common, {"text", "json", "csv"});
  critical->callback([&, line] {
    action = [&, line] { return trace_critical_command(line->exported.source, common); };
  });
  add_export(*trace, line, common, action);
}

}  // namespace trainyard
