// The sweep command from outside: what survives kills, full disks, and users.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mount.h>

#include <csignal>
#include <random>
#include <set>
#include <sstream>
#include <thread>

#include "sim/json.hpp"
#include "tests/golden/command.hpp"
#include "tests/support_sweep.hpp"

namespace trainyard {
namespace {

using testing::CommandResult;
using ::testing::HasSubstr;
using testing::TemporaryFolder;

std::string sweep_of(int variants) {
  return R"({"name": "test", "scenario": "base.json", "axes": [
      {"path": "cluster.servers", "values": [2, 4, 5000000]},
      {"path": "engine.seed", "from": 1, "to": )" +
         std::to_string(variants / 3) + R"(, "step": 1}]})";
}

/// A folder with a scenario, and the command in it.
class SweepCommand : public ::testing::Test {
 protected:
  SweepCommand() { folder_.write("base.json", testing::kTwoServers); }
  CommandResult run(std::vector<std::string> arguments) const {
    return testing::run_command_in(TRAINYARD_BINARY, folder_, std::move(arguments));
  }
  /// Starts it and does not wait.
  pid_t start(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), TRAINYARD_BINARY);
    std::vector<char*> argv;
    for (std::string& argument : arguments) argv.push_back(argument.data());
    argv.push_back(nullptr);
    const pid_t child = ::fork();
    if (child != 0) return child;
    ::alarm(60);
    const int null = ::open("/dev/null", O_WRONLY);
    if (::chdir(folder_.path().c_str()) == 0 && ::dup2(null, 1) == 1 && ::dup2(null, 2) == 2)
      ::execv(argv.front(), argv.data());
    ::_exit(127);
  }
  static int wait_for(pid_t child) {
    int status = 0;
    while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    return status;
  }
  std::vector<std::string> lines(const std::string& file) const {
    std::istringstream in(folder_.read(file));
    std::vector<std::string> all;
    for (std::string line; std::getline(in, line);) all.push_back(line);
    return all;
  }
  TemporaryFolder folder_;
};

std::vector<pid_t> children_of(pid_t parent) {
  std::ifstream in("/proc/" + std::to_string(parent) + "/task/" + std::to_string(parent) +
                   "/children");
  std::vector<pid_t> all;
  for (pid_t child = 0; in >> child;) all.push_back(child);
  return all;
}

TEST_F(SweepCommand, EveryVariantHasARow) {
  folder_.write("sweep.json", sweep_of(6));
  const CommandResult result = run({"sweep", "run", "sweep.json", "--out", "out"});
  EXPECT_EQ(result.exit_code, 4) << result.err;  // 5,000,000 servers are too many
  EXPECT_THAT(result.out, HasSubstr("test: 6 variants: 4 ok, 2 i"));
  const std::vector<std::string> csv = lines("out/sweep.csv");
  ASSERT_EQ(csv.size(), 7U);
  EXPECT_THAT(csv[0], ::testing::StartsWith("variant,id,cluster.servers,engine.seed,status,reason,"
                                            "allreduce_time_s,"));
  EXPECT_THAT(csv[5], HasSubstr(",5000000,1,i"));
  EXPECT_EQ(lines("out/shard-0000-of-0001.jsonl").size(), 6U);
  // Again: nothing is simulated, nothing changes.
  const std::string before = folder_.read("out/sweep.csv");
  EXPECT_EQ(run({"sweep", "sweep.json", "--out", "out"}).exit_code, 4);
  EXPECT_EQ(folder_.read("out/sweep.csv"), before);
  EXPECT_EQ(lines("out/shard-0000-of-0001.jsonl").size(), 6U);
}

TEST_F(SweepCommand, AMetricIsThatOfARunOfItsOwn) {
  ASSERT_EQ(run({"sweep", "base.json", "--axis", "cluster.servers=2,4", "--out", "out"}).exit_code,
            0);
  const CommandResult alone =
      run({"run", "base.json", "--set", "cluster.servers=4", "--format", "json"});
  const Json metrics = parse_json(alone.out, "alone").at("metrics");
  for (const std::string& line : lines("out/shard-0000-of-0001.jsonl")) {
    const Json row = parse_json(line, "row");
    if (row.at("axes").at("cluster.servers") != Json(4)) continue;
    EXPECT_EQ(row.at("metrics").at("allreduce_time_s"), metrics.at("allreduce_time_s"));
  }
}

