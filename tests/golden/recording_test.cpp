// The recording of the command: its files, their way back, and what is said of damage and options.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "sim/gzip.hpp"
#include "sim/json.hpp"
#include "tests/golden/command.hpp"

namespace trainyard::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr const char* kScenario = R"({
  "name": "=small",
  "cluster": {"servers": 2, "server": "dgx-a100",
              "network": {"kind": "crossbar", "switch": "qm8700"}, "transport": "rdma",
              "gpudirect": true, "collectives": "nccl"},
  "jobs": [{"workload": {"kind": "gpt", "model": "megatron-22b", "tensor": 8, "pipeline": 2,
                         "global_batch": 4}}]
})";

class Recordings : public ::testing::Test {
 protected:
  Recordings() { folder_.write("small.json", kScenario); }
  CommandResult run(const std::vector<std::string>& arguments) {
    return run_command_in(TRAINYARD_BINARY, folder_, arguments);
  }
  void run_ok(const std::vector<std::string>& arguments) {
    const CommandResult result = run(arguments);
    ASSERT_EQ(result.exit_code, 0) << result.err;
  }
  void expect_refused(const std::vector<std::string>& arguments, int code,
                      const std::string& message) {
    const CommandResult result = run(arguments);
    EXPECT_EQ(result.exit_code, code);
    EXPECT_EQ(result.err, message + "\n");
  }
  /// Every file below a folder, with its bytes.
  std::map<std::string, std::string> files(const std::string& name) const {
    std::map<std::string, std::string> all;
    const std::filesystem::path top = folder_.path() / name;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(top)) {
      const std::string path = entry.path().lexically_relative(top).string();
      all[path] = entry.is_directory() ? "a folder" : folder_.read(name + "/" + path);
    }
    return all;
  }
  TemporaryFolder folder_;
};

const std::set<std::string> kOfARun{"accounts.csv", "critical_labels.csv",    "critical_path.csv",
                                    "links.csv",    "series/utilization.csv", "timeline.jsonl.gz"};

TEST_F(Recordings, StandBesideTheResult) {
  run_ok({"run", "small.json", "--out", "o"});
  const auto all = files("o");
  for (const std::string& name : kOfARun) EXPECT_EQ(all.count(name), 1U) << name;
  EXPECT_THAT(all.at("result.json"), ::testing::Not(HasSubstr("\"recording\"")));
  EXPECT_THAT(all.at("links.csv"), StartsWith("from,to,tier,direction,capacity_bytes_per_s,"
                                              "carried_bytes,load\nserver0/nic0,switch1.0,0,up,"));
  EXPECT_THAT(all.at("accounts.csv"), StartsWith("rank,stage,stands_for,compute_s,network_s,"
                                                 "nvlink_s,host_s,storage_s,bubble_s\n0,0,1,"));
  EXPECT_THAT(
      all.at("critical_path.csv"),
      StartsWith("rank,name,role,number,start_s,duration_s,gain_s\n0,forward,compute,0,0.0,"));
  EXPECT_THAT(all.at("critical_labels.csv"),
              StartsWith("name,role,stream,time_s,share,gain_s,gain_10_percent_s\nbackward,compute,"
                         "compute,"));
  EXPECT_THAT(all.at("series/utilization.csv"),
              StartsWith("time_s,gpu,nvlink,nic_out,nic_in,host_cpu_network,host_memory\n0.0,"));
}

TEST_F(Recordings, ArePrintedNowhere) {
  const CommandResult with = run({"run", "small.json", "--out", "o", "--format", "json"}),
                      without = run({"run", "small.json", "--format", "json"});
  EXPECT_EQ(with.out, without.out);
  const CommandResult two =
      run({"compare", "small.json", "small.json", "--out", "o", "--format", "json"});
  EXPECT_EQ(two.out, run({"compare", "small.json", "small.json", "--format", "json"}).out);
}

// All but result.json and the timeline follows from the two.
TEST_F(Recordings, ComeBackFromTheFolder) {
  run_ok({"run", "small.json", "--out", "o"});
  const auto before = files("o");
  for (const auto& [name, bytes] : before) {
    if (name != "result.json" && name != "timeline.jsonl.gz")
      std::filesystem::remove_all(folder_.path() / "o" / name);
  }
  run_ok({"report", "o"});
  EXPECT_EQ(files("o"), before);
}

