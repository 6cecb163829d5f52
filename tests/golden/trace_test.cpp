// The commands on traces, as a user types them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/json.hpp"
#include "tests/golden/command.hpp"
#include "tests/support_scenario.hpp"

namespace trainyard {
namespace {

using testing::CommandResult;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using testing::TemporaryFolder;

CommandResult trainyard(const TemporaryFolder& folder, const std::vector<std::string>& arguments) {
  return testing::run_command_in(TRAINYARD_BINARY, folder, arguments);
}

/// Two ranks: 2 ms of compute, then an all-reduce of 1 MB.
const char* const kTrace =
    R"({"trainyard_trace":1,"ranks":2}
{"rank":0,"id":1,"kind":"compute","name":"gemm","duration_s":0.002}
{"rank":0,"id":2,"kind":"collective","name":"grads","op":"all_reduce","bytes":1000000,"after":[1]}
{"rank":1,"id":1,"kind":"compute","name":"gemm","duration_s":0.002}
{"rank":1,"id":2,"kind":"collective","name":"grads","op":"all_reduce","bytes":1000000,"after":[1]}
)";

std::string scenario(const std::string& workload) {
  return testing::ideal_scenario({}, R"("jobs": [{"workload": )" + workload + "}]");
}

TEST(TraceCommands, ImportSaysWhatItWroteAndWhatIsLost) {
  const TemporaryFolder folder;
  folder.write("t.jsonl", kTrace);
  const CommandResult same = trainyard(folder, {"import", "t.jsonl", "--out", "u.jsonl"});
  EXPECT_EQ(same.exit_code, 0) << same.err;
  EXPECT_EQ(same.out, "u.jsonl: 4 operations of 2 ranks, jsonl -> jsonl\n");
  const CommandResult goal = trainyard(folder, {"import", "u.jsonl", "--out", "t.goal"});
  EXPECT_EQ(goal.exit_code, 0) << goal.err;
  EXPECT_THAT(goal.out, HasSubstr("lost: "));
  EXPECT_THAT(folder.read("t.goal"), StartsWith("num_ranks 2"));
  const CommandResult json =
      trainyard(folder, {"import", "t.jsonl", "--out", "c.et", "--format", "json"});
  EXPECT_EQ(json.exit_code, 0) << json.err;
  EXPECT_EQ(parse_json(json.out, "out").at("operations"), Json(4));
  const CommandResult back = trainyard(folder, {"import", "c.et", "--out", "v.jsonl"});
  EXPECT_EQ(back.exit_code, 0) << back.err;
}

// A file that is not there is a rank that never joins, and not one rank less.
TEST(TraceCommands, TheNumbersOfFilesAreRanks) {
  const TemporaryFolder folder;
  folder.write("t.jsonl",
               R"({"trainyard_trace":1,"ranks":3}
{"rank":0,"id":1,"kind":"collective","op":"all_reduce","bytes":8}
{"rank":1,"id":1,"kind":"collective","op":"all_reduce","bytes":8}
{"rank":2,"id":1,"kind":"collective","op":"all_reduce","bytes":8}
)");
  EXPECT_EQ(trainyard(folder, {"import", "t.jsonl", "--out", "c.et"}).exit_code, 0);
  EXPECT_EQ(trainyard(folder, {"trace", "stats", "c"}).exit_code, 0);
  std::filesystem::remove(folder.path() / "c.1.et");
  const CommandResult lacking = trainyard(folder, {"trace", "stats", "c.et"});
  EXPECT_EQ(lacking.exit_code, 3);
  EXPECT_THAT(lacking.err, HasSubstr("waits for rank 1, which never joins"));
}

TEST(TraceCommands, AreToldWhatTheyCannotDo) {
  const TemporaryFolder folder;
  folder.write("t.jsonl", kTrace);
  folder.write("x.txt", "nothing");
  const auto error = [&](const std::vector<std::string>& arguments, int code) {
    const CommandResult result = trainyard(folder, arguments);
    EXPECT_EQ(result.exit_code, code) << result.err;
    EXPECT_EQ(result.out, "");
    return result.err;
  };
  EXPECT_THAT(error({"import", "t.jsonl", "--out", "u.xyz"}, 2),
              HasSubstr("--to is missing, and the ending of --out names no format"));
  EXPECT_THAT(error({"import", "t.jsonl", "--out", "u.txt", "--to", "chakro"}, 2),
              HasSubstr("\"chakro\" is no format of traces (did you mean \"chakra\"?"));
  EXPECT_THAT(error({"import", "t.jsonl", "--out", "u.txt", "--to", "aicb"}, 2),
              HasSubstr("aicb is only read"));
  EXPECT_THAT(error({"trace", "stats", "x.txt"}, 3),
              HasSubstr("x.txt: is no trace of a known format"));
  EXPECT_THAT(error({"trace", "stats", "none"}, 3), HasSubstr("none: is no file, no folder"));
  EXPECT_THAT(error({"import", "t.jsonl", "--out", "no/u.jsonl"}, 2), HasSubstr("no/u.jsonl"));
  folder.write("s.json", scenario(R"({"kind": "trace", "trace": "none.jsonl"})"));
  EXPECT_THAT(error({"run", "s.json"}, 3), HasSubstr("none.jsonl"));
}

TEST(TraceCommands, StrictRefusesAndLenientCountsWhatItMends) {
  const TemporaryFolder folder;
  std::string broken = kTrace;
  broken.replace(broken.rfind("[1]"), 3, "[7]");
  folder.write("t.jsonl", broken);
  const CommandResult strict = trainyard(folder, {"trace", "stats", "t.jsonl"});
  EXPECT_EQ(strict.exit_code, 3);
  EXPECT_EQ(strict.err,
            "t.jsonl: node 2 (grads): waits for node 7, which is not in the file (--lenient makes "
            "this of dependencies on nodes that are not in the file: dropped)\n");
  const CommandResult lenient = trainyard(folder, {"trace", "stats", "t.jsonl", "--lenient"});
  EXPECT_EQ(lenient.exit_code, 0);
  EXPECT_THAT(lenient.out, HasSubstr("mended: 1× dependencies on nodes that are not in the file"));
  folder.write("s.json", scenario(R"({"kind": "trace", "trace": "t.jsonl", "lenient": true})"));
  const CommandResult run = trainyard(folder, {"run", "s.json"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("mended: 1× dependencies on nodes that are not in the file"));
}

// A row of 3,000,000,000 ns is 3.0 s.
TEST(TraceCommands, ARowOfThreeSecondsTakesThreeSeconds) {
  const TemporaryFolder folder;
  folder.write("w.txt",
               "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 1 ep: 1 pp: 1 vpp: 1 "
               "ga: 1 all_gpus: 2 checkpoints: 0 checkpoint_initiates: 0\n1\n"
               "row\t-1\t3000000000\tNONE\t0\t0\tNONE\t0\t0\tNONE\t0\t100\n");
  folder.write("s.json", scenario(R"({"kind": "trace", "trace": "w.txt"})"));
  const CommandResult run = trainyard(folder, {"run", "s.json", "--format", "json"});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(parse_json(run.out, "out").at("metrics").at("step_time_s").as_number(), 3.0);
}

// The scenario names its trace relative to itself; the rows are elsewhere.
TEST(TraceCommands, ASweepFindsTheTraceBesideItsScenario) {
  const TemporaryFolder folder;
  folder.write("sub/t.jsonl", kTrace);
  folder.write("sub/s.json", scenario(R"({"kind": "trace", "trace": "t.jsonl"})"));
  const CommandResult sweep =
      trainyard(folder, {"sweep", "run", "sub/s.json", "--axis",
                         "jobs.0.workload.compute_scale=1,2", "--out", "rows"});
  EXPECT_EQ(sweep.exit_code, 0) << sweep.err << sweep.out;
  EXPECT_THAT(folder.read("rows/sweep.csv"), HasSubstr("ok"));
  EXPECT_THAT(folder.read("rows/sweep.csv"), ::testing::Not(HasSubstr("invalid")));
  // Another trace of that name is another sweep: rows of the old one are not taken for its own.
  const std::string before = folder.read("rows/sweep.csv");
  std::string slower = kTrace;
  for (std::size_t at; (at = slower.find("0.002")) != std::string::npos;)
    slower.replace(at, 5, "0.004");
  folder.write("sub/t.jsonl", slower);
  EXPECT_EQ(trainyard(folder, {"sweep", "run", "sub/s.json", "--axis",
                               "jobs.0.workload.compute_scale=1,2", "--out", "rows"})
                .exit_code,
            0);
  EXPECT_NE(folder.read("rows/sweep.csv"), before);
}

TEST(TraceCommands, ExportsOfARunAreRightAndRepeatToTheByte) {
  const TemporaryFolder folder;
  folder.write("t.jsonl", kTrace);
  folder.write("s.json", scenario(R"({"kind": "trace", "trace": "t.jsonl"})"));
  for (const std::string name : {"a.json.gz", "a.jsonl", "a.et", "a.paje"}) {
    std::vector<std::string> command{"trace", "export", "s.json", "--out", name};
    if (name == "a.paje") command.insert(command.end(), {"--to", "paje"});
    const CommandResult once = trainyard(folder, command);
    EXPECT_EQ(once.exit_code, 0) << name << once.err;
    const std::string file = name == "a.et" ? "a.0.et" : name;
    const std::string bytes = folder.read(file);
    EXPECT_FALSE(bytes.empty());
    trainyard(folder, command);
    EXPECT_EQ(folder.read(file), bytes) << name;
  }
  const CommandResult good = trainyard(folder, {"trace", "check", "a.json.gz"});
  EXPECT_EQ(good.exit_code, 0) << good.out;
  EXPECT_THAT(good.out, HasSubstr("right"));
  EXPECT_THAT(folder.read("a.paje"), HasSubstr("%EventDef PajeDefineContainerType"));
  // An --out folder says the same as the scenario.
  EXPECT_EQ(trainyard(folder, {"run", "s.json", "--out", "o"}).exit_code, 0);
  EXPECT_EQ(trainyard(folder, {"trace", "export", "o", "--out", "b.json.gz"}).exit_code, 0);
  EXPECT_EQ(folder.read("b.json.gz"), folder.read("a.json.gz"));
  EXPECT_EQ(trainyard(folder, {"trace", "critical", "o"}).out,
            trainyard(folder, {"trace", "critical", "s.json"}).out);
  EXPECT_THAT(folder.read("o/communication.csv"), HasSubstr("all ranks,all_reduce,2,1,1000000"));
  EXPECT_THAT(folder.read("o/ranks.csv"), HasSubstr("\nideal,,1,"));
}

TEST(TraceCommands, CheckNamesWhatIsWrongWithATimeline) {
  const TemporaryFolder folder;
  folder.write("t.json", R"({"traceEvents": [
    {"ph": "X", "pid": 0, "tid": 1, "ts": 0, "dur": 10, "name": "a", "cat": "kernel"},
    {"ph": "X", "pid": 0, "tid": 1, "ts": 5, "dur": 10, "name": "b", "cat": "kernel"}]})");
  const CommandResult wrong = trainyard(folder, {"trace", "check", "t.json"});
  EXPECT_EQ(wrong.exit_code, 3);
  EXPECT_THAT(wrong.out, HasSubstr("wrong: "));
  EXPECT_THAT(wrong.out, HasSubstr("overlap"));
}

// What stock SimGrid cannot express leaves no file behind.
TEST(TraceCommands, AFailedExportLeavesWhatWasThere) {
  const TemporaryFolder folder;
  folder.write("p.paje", "old");
  folder.write("s.json", scenario(R"({"kind": "gpt", "tensor": 1, "pipeline": 1, "global_batch": 2,
    "model": {"layers": 2, "hidden": 1000, "heads": 1, "sequence": 1000, "vocabulary": 1000}})"));
  const CommandResult failed =
      trainyard(folder, {"trace", "export", "s.json", "--to", "paje", "--out", "p.paje", "--set",
                         "cluster.gpudirect=false"});
  EXPECT_EQ(failed.exit_code, 3);
  EXPECT_THAT(failed.err, HasSubstr("which stock SimGrid cannot express"));
  EXPECT_EQ(folder.read("p.paje"), "old");
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "p.paje.part"));
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "p.paje.simgrid"));
}

}  // namespace
}  // namespace trainyard