TEST_F(SweepCommand, ShardsMakeTheSameTable) {
  folder_.write("sweep.json", sweep_of(30));
  run({"sweep", "sweep.json", "--out", "whole"});
  for (const char* shard : {"2/3", "0/3", "1/3"})
    run({"sweep", "run", "sweep.json", "--out", "parts", "--shard", shard});
  EXPECT_EQ(run({"sweep", "merge", "parts"}).exit_code, 4);
  EXPECT_EQ(folder_.read("parts/sweep.csv"), folder_.read("whole/sweep.csv"));
  const CommandResult status = run({"sweep", "status", "parts", "--format", "json"});
  const Json counts = parse_json(status.out, "status").at("counts");
  EXPECT_EQ(counts.at("ok"), Json(20));
  EXPECT_EQ(counts.at("missing"), Json(0));
}

TEST_F(SweepCommand, PartsAreReadableBeforeTheEnd) {
  folder_.write("sweep.json", sweep_of(30));
  run({"sweep", "run", "sweep.json", "--out", "parts", "--shard", "0/2"});
  run({"sweep", "merge", "parts"});
  const std::vector<std::string> rows = lines("parts/sweep.csv");
  ASSERT_EQ(rows.size(), 31U);
  const auto missing = std::count_if(rows.begin(), rows.end(), [](const std::string& row) {
    return row.find(",missing,") != std::string::npos;
  });
  EXPECT_EQ(static_cast<std::size_t>(missing) + lines("parts/shard-0000-of-0002.jsonl").size(),
            30U);
}

// Kills the sweep, one of its simulations, or both, at 20 moments, and goes on after each.
TEST_F(SweepCommand, SurvivesKillsAtRandomMomentsSlow) {
  folder_.write("sweep.json", sweep_of(600));
  run({"sweep", "sweep.json", "--out", "whole", "-j", "2"});
  std::mt19937 random(7);
  int killed = 0, workers = 0;
  for (int i = 0; i < 20; ++i) {
    const pid_t child = start({"sweep", "sweep.json", "--out", "killed", "-j", "2"});
    // Every other time not before it simulates: on a busy machine all kills would come too early.
    for (int wait = 0; i % 2 == 0 && wait < 500 && children_of(child).empty(); ++wait)
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    std::this_thread::sleep_for(std::chrono::milliseconds(random() % (i % 2 == 0 ? 150 : 400)));
    const int what = i % 3;
    if (what != 0) {
      for (const pid_t worker : children_of(child)) workers += ::kill(worker, SIGKILL) == 0 ? 1 : 0;
    }
    if (what == 1) std::this_thread::sleep_for(std::chrono::milliseconds(100));  // it carries on
    ::kill(child, what == 1 ? SIGINT : SIGKILL);
    const int status = wait_for(child);
    killed += WIFSIGNALED(status) ? 1 : 0;
  }
  EXPECT_GE(killed, 10) << "kills came too late to test anything";
  EXPECT_GE(workers, 5);
  EXPECT_EQ(run({"sweep", "sweep.json", "--out", "killed"}).exit_code, 4);
  EXPECT_EQ(folder_.read("killed/sweep.csv"), folder_.read("whole/sweep.csv"));
  std::multiset<std::string> ids;
  for (const std::string& line : lines("killed/shard-0000-of-0001.jsonl"))
    ids.insert(parse_json(line, "row").at("id").as_string());
  EXPECT_EQ(ids.size(), 600U);
  EXPECT_EQ(std::set<std::string>(ids.begin(), ids.end()).size(), 600U) << "a variant ran twice";
}

