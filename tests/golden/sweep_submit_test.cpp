// sweep submit without Slurm: programs of its names stand in, and run what they are given at once.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/golden/command.hpp"
#include "tools/sweep/store.hpp"

namespace trainyard::testing {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr const char* kScenario = R"({
  "name": "ring", "engine": {"executor": "flow", "fidelity": "flow", "seed": 1},
  "cluster": {"servers": 8, "server": "dgx-h100",
    "network": {"kind": "fat-tree", "switch": "qm9700", "tiers": 2, "rails": 8,
      "link_latency": {"value": "50 ns", "derived": "10 m of cable at 5 ns/m"},
      "routing": "d-mod-k"},
    "transport": "rdma", "gpudirect": true, "collectives": "nccl"},
  "jobs": [{"name": "GPT-3", "workload": {"kind": "gpt", "model": "gpt3-175b", "tensor": 8,
    "micro_batch": 1, "recompute": "selective", "pipeline": 8, "global_batch": 8}}]})";

constexpr const char* kSweep = R"({
  "name": "</script> $(touch pwned)\n\"; touch pwned", "scenario": "scenario.json",
  "axes": [{"path": "jobs.0.workload.global_batch", "values": [8, 16, 24, 32]},
           {"path": "engine.seed", "values": [1, 2]}]})";

// Writes what it is told down; runs the script, each task of an array for itself.
constexpr const char* kSbatch = R"(#!/bin/bash
printf '%s|' "$PWD" "$@" >>"$FAKE/said"
echo >>"$FAKE/said"
script=${@: -1}
export SLURM_CPUS_ON_NODE=2 SLURMD_NODENAME=n1 SLURM_ARRAY_JOB_ID=812
last=$(sed -n 's/^#SBATCH --array=0-//p' "$script")
for ((i = 0; i <= ${last:-0}; ++i)); do
  SLURM_ARRAY_TASK_ID=$i bash "$script" >>"$FAKE/log" 2>&1
done
[ -n "$last" ] && echo "812;east" || { echo $? >"$FAKE/merged"; echo 813; }
)";

// A folder with a sweep, and PATH with the stand-ins.
class SweepSubmit : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_.write("scenario.json", kScenario);
    folder_.write("sweep.json", kSweep);
    std::filesystem::create_directory(fakes());
    setenv("FAKE", fakes().c_str(), 1);
    const char* path = std::getenv("PATH");
    path_ = path != nullptr ? path : "/usr/bin:/bin";
    setenv("PATH", (fakes() + ":/usr/bin:/bin").c_str(), 1);
  }
  void TearDown() override { setenv("PATH", path_.c_str(), 1); }
  std::string fakes() const { return (folder_.path() / "fakes").string(); }
  void fake(const std::string& name, const std::string& script) const {
    folder_.write("fakes/" + name, script);
    std::filesystem::permissions(fakes() + "/" + name, std::filesystem::perms::owner_all);
  }
  // No Slurm at all, also where it is installed.
  void only_fakes() const { setenv("PATH", fakes().c_str(), 1); }
  CommandResult trainyard(const std::vector<std::string>& words) const {
    return run_command_in(TRAINYARD_BINARY, folder_, words);
  }
  CommandResult submit(std::vector<std::string> more = {}) const {
    std::vector<std::string> words{"sweep", "submit", "sweep.json", "--slurm", "--out", "out"};
    words.insert(words.end(), more.begin(), more.end());
    return trainyard(words);
  }
  bool exists(const std::string& name) const {
    return std::filesystem::exists(folder_.path() / name);
  }

  TemporaryFolder folder_;
  std::string path_;
};

TEST_F(SweepSubmit, SaysWhatIsMissingWithoutSlurm) {
  only_fakes();
  const CommandResult result = submit();
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_EQ(result.err,
            "trainyard: sweep submit: there is no sbatch on PATH (submit from a machine of the "
            "cluster; --dry-run shows the scripts)\n");
  EXPECT_FALSE(exists("out"));
  EXPECT_EQ(trainyard({"sweep", "submit", "sweep.json"}).err,
            "trainyard: sweep submit: to what? (there is --slurm)\n");
}

