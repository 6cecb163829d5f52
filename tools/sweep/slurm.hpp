// A sweep as jobs of Slurm: the scripts, and what the commands of Slurm say. Nothing here runs
// anything.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/json.hpp"

namespace trainyard {

/// What the scripts are made of. No text in it is trusted: in the scripts each is one word, or a
/// UsageError.
struct SlurmPlan {
  std::string program, working_directory, folder;  ///< absolute paths
  std::string name;                                ///< of the sweep
  int shards = 1;
  int cpus = 0;  ///< of each task; 0: whole nodes
  std::string partition, time;
  std::vector<std::string> options;  ///< more of sbatch: "account=x", with or without dashes
};

/// An array of tasks 0 to shards - 1, each with a pool of simulations of its own. What it and the
/// merge script print goes to where they are submitted from.
std::string slurm_run_script(const SlurmPlan& plan);
/// One task that merges what there is and fails when something is missing or failed.
std::string slurm_merge_script(const SlurmPlan& plan);

/// The name of the jobs: letters, digits, dot, underscore and minus of the sweep's, not more than
/// 64 of them; "sweep" if there are none.
std::string slurm_job_name(const std::string& name);
/// One word for bash, without control characters in it.
std::string shell_word(const std::string& text);
/// One word of an #SBATCH line. Throws UsageError for control characters: a line break would end
/// the line.
std::string sbatch_word(const std::string& text);

/// Four per node, so that a node that is slow or lost costs little; at least 16 variants for each,
/// so that starting is little of the work; and not more than queues and their users bear.
int default_shards(std::int64_t nodes, std::uint64_t variants);
/// How many nodes `sinfo -h -o "%P %D"` tells of: those of the default partition (with a "*"), or
/// all of them if a partition was asked for.
std::int64_t count_nodes(const std::string& sinfo, bool asked);

struct SlurmJob {
  std::int64_t id = 0;
  std::string cluster;  ///< empty: the only one
};
/// Reads what `sbatch --parsable` said. Throws UsageError when it is no job id.
SlurmJob parse_slurm_job(const std::string& sbatch);
/// How many tasks of a job are in each state, sorted by name, from `squeue -h -r -o "%F %T"`.
Json count_states(const std::string& squeue, std::int64_t job);

}  // namespace trainyard
