// What the command says about input that is wrong: whole messages, exit codes, nothing left behind.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/golden/command.hpp"

namespace trainyard::testing {
namespace {

using ::testing::ContainsRegex;
using ::testing::StartsWith;

constexpr std::string_view kSmall = R"({
  "name": "small",
  "cluster": {
    "servers": 2,
    "server": "dgx-a100",
    "network": {
      "kind": "fat-tree",
      "switch": "qm8700",
      "tiers": 2,
      "link_latency": "50 ns"
    },
    "transport": "rdma",
    "gpudirect": true,
    "collectives": "nccl"
  },
  "jobs": [
    {
      "name": "training",
      "workload": {
        "kind": "gpt",
        "model": "megatron-22b",
        "tensor": 8,
        "pipeline": 2,
        "global_batch": 16
      }
    }
  ],
  "probes": {"allreduce": {"operation": "all_reduce", "bytes": "1 MiB", "ranks": 16}}
}
)";

/// The small scenario with each `from` (which must be there) replaced by its `to`.
std::string changed(const std::vector<std::pair<std::string, std::string>>& changes) {
  std::string text(kSmall);
  for (const auto& [from, to] : changes) {
    const std::size_t at = text.find(from);
    if (at == std::string::npos) throw std::logic_error("the scenario has no " + from);
    text.replace(at, from.size(), to);
  }
  return text;
}

class BadInput : public ::testing::Test {
 protected:
  CommandResult run(const std::vector<std::string>& arguments) {
    return run_command_in(TRAINYARD_BINARY, folder, arguments);
  }
  /// `run` and `check` of s.json with that text both say exactly this; --out stays empty.
  void expect(const std::string& text, int exit_code, const std::string& message) {
    folder.write("s.json", text);
    const CommandResult ran = run({"run", "s.json", "--out", "results"});
    EXPECT_EQ(ran.err, message);
    EXPECT_EQ(ran.out, "");
    EXPECT_EQ(ran.exit_code, exit_code);
    EXPECT_FALSE(std::filesystem::exists(folder.path() / "results"));
    const CommandResult checked = run({"check", "s.json"});
    EXPECT_EQ(checked.err, message);
    EXPECT_EQ(checked.out, "");
    EXPECT_EQ(checked.exit_code, exit_code);
  }
  void expect_usage(const std::vector<std::string>& arguments, const std::string& message) {
    const CommandResult ran = run(arguments);
    EXPECT_EQ(ran.err, message);
    EXPECT_EQ(ran.out, "");
    EXPECT_EQ(ran.exit_code, 2);
  }
  TemporaryFolder folder;
};

TEST_F(BadInput, TheUnchangedScenarioIsRight) {
  folder.write("s.json", std::string(kSmall));
  EXPECT_EQ(run({"check", "s.json"}).exit_code, 0);
  const CommandResult ran = run({"run", "s.json", "--out", "results"});
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_EQ(ran.err, "");
  EXPECT_TRUE(std::filesystem::exists(folder.path() / "results" / "result.json"));
}

TEST_F(BadInput, BrokenJson) {
  expect(changed({{"\"gpudirect\": true,", "\"gpudirect\": true"}}), 3,
         "s.json: line 14, column 17: not valid JSON: unexpected string literal; expected '}'\n");
  expect("", 3,
         "s.json: line 1, column 1: not valid JSON: unexpected end of input; expected '[', '{', or "
         "a literal\n");
  expect("[]", 3, "s.json: /: is a list, not an object (a scenario is {…})\n");
}

TEST_F(BadInput, NumbersThatAreNone) {
  expect(changed({{"\"servers\": 2", "\"servers\": NaN"}}), 3,
         "s.json: line 4, column 16: not valid JSON: invalid literal; last read: '\"servers\": "
         "N'\n");
  expect(changed({{"\"servers\": 2", "\"servers\": 1e999"}}), 3,
         "s.json: line 4, column 20: the number 1e999 is too large for a double (the largest is "
         "about 1.8e308)\n");
  expect(changed({{"\"servers\": 2", "\"servers\": 1e30"}}), 3,
         "s.json: /cluster/servers: 1e+30 is not a whole number (number of servers)\n");
}

TEST_F(BadInput, DuplicateKey) {
  expect(changed({{"\"gpudirect\": true", "\"gpudirect\": true, \"gpudirect\": false"}}), 3,
         "s.json: /cluster: the key \"gpudirect\" appears twice in one object (keep one of the "
         "two)\n");
}

TEST_F(BadInput, DeepNesting) {
  const std::string message =
      "s.json: nested deeper than 100 levels (no scenario needs that; is this the right file?)\n";
  expect(std::string(101, '['), 3, message);
  std::string objects;
  for (int i = 0; i < 1'000'000; ++i) objects += "{\"a\":";
  expect(objects, 3, message);
}

