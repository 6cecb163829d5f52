// sweep submit: a sweep as jobs of Slurm, and what has become of them.
#include <fmt/format.h>
#include <sys/stat.h>

#include <filesystem>

#include "reports/text.hpp"
#include "tools/sweep/process.hpp"
#include "tools/sweep/slurm.hpp"
#include "tools/sweep_command.hpp"

namespace trainyard {
namespace {

namespace fs = std::filesystem;

constexpr const char* kJobs = "slurm/jobs.json";
constexpr int kAskPatience = 5;       // seconds for a question
constexpr int kSubmitPatience = 120;  // sbatch itself tries for some time

// Where this program is for the nodes, too.
std::string own_path() {
  std::error_code code;
  std::string path = fs::read_symlink("/proc/self/exe", code).string();
  if (code || !fs::exists(path, code)) {
    throw UsageError(fmt::format("{}: the program was replaced while it ran (run it again)",
                                 path.empty() ? "/proc/self/exe" : path));
  }
  return path;
}

int choose_shards(const Sweep& sweep, const SubmitOptions& submit) {
  constexpr std::uint64_t kCounted = 100'000;  // more makes no difference
  if (submit.shards > 0) return submit.shards;
  std::vector<std::string> words{find_program("sinfo"), "-h", "-o", "%P %D"};
  if (!submit.partition.empty()) words.push_back("--partition=" + submit.partition);
  std::int64_t nodes = 0;
  if (!words.front().empty())
    nodes = count_nodes(run_program(words, kAskPatience).out, !submit.partition.empty());
  return default_shards(std::max<std::int64_t>(nodes, 1), sweep.count(kCounted));
}

SlurmPlan make_plan(const Sweep& sweep, const std::string& directory, const SubmitOptions& submit) {
  SlurmPlan plan;
  plan.program = own_path();
  plan.working_directory = fs::current_path().string();
  plan.folder = fs::absolute(directory).lexically_normal().string();
  plan.name = sweep.name();
  plan.shards = choose_shards(sweep, submit);
  plan.cpus = submit.cpus;
  plan.partition = submit.partition;
  plan.time = submit.time;
  plan.options = submit.sbatch;
  return plan;
}

// What was submitted before; null if nothing was.
Json read_jobs(const SweepStore& store) {
  const std::string file = store.path(kJobs);
  std::error_code code;
  if (!fs::exists(file, code)) return {};
  Json jobs = parse_json(read_text_file(file), file);
  for (const char* key : {"array", "merge"}) {
    const Json* id = jobs.find(key);
    if (id == nullptr || !(id->is_integer() || id->is_null())) {
      throw ScenarioError(Diagnostic{file, fmt::format("/{}", key), "is no job id",
                                     "remove the file: status then says nothing of jobs"});
    }
  }
  for (const char* key : {"name", "cluster"}) {
    const Json* text = jobs.find(key);
    if (text == nullptr || !text->is_string() || text->as_string().starts_with('-')) {
      throw ScenarioError(Diagnostic{file, fmt::format("/{}", key), "is missing or wrong",
                                     "remove the file: status then says nothing of jobs"});
    }
  }
  return jobs;
}

// Job and state of each task. Job ids start again with a new cluster: the name must be ours, too.
ProgramResult ask_queue(const std::string& squeue, const Json& jobs) {
  std::string ids;
  for (const char* key : {"array", "merge"}) {
    if (!jobs.at(key).is_null())
      ids += fmt::format("{}{}", ids.empty() ? "" : ",", jobs.at(key).as_integer());
  }
  const std::string& name = jobs.at("name").as_string();
  std::vector<std::string> words{
      squeue,  "-h", "-r", "--states=all", "-o",
      "%F %T", "-j", ids,  "-n",           fmt::format("{0},{0}-merge", name)};
  if (const std::string& cluster = jobs.at("cluster").as_string(); !cluster.empty())
    words.insert(words.end(), {"-M", cluster});
  return run_program(words, kAskPatience);
}

bool has_ended(const std::string& state) {
  for (const char* ended : {"BOOT_FAIL", "CANCELLED", "COMPLETED", "DEADLINE", "FAILED",
                            "NODE_FAIL", "OUT_OF_MEMORY", "PREEMPTED", "TIMEOUT"}) {
    if (state == ended) return true;
  }
  return false;
}

void refuse_twice(const SweepStore& store) {
  const Json status = slurm_status(store);
  if (status.is_null()) return;
  for (const Json& job : status.at("jobs").items()) {
    for (const auto& [state, count] : job.at("states").members()) {
      if (has_ended(state)) continue;
      const auto id = job.at("job").as_integer();
      throw UsageError(
          fmt::format("{}: job {} of this folder is in the queue yet ({} {}): wait for it, or "
                      "scancel {}",
                      store.directory(), id, count.as_integer(), state, id));
    }
  }
}

// What a program said on several lines.
std::string one_line(const std::string& text) {
  std::string line;
  for (const char c : text.substr(0, text.find_last_not_of('\n') + 1))
    line += c == '\n' ? "; " : std::string(1, c);
  return printable(line);
}

SlurmJob submit_script(const std::string& sbatch, const std::string& folder,
                       const std::string& script, const std::string& dependency) {
  std::vector<std::string> words{sbatch, "--parsable"};
  if (!dependency.empty()) words.push_back(dependency);
  words.push_back(script);
  const ProgramResult said = run_program(words, kSubmitPatience, folder);
  if (!said.in_time)
    throw UsageError(fmt::format("sbatch gave no answer in {} s", kSubmitPatience));
  if (said.exit_code != 0) {
    throw UsageError(
        fmt::format("sbatch does not take {}/{}: {}", folder, script, one_line(said.err)));
  }
  return parse_slurm_job(said.out);
}

void submit_both(const SweepStore& store, const SlurmPlan& plan, const std::string& sbatch) {
  const std::string folder = store.path("slurm");
  Json jobs = Json::object();
  const SlurmJob array = submit_script(sbatch, folder, "run.sbatch", "");
  jobs["array"] = Json(array.id);
  jobs["merge"] = Json();
  jobs["name"] = Json(slurm_job_name(plan.name));
  jobs["cluster"] = Json(array.cluster);
  jobs["shards"] = Json(plan.shards);
  write_table(store.path(kJobs), dump_json(jobs));
  print(fmt::format("job {}: an array of {} shards\n", array.id, plan.shards));
  try {
    const SlurmJob merge = submit_script(sbatch, folder, "merge.sbatch",
                                         fmt::format("--dependency=afterany:{}", array.id));
    jobs["merge"] = Json(merge.id);
    write_table(store.path(kJobs), dump_json(jobs));
    print(fmt::format("job {}: merges them when all have ended\n", merge.id));
  } catch (const UsageError& e) {
    throw UsageError(
        fmt::format("{} (job {} runs nevertheless; when it has ended: trainyard sweep merge {})",
                    e.what(), array.id, shell_word(store.directory())));
  }
  print(fmt::format("how far it is: trainyard sweep status {}\n", shell_word(store.directory())));
}

void print_scripts(const std::string& directory, const std::string& run, const std::string& merge) {
  const auto file = [&](const char* name) { return shell_word(directory + "/slurm" + name); };
  print(
      fmt::format("# {}\n{}\n# {}\n{}\n# cd {}\n# sbatch --parsable run.sbatch\n"
                  "# sbatch --parsable --dependency=afterany:JOB merge.sbatch\n",
                  file("/run.sbatch"), run, file("/merge.sbatch"), merge, file("")));
}

}  // namespace

Json slurm_status(const SweepStore& store) {
  const Json jobs = read_jobs(store);
  if (jobs.is_null()) return {};
  const std::string squeue = find_program("squeue");
  ProgramResult said;
  std::string note;
  if (squeue.empty()) {
    note = "there is no squeue here to ask";
  } else {
    said = ask_queue(squeue, jobs);
    if (!said.in_time) {
      note = fmt::format("squeue gave no answer in {} s", kAskPatience);
    } else if (said.exit_code != 0 && said.err.find("Invalid job id") == std::string::npos) {
      note = "squeue: " + one_line(said.err);
    }
  }
  Json status = Json::object();
  status["jobs"] = Json::array();
  for (const char* part : {"array", "merge"}) {
    if (jobs.at(part).is_null()) continue;
    Json job = Json::object();
    job["part"] = Json(part);
    job["job"] = jobs.at(part);
    job["states"] = count_states(said.out, jobs.at(part).as_integer());
    status["jobs"].push_back(std::move(job));
  }
  status["note"] = Json(note);
  return status;
}

ExitCode sweep_submit_command(const SweepOptions& options, const SubmitOptions& submit) {
  if (!submit.slurm) throw UsageError("sweep submit: to what? (there is --slurm)");
  const std::string sbatch = find_program("sbatch");
  if (sbatch.empty() && !options.dry_run) {
    throw UsageError(
        "sweep submit: there is no sbatch on PATH (submit from a machine of the cluster; --dry-run "
        "shows the scripts)");
  }
  const auto [sweep, directory] = find_sweep(options);
  check_size(sweep, options);
  const SlurmPlan plan = make_plan(sweep, directory, submit);
  const std::string run = slurm_run_script(plan), merge = slurm_merge_script(plan);
  if (options.dry_run) {
    print_scripts(directory, run, merge);
    return ExitCode::kOk;
  }
  SweepStore store(directory);
  refuse_twice(store);
  hold_folder(store, sweep, false);
  std::error_code code;
  fs::create_directory(store.path("slurm"), code);
  if (code)
    throw UsageError(fmt::format("cannot make {}: {}", store.path("slurm"), code.message()));
  write_table(store.path("slurm/run.sbatch"), run);
  write_table(store.path("slurm/merge.sbatch"), merge);
  submit_both(store, plan, sbatch);
  return ExitCode::kOk;
}

}  // namespace trainyard