TEST_F(SweepSubmit, DryRunPrintsBothScriptsAndLeavesNothing) {
  only_fakes();
  const CommandResult result = submit({"--dry-run", "--shards", "3", "--partition", "a b"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(
      result.out,
      AllOf(StartsWith("# out/slurm/run.sbatch\n#!/bin/bash\n"),
            HasSubstr("\n#SBATCH --job-name=scripttouchpwnedtouchpwned\n"),
            HasSubstr("\n#SBATCH \"--partition=a b\"\n"), HasSubstr("\n#SBATCH --array=0-2\n"),
            HasSubstr("\n# out/slurm/merge.sbatch\n#!/bin/bash\n"),
            EndsWith("sbatch --parsable --dependency=afterany:JOB merge.sbatch\n")));
  EXPECT_FALSE(exists("out"));
}

TEST_F(SweepSubmit, SubmitsShardsAndTheirMerge) {
  fake("sbatch", kSbatch);
  fake("sinfo", "#!/bin/bash\necho 'test* 2'\n");
  fake("squeue", "#!/bin/bash\nprintf '%s|' \"$@\" >$FAKE/asked\necho 812 COMPLETED\n");
  const CommandResult result = submit({"--shards", "2", "--sbatch", "account=$(touch pwned) x"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.out,
            "job 812: an array of 2 shards\njob 813: merges them when all have ended\n"
            "how far it is: trainyard sweep status out\n");
  const std::string in = (folder_.path() / "out/slurm").string();
  EXPECT_EQ(folder_.read("fakes/said"),
            in + "|--parsable|run.sbatch|\n" + in +
                "|--parsable|--dependency=afterany:812|merge.sbatch|\n");
  EXPECT_EQ(trainyard({"sweep", "run", "sweep.json", "--out", "here"}).exit_code, 0);
  EXPECT_THAT(folder_.read("here/sweep.csv"), HasSubstr("\n8,"));
  EXPECT_EQ(folder_.read("out/sweep.csv"), folder_.read("here/sweep.csv"))
      << folder_.read("fakes/log");
  EXPECT_TRUE(exists("out/shard-0001-of-0002.812.0.jsonl"));
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder_.path()))
    EXPECT_NE(entry.path().filename(), "pwned");

  const CommandResult status = trainyard({"sweep", "status", "out"});
  EXPECT_THAT(status.out, HasSubstr("8 variants: 8 ok\n"
                                    "Slurm job 812 (array): 1 COMPLETED\n"
                                    "Slurm job 813 (merge): not in the queue any more\n"));
  EXPECT_THAT(folder_.read("fakes/asked"), EndsWith("|-j|812,813|-n|scripttouchpwnedtouchpwned,"
                                                    "scripttouchpwnedtouchpwned-merge|-M|east|"));
}

TEST_F(SweepSubmit, AsksSlurmForTheNodes) {
  fake("sinfo", "#!/bin/bash\n[ \"$*\" = '-h -o %P %D --partition=p' ] && echo 'p 3'\n");
  EXPECT_THAT(submit({"--dry-run", "--axis", "cluster.servers=8:800:+8", "--partition", "p"}).out,
              HasSubstr("#SBATCH --array=0-11\n"));
  EXPECT_THAT(submit({"--dry-run", "--axis", "cluster.servers=8:800:+8"}).out,
              HasSubstr("#SBATCH --array=0-3\n"));
}

TEST_F(SweepSubmit, RefusesWhatIsInTheQueue) {
  fake("sbatch", kSbatch);
  fake("squeue", "#!/bin/bash\necho 812 COMPLETED\necho 812 RUNNING\n");
  EXPECT_EQ(submit({"--shards", "1"}).exit_code, 0);
  const CommandResult again = submit({"--shards", "1"});
  EXPECT_EQ(again.exit_code, 2);
  EXPECT_EQ(again.err,
            "trainyard: out: job 812 of this folder is in the queue yet (1 RUNNING): wait for it, "
            "or scancel 812\n");
  fake("squeue",
       "#!/bin/bash\necho 'slurm_load_jobs error: Invalid job id specified' >&2\nexit 1\n");
  EXPECT_EQ(submit({"--shards", "1"}).exit_code, 0);
}

TEST_F(SweepSubmit, StatusDoesNotWaitForTheQueueForEver) {
  fake("sbatch", kSbatch);
  EXPECT_EQ(submit({"--shards", "1"}).exit_code, 0);
  fake("squeue", "#!/bin/bash\nexec sleep 600\n");
  const CommandResult status = trainyard({"sweep", "status", "out"});
  EXPECT_EQ(status.exit_code, 0) << status.err;
  EXPECT_THAT(status.out, HasSubstr("Slurm job 812 (array): squeue gave no answer in 5 s\n"));
  EXPECT_LT(status.seconds, 30);
  fake("squeue", "#!/bin/bash\necho 'squeue: error: no\tway' >&2\nexit 1\n");
  EXPECT_THAT(trainyard({"sweep", "status", "out"}).out,
              HasSubstr("(array): squeue: squeue: error: no?way\n"));
  only_fakes();
  std::filesystem::remove(fakes() + "/squeue");
  EXPECT_THAT(trainyard({"sweep", "status", "out"}).out,
              HasSubstr("(array): there is no squeue here to ask\n"));
  folder_.write("out/slurm/jobs.json", R"({"array": "-x", "merge": 1, "name": "", "cluster": ""})");
  const CommandResult broken = trainyard({"sweep", "status", "out"});
  EXPECT_EQ(broken.exit_code, 3);
  EXPECT_THAT(broken.err, StartsWith("out/slurm/jobs.json: /array: is no job id"));
}

TEST_F(SweepSubmit, SaysWhatSbatchSays) {
  fake("sbatch", "#!/bin/bash\necho 'sbatch: error: no' >&2\necho 'such partition' >&2\nexit 1\n");
  const CommandResult result = submit();
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_EQ(result.err,
            "trainyard: sbatch does not take out/slurm/run.sbatch: sbatch: error: no; such "
            "partition\n");
  fake("sbatch", "#!/bin/bash\n[ \"$2\" = run.sbatch ] && echo 7 || { echo limit >&2; exit 1; }\n");
  const CommandResult half = submit();
  EXPECT_EQ(half.exit_code, 2);
  EXPECT_THAT(half.err, HasSubstr("merge.sbatch: limit (job 7 runs nevertheless; when it has "
                                  "ended: trainyard sweep merge out)"));
  EXPECT_THAT(folder_.read("out/slurm/jobs.json"), HasSubstr("\"array\": 7"));
}

TEST_F(SweepSubmit, RefusesBadInput) {
  fake("sbatch", kSbatch);
  const std::string cases[][3] = {
      {"--partition", "a\nb", "$'--partition=a\\012b' has a line break"},
      {"--time", "1\r", "has a line break"},
      {"--sbatch", "array=0-3", "--sbatch array: the script sets that itself"},
      {"--shards", "0", "--shards"},
      {"--cpus", "-1", "--cpus"},
      {"--axis", "engine.seed=1:200000:+1", "--yes"},
      {"--out", "100%", "Slurm cannot write into"},
  };
  for (const auto& [option, value, message] : cases) {
    const CommandResult result = trainyard({"sweep", "submit", "scenario.json", "--slurm", "--axis",
                                            "cluster.servers=4,8", option, value});
    EXPECT_EQ(result.exit_code, 2) << option << value;
    EXPECT_THAT(result.err, HasSubstr(message));
  }
  EXPECT_FALSE(exists("scenario.sweep"));
  EXPECT_FALSE(exists("fakes/said"));
}

TEST_F(SweepSubmit, RefusesTheRowsOfAnotherProgram) {
  fake("sbatch", kSbatch);
  EXPECT_EQ(trainyard({"sweep", "run", "sweep.json", "--out", "out"}).exit_code, 0);
  std::string manifest = folder_.read("out/sweep.json");
  const std::size_t at = manifest.find("\"version\": \"");
  ASSERT_NE(at, std::string::npos);
  manifest.insert(at + std::string("\"version\": \"").size(), "9");
  folder_.write("out/sweep.json", manifest);
  const CommandResult result = submit();
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_THAT(result.err, HasSubstr("was begun by trainyard 9"));
  EXPECT_FALSE(exists("fakes/said"));
}

// What is left of a task that was given up for dead holds its shard's lock.
TEST_F(SweepSubmit, AnAttemptGoesOnBesideOneThatHoldsTheShard) {
  const std::vector<std::string> first{"sweep", "run",     "sweep.json", "--out",
                                       "out",   "--shard", "0/2"};
  EXPECT_EQ(trainyard(first).exit_code, 0);
  const std::string rows = folder_.read("out/shard-0000-of-0002.jsonl");
  const std::string one = rows.substr(0, rows.find('\n') + 1);
  ASSERT_GT(rows.size(), one.size());
  folder_.write("out/shard-0000-of-0002.jsonl", one + "{\"id\":\"half a row");
  FileLock lock((folder_.path() / "out/.shard-0000-of-0002.lock").string());
  ASSERT_TRUE(lock.try_exclusive());

  const CommandResult second = trainyard(first);
  EXPECT_EQ(second.exit_code, 2);
  EXPECT_THAT(second.err, HasSubstr("another process is writing this shard"));
  EXPECT_EQ(trainyard({"sweep", "run", "out", "--shard", "0/2", "--attempt", "812.1"}).exit_code,
            0);
  EXPECT_EQ(folder_.read("out/shard-0000-of-0002.jsonl"), one + "{\"id\":\"half a row");
  const std::string more = folder_.read("out/shard-0000-of-0002.812.1.jsonl");
  EXPECT_EQ(std::count(more.begin(), more.end(), '\n') + 1,
            std::count(rows.begin(), rows.end(), '\n'));
  EXPECT_EQ(more.find(one.substr(0, one.find(','))), std::string::npos);
  EXPECT_THAT(trainyard({"sweep", "status", "out"}).out, HasSubstr("0000-of-0002.812.1"));
  EXPECT_EQ(trainyard({"sweep", "run", "out", "--attempt", "a/../b"}).exit_code, 2);
}

TEST_F(SweepSubmit, ACompleteMergeNeedsEveryRow) {
  EXPECT_EQ(trainyard({"sweep", "run", "sweep.json", "--out", "out", "--shard", "0/2"}).exit_code,
            0);
  EXPECT_EQ(trainyard({"sweep", "merge", "out"}).exit_code, 0);
  const CommandResult result = trainyard({"sweep", "merge", "out", "--complete"});
  EXPECT_EQ(result.exit_code, 4);
  EXPECT_THAT(result.err, EndsWith(" variants have no row yet\n"));
  EXPECT_TRUE(exists("out/sweep.csv"));
}

}  // namespace
}  // namespace trainyard::testing
