// The trainyard command: what can be said on its command line, and its exit codes.
#include <fcntl.h>
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <functional>

#include "sim/build_info.hpp"
#include "sim/simgrid_platform.hpp"
#include "sim/spelling.hpp"
#include "tools/cli_format.hpp"
#include "tools/commands.hpp"
#include "tools/trace_command.hpp"

namespace trainyard {
namespace {

/// All that the command line can hold; CLI11 fills it.
struct CommandLine {
  CommonOptions common;
  CollectiveOptions collective;
  std::string scenario, kind, file = "scenario.json", preset = "gpt3-175b@dgx-a100", directory,
                              page;
  std::vector<std::string> scenarios;
  SweepOptions sweep;
  SubmitOptions submit;
  bool audit = false, strict = false;
  std::function<ExitCode()> action;
  SweepOptions sweep_options() const {
    SweepOptions all = sweep;
    all.format = common.format;
    return all;
  }
};

void add_scenario_options(CLI::App* command, CommandLine& line) {
  command
      ->add_option("--set", line.common.load.sets,
                   "change a value: cluster.servers=64 or /cluster/servers=64; may be repeated")
      ->type_name("PATH=VALUE");
  command
      ->add_option("--catalog", line.common.load.catalog_directory,
                   "folder with more catalogue entries (JSON)")
      ->type_name("DIR");
}

void add_fold(CLI::App* command, CommandLine& line) {
  command
      ->add_option_function<std::string>(
          "--fold",
          [&](const std::string& fold) { line.common.load.sets.push_back("engine.fold=" + fold); },
          "simulate one for several that do exactly the same, or each")
      ->check(CLI::IsMember({"auto", "off"}));
}

void add_output_options(CLI::App* command, CommandLine& line) {
  add_format(command, line.common, {"text", "json", "csv"});
  command
      ->add_option("--out", line.common.out, "write results, CSV and report.html into this folder")
      ->type_name("DIR");
}

// What of the timeline is kept beside the results.
void add_timeline_options(CLI::App* command, CommandLine& line) {
  constexpr int kMostBars = 500'000;  // some 300 bytes of memory each
  TimelineFlags& flags = line.common.timeline;
  command
      ->add_option("--timeline-bars", flags.bars, "bars of the timeline that --out keeps, at most")
      ->check(CLI::Range(1, kMostBars))
      ->needs("--out");
  command->add_option("--timeline-ranks", flags.ranks, "GPUs in the timeline, like 0,8,16-23")
      ->needs("--out");
  command
      ->add_option("--timeline-window", flags.window,
                   "stretch of time in the timeline, like 0s:1.5s")
      ->type_name("FROM:TO")
      ->needs("--out");
}

void add_run(CLI::App& app, CommandLine& line) {
  CLI::App* run = app.add_subcommand("run", "simulate a scenario");
  run->add_option("scenario", line.scenario, "scenario file")->required();
  run->add_option("--assert", line.common.asserts,
                  "fail (exit 5) unless it holds, like 'step_time_s<10'; may be repeated");
  run->add_flag("--profile", line.common.profile,
                "say on standard error where the simulator's own time and memory went");
  add_scenario_options(run, line);
  add_fold(run, line);
  add_output_options(run, line);
  add_timeline_options(run, line);
  run->callback([&] { line.action = [&] { return run_command(line.scenario, line.common); }; });

  CLI::App* compare = app.add_subcommand(
      "compare", "simulate several scenarios and set them side by side, against their claim");
  compare->add_option("scenarios", line.scenarios, "scenario files")->required()->expected(2, 64);
  compare->add_flag("--audit", line.audit,
                    "try every assumed parameter at an end of its range: what the claim hangs on");
  add_scenario_options(compare, line);
  add_fold(compare, line);
  add_output_options(compare, line);
  add_timeline_options(compare, line);
  compare->callback([&] {
    line.action = [&] { return compare_command(line.scenarios, line.audit, line.common); };
  });
}

void add_collective(CLI::App& app, CommandLine& line) {
  CLI::App* command = app.add_subcommand(
      "collective", "time one collective over a list of sizes, as nccl-tests does");
  command->add_option("scenario", line.scenario, "scenario file; only its cluster is used")
      ->required();
  command
      ->add_option("--op", line.collective.operation,
                   "all_reduce, all_gather, reduce_scatter, all_to_all, broadcast or reduce")
      ->check(CLI::IsMember(collective_names()));
  command->add_option("--sizes", line.collective.sizes,
                      "from:to:factor (8:16G:2x) or a list (1M,1G); 1M:1G:4x if not given, or the "
                      "sizes of --compare-measured");
  command
      ->add_option("--compare-measured", line.collective.measured,
                   "nccl-tests' output in a file: its times beside, and the error per size")
      ->type_name("FILE");
  command
      ->add_option("--ranks", line.collective.ranks, "GPUs that take part, from the first (0: all)")
      ->check(CLI::NonNegativeNumber);
  command->add_option("--algorithm", line.collective.algorithm, "force one algorithm");
  command->add_option("--protocol", line.collective.protocol, "force one protocol");
  command->add_option("--fidelity", line.collective.fidelity, "steps, flow or analytic");
  add_scenario_options(command, line);
  add_output_options(command, line);
  command->callback([&] {
    line.action = [&] { return collective_command(line.scenario, line.collective, line.common); };
  });
}

void add_validate(CLI::App& app, CommandLine& line) {
  CLI::App* command =
      app.add_subcommand("validate", "published measurements beside what the simulator gives");
  command->add_option("what", line.kind, "network: collectives by nccl-tests")
      ->required()
      ->check(CLI::IsMember({"network"}));
  command->add_flag("--strict", line.strict, "exit 5 when an error is larger than its bar");
  add_scenario_options(command, line);
  add_format(command, line.common, {"text", "json", "csv"});
  command->callback(
      [&] { line.action = [&] { return validate_command(line.kind, line.strict, line.common); }; });
}

void add_sweep_axes(CLI::App* command, CommandLine& line) {
  SweepAdditions& add = line.sweep.additions;
  command
      ->add_option(
          "--axis", add.axes,
          "vary a value: cluster.servers=64,128 or =64:1024:2x or =8:64:+8; several make a "
          "grid")
      ->type_name("PATH=VALUES");
  command
      ->add_option("--constraint", add.constraints,
                   "leave out variants that break it, like 'gpu_memory_peak_bytes < 70 GiB'")
      ->type_name("CONDITION");
  command->add_option("--objective", add.objectives, "a metric to rank by; the first ranks")
      ->type_name("METRIC");
  command->add_option("--seeds", add.seeds, "simulate each with that many seeds")
      ->check(CLI::PositiveNumber);
  command
      ->add_option("--set", add.load.sets,
                   "change a value of every variant: cluster.servers=64; may be repeated")
      ->type_name("PATH=VALUE");
  command
      ->add_option("--catalog", add.load.catalog_directory,
                   "folder with more catalogue entries (JSON)")
      ->type_name("DIR");
}

void add_sweep_run(CLI::App* sweep, CommandLine& line) {
  CLI::App* run = sweep->add_subcommand("run", "simulate every variant that has no row yet");
  run->add_option("sweep", line.sweep.source, "sweep file, scenario, or folder of a sweep")
      ->required();
  add_sweep_axes(run, line);
  run->add_option("--out", line.sweep.out, "folder for the rows (NAME.sweep if not given)")
      ->type_name("DIR");
  run->add_option("-j,--jobs", line.sweep.jobs, "simulations at a time (0: one per core)")
      ->check(CLI::Range(0, 1024));
  run->add_option("--shard", line.sweep.shard, "only part i (from 0) of n, by hash")
      ->type_name("i/n");
  run->add_option("--attempt", line.sweep.attempt,
                  "write into a file of this name's own, beside those of others at the shard")
      ->type_name("NAME");
  run->add_flag("--restart", line.sweep.restart, "begin anew: remove the rows of the folder");
  run->add_flag("--retry-failed", line.sweep.retry_failed,
                "simulate again what a crash or a signal ended");
  run->add_flag("--yes", line.sweep.yes, "run more than 100,000 variants");
  run->add_flag("--dry-run", line.sweep.dry_run, "list the variants and simulate none");
  run->add_option("--progress", line.sweep.progress, "auto, always, never or json, on stderr")
      ->check(CLI::IsMember({"auto", "always", "never", "json"}));
  add_format(run, line.common, {"text", "json", "csv"});
  run->callback([&] { line.action = [&] { return sweep_run_command(line.sweep_options()); }; });
}

void add_sweep_submit(CLI::App* sweep, CommandLine& line) {
  CLI::App* submit = sweep->add_subcommand("submit", "have a cluster simulate every variant");
  submit->add_option("sweep", line.sweep.source, "sweep file, scenario, or folder of a sweep")
      ->required();
  submit->add_flag("--slurm", line.submit.slurm, "as an array job of Slurm, and one that merges");
  add_sweep_axes(submit, line);
  submit->add_option("--out", line.sweep.out, "folder that all nodes see (NAME.sweep if not given)")
      ->type_name("DIR");
  submit->add_option("--shards", line.submit.shards, "tasks (four per node if not given)")
      ->check(CLI::Range(1, 9999));
  submit->add_option("--partition", line.submit.partition, "where to run, as sbatch takes it");
  submit->add_option("--time", line.submit.time, "limit of each task, as sbatch takes it");
  submit->add_option("--cpus", line.submit.cpus, "CPUs of each task (a whole node if not given)")
      ->check(CLI::PositiveNumber);
  submit
      ->add_option("--sbatch", line.submit.sbatch,
                   "another option of sbatch, without its dashes: account=x; may be repeated")
      ->type_name("OPTION")
      ->allow_extra_args(false);
  submit->add_flag("--yes", line.sweep.yes, "submit more than 100,000 variants");
  submit->add_flag("--dry-run", line.sweep.dry_run, "print the scripts; write and submit nothing");
  submit->callback([&] {
    line.action = [&] { return sweep_submit_command(line.sweep_options(), line.submit); };
  });
}

void add_sweep(CLI::App& app, CommandLine& line) {
  CLI::App* sweep = app.add_subcommand("sweep", "simulate variants of a scenario");
  sweep->require_subcommand(1);
  add_sweep_run(sweep, line);
  add_sweep_submit(sweep, line);
  const auto on_folder = [&](const char* name, const char* what,
                             ExitCode (*run)(const SweepOptions&)) {
    CLI::App* command = sweep->add_subcommand(name, what);
    command->add_option("folder", line.sweep.source, "folder of a sweep")->required();
    add_format(command, line.common, {"text", "json", "csv"});
    command->callback(
        [&line, run] { line.action = [&line, run] { return run(line.sweep_options()); }; });
    return command;
  };
  on_folder("merge", "put the rows of all shards together: sweep.csv, sweep.sqlite, report.html",
            sweep_merge_command)
      ->add_flag("--complete", line.sweep.complete, "exit 4 when a variant has no row");
  on_folder("status", "say how far each shard is", sweep_status_command);
}

void add_helpers(CLI::App& app, CommandLine& line) {
  CLI::App* check = app.add_subcommand(
      "check", "read scenarios, report every fault at once, explain what they hold");
  check->add_option("scenarios", line.scenarios, "scenario files")->required();
  add_scenario_options(check, line);
  add_format(check, line.common, {"text", "json"});
  check->callback(
      [&] { line.action = [&] { return check_command(line.scenarios, line.common); }; });

  CLI::App* schema = app.add_subcommand("schema", "print the JSON Schema of scenarios");
  schema->callback([&] { line.action = [] { return schema_command(); }; });

  CLI::App* list = app.add_subcommand("list", "list plug-ins and catalogue entries");
  list->add_option("kind", line.kind, "only this kind: gpu, nic, switch, model, collective …");
  list->add_option("--catalog", line.common.load.catalog_directory,
                   "folder with more catalogue entries (JSON)")
      ->type_name("DIR");
  add_format(list, line.common, {"text", "json"});
  list->callback([&] { line.action = [&] { return list_command(line.kind, line.common); }; });

  CLI::App* init = app.add_subcommand("init", "write a scenario to start from");
  init->add_option("file", line.file, "file to write, - for standard output")
      ->capture_default_str();
  init->add_option("--preset", line.preset, "model@server")->capture_default_str();
  init->callback([&] { line.action = [&] { return init_command(line.file, line.preset); }; });

  CLI::App* report = app.add_subcommand("report", "write the reports of an --out folder again");
  report->add_option("folder", line.directory, "the folder")->required();
  report->callback([&] { line.action = [&] { return report_command(line.directory); }; });

  CLI::App* docs = app.add_subcommand("docs", "print a generated page of the documentation");
  docs->add_option("page", line.page, "metrics")->required();
  docs->callback([&] { line.action = [&] { return docs_command(line.page); }; });
}

// The command that was chosen, however deep.
const CLI::App& chosen_command(const CLI::App& app) {
  const CLI::App* command = &app;
  while (!command->get_subcommands().empty()) command = command->get_subcommands().front();
  return *command;
}

// "trainyard sweep --help": where more is said about what was asked for.
std::string help_of(const CLI::App& app) {
  std::string words = "trainyard";
  const CLI::App* command = &app;
  while (!command->get_subcommands().empty()) {
    command = command->get_subcommands().front();
    words += " " + command->get_name();
  }
  return words + " --help";
}

// CLI11 only says that some subcommand is missing; the likeliest one is worth a word.
std::string unknown_command(const CLI::App& app, const std::vector<std::string>& words) {
  const CLI::App& command = chosen_command(app);
  std::vector<std::string> names;
  for (const CLI::App* one : command.get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(one->get_name());
  const std::vector<std::string_view> views(names.begin(), names.end());
  // What stands where its name should: after those of the commands around it.
  const auto last = std::find(words.begin(), words.end(), command.get_name());
  const auto word = last == words.end() ? words.begin() : last + 1;
  if (names.empty() || word == words.end() || word->starts_with("-")) return {};
  return fmt::format("\"{}\" is not a command: {}", *word, suggest(*word, views));
}

// The first word that looks like an option and is none of the command's, with the likeliest one.
std::string unknown_option(const CLI::App& app, const std::vector<std::string>& words) {
  std::vector<std::string> names;
  for (const CLI::Option* option : chosen_command(app).get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  const std::vector<std::string_view> views(names.begin(), names.end());
  for (const std::string& whole : words) {
    const std::string_view word = std::string_view(whole).substr(0, whole.find('='));
    if (!word.starts_with("--") || std::find(views.begin(), views.end(), word) != views.end())
      continue;
    return fmt::format("{} is not an option here: {}", word, suggest(word, views));
  }
  return {};
}

// "sweep FILE" is "sweep run FILE".
std::vector<std::string> spelled_out(int argc, char** argv) {
  std::vector<std::string> words(argv + 1, argv + argc);
  std::error_code code;
  if (words.size() > 1 && words[0] == "sweep" && std::filesystem::exists(words[1], code))
    words.insert(words.begin() + 1, "run");
  return words;
}

// Not fmt::print, which throws: where standard error is closed too, the exit code still tells.
void say(const std::string& line) { std::fputs((line + "\n").c_str(), stderr); }

int exit_with(ExitCode code) { return static_cast<int>(code); }

int fail(ExitCode code, const std::string& message) {
  say("trainyard: " + message);
  return exit_with(code);
}

int run(int argc, char** argv) {
  CommandLine line;
  CLI::App app{"trainyard simulates AI-training clusters: how long, how fast, and why"};
  app.require_subcommand(1);
  app.set_version_flag("--version", fmt::format("trainyard {} ({}), SimGrid {}", version_string(),
                                                git_id(), simgrid_version()));
  add_run(app, line);
  add_collective(app, line);
  add_validate(app, line);
  add_sweep(app, line);
  add_trace_commands(app, line.common, line.action);
  add_helpers(app, line);
  const std::vector<std::string> words = spelled_out(argc, argv);
  app.name("trainyard");
  try {
    app.parse(std::vector<std::string>(words.rbegin(), words.rend()));
  } catch (const CLI::ParseError& e) {
    if (e.get_exit_code() == 0) return app.exit(e);  // --help, --version
    std::string unknown = unknown_command(app, words);
    if (unknown.empty() && dynamic_cast<const CLI::ExtrasError*>(&e) != nullptr)
      unknown = unknown_option(app, words);
    return fail(ExitCode::kUsage,
                unknown.empty() ? fmt::format("{} (see {})", e.what(), help_of(app)) : unknown);
  }
  return exit_with(line.action());
}

int main_guarded(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const ScenarioError& e) {
    for (const Diagnostic& d : e.diagnostics()) say(to_string(d));
    return exit_with(e.exit_code());
  } catch (const DesignError& e) {
    return fail(e.exit_code(), fmt::format("{}{}{} ({})", e.pointer(),
                                           e.pointer().empty() ? "" : ": ", e.what(), e.hint()));
  } catch (const StuckError& e) {
    return fail(ExitCode::kScenario, e.what());
  } catch (const UsageError& e) {
    return fail(ExitCode::kUsage, e.what());
  } catch (const std::bad_alloc&) {
    return fail(ExitCode::kInfeasible,
                "out of memory: the scenario needs more than this machine has (try fidelity "
                "\"flow\" or \"analytic\")");
  } catch (const std::exception& e) {
    return fail(ExitCode::kInternal,
                fmt::format("internal error: {} (please report it with the scenario)", e.what()));
  }
}

}  // namespace
}  // namespace trainyard

int main(int argc, char** argv) {
  // Were one of them closed, a file would get its number and what is printed. Writing to these
  // fails.
  for (int stream = 0; stream <= 2; ++stream) {
    if (fcntl(stream, F_GETFD) < 0) (void)!open("/dev/null", O_RDONLY);
  }
  std::signal(SIGPIPE, SIG_IGN);  // a closed pipe is an error of print(), not a silent death
  return trainyard::main_guarded(argc, argv);
}