TEST_F(SweepCommand, AHalfWrittenRowIsCutOff) {
  folder_.write("sweep.json", sweep_of(12));
  run({"sweep", "sweep.json", "--out", "out"});
  const std::string csv = folder_.read("out/sweep.csv");
  const std::string shard = folder_.read("out/shard-0000-of-0001.jsonl");
  // As a machine that lost power would leave it.
  folder_.write("out/shard-0000-of-0001.jsonl", shard.substr(0, shard.size() - 20));
  run({"sweep", "merge", "out"});
  EXPECT_THAT(folder_.read("out/sweep.csv"), HasSubstr(",missing,"));
  run({"sweep", "sweep.json", "--out", "out"});
  EXPECT_EQ(folder_.read("out/sweep.csv"), csv);
  EXPECT_EQ(lines("out/shard-0000-of-0001.jsonl").size(), 12U);
}

TEST_F(SweepCommand, InterruptedItSaysHowToGoOn) {
  folder_.write("sweep.json", sweep_of(600));
  const pid_t child = start({"sweep", "sweep.json", "--out", "out"});
  std::this_thread::sleep_for(std::chrono::milliseconds(700));
  ::kill(child, SIGINT);
  const int status = wait_for(child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 130);
  EXPECT_EQ(lines("out/sweep.csv").size(), 601U) << "a table of what is there";
}