TEST_F(BadInput, UnknownKey) {
  expect(changed({{"\"gpudirect\"", "\"gpudirekt\""}}), 3,
         "s.json: /cluster/gpudirekt: is not a field here (did you mean \"gpudirect\"?)\n");
}

TEST_F(BadInput, Quantities) {
  expect(changed({{"\"50 ns\"", "50"}}), 3,
         "s.json: /cluster/network/link_latency: 50 has no unit (write seconds as a string with "
         "its unit, like \"1.5 us\")\n");
  expect(changed({{"50 ns", "400Gbq"}}), 3,
         "s.json: /cluster/network/link_latency: \"400Gbq\" is not a quantity: unknown unit "
         "\"Gbq\"; write it like \"1.5 us\"\n");
  expect(changed({{"1 MiB", "-1 MiB"}}), 3,
         "s.json: /probes/allreduce/bytes: -1 MiB is too small (must be above 0 B)\n");
  expect(changed({{"1 MiB", "0 B"}}), 3,
         "s.json: /probes/allreduce/bytes: 0 B is too small (must be above 0 B)\n");
}

TEST_F(BadInput, LayoutThatDoesNotFit) {
  expect(changed({{"\"tensor\": 8", "\"tensor\": 3"}}), 3,
         "s.json: /jobs/0/workload/tensor: tensor 3 × pipeline 2 × data 2 is 12, not the job's 16 "
         "GPUs (change one of them, or the servers of the job)\n");
  expect(changed({{"\"servers\": 2", "\"servers\": 5"},
                  {"\"pipeline\": 2", "\"pipeline\": 5"},
                  {"\"global_batch\": 16", "\"global_batch\": 15"}}),
         3,
         "s.json: /jobs/0/workload/pipeline: 5 pipeline stages do not divide 48 layers (use a "
         "divisor of 48)\n");
}

TEST_F(BadInput, NamesThatDoNotExist) {
  // The probe's 16 ranks are not held against the GPUs of a server that could not be read.
  expect(changed({{"dgx-a100", "dgx-a10"}}), 3,
         "s.json: /cluster/server: \"dgx-a10\" is not in the catalogue of kind server (did you "
         "mean \"dgx-a100\"?)\n");
  expect(changed({{"fat-tree", "fat-tee"}}), 3,
         "s.json: /cluster/network/kind: \"fat-tee\" is not a topology (did you mean "
         "\"fat-tree\"?)\n");
  expect(changed({{"\"name\": \"small\"", R"("enable": ["rdam"], "features": {"rdma": {}})"}}), 3,
         "s.json: /enable/0: \"rdam\" is not a feature (did you mean \"rdma\"?)\n");
  expect(changed({{"\"name\": \"small\"", R"("enable": ["rdma"])"}}), 3,
         "s.json: /enable/0: \"rdma\" is not a feature (there are none)\n");
}

TEST_F(BadInput, FeaturesThatAreNone) {
  expect(changed({{"\"name\": \"small\"", R"("features": {"a": 1, "b": []})"}}), 3,
         "s.json: /features/a: is a number, not an object (like {\"rdma\": {\"cluster\": "
         "{\"transport\": \"rdma\"}}})\n"
         "s.json: /features/b: is a list, not an object (like {\"rdma\": {\"cluster\": "
         "{\"transport\": \"rdma\"}}})\n");
}

TEST_F(BadInput, Extends) {
  folder.write("base.json", R"({"extends": "s.json"})");
  expect(R"({"extends": "base.json"})", 3,
         "base.json: /extends: a cycle: s.json -> base.json -> s.json (a scenario cannot extend "
         "itself)\n");
  expect(R"({"extends": "none.json"})", 3,
         "s.json: /extends: there is no file none.json (the path is relative to this file)\n");
  folder.write("base.json", changed({{"dgx-a100", "dgx-a10"}}));
  expect(R"({"extends": "base.json", "nmae": "x"})", 3,
         "base.json: /cluster/server: \"dgx-a10\" is not in the catalogue of kind server (did you "
         "mean \"dgx-a100\"?)\n"
         "s.json: /nmae: is not a field here (did you mean \"name\"?)\n");
}

TEST_F(BadInput, PartsThatDoNotFit) {
  expect(changed({{"\"ranks\": 16", "\"ranks\": 17"}}), 3,
         "s.json: /probes/allreduce/ranks: 17 ranks, but the cluster has 16 GPUs (at most that "
         "many)\n");
  expect(changed({{"\"rdma\"", R"({"base": "kernel-tcp", "placement": "dpu"})"}}), 3,
         "s.json: /cluster/transport/placement: places the stack on a DPU, but the servers have "
         "none (set server.dpu and server.dpus, or placement \"host\")\n");
  expect(changed({{"\"tiers\": 2", "\"tiers\": 2, \"radix\": 2, \"rails\": 8"}}), 3,
         "s.json: /cluster/network/tiers: two tiers of 2-port switches hold 2 leaf switches, and "
         "these servers need 16 (use 3 tiers, more ports, or fewer servers)\n");
}

