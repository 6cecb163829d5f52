// What the command says about a traffic workload and an all_to_all that are wrong: whole messages,
// exit codes.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/golden/command.hpp"

namespace trainyard::testing {
namespace {

/// Two DGX A100 with that workload.
std::string with_workload(const std::string& workload, int servers = 2,
                          const std::string& server = "\"dgx-a100\"") {
  return R"({"name": "traffic", "cluster": {"servers": )" + std::to_string(servers) +
         R"(, "server": )" + server +
         R"(, "network": {"kind": "fat-tree", "switch": "qm8700"}, "transport": "rdma",
             "collectives": "nccl"}, "jobs": [{"workload": {)" +
         workload + "}}]}";
}

class BadTraffic : public ::testing::Test {
 protected:
  /// `run` and `check` of that text both say exactly this, after "s.json: /jobs/0/workload".
  void expect(const std::string& text, const std::string& message) {
    folder.write("s.json", text);
    for (const char* command : {"run", "check"}) {
      const CommandResult result = run_command_in(TRAINYARD_BINARY, folder, {command, "s.json"});
      EXPECT_EQ(result.err, "s.json: /jobs/0/workload" + message + "\n") << command;
      EXPECT_EQ(result.out, "");
      EXPECT_EQ(result.exit_code, 3);
    }
  }
  void expect_of(const std::string& fields, const std::string& message) {
    expect(with_workload(R"("kind": "traffic", )" + fields), message);
  }
  TemporaryFolder folder;
};

TEST_F(BadTraffic, Fields) {
  expect_of(R"("pattern": "random")", "/size: is missing (bytes of a message) (like \"1 MiB\")");
  expect_of(R"("pattern": "radnom", "size": "1 MB")",
            "/pattern: \"radnom\" is not a choice here (did you mean \"random\"?)");
  expect_of(R"("size": "1 MB", "size_max": "1 kB")",
            "/size_max: is less than size (0, or at least size)");
  expect_of(R"("size": "1 MB", "messages": 10000001)",
            "/messages: 10000001 is too large (must be at most 10000000)");
  expect_of(R"("size": "1 MB", "messages": -1)", "/messages: -1 is too small (must be at least 0)");
}

TEST_F(BadTraffic, Shift) {
  expect_of(R"("pattern": "shift", "size": "1 MB", "shift": 16)",
            "/shift: by 16 among 16 GPUs is from each to itself (no multiple of the GPUs)");
}

TEST_F(BadTraffic, Lists) {
  const std::string list = R"("pattern": "list", "list": )";
  expect_of(list + "[]",
            "/list: is an empty list (like [{\"from\": 0, \"to\": 8, \"size\": \"1 MiB\"}])");
  expect_of(R"("size": "1 MB", "list": [{"from": 0, "to": 8, "size": "1 MB"}])",
            "/list: is only for the pattern \"list\" (leave one of the two out)");
  expect_of(list + R"([{"from": 3, "to": 3, "size": "1 MB"}])",
            "/list/0/to: is the sender itself (name another GPU)");
  expect_of(
      list + R"([{"from": 0, "to": 1, "size": "1 MB"}, {"from": 0, "to": 16, "size": "1 MB"}])",
      "/list/1/to: GPU 16, but the job has 16 GPUs (0 to 15)");
}

TEST_F(BadTraffic, OneGpu) {
  expect(with_workload(R"("kind": "traffic", "size": "1 MB")", 1,
                       R"({"base": "dgx-a100", "gpus": 1, "nics": 1})"),
         ": sends messages between GPUs, but the job has only 1 (give the job more servers, or its "
         "servers more GPUs)");
}

TEST_F(BadTraffic, RanksOfAnAllToAll) {
  const std::string all = R"("kind": "collective", "operation": "all_to_all", "sizes": ["1 MiB"])";
  expect(with_workload(all + R"(, "ranks": -1)"), "/ranks: -1 is too small (must be at least 0)");
  expect(with_workload(all + R"(, "ranks": 17)"),
         "/ranks: 17 ranks, but the job has 16 GPUs (at most that many)");
}

// Alone, a rank has all of its parts already.
TEST_F(BadTraffic, AnAllToAllOfOneRankTakesNoTime) {
  folder.write("s.json", with_workload(R"("kind": "collective", "sizes": ["1 MiB"])"));
  const CommandResult result = run_command_in(TRAINYARD_BINARY, folder,
                                              {"collective", "s.json", "--op", "all_to_all",
                                               "--ranks", "1", "--sizes", "1M", "--format", "csv"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.out,
            "size,count,type,redop,root,time_us,algbw_gb_per_s,busbw_gb_per_s,algorithm,protocol\n"
            "1048576,262144,float,none,-1,0.0,0.0,0.0,none,none\n");
}

}  // namespace
}  // namespace trainyard::testing
