#include "tools/sweep/slurm.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "sim/error.hpp"
#include "tests/golden/command.hpp"
#include "tools/sweep/process.hpp"

namespace trainyard {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using testing::TemporaryFolder;

const std::string kHostile =
    "</script><img src=x onerror=alert(1)> $(touch pwned) `touch pwned` \"; touch pwned #' \\ & "
    "| * ~ !\n#SBATCH --wrap=x\n\ttouch pwned\r\x1b[2J\x7f é";

std::string bash(const std::string& script) {
  const ProgramResult said = run_program({"/bin/bash", "-c", script}, 10);
  EXPECT_EQ(said.exit_code, 0) << said.err;
  return said.out;
}

TEST(ShellWord, IsTheTextForBash) {
  std::string bytes;
  for (int c = 1; c < 256; ++c) bytes += static_cast<char>(c);
  for (const std::string& text :
       {kHostile, bytes, std::string("plain"), std::string(), std::string("it's"),
        std::string("a\n'b\\012"), std::string("~"), std::string("-n"),
        std::string("\x01"
                    "1")}) {
    EXPECT_EQ(bash("printf %s " + shell_word(text)), text);
    for (const char c : shell_word(text)) EXPECT_TRUE(static_cast<unsigned char>(c) >= ' ');
  }
  EXPECT_EQ(shell_word("/usr/bin/trainyard"), "/usr/bin/trainyard");
}

TEST(SbatchWord, IsOneWordOfOneLine) {
  EXPECT_EQ(sbatch_word("--time=1-02:03:04"), "--time=1-02:03:04");
  EXPECT_EQ(sbatch_word("--comment=two \"words\" \\ #"), R"("--comment=two \"words\" \\ #")");
  EXPECT_EQ(sbatch_word(""), "\"\"");
  for (const char* text : {"a\nb", "a\rb", "a\tb", "a\x7f"})
    EXPECT_THROW(sbatch_word(text), UsageError);
}

TEST(SlurmJobName, KeepsWhatIsHarmless) {
  EXPECT_EQ(slurm_job_name("GPT-3 175B on 1,024_GPUs"), "GPT-3175Bon1024_GPUs");
  EXPECT_EQ(slurm_job_name("</script><img src=x onerror=alert(1)>"), "scriptimgsrcxonerroralert1");
  EXPECT_EQ(slurm_job_name("$(touch ../pwned)"), "touch..pwned");
  EXPECT_EQ(slurm_job_name("\"; rm -rf ~"), "rm-rf");
  EXPECT_EQ(slurm_job_name("\n"), "sweep");
  EXPECT_EQ(slurm_job_name(std::string(100, 'a')), std::string(64, 'a'));
}

TEST(DefaultShards, AreFourPerNodeAndNotTiny) {
  EXPECT_EQ(default_shards(4, 500), 16);
  EXPECT_EQ(default_shards(4, 40), 3);
  EXPECT_EQ(default_shards(4, 48), 3);
  EXPECT_EQ(default_shards(4, 49), 4);
  EXPECT_EQ(default_shards(1, 1), 1);
  EXPECT_EQ(default_shards(0, 0), 1);
  EXPECT_EQ(default_shards(1'000'000'000'000, 1'000'000), 256);
}

TEST(CountNodes, ReadsSinfo) {
  const std::string sinfo = "debug 2\nbatch* 100\nbatch* 28\nhuge 9000\n";
  EXPECT_EQ(count_nodes(sinfo, false), 128);
  EXPECT_EQ(count_nodes("debug 2\n", true), 2);
  EXPECT_EQ(count_nodes("", true), 0);
  EXPECT_EQ(count_nodes("sinfo: error: x", false), 0);
}

TEST(SlurmJob, IsReadFromSbatch) {
  EXPECT_EQ(parse_slurm_job("812\n").id, 812);
  EXPECT_EQ(parse_slurm_job("812;east\n").cluster, "east");
  for (const char* text : {"", "\n", "x", "0", "-3", "812;", "812;a b", "812 813", "812\n813\n"})
    EXPECT_THROW(parse_slurm_job(text), UsageError) << text;
}

TEST(CountStates, CountsTheTasksOfOneJob) {
  const std::string squeue = "12 RUNNING\n12 PENDING\n13 PENDING\n12 RUNNING\n120 FAILED\n";
  EXPECT_EQ(dump_json(count_states(squeue, 12), -1), R"({"PENDING":1,"RUNNING":2})");
  EXPECT_EQ(dump_json(count_states("", 12), -1), "{}");
}

SlurmPlan plan() {
  SlurmPlan all;
  all.program = "/opt/trainyard";
  all.working_directory = "/home/me";
  all.folder = "/home/me/a.sweep";
  all.name = "servers";
  all.shards = 16;
  return all;
}

TEST(SlurmScripts, TakeWholeNodesUnlessTold) {
  SlurmPlan one = plan();
  EXPECT_THAT(slurm_run_script(one), HasSubstr("\n#SBATCH --exclusive\n#SBATCH --mem=0\n"));
  EXPECT_THAT(slurm_merge_script(one), Not(HasSubstr("--exclusive")));
  one.cpus = 8;
  EXPECT_THAT(slurm_run_script(one), HasSubstr("\n#SBATCH --cpus-per-task=8\n"));
  EXPECT_THAT(slurm_run_script(one), Not(HasSubstr("--exclusive")));
  EXPECT_THAT(slurm_run_script(one), HasSubstr("\n#SBATCH --array=0-15\n"));
  for (const std::string& script : {slurm_run_script(one), slurm_merge_script(one)})
    EXPECT_THAT(script, HasSubstr("\n#SBATCH --requeue\n"));
}

// Of contradicting lines sbatch heeds the last.
TEST(SlurmScripts, LetOptionsChangeDefaultsOnly) {
  SlurmPlan one = plan();
  one.partition = "gpu";
  one.time = "2:00:00";
  one.options = {"mem=8G", "--account=x y", "nice"};
  const std::string script = slurm_run_script(one);
  EXPECT_LT(script.find("#SBATCH --mem=0\n"), script.find("#SBATCH --mem=8G\n"));
  EXPECT_LT(script.find("#SBATCH --mem=8G\n"), script.find("#SBATCH --array="));
  for (const char* line : {"#SBATCH --partition=gpu\n", "#SBATCH --time=2:00:00\n",
                           "#SBATCH \"--account=x y\"\n", "#SBATCH --nice\n"}) {
    EXPECT_THAT(script, HasSubstr(line));
    EXPECT_THAT(slurm_merge_script(one), HasSubstr(line));
  }
  for (const char* option : {"array=0-3", "--output=x", "wrap=ls", "-A x", "x", "", "--", "a b=c",
                             "comment=a\n#SBATCH --wrap=x", "no-requeue"}) {
    one.options = {option};
    EXPECT_THROW(slurm_run_script(one), UsageError) << option;
  }
}

TEST(SlurmScripts, RefuseWhatSlurmWouldExpand) {
  SlurmPlan one = plan();
  for (const char* folder : {"/home/100%", "/home/a\\b"}) {
    one.folder = folder;
    EXPECT_THROW(slurm_run_script(one), UsageError);
  }
}

// Runs the scripts as Slurm does, with a program that says what it was told.
TEST(SlurmScripts, PassOnHostileNamesAsTheyAre) {
  const TemporaryFolder folder;
  SlurmPlan one = plan();
  one.name = kHostile;
  one.folder = "/" + kHostile.substr(0, kHostile.find('\\'));
  const std::filesystem::path home = folder.path() / "it's \n$(touch pwned)";
  std::filesystem::create_directory(home);
  one.working_directory = home.string();
  one.program = (home / "say `touch pwned`").string();
  std::ofstream(one.program) << "#!/bin/bash\nprintf '%s\\0' \"$PWD\" \"$@\"\n";
  std::filesystem::permissions(one.program, std::filesystem::perms::owner_all);
  const auto run = [&](const std::string& script, const std::string& restarts) {
    folder.write("script", script);
    return run_program(
               {"/usr/bin/env", "SLURM_ARRAY_TASK_ID=3", "SLURM_ARRAY_JOB_ID=812",
                "SLURM_CPUS_ON_NODE=8", restarts, "/bin/bash", (folder.path() / "script").string()},
               10, folder.path().string())
        .out;
  };
  const auto words = [&](std::vector<std::string> all) {
    std::string text;
    for (const std::string& word : all) text += word + std::string(1, '\0');
    return text;
  };
  const auto shard = [&](const char* attempt) {
    return words({one.working_directory, "sweep", "run", one.folder, "--shard", "3/16", "--attempt",
                  attempt, "-j", "8", "--progress", "never"});
  };
  EXPECT_THAT(run(slurm_run_script(one), "A=b"), HasSubstr("restart 0\n" + shard("812.0")));
  EXPECT_THAT(run(slurm_run_script(one), "SLURM_RESTART_COUNT=2"),
              HasSubstr("restart 2\n" + shard("812.2")));
  EXPECT_EQ(run(slurm_merge_script(one), "A=b"),
            words({one.working_directory, "sweep", "merge", one.folder, "--complete"}));
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder.path()))
    EXPECT_NE(entry.path().filename(), "pwned");
}

TEST(RunProgram, KeepsBothStreamsAndTheCode) {
  const ProgramResult said = run_program({"/bin/sh", "-c", "pwd; echo no >&2; exit 3"}, 10, "/usr");
  EXPECT_TRUE(said.in_time);
  EXPECT_EQ(said.exit_code, 3);
  EXPECT_EQ(said.out, "/usr\n");
  EXPECT_EQ(said.err, "no\n");
  EXPECT_EQ(run_program({"/none"}, 10).exit_code, 127);
}

TEST(RunProgram, EndsOneThatDoesNot) {
  const ProgramResult said = run_program({"/bin/sleep", "600"}, 1);
  EXPECT_FALSE(said.in_time);
  EXPECT_EQ(said.exit_code, -1);
}

TEST(RunProgram, ReadsMoreThanAPipeHolds) {
  const ProgramResult said =
      run_program({"/bin/sh", "-c", "head -c 2000000 /dev/zero; head -c 300000 /dev/zero >&2"}, 10);
  EXPECT_TRUE(said.in_time);
  EXPECT_EQ(said.out.size(), std::size_t{1} << 20);
  EXPECT_EQ(said.err.size(), 300'000U);
}

}  // namespace
}  // namespace trainyard