TEST_F(Recordings, OfAComparisonComeBackFromTheFolder) {
  run_ok({"compare", "small.json", "small.json", "--out", "o", "--set",
          "jobs.0.workload.global_batch=6"});
  const auto before = files("o");
  for (const char* run : {"runs/1/", "runs/2/"}) {
    for (const std::string& name : kOfARun) EXPECT_EQ(before.count(run + name), 1U) << run << name;
  }
  std::filesystem::remove_all(folder_.path() / "o/runs/2/series");
  std::filesystem::remove(folder_.path() / "o/report.html");
  run_ok({"report", "o"});
  EXPECT_EQ(files("o"), before);
}

TEST_F(Recordings, OfAnEarlierDocumentGo) {
  run_ok({"compare", "small.json", "small.json", "small.json", "--out", "o"});
  run_ok({"compare", "small.json", "small.json", "--out", "o"});
  EXPECT_EQ(files("o").count("runs/2"), 1U);
  EXPECT_EQ(files("o").count("runs/3"), 0U);
  run_ok({"run", "small.json", "--out", "o"});
  EXPECT_EQ(files("o").count("runs"), 0U);
  EXPECT_EQ(files("o").count("timeline.jsonl.gz"), 1U);
  run_ok({"collective", "small.json", "--sizes", "1M", "--out", "o"});
  for (const std::string& name : kOfARun) EXPECT_EQ(files("o").count(name), 0U) << name;
  EXPECT_EQ(files("o").count("series"), 0U);
}

// What is not ours stays.
TEST_F(Recordings, LeaveOtherFilesAlone) {
  folder_.write("o/runs/mine/timeline.jsonl.gz", "mine");
  folder_.write("o/runs/7/notes.txt", "mine");
  folder_.write("o/runs/7/links.csv", "left");
  run_ok({"run", "small.json", "--out", "o"});
  const auto all = files("o");
  EXPECT_EQ(all.count("runs/mine/timeline.jsonl.gz"), 1U);
  EXPECT_EQ(all.count("runs/7/notes.txt"), 1U);
  EXPECT_EQ(all.count("runs/7/links.csv"), 0U);
}

TEST_F(Recordings, AreNotNeededForAReport) {
  run_ok({"run", "small.json", "--out", "o"});
  std::filesystem::remove(folder_.path() / "o/timeline.jsonl.gz");
  run_ok({"report", "o"});
  for (const std::string& name : kOfARun) EXPECT_EQ(files("o").count(name), 0U) << name;
  EXPECT_EQ(files("o").count("report.html"), 1U);
}

// As an earlier version of trainyard wrote them.
TEST_F(Recordings, MayHaveNoCriticalPath) {
  run_ok({"run", "small.json", "--out", "o"});
  std::string text = gunzip(folder_.read("o/timeline.jsonl.gz"), std::size_t{1} << 26, "o");
  const std::size_t end = text.find('\n');
  Json header = parse_json(text.substr(0, end), "header");
  header.erase("critical_path");
  folder_.write("o/timeline.jsonl.gz", gzip(dump_json(header, -1) + text.substr(end)));
  run_ok({"report", "o"});
  const auto all = files("o");
  EXPECT_EQ(all.count("critical_path.csv"), 0U);
  EXPECT_EQ(all.count("critical_labels.csv"), 0U);
  EXPECT_EQ(all.count("accounts.csv"), 1U);
  EXPECT_THAT(all.at("report.html"), HasSubstr("data-chart=\"timeline\""));
  EXPECT_THAT(all.at("report.html"), ::testing::Not(HasSubstr("data-chart=\"critical\"")));
}

