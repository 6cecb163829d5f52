#include "tools/sweep/slurm.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <sstream>

#include "sim/error.hpp"
#include "tools/sweep/store.hpp"

namespace trainyard {
namespace {

bool is_control(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }

// Neither bash nor sbatch sees anything in it.
bool is_bare(const std::string& text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return is_plain(c) || c == '/' || c == ':' || c == ',' || c == '=' || c == '@' || c == '+';
  });
}

// What the scripts say themselves.
constexpr const char* kOwnOptions[] = {"array", "chdir",      "dependency", "error",
                                       "nodes", "no-requeue", "ntasks",     "open-mode",
                                       "wait",  "wrap",       "output",     "parsable"};

std::string option_line(const std::string& option) {
  const std::string words = option.substr(std::min(option.find_first_not_of('-'), option.size()));
  const std::string name = words.substr(0, words.find('='));
  if (name.size() < 2 || !std::all_of(name.begin(), name.end(), is_plain)) {
    throw UsageError(
        fmt::format("--sbatch \"{}\" is no long option of sbatch (write --sbatch account=x)",
                    sbatch_word(option)));
  }
  if (std::find(std::begin(kOwnOptions), std::end(kOwnOptions), name) != std::end(kOwnOptions))
    throw UsageError(fmt::format("--sbatch {}: the script sets that itself", name));
  return "#SBATCH " + sbatch_word("--" + words) + "\n";
}

// Of two lines that contradict each other the later counts: the user's may change our defaults.
std::string head(const SlurmPlan& plan, const std::string& suffix, const std::string& defaults) {
  std::string text =
      "#!/bin/bash\n#SBATCH --job-name=" + slurm_job_name(plan.name) + suffix + "\n" + defaults;
  if (!plan.partition.empty())
    text += "#SBATCH " + sbatch_word("--partition=" + plan.partition) + "\n";
  if (!plan.time.empty()) text += "#SBATCH " + sbatch_word("--time=" + plan.time) + "\n";
  for (const std::string& option : plan.options) text += option_line(option);
  return text + "#SBATCH --nodes=1\n#SBATCH --ntasks=1\n#SBATCH --requeue\n";
}

// Paths are in no #SBATCH line, but the output of a task goes into the folder that it is submitted
// from, and Slurm expands patterns and escapes in that one's name, too.
std::string body(const SlurmPlan& plan) {
  if (plan.folder.find_first_of("%\\") != std::string::npos) {
    throw UsageError(
        fmt::format("Slurm cannot write into {}: it expands % and \\ in names (take "
                    "another --out)",
                    shell_word(plan.folder)));
  }
  return "# Submit it from the folder it is in: its output goes there.\ncd " +
         shell_word(plan.working_directory) + " || exit 1\n";
}

}  // namespace

std::string slurm_job_name(const std::string& name) {
  constexpr std::size_t kMost = 64;
  std::string kept;
  std::copy_if(name.begin(), name.end(), std::back_inserter(kept), is_plain);
  return kept.empty() ? "sweep" : kept.substr(0, kMost);
}

std::string shell_word(const std::string& text) {
  if (is_bare(text)) return text;
  if (std::any_of(text.begin(), text.end(), is_control)) {
    std::string word = "$'";
    for (const char c : text) {
      if (is_control(c)) {
        word += fmt::format("\\{:03o}", static_cast<int>(c));
      } else {
        word += c == '\'' || c == '\\' ? fmt::format("\\{}", c) : std::string(1, c);
      }
    }
    return word + "'";
  }
  std::string word = "'";
  for (const char c : text) word += c == '\'' ? R"('\'')" : std::string(1, c);
  return word + "'";
}

std::string sbatch_word(const std::string& text) {
  if (std::any_of(text.begin(), text.end(), is_control)) {
    throw UsageError(
        fmt::format("{} has a line break or another control character in it", shell_word(text)));
  }
  if (is_bare(text)) return text;
  std::string word = "\"";
  for (const char c : text)
    word += c == '"' || c == '\\' ? fmt::format("\\{}", c) : std::string(1, c);
  return word + "\"";
}

