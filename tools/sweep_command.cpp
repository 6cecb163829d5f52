// sweep run, merge and status: variants of one scenario, on one machine or many.
#include "tools/sweep_command.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "reports/csv.hpp"
#include "reports/sweep_text.hpp"
#include "sim/isolate.hpp"
#include "sim/report.hpp"
#include "tools/sweep/progress.hpp"
#include "tools/sweep/runner.hpp"
#include "tools/sweep/table.hpp"

namespace trainyard {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kMany = 100'000;  // more than that is likelier a slip than a wish

Sweep sweep_in(const std::string& directory) {
  const SweepStore store(directory);
  const Json manifest = store.manifest();
  if (manifest.is_null()) {
    throw ScenarioError(
        Diagnostic{directory, "", "holds no sweep.json", "name a folder that sweep run wrote"});
  }
  return Sweep::from_manifest(manifest, store.path("sweep.json"));
}

}  // namespace

std::pair<Sweep, std::string> find_sweep(const SweepOptions& options) {
  std::error_code code;
  if (fs::is_directory(options.source, code)) {
    const SweepAdditions& more = options.additions;
    if (!more.axes.empty() || !more.constraints.empty() || !more.objectives.empty() ||
        more.seeds > 0 || !more.load.sets.empty() || !options.out.empty()) {
      throw UsageError(
          "sweep: a folder has its axes and options already (name a sweep file or a scenario to "
          "change them)");
    }
    return {sweep_in(options.source), options.source};
  }
  Sweep sweep = Sweep::from_file(options.source, options.additions);
  const std::string out =
      options.out.empty() ? fs::path(options.source).stem().string() + ".sweep" : options.out;
  return {std::move(sweep), out};
}

