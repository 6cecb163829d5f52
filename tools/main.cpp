// The trainyard command: what can be said on its command line, and its exit codes.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <functional>
#include <map>

#include "sim/build_info.hpp"
#include "sim/simgrid_platform.hpp"
#include "sim/spelling.hpp"
#include "tools/commands.hpp"

namespace trainyard {
namespace {

/// All that the command line can hold; CLI11 fills it.
struct CommandLine {
  CommonOptions common;
  CollectiveOptions collective;
  std::string scenario, kind, file = "scenario.json", preset = "gpt3-175b@dgx-a100", directory,
                              page;
  std::vector<std::string> scenarios;
  bool audit = false;
  std::function<ExitCode()> action;
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

void add_format(CLI::App* command, CommandLine& line, const std::vector<std::string>& formats) {
  static const std::map<std::string, Format> kFormats{
      {"text", Format::kText}, {"json", Format::kJson}, {"csv", Format::kCsv}};
  command
      ->add_option_function<std::string>(
          "--format", [&](const std::string& name) { line.common.format = kFormats.at(name); },
          fmt::format("{} on standard output", fmt::join(formats, ", ")))
      ->check(CLI::IsMember(formats));
}

void add_output_options(CLI::App* command, CommandLine& line) {
  add_format(command, line, {"text", "json", "csv"});
  command
      ->add_option("--out", line.common.out, "write results, CSV and report.html into this folder")
      ->type_name("DIR");
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
  run->callback([&] { line.action = [&] { return run_command(line.scenario, line.common); }; });

  CLI::App* compare = app.add_subcommand(
      "compare", "simulate several scenarios and set them side by side, against their claim");
  compare->add_option("scenarios", line.scenarios, "scenario files")->required()->expected(2, 64);
  compare->add_flag("--audit", line.audit,
                    "try every assumed parameter at an end of its range: what the claim hangs on");
  add_scenario_options(compare, line);
  add_fold(compare, line);
  add_output_options(compare, line);
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
                   "all_reduce, all_gather, reduce_scatter or all_to_all")
      ->check(CLI::IsMember(collective_names()));
  command->add_option("--sizes", line.collective.sizes,
                      "from:to:factor (8:16G:2x) or a list (1M,1G)");
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

void add_helpers(CLI::App& app, CommandLine& line) {
  CLI::App* check = app.add_subcommand(
      "check", "read scenarios, report every fault at once, explain what they hold");
  check->add_option("scenarios", line.scenarios, "scenario files")->required();
  add_scenario_options(check, line);
  check->callback(
      [&] { line.action = [&] { return check_command(line.scenarios, line.common); }; });

  CLI::App* schema = app.add_subcommand("schema", "print the JSON Schema of scenarios");
  schema->callback([&] { line.action = [] { return schema_command(); }; });

  CLI::App* list = app.add_subcommand("list", "list plug-ins and catalogue entries");
  list->add_option("kind", line.kind, "only this kind: gpu, nic, switch, model, collective …");
  list->add_option("--catalog", line.common.load.catalog_directory,
                   "folder with more catalogue entries (JSON)")
      ->type_name("DIR");
  add_format(list, line, {"text", "json"});
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

// CLI11 only says that some subcommand is missing; the likeliest one is worth a word.
std::string unknown_command(const CLI::App& app, int argc, char** argv) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(command->get_name());
  const std::vector<std::string_view> views(names.begin(), names.end());
  if (argc < 2 || argv[1][0] == '-') return {};
  const std::string_view word = argv[1];
  if (std::find(views.begin(), views.end(), word) != views.end()) return {};
  return fmt::format("\"{}\" is not a command: {}", word, suggest(word, views));
}

// The first word that looks like an option and is none of the command's, with the likeliest one.
std::string unknown_option(const CLI::App& app, int argc, char** argv) {
  const std::vector<CLI::App*> chosen = app.get_subcommands();
  const CLI::App& command = chosen.empty() ? app : *chosen.front();
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  const std::vector<std::string_view> views(names.begin(), names.end());
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = std::string_view(argv[i]).substr(0, std::strcspn(argv[i], "="));
    if (!word.starts_with("--") || std::find(views.begin(), views.end(), word) != views.end())
      continue;
    return fmt::format("{} is not an option here: {}", word, suggest(word, views));
  }
  return {};
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
  add_helpers(app, line);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    if (e.get_exit_code() == 0) return app.exit(e);  // --help, --version
    std::string unknown = unknown_command(app, argc, argv);
    if (unknown.empty() && dynamic_cast<const CLI::ExtrasError*>(&e) != nullptr)
      unknown = unknown_option(app, argc, argv);
    return fail(ExitCode::kUsage,
                unknown.empty() ? std::string(e.what()) + " (see trainyard --help)" : unknown);
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
  std::signal(SIGPIPE, SIG_IGN);  // a closed pipe is an error of print(), not a silent death
  return trainyard::main_guarded(argc, argv);
}