TEST_F(Recordings, ThatAreDamagedAreOneClearError) {
  run_ok({"run", "small.json", "--out", "o"});
  const std::string packed = folder_.read("o/timeline.jsonl.gz");
  const std::string text = gunzip(packed, std::size_t{1} << 26, "o");
  const auto refused = [&](const std::string& bytes, const std::string& why) {
    folder_.write("o/timeline.jsonl.gz", bytes);
    const auto before = files("o");
    expect_refused({"report", "o"}, 3,
                   "o/timeline.jsonl.gz: " + why + " (run the scenario again, or delete the file)");
    EXPECT_EQ(files("o"), before);
  };
  const auto changed = [&](const std::string& from, const std::string& to) {
    std::string other = text;
    const std::size_t at = other.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return gzip(other.replace(at, from.size(), to));
  };
  refused(packed.substr(0, packed.size() / 2), "ends too early");
  refused("", "ends too early");
  std::string flipped = packed;
  flipped[flipped.size() - 6] = static_cast<char>(flipped[flipped.size() - 6] ^ 4);
  refused(flipped, "is damaged or no gzip file (incorrect data check)");
  refused(changed("\"schema_version\":1", "\"schema_version\":9"),
          "/schema_version: is of another version of trainyard");
  refused(changed("\"stage\":0", "\"stage\":-1"), "/lanes/0/stage: is no whole number from 0 on");
  refused(changed("\n[0,", "\n[-1,"),
          "line 2: is no bar of the lanes, names and roles in the first line");
  refused(changed("\"left_out\"", "\"left\""), "has no \"left_out\"");
  refused(gzip(text.substr(0, text.size() - 1)),
          fmt::format("line {}: is cut off", std::count(text.begin(), text.end(), '\n')));
}

// 200 MiB of nothing in 200 kB: refused without taking its memory.
TEST_F(Recordings, DoNotUnpackWithoutLimit) {
  run_ok({"run", "small.json", "--out", "o"});
  folder_.write("o/timeline.jsonl.gz", gzip(std::string(std::size_t{200} << 20, ' ')));
  const CommandResult result = run({"report", "o"});
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_EQ(result.err,
            "o/timeline.jsonl.gz: unpacks to more than 134217728 bytes (run the scenario again, or "
            "delete the file)\n");
  EXPECT_LT(result.peak_kib, 400 * 1024);
}

TEST_F(Recordings, OptionsSayWhatIsRight) {
  const auto refused = [&](const std::vector<std::string>& options, const std::string& why) {
    std::vector<std::string> arguments{"run", "small.json", "--out", "o"};
    arguments.insert(arguments.end(), options.begin(), options.end());
    expect_refused(arguments, 2, "trainyard: " + why);
    EXPECT_FALSE(std::filesystem::exists(folder_.path() / "o"));
  };
  const std::string ranks = " (write GPUs and ranges of them, like 0,8,16-23)",
                    window = " (write FROM:TO, like 0s:1.5s)";
  refused({"--timeline-ranks", "1,x"},
          "--timeline-ranks \"1,x\" has \"x\" where a GPU's number should be" + ranks);
  refused({"--timeline-ranks", "1,"},
          "--timeline-ranks \"1,\" has \"\" where a GPU's number should be" + ranks);
  refused({"--timeline-ranks", "5-3"},
          "--timeline-ranks \"5-3\" has a range that ends before it begins, \"5-3\"" + ranks);
  refused(
      {"--timeline-ranks", "0-16"},
      "--timeline-ranks \"0-16\" names GPU 16, and the cluster of small.json has 0 to 15" + ranks);
  refused({"--timeline-ranks", "99999999999999999999"},
          "--timeline-ranks \"99999999999999999999\" names a GPU that is too large" + ranks);
  refused({"--timeline-window", "1s"},
          "--timeline-window \"1s\" is no FROM:TO (write it like 0s:1.5s)");
  refused({"--timeline-window", "2s:1s"},
          "--timeline-window \"2s:1s\" ends before it begins" + window);
  refused({"--timeline-window", "-1s:1s"},
          "--timeline-window \"-1s:1s\": -1s is before the run begins" + window);
  refused({"--timeline-window", "0s:1 GB"},
          "--timeline-window \"0s:1 GB\": \"1 GB\" is bytes, not seconds; write it like "
          "\"1.5 us\"" +
              window);
  refused({"--timeline-bars", "0"},
          "--timeline-bars: Value 0 not in range 1 to 500000 (see trainyard run --help)");
  expect_refused({"run", "small.json", "--timeline-bars", "5"}, 2,
                 "trainyard: --timeline-bars requires --out (see trainyard run --help)");
}

// The runs of a comparison share the bars.
TEST_F(Recordings, BarsAreOfAllRunsTogether) {
  run_ok({"compare", "small.json", "small.json", "--out", "o", "--timeline-bars", "8"});
  for (const char* run : {"o/runs/1/", "o/runs/2/"}) {
    const std::string text =
        gunzip(folder_.read(std::string(run) + "timeline.jsonl.gz"), std::size_t{1} << 26, run);
    EXPECT_THAT(text, HasSubstr("\"bars\":4,"));
  }
}

}  // namespace
}  // namespace trainyard::testing