void check_size(const Sweep& sweep, const SweepOptions& options) {
  if (options.yes || options.dry_run || sweep.points() <= kMany) return;
  const std::uint64_t count = sweep.count(1'000'001);
  if (count <= kMany) return;
  throw UsageError(fmt::format(
      "sweep: {}{} variants (at a tenth of a second each, {:.0f} hours of one core): --yes to run "
      "them, or fewer values",
      count > 1'000'000 ? "more than " : "", std::min<std::uint64_t>(count, 1'000'000),
      static_cast<double>(count) / 36'000));
}

void hold_folder(SweepStore& store, const Sweep& sweep, bool restart) {
  if (const Json before = restart ? Json() : store.manifest(); !before.is_null())
    Sweep::check_same_program(before, store.path("sweep.json"));
  store.hold(sweep.manifest(), restart);
}

namespace {

// To standard output, in pieces: a table may be larger than what is read at once elsewhere.
void print_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::string block(1 << 20, '\0');
  while (in.read(block.data(), static_cast<std::streamsize>(block.size())) || in.gcount() > 0)
    print(block.substr(0, static_cast<std::size_t>(in.gcount())));
}

std::string counts_csv(const Json& status) {
  std::string text = csv_line({"status", "variants"});
  for (const auto& [name, count] : status.at("counts").members())
    text += csv_line({Json(name), count});
  return text;
}

// In a process of its own, which gives its memory back.
Json in_child(const std::function<Json()>& task) { return run_isolated({task}, 1).front(); }

// Writes the tables and the page of the rows there are; returns the document.
Json write_tables(const Sweep& sweep, const SweepStore& store) {
  Json document = merge_sweep(sweep, store);
  write_table(store.path("report.html"), Registry<Report>::of().make("html")->render(document));
  return document;
}

// The same, and prints. Returns the exit code.
ExitCode finish(const Sweep& sweep, const SweepStore& store, const SweepOptions& options) {
  const Json ended = in_child([&] {
    const Json document = write_tables(sweep, store);
    print_as(
        options.format,
        [&] { return sweep_text(document) + "\n" + store.directory() + "/report.html\n"; },
        [&] { return dump_json(document); },
        [&] {
          print_file(store.path("sweep.csv"));
          return std::string();
        });
    return document.at("counts");
  });
  for (const char* status : {"infeasible", "invalid", "failed"}) {
    if (ended.at(status) != Json(0)) return ExitCode::kInfeasible;
  }
  if (options.complete && ended.at("missing") != Json(0)) {
    fmt::print(stderr, "sweep: {} variants have no row yet\n", ended.at("missing").as_integer());
    return ExitCode::kInfeasible;
  }
  return ended.at("ok") == Json(0) && ended.at("missing") == Json(0) ? ExitCode::kInfeasible
                                                                     : ExitCode::kOk;
}

ExitCode list_variants(const Sweep& sweep, const SweepOptions& options) {
  constexpr std::uint64_t kShown = 20;
  Json all = Json::array();
  sweep.each([&](std::uint64_t number, const std::vector<std::size_t>& digits) {
    const Variant variant = sweep.variant(digits);
    Json one = Json::object();
    one["variant"] = Json(static_cast<std::int64_t>(number));
    one["id"] = Json(sweep.id(variant));
    one["axes"] = Json::object();
    for (std::size_t i = 0; i < sweep.columns().size(); ++i)
      one["axes"][sweep.columns()[i]] = variant.values[i];
    one["excluded_by"] = variant.excluded_by.empty() ? Json() : Json(variant.excluded_by);
    all.push_back(std::move(one));
    return options.format != Format::kText || number < kShown;
  });
  print_as(
      options.format,
      [&] {
        const std::uint64_t count = sweep.count(10'000'000);
        return variants_text(all) +
               fmt::format(
                   "{} variant{} in all; conditions on metrics, and on what only the whole "
                   "scenario says, are looked at when they are simulated\n",
                   count, count == 1 ? "" : "s");
      },
      [&] { return dump_json(all); }, [&] { return variants_csv(all); });
  return ExitCode::kOk;
}

}  // namespace

ExitCode sweep_run_command(const SweepOptions& options) {
  Shard shard = parse_shard(options.shard);
  shard.attempt = parse_attempt(options.attempt);
  const auto [sweep, directory] = find_sweep(options);
  check_size(sweep, options);
  if (options.dry_run) return list_variants(sweep, options);
  SweepStore store(directory);
  hold_folder(store, sweep, options.restart);
  const SweepState state = run_sweep(sweep, store, {options.jobs, shard, options.retry_failed},
                                     sweep_progress(options.progress));
  if (state.interrupted) {
    if (shard.count == 1) finish(sweep, store, options);
    fmt::print(stderr, "sweep: interrupted with {} of {} variants done; the same command goes on\n",
               state.before + state.done, state.all);
    return ExitCode::kInterrupted;
  }
  if (shard.count == 1) return finish(sweep, store, options);
  fmt::print(stderr,
             "sweep: shard {}: {} variants, {} without a result; when all shards are done: "
             "trainyard sweep merge {}\n",
             options.shard, state.all, state.failed, directory);
  return state.failed > 0 ? ExitCode::kInfeasible : ExitCode::kOk;
}

ExitCode sweep_status_command(const SweepOptions& options) {
  const Sweep sweep = sweep_in(options.source);
  const SweepStore store(options.source);
  Json status = Json::object();
  status["name"] = Json(sweep.name());
  status["counts"] = in_child([&] { return count_variants(sweep, store); });
  status["shards"] = Json::array();
  for (const SweepStore::ShardState& shard : store.shards()) {
    Json one = Json::object();
    one["shard"] = Json(shard.name);
    one["rows"] = Json(shard.rows);
    one["running"] = Json(shard.running);
    status["shards"].push_back(std::move(one));
  }
  if (Json slurm = slurm_status(store); !slurm.is_null()) status["slurm"] = std::move(slurm);
  print_as(
      options.format, [&] { return sweep_status_text(status); }, [&] { return dump_json(status); },
      [&] { return counts_csv(status); });
  return ExitCode::kOk;
}

bool has_sweep(const std::string& directory) {
  std::error_code code;
  return fs::exists(SweepStore(directory).path("sweep.json"), code);
}

void report_sweep(const std::string& directory) {
  write_tables(sweep_in(directory), SweepStore(directory));
}

ExitCode sweep_merge_command(const SweepOptions& options) {
  return finish(sweep_in(options.source), SweepStore(options.source), options);
}

}  // namespace trainyard