TEST_F(SweepCommand, OneSweepAtATime) {
  folder_.write("sweep.json", sweep_of(900));
  const pid_t child = start({"sweep", "sweep.json", "--out", "out"});
  for (int i = 0; i < 200 && lines("out/shard-0000-of-0001.jsonl").empty(); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  const CommandResult same = run({"sweep", "sweep.json", "--out", "out"});
  EXPECT_EQ(same.exit_code, 2);
  EXPECT_THAT(same.err, HasSubstr("another process is writing this shard"));
  const CommandResult other =
      run({"sweep", "base.json", "--axis", "cluster.servers=2,4", "--out", "out"});
  EXPECT_EQ(other.exit_code, 2);
  EXPECT_THAT(other.err, HasSubstr("another process is running a sweep in this folder"));
  ::kill(child, SIGKILL);
  wait_for(child);
}

TEST_F(SweepCommand, AChangedSweepKeepsWhatItSharesWithTheOld) {
  run({"sweep", "base.json", "--axis", "cluster.servers=2,4", "--out", "out"});
  const CommandResult more =
      run({"sweep", "base.json", "--axis", "cluster.servers=4,8", "--out", "out"});
  EXPECT_EQ(more.exit_code, 0) << more.err;
  EXPECT_EQ(lines("out/shard-0000-of-0001.jsonl").size(), 3U) << "4 servers once";
  EXPECT_EQ(lines("out/sweep.csv").size(), 3U) << "2 servers are none of it now";
}

TEST_F(SweepCommand, AStoreOfAnotherVersionIsRefused) {
  run({"sweep", "base.json", "--axis", "cluster.servers=2", "--out", "out"});
  Json manifest = parse_json(folder_.read("out/sweep.json"), "manifest");
  manifest["version"] = "0.0.1";
  folder_.write("out/sweep.json", dump_json(manifest));
  const CommandResult old =
      run({"sweep", "base.json", "--axis", "cluster.servers=2", "--out", "out"});
  EXPECT_EQ(old.exit_code, 3);
  EXPECT_THAT(old.err, HasSubstr("out/sweep.json: /version: was begun by trainyard 0.0.1"));
  EXPECT_THAT(old.err, HasSubstr("--restart"));
  EXPECT_EQ(lines("out/shard-0000-of-0001.jsonl").size(), 1U) << "nothing is lost";
  EXPECT_EQ(run({"sweep", "base.json", "--axis", "cluster.servers=2", "--out", "out", "--restart"})
                .exit_code,
            0);
  manifest["schema_version"] = 99;
  folder_.write("out/sweep.json", dump_json(manifest));
  EXPECT_EQ(run({"sweep", "merge", "out"}).exit_code, 3);
  EXPECT_EQ(run({"sweep", "status", "out"}).exit_code, 3);
}

TEST_F(SweepCommand, ADamagedRowIsNamed) {
  run({"sweep", "base.json", "--axis", "cluster.servers=2", "--out", "out"});
  folder_.write("out/shard-0000-of-0001.jsonl", "{\"id\": 7}\n");
  const CommandResult result = run({"sweep", "merge", "out"});
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_THAT(result.err, HasSubstr("out/shard-0000-of-0001.jsonl: line 1: is no row of a sweep"));
}

TEST_F(SweepCommand, ABrokenManifestCanBeBegunAnew) {
  run({"sweep", "base.json", "--axis", "cluster.servers=2", "--out", "out"});
  folder_.write("out/sweep.json", "{ not json");
  const CommandResult broken =
      run({"sweep", "base.json", "--axis", "cluster.servers=2", "--out", "out"});
  EXPECT_EQ(broken.exit_code, 3);
  EXPECT_THAT(broken.err, HasSubstr("--restart"));
  EXPECT_EQ(run({"sweep", "base.json", "--axis", "cluster.servers=2", "--out", "out", "--restart"})
                .exit_code,
            0);
}

TEST_F(SweepCommand, RowsThatSayWhatNoneCanAreNamed) {
  run({"sweep", "base.json", "--axis", "cluster.servers=2", "--out", "out"});
  for (const char* row :
       {R"({"id": "7", "status": "great", "reason": "", "metrics": {}})",
        R"({"id": "7", "status": "ok", "reason": "", "metrics": {"mfu": "x"}})"}) {
    folder_.write("out/shard-0000-of-0001.jsonl", std::string(row) + "\n");
    const CommandResult result = run({"sweep", "merge", "out"});
    EXPECT_EQ(result.exit_code, 3);
    EXPECT_THAT(result.err, HasSubstr("line 1: is no row of a sweep"));
  }
}

TEST_F(SweepCommand, ObjectivesAndConditionsCostNoSimulation) {
  folder_.write("sweep.json", sweep_of(6));
  run({"sweep", "sweep.json", "--out", "out"});
  const CommandResult ranked = run({"sweep", "sweep.json", "--out", "out", "--objective",
                                    "simulated_ops", "--constraint", "allreduce_time_s < 0 s"});
  EXPECT_EQ(lines("out/shard-0000-of-0001.jsonl").size(), 6U);
  EXPECT_THAT(ranked.out, HasSubstr("4 excluded"));
  EXPECT_THAT(folder_.read("out/sweep.csv"), HasSubstr("excluded,allreduce_time_s < 0 s does not"));
  const CommandResult status = run({"sweep", "status", "out", "--format", "json"});
  EXPECT_EQ(parse_json(status.out, "status").at("counts").at("excluded"), Json(4));
}

TEST_F(SweepCommand, AFolderIsOfARunOrOfASweep) {
  run({"run", "base.json", "--out", "run"});
  const CommandResult over =
      run({"sweep", "base.json", "--axis", "cluster.servers=2", "--out", "run"});
  EXPECT_EQ(over.exit_code, 2);
  EXPECT_THAT(over.err, HasSubstr("run: holds the result.json of a run"));
  run({"sweep", "base.json", "--axis", "cluster.servers=2", "--out", "out"});
  const CommandResult other = run({"run", "base.json", "--out", "out"});
  EXPECT_EQ(other.exit_code, 2);
  EXPECT_THAT(other.err, HasSubstr("it holds a sweep"));
}

TEST_F(SweepCommand, AMillionVariantsNeedAWord) {
  const CommandResult result =
      run({"sweep", "base.json", "--axis", "engine.seed=1:1000000:+1", "--out", "out"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("1000000 variants"));
  EXPECT_THAT(result.err, HasSubstr("--yes"));
  EXPECT_FALSE(std::filesystem::exists(folder_.path() / "out"));
}

TEST_F(SweepCommand, MistakesAreOneClearError) {
  const auto says = [&](std::vector<std::string> arguments, int code, const std::string& text) {
    arguments.insert(arguments.begin(), "sweep");
    const CommandResult result = run(arguments);
    EXPECT_EQ(result.exit_code, code) << result.err;
    EXPECT_THAT(result.err, HasSubstr(text));
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
  };
  says({"base.json"}, 3, "base.json: /axes: nothing is varied (give --axis");
  says({"base.json", "--axis", "cluster.servrs=2"}, 3, "did you mean \"servers\"?");
  says({"base.json", "--axis", "cluster.servers="}, 2, "has no values");
  says({"run", "gone.json", "--axis", "a=1"}, 3, "gone.json");
  says({"base.json", "--axis", "cluster.servers=2", "--shard", "4/4"}, 2, "--shard \"4/4\"");
  says({"merge", "."}, 3, "holds no sweep.json");
  says({"status", "nowhere"}, 3, "holds no sweep.json");
  says({"base.json", "--axis", "cluster.servers=2", "--out", "base.json"}, 2, "base.json");
  says({"base.json", "--axis", "cluster.servers=2", "--constraint", "x <"}, 3, "is no condition");
}

TEST_F(SweepCommand, NamesCannotDoAnything) {
  const std::string evil = "</script><img src=x onerror=alert(1)>";
  Json cases = Json::object();
  cases["@SUM(A1)"]["name"] = "=cmd|' /C calc'!A0";
  cases["-2"] = Json::object();
  cases[evil]["name"] = Json(evil);
  Json axis = Json::object();
  axis["name"] = "=1+1";
  axis["cases"] = cases;
  Json sweep = Json::object();
  sweep["name"] = Json(evil);
  sweep["scenario"] = "base.json";
  sweep["axes"] = Json(Json::Array{axis});
  folder_.write("sweep.json", dump_json(sweep));
  EXPECT_EQ(run({"sweep", "sweep.json", "--out", "out"}).exit_code, 0);
  const std::vector<std::string> csv = lines("out/sweep.csv");
  EXPECT_THAT(csv[0], HasSubstr(",'=1+1,"));
  EXPECT_THAT(csv[1], HasSubstr(",'@SUM(A1),ok"));
  EXPECT_THAT(csv[2], HasSubstr(",'-2,ok"));
}

// A file system with room for a few rows only.
TEST_F(SweepCommand, AFullDiskLosesNothing) {
  const std::string disk = (folder_.path() / "disk").string();
  std::filesystem::create_directory(disk);
  if (::mount("tmpfs", disk.c_str(), "tmpfs", 0, "size=64k") != 0)
    GTEST_SKIP() << "no right to mount a small disk";
  folder_.write("sweep.json", sweep_of(360));
  const CommandResult full = run({"sweep", "sweep.json", "--out", "disk/out"});
  const std::vector<std::string> rows = lines("disk/out/shard-0000-of-0001.jsonl");
  EXPECT_EQ(full.exit_code, 2) << full.err;
  EXPECT_THAT(full.err, HasSubstr("No space left on device"));
  EXPECT_THAT(full.err, HasSubstr("what was done stays"));
  EXPECT_EQ(std::count(full.err.begin(), full.err.end(), '\n'), 1) << full.err;
  EXPECT_GT(rows.size(), 10U);
  for (const std::string& row : rows) EXPECT_NO_THROW(parse_json(row, "row"));
  // Read-only, then with room again.
  ::mount("tmpfs", disk.c_str(), "tmpfs", MS_REMOUNT | MS_RDONLY, "size=8m");
  const CommandResult closed = run({"sweep", "sweep.json", "--out", "disk/out"});
  EXPECT_EQ(closed.exit_code, 2);
  EXPECT_THAT(closed.err, HasSubstr("Read-only file system"));
  ::mount("tmpfs", disk.c_str(), "tmpfs", MS_REMOUNT, "size=8m");
  EXPECT_EQ(run({"sweep", "sweep.json", "--out", "disk/out"}).exit_code, 4);
  run({"sweep", "sweep.json", "--out", "whole"});
  EXPECT_EQ(folder_.read("disk/out/sweep.csv"), folder_.read("whole/sweep.csv"));
  ::umount2(disk.c_str(), MNT_DETACH);
}

}  // namespace
}  // namespace trainyard