TEST_F(BadInput, OutOfGpuMemoryIsInfeasible) {
  folder.write("s.json", changed({{"megatron-22b", "gpt3-175b"}}));
  const CommandResult ran = run({"run", "s.json", "--out", "results"});
  EXPECT_EQ(ran.exit_code, 4);
  EXPECT_THAT(ran.err, ContainsRegex("^s.json: /jobs/0/workload: needs [0-9.]+ GB of GPU memory "
                                     "and the GPU has 85.9 GB: weights [0-9.]+ GB, gradients "
                                     "[0-9.]+ GB, optimizer [0-9.]+ GB, activations [0-9.]+ GB, "
                                     "logits [0-9.]+ M?B \\(more tensor or pipeline ranks, a "
                                     "smaller micro_batch, or recompute\\)\n$"));
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "results"));
}

// Two jobs would run two kernels at once on the same GPUs.
TEST_F(BadInput, JobsOnTheSameServers) {
  expect(changed({{"\"jobs\": [",
                   "\"jobs\": [{\"first_server\": 1, \"workload\": {\"kind\": \"collective\", "
                   "\"sizes\": [\"1 MiB\"]}},"}}),
         3,
         "s.json: /jobs/1/servers: shares server 1 with job 0 (give the jobs servers of their own: "
         "first_server and servers)\n");
}

TEST_F(BadInput, SeveralFaultsAtOnce) {
  expect(changed({{"dgx-a100", "dgx-a10"},
                  {"\"50 ns\"", "50"},
                  {"\"gpudirect\": true", "\"gpudirect\": 1"},
                  {"\"global_batch\"", "\"gobal_batch\""},
                  {"1 MiB", "-1 MiB"}}),
         3,
         "s.json: /cluster/server: \"dgx-a10\" is not in the catalogue of kind server (did you "
         "mean \"dgx-a100\"?)\n"
         "s.json: /cluster/network/link_latency: 50 has no unit (write seconds as a string with "
         "its unit, like \"1.5 us\")\n"
         "s.json: /cluster/gpudirect: 1 is not true or false\n"
         "s.json: /jobs/0/workload/global_batch: is missing (sequences per iteration)\n"
         "s.json: /jobs/0/workload/gobal_batch: is not a field here (did you mean "
         "\"global_batch\"?)\n"
         "s.json: /probes/allreduce/bytes: -1 MiB is too small (must be above 0 B)\n");
}

TEST_F(BadInput, CheckReportsTheFaultsOfEveryFile) {
  folder.write("a.json", changed({{"\"50 ns\"", "true"}}));
  folder.write("b.json", "{");
  const CommandResult ran = run({"check", "a.json", "b.json", "c.json"});
  EXPECT_EQ(ran.exit_code, 3);
  EXPECT_EQ(ran.err,
            "a.json: /cluster/network/link_latency: true is not a quantity (write seconds as a "
            "string with its unit, like \"1.5 us\")\n"
            "b.json: line 1, column 1: not valid JSON: unexpected end of input; expected string "
            "literal\n"
            "c.json: cannot be read: No such file or directory (check the path)\n");
}

TEST_F(BadInput, FilesThatCannotBeRead) {
  EXPECT_EQ(run({"run", "s.json"}).err,
            "s.json: cannot be read: No such file or directory (check the path)\n");
  EXPECT_EQ(run({"run", "s.json"}).exit_code, 3);
  EXPECT_EQ(run({"run", "."}).err, ".: is not a file (name a JSON file)\n");
  EXPECT_EQ(run({"run", "."}).exit_code, 3);
}

TEST_F(BadInput, AHugeFileIsRefusedUnread) {
  folder.write("s.json", "");
  std::filesystem::resize_file(folder.path() / "s.json", std::uintmax_t{1} << 30);
  const CommandResult ran = run({"check", "s.json"});
  EXPECT_EQ(ran.exit_code, 3);
  EXPECT_EQ(ran.err,
            "s.json: is 1073741824 bytes long; scenario files may have 67108864 at most (is this "
            "the right file?)\n");
  EXPECT_LT(ran.peak_kib, 100 * 1024);
}

TEST_F(BadInput, CatalogueEntryWithoutSource) {
  folder.write("s.json", std::string(kSmall));
  folder.write("more/gpu.json", R"({"mine": {"base": "a100-sxm-80gb", "memory": "80 GB"}})");
  const CommandResult ran = run({"check", "s.json", "--catalog", "more"});
  EXPECT_EQ(ran.exit_code, 3);
  EXPECT_EQ(ran.err,
            "more/gpu.json: /mine/memory: a catalogue value without a source (give the entry a "
            "\"source\", or write {\"value\": …, \"source\": \"where it stands\"})\n");
  EXPECT_EQ(run({"check", "s.json", "--catalog", "none"}).err,
            "none: cannot be read: No such file or directory (--catalog takes a folder of JSON "
            "files)\n");
}

