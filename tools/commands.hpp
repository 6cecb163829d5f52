// The subcommands: what each is told, and what it does. Each returns the process's exit code.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "sim/error.hpp"
#include "sim/recording.hpp"
#include "sim/result.hpp"
#include "sim/scenario.hpp"
#include "tools/sweep/sweep.hpp"

namespace trainyard {

enum class Format { kText, kJson, kCsv };

/// What --timeline-… say of the recording beside a result, as written.
struct TimelineFlags {
  int bars = 200'000;  ///< of all runs of a comparison together
  std::string ranks, window;
};
/// Throws UsageError for flags that say nothing of these scenarios (with none, of no scenario).
/// They share the bars.
RecordingOptions recording_options(const TimelineFlags& flags,
                                   const std::vector<LoadedScenario>& loaded);

/// Options that several commands share.
struct CommonOptions {
  LoadOptions load;
  Format format = Format::kText;
  std::string out;                   ///< folder for results and report; empty: none
  std::vector<std::string> asserts;  ///< "metric<value"
  TimelineFlags timeline;            ///< of what is written into `out`
  bool profile = false;              ///< say on stderr where the simulator's own time went
};

ExitCode run_command(const std::string& scenario, const CommonOptions& options);
/// `audited`: try what the claim's rows hang on (sim/audit.hpp), where there is a claim.
ExitCode compare_command(const std::vector<std::string>& scenarios, bool audited,
                         const CommonOptions& options);

struct CollectiveOptions {
  std::string operation = "all_reduce";
  std::string sizes;     ///< nccl-tests' notation: list or from:to:factor x; empty: 1M:1G:4x
  std::string measured;  ///< a file of nccl-tests' output to set beside; empty: none
  int ranks = 0;
  std::string algorithm, protocol, fidelity;
};
ExitCode collective_command(const std::string& scenario, const CollectiveOptions& what,
                            const CommonOptions& options);

/// Published measurements ("network") beside what the simulator gives. `strict`: kAssert when a bar
/// is missed.
ExitCode validate_command(const std::string& what, bool strict, const CommonOptions& options);

ExitCode check_command(const std::vector<std::string>& scenarios, const CommonOptions& options);
ExitCode schema_command();
ExitCode list_command(const std::string& kind, const CommonOptions& options);
ExitCode init_command(const std::string& file, const std::string& preset);
ExitCode report_command(const std::string& directory);
ExitCode docs_command(const std::string& page);

struct SweepOptions {
  std::string source;  ///< a sweep file, a scenario, or a folder that has a sweep already
  SweepAdditions additions;
  std::string out;  ///< the folder; empty: NAME.sweep beside where the command runs
  std::string shard = "0/1";
  std::string attempt;            ///< a name for the file of the rows, where several may be at it
  int jobs = 0;                   ///< simulations at a time; 0: one per core
  std::string progress = "auto";  ///< auto, always, never or json
  Format format = Format::kText;
  bool restart = false, retry_failed = false, yes = false, dry_run = false;
  bool complete = false;  ///< merge: fail when a variant has no row
};
ExitCode sweep_run_command(const SweepOptions& options);
ExitCode sweep_merge_command(const SweepOptions& options);
ExitCode sweep_status_command(const SweepOptions& options);

/// What Slurm is told of a sweep.
struct SubmitOptions {
  bool slurm = false;
  int shards = 0;  ///< 0: a few per node
  int cpus = 0;    ///< of a task; 0: a whole node
  std::string partition, time;
  std::vector<std::string> sbatch;
};
ExitCode sweep_submit_command(const SweepOptions& options, const SubmitOptions& submit);

/// Stages, counts and memory of every simulation behind a result, and the CPU time of all.
std::string profile_text(const std::vector<ResultPart>& parts);
/// Prints what the format's function makes; the others are not called.
void print_as(Format format, const std::function<std::string()>& text,
              const std::function<std::string()>& json, const std::function<std::string()>& csv);
/// Writes to stdout and reports a full disk or closed pipe as UsageError.
void print(const std::string& text);

/// What --assert demands of a result: "metric<limit".
struct Assertion {
  std::string metric;
  std::string condition;  ///< as written, like "<=10"
  double limit = 0;
  bool or_equal = false;
};
/// Throws UsageError for one that is no assertion.
std::vector<Assertion> parse_asserts(const std::vector<std::string>& texts);
/// Checks every assertion against a result's metrics; prints those that fail. kOk or kAssert.
/// Throws UsageError for one that names no metric.
ExitCode check_asserts(const std::vector<Assertion>& asserts, const Json& result);

}  // namespace trainyard