std::string slurm_run_script(const SlurmPlan& plan) {
  // Whole nodes with all their memory unless somebody knows better.
  std::string text = head(plan, "",
                          plan.cpus > 0 ? fmt::format("#SBATCH --cpus-per-task={}\n", plan.cpus)
                                        : std::string("#SBATCH --exclusive\n#SBATCH --mem=0\n"));
  text += fmt::format(
      "#SBATCH --array=0-{}\n#SBATCH --open-mode=append\n#SBATCH --output=run-%A_%a.out\n",
      plan.shards - 1);
  text += body(plan);
  text += fmt::format(
      "echo \"shard $SLURM_ARRAY_TASK_ID of {0} on $SLURMD_NODENAME, $SLURM_CPUS_ON_NODE CPUs,"
      " restart ${{SLURM_RESTART_COUNT:-0}}\"\n"
      "# A task that Slurm starts again, because its node was lost, goes on in a file of its own:\n"
      "# whatever is left of the first one may still write.\n"
      "exec {1} sweep run {2} --shard \"$SLURM_ARRAY_TASK_ID/{0}\" \\\n"
      "  --attempt \"$SLURM_ARRAY_JOB_ID.${{SLURM_RESTART_COUNT:-0}}\" \\\n"
      "  -j \"$SLURM_CPUS_ON_NODE\" --progress never\n",
      plan.shards, shell_word(plan.program), shell_word(plan.folder));
  return text;
}

std::string slurm_merge_script(const SlurmPlan& plan) {
  return head(plan, "-merge", "") + "#SBATCH --open-mode=append\n#SBATCH --output=merge-%j.out\n" +
         body(plan) +
         fmt::format("exec {} sweep merge {} --complete\n", shell_word(plan.program),
                     shell_word(plan.folder));
}

int default_shards(std::int64_t nodes, std::uint64_t variants) {
  constexpr std::int64_t kPerNode = 4;
  constexpr std::uint64_t kVariants = 16;  // for each, at least
  constexpr std::int64_t kMost = 256;      // sites allow hundreds of jobs, Slurm arrays of 1001
  const auto useful = static_cast<std::int64_t>(
      std::min<std::uint64_t>((variants + kVariants - 1) / kVariants, kMost));
  return static_cast<int>(std::clamp<std::int64_t>(std::min(nodes, kMost) * kPerNode, 1,
                                                   std::max<std::int64_t>(useful, 1)));
}

std::int64_t count_nodes(const std::string& sinfo, bool asked) {
  std::istringstream lines(sinfo);
  std::string partition;
  std::int64_t count = 0, nodes = 0;
  while (lines >> partition >> count) {
    if (asked || partition.ends_with('*')) nodes += count;
  }
  return nodes;
}

SlurmJob parse_slurm_job(const std::string& sbatch) {
  SlurmJob job;
  const auto [end, error] = std::from_chars(sbatch.data(), sbatch.data() + sbatch.size(), job.id);
  std::string rest(static_cast<const char*>(end), sbatch.data() + sbatch.size());
  if (rest.ends_with('\n')) rest.pop_back();
  if (rest.starts_with(';')) job.cluster = rest.substr(1);
  const bool known = rest.empty() || (rest.front() == ';' && is_bare(job.cluster));
  if (error != std::errc() || job.id <= 0 || !known)
    throw UsageError(fmt::format("sbatch gave no job id but {}", shell_word(sbatch)));
  return job;
}

Json count_states(const std::string& squeue, std::int64_t job) {
  std::istringstream lines(squeue);
  std::string id, state;
  std::map<std::string, std::int64_t> counts;
  while (lines >> id >> state) {
    if (id == std::to_string(job)) ++counts[state];
  }
  Json all = Json::object();
  for (const auto& [name, count] : counts) all[name] = Json(count);
  return all;
}

}  // namespace trainyard