TEST_F(BadInput, Assertions) {
  folder.write("s.json", std::string(kSmall));
  const CommandResult failed =
      run({"run", "s.json", "--assert", "step_time_s<0.001", "--assert", "step_time_s>0"});
  EXPECT_EQ(failed.exit_code, 5);
  EXPECT_THAT(failed.err,
              ContainsRegex("^assertion failed: step_time_s is [0-9.]+, not <0.001\n$"));
  EXPECT_THAT(failed.out, StartsWith("small\n"));
  EXPECT_EQ(run({"run", "s.json", "--assert", "step_time_s<=1e9"}).exit_code, 0);
  for (const char* bad : {"step_time_s=3", "step_time_s", "step_time_s<", "step_time_s<1 s"}) {
    expect_usage({"run", "s.json", "--out", "results", "--assert", bad},
                 "trainyard: --assert \"" + std::string(bad) +
                     "\" is not metric<number (write --assert 'step_time_s<10'; also <=, >, >=)\n");
  }
  expect_usage({"run", "s.json", "--out", "results", "--assert", "setp_time_s<3"},
               "trainyard: --assert: this result has no metric \"setp_time_s\" (did you mean "
               "\"step_time_s\"?)\n");
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "results"));
}

TEST_F(BadInput, CommandLine) {
  expect_usage({"chekc", "s.json"},
               "trainyard: \"chekc\" is not a command: did you mean \"check\"?\n");
  expect_usage({"run", "s.json", "--asert", "x<1"},
               "trainyard: --asert is not an option here: did you mean \"--assert\"?\n");
  expect_usage({"run", "s.json", "--format", "xml"},
               "trainyard: --format: xml not in {text,json,csv} (see trainyard run --help)\n");
  expect_usage({"run"}, "trainyard: scenario is required (see trainyard run --help)\n");
  expect_usage({}, "trainyard: A subcommand is required (see trainyard --help)\n");
  expect_usage({"list", "gpus"},
               "trainyard: list: there is no kind \"gpus\" (did you mean \"gpu\"?)\n");
}

TEST_F(BadInput, Sets) {
  folder.write("s.json", std::string(kSmall));
  for (const std::string bad : {"foo", "=1", "/cluster/servers"}) {
    expect_usage(
        {"run", "s.json", "--set", bad},
        "trainyard: --set \"" + bad + "\" is not path=value (write --set cluster.servers=64)\n");
  }
  expect_usage({"run", "s.json", "--set", "jobs.7.name=x"},
               "trainyard: no element \"7\" in a list of 1 (elements count from 0)\n");
  const CommandResult ran = run({"run", "s.json", "--set", "cluster.servers=two"});
  EXPECT_EQ(ran.exit_code, 3);
  EXPECT_EQ(ran.err,
            "--set: /cluster/servers: \"two\" is not a whole number (number of servers)\n");
}

TEST_F(BadInput, Folders) {
  folder.write("s.json", std::string(kSmall));
  expect_usage({"run", "s.json", "--out", "s.json/results"},
               "trainyard: --out: cannot write s.json/results: Not a directory\n");
  const CommandResult ran = run({"report", "."});
  EXPECT_EQ(ran.exit_code, 3);
  EXPECT_EQ(ran.err,
            ".: holds neither result.json nor compare.json (name a folder that --out wrote)\n");
  folder.write("result.json", "{}");
  EXPECT_EQ(run({"report", "."}).err,
            "./result.json: /schema_version: is missing or of another version of trainyard (run "
            "the scenario again)\n");
  folder.write("result.json", R"({"schema_version": 1})");
  const CommandResult partial = run({"report", "."});
  EXPECT_EQ(partial.exit_code, 3);
  EXPECT_THAT(partial.err, StartsWith(".: does not hold a whole result: "));
}

// Cuts the scenario short everywhere: whatever is left, it is refused in one orderly line.
TEST_F(BadInput, EveryTruncationIsRefused) {
  for (std::size_t length = 0; length + 2 < kSmall.size(); length += 23) {
    folder.write("s.json", std::string(kSmall.substr(0, length)));
    const CommandResult ran = run({"check", "s.json"});
    EXPECT_EQ(ran.exit_code, 3) << length;
    EXPECT_THAT(ran.err, ContainsRegex("^s.json: line [0-9]+, column [0-9]+: not valid JSON: "))
        << length;
  }
}

}  // namespace
}  // namespace trainyard::testing
