// GOAL: the grammar of LogGOPSim's converter, what its words mean, and what writing it loses.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/gzip.hpp"
#include "tests/support_trace.hpp"

namespace trainyard {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string in_rank(const std::string& lines) {
  return "num_ranks 2\nrank 0 {\n" + lines + "\n}\nrank 1 {\n}\n";
}
Trace trace_of(const std::string& lines) { return read_text("goal", in_rank(lines)).trace; }

TEST(TraceGoal, CalculationsAndMessages) {
  const Trace trace = read_text("goal", R"(num_ranks 4

rank 3 {
l1: calc 1500
l2: send 1048576b to 0 tag 7
l2 requires l1
l3: calc 0
l3 irequires l2
}
rank 0 {
l1: recv 1048576b from 3 tag 7
}
rank 1 {
}
rank 2 {}
)")
                          .trace;
  EXPECT_EQ(trace.ranks, 4U);
  EXPECT_FALSE(trace.alone);
  ASSERT_EQ(trace.programs.size(), 4U);
  const TraceProgram& last = trace.programs[3];
  ASSERT_EQ(last.ops.size(), 3U);
  EXPECT_EQ(last.ops[0].kind, TraceKind::kCompute);
  EXPECT_EQ(last.ops[0].duration, 1.5e-6);
  EXPECT_EQ(last.ops[0].stream, TraceOp::kNone);
  EXPECT_EQ(last.ops[1].kind, TraceKind::kSend);
  EXPECT_EQ(last.ops[1].bytes, 1048576);
  EXPECT_EQ(last.ops[1].peer, 0);
  EXPECT_EQ(last.ops[1].tag, 7);
  EXPECT_EQ(last.ops[2].kind, TraceKind::kMarker);
  ASSERT_EQ(last.needs.size(), 2U);
  EXPECT_EQ(last.needs[0].op, 0U);
  EXPECT_EQ(last.needs[0].kind, TraceNeed::Kind::kData);
  EXPECT_EQ(last.needs[1].op, 1U);
  EXPECT_EQ(last.needs[1].kind, TraceNeed::Kind::kStart);
  EXPECT_EQ(trace.programs[0].ops[0].kind, TraceKind::kReceive);
  EXPECT_EQ(trace.programs[0].ops[0].peer, 3);
  EXPECT_THAT(trace.programs[1].ops, IsEmpty());
}

TEST(TraceGoal, CommentsSpacesAndLinesAsTheyCome) {
  const Trace trace = read_text("goal",
                                "// a comment\r\n/* num_ranks 9\n*/ num_ranks\t2 /**/ rank 1 {\r\n"
                                "\tl1 : calc 5 // cpu 3\n  recv /* from whom? */ 8 b from 0 nic 2 "
                                "tag 1 cpu 1 }rank 0 { send 8b to 1 tag 1\n}")
                          .trace;
  ASSERT_EQ(trace.programs[1].ops.size(), 2U);
  EXPECT_EQ(trace.programs[1].ops[0].duration, 5e-9);
  EXPECT_EQ(trace.programs[1].ops[1].bytes, 8);
  EXPECT_EQ(trace.extras[trace.programs[1].ops[1].extra], "{\"cpu\":1,\"nic\":2}");
}

TEST(TraceGoal, NumberedLabelsAreTheIds) {
  const auto ids = [](const std::string& lines) {
    std::vector<std::uint64_t> all;
    const Trace trace = trace_of(lines);
    for (const TraceOp& op : trace.programs[0].ops) all.push_back(op.id);
    return all;
  };
  EXPECT_THAT(ids("l17: calc 1\nl3: calc 1"), ElementsAre(17, 3));
  EXPECT_THAT(ids("l17: calc 1\ncalc 1"), ElementsAre(1, 2));
  EXPECT_THAT(ids("l17: calc 1\nl017: calc 1"), ElementsAre(1, 2));
  EXPECT_THAT(ids("a: calc 1\nl9: calc 1"), ElementsAre(1, 2));
}

// What one cpu does is ordered by nothing but needs; what two do may overlap.
TEST(TraceGoal, SeveralCpusAreStreams) {
  const Trace one = trace_of("calc 1 cpu 3\ncalc 2 cpu 3\nsend 1b to 1 cpu 1");
  EXPECT_EQ(one.programs[0].ops[0].stream, TraceOp::kNone);
  const Trace two = trace_of("calc 1\ncalc 2 cpu 3\nsend 1b to 1 cpu 1\ncalc 0 cpu 3");
  EXPECT_EQ(two.programs[0].ops[0].stream, 0);
  EXPECT_EQ(two.programs[0].ops[1].stream, 3);
  EXPECT_EQ(two.programs[0].ops[2].stream, TraceOp::kNone);
  EXPECT_EQ(two.programs[0].ops[3].stream, TraceOp::kNone);
}

// A stream runs in the order of the program: l1, which waits for l3, must not stand before it.
TEST(TraceGoal, OnStreamsNothingStandsBeforeWhatItWaitsFor) {
  const Trace trace = trace_of(
      "l1: calc 1\nl2: calc 1 cpu 1\nl3: calc 1\nl4: calc 1\nl1 requires l3\nl3 requires l2");
  const std::vector<TraceOp>& ops = trace.programs[0].ops;
  ASSERT_EQ(ops.size(), 4U);
  EXPECT_EQ(ops[0].id, 2U);
  EXPECT_EQ(ops[1].id, 3U);
  EXPECT_EQ(ops[2].id, 1U);
  EXPECT_EQ(ops[3].id, 4U);
}

TEST(TraceGoal, FaultsNameTheLine) {
  const std::pair<std::string, const char*> kTexts[] = {
      {in_rank("l1: calc"), "line 3: the time in ns is expected here, and there is the end of"},
      {in_rank("l1: calc 1.5"), "tag, cpu, nic or the end of the line is expected here"},
      {in_rank("l1: calc -1"), "and there is \"-1\""},
      {in_rank("l1: calc 9223372036854775808"), "the time in ns is beyond 9223372036854775807"},
      {in_rank("send 8 to 1"), "line 3: \"b\" after the number of bytes is expected"},
      {in_rank("send 8b from 1"), "\"to\" is expected"},
      {in_rank("recv 8b to 1"), "\"from\" is expected"},
      {in_rank("send 8b to 2"), "names rank 2 of 2"},
      {in_rank("recv 8b from -1"), "leaves open which rank (-1) it matches"},
      {in_rank("recv 8b from 1 tag -1"), "leaves open which tag (-1) it matches"},
      {in_rank("recv 8b from 1 tag 4294967295"), "the tag is beyond 4294967294"},
      {in_rank("send 8b to 1 tag 1 tag 1"), "says tag twice"},
      {in_rank("calc 8 tag 1"), "tag, cpu, nic or the end"},
      {in_rank("l1: clac 8"), "\"clac\" is no word that GOAL has here (did you mean \"calc\"?)"},
      {in_rank("l1: calc 8 l2: calc 1"), "line 3"},
      {in_rank("l1 reqires l1"),
       "\"reqires\" is no word that GOAL has here (did you mean \"requires\"?)"},
      {in_rank("l1 requires"), "a label is expected here"},
      {in_rank("l1: calc 1\nl2 requires l1"), "rank 0: label l2 is required and not defined"},
      {in_rank("l1: calc 1\nl1: calc 2"), "line 4: has the label of another operation"},
      {in_rank("l1: calc 1\nl1 requires l1"), "node 1: waits for itself, through node 1"},
      {in_rank("rank 1 {"), "line 3"},
      {"num_ranks 2\nrank 0 {\n}\n", "rank 1 has no block"},
      {"num_ranks 2\nrank 0 {\n}\nrank 0 {\n", "line 4: rank 0 has a second block"},
      {"num_ranks 2\nrank 2 {\n}\n", "is rank 2 of 2"},
      {"num_ranks 2\nrank 0 {\n", "ends in the block of rank 0"},
      {"num_ranks 0\n", "has 0 ranks"},
      {"num_ranks 1000001\n", "the number of ranks is beyond 1000000"},
      {"num_ranks 1\nnum_ranks 1\n", "says num_ranks twice"},
      {"rank 0 {\n}\n", "a rank comes before num_ranks"},
      {"num_ranks 1\n}\n", "\"}\" closes nothing"},
      {"num_ranks 1\ncalc 5\n", "\"calc\" stands outside of the ranks"},
      {"num_ranks 1 /*\nrank 0 {\n}\n", "ends in a comment"},
      {"", "says no \"num_ranks\""},
      {std::string("num_ranks 1\nrank 0 {\n\0", 23), "line 3"},
  };
  for (const auto& [text, message] : kTexts)
    EXPECT_THAT(refusal("goal", text), AllOf(HasSubstr("t: "), HasSubstr(message))) << text;
}

TEST(TraceGoal, LenientlyTheFirstLabelHoldsAndUndefinedOnesAreDropped) {
  const ReadTrace read = read_text(
      "goal", in_rank("l1: calc 1\nl1: calc 2\nl3: calc 3\nl3 requires l1\nl3 requires l9"), true);
  const TraceProgram& program = read.trace.programs[0];
  ASSERT_EQ(program.ops.size(), 3U);
  ASSERT_EQ(program.needs.size(), 1U);
  EXPECT_EQ(program.needs[0].op, 0U);
  ASSERT_EQ(read.repairs.size(), 2U);
  EXPECT_EQ(read.repairs[0].what,
            "operations with the label of another: others wait for the first");
  EXPECT_EQ(read.repairs[1].what, "dependencies of labels that are not defined: dropped");
}

TEST(TraceGoal, ComesBackToTheByte) {
  const std::string text = R"(num_ranks 3

rank 0 {
l4: send 1048576b to 1 tag 4294967294 cpu 1 nic 2
l1: calc 123456789 cpu 2
l1 requires l4
l2: calc 1
l2 irequires l4
l2 requires l1
l3: calc 0 cpu 1
l3 requires l2
}

rank 1 {
l1: recv 1048576b from 0 tag 4294967294
}

rank 2 {
}
)";
  const Written back = written("goal", read_text("goal", text).trace);
  EXPECT_EQ(back.text, text);
  EXPECT_THAT(back.losses, IsEmpty());
}

// Labels stand before the lines that require them: txt2bin wants that.
TEST(TraceGoal, WhatWaitsForLaterOperationsSaysSoAfterThem) {
  EXPECT_THAT(written("goal", trace_of("l1: calc 1\nl2: calc 2\nl1 requires l2")).text,
              HasSubstr("l1: calc 1\nl2: calc 2\nl1 requires l2\n}"));
}

TEST(TraceGoal, ThroughOurOwnFormatAndBack) {
  const std::string text = in_rank(
      "l1: calc 7\nl2: send 8b to 1 tag 3 nic 1\nl2 requires l1\nl3: calc 0\nl3 irequires l2");
  const Trace trace = read_text("goal", text).trace;
  const std::string goal = written("goal", trace).text;
  const Trace again = read_text("jsonl", written("jsonl", trace).text).trace;
  EXPECT_EQ(again.format, "goal");
  // The rank that does nothing has a line, hence a marker.
  EXPECT_EQ(written("goal", again).text, goal.substr(0, goal.size() - 2) + "l0: calc 0\n}\n");
}

TEST(TraceGoal, SaysWhatIsLost) {
  const Trace trace = read_text("jsonl", R"({"trainyard_trace":1,"ranks":2,"groups":{"tp":[0,1]}}
{"rank":0,"id":1,"kind":"compute","name":"gemm","flops":5,"bytes":9,"stream":7,"start_s":1,"duration_s":1.5e-09}
{"rank":0,"id":2,"kind":"collective","op":"all_reduce","bytes":64,"type":"bf16","stream":20,"after":[1]}
{"rank":0,"id":3,"kind":"host","duration_s":2e-06,"extra":{"a":1}}
{"rank":0,"id":4,"kind":"compute","stream":7}
{"rank":0,"id":5,"kind":"send","bytes":2.5,"peer":1,"tag":-2}
{"rank":1,"id":1,"kind":"load","bytes":1e19,"duration_s":1e300}
)")
                          .trace;
  const Written result = written("goal", trace);
  // Streams keep their order by requirements, and what may overlap has a cpu of its own: messages
  // and kernels without a stream (0), the host (1), streams 7 and 20.
  EXPECT_EQ(result.text, R"(num_ranks 2

rank 0 {
l1: calc 2 cpu 2
l2: calc 0 cpu 3
l2 requires l1
l3: calc 2000 cpu 1
l4: calc 0 cpu 2
l4 requires l1
l5: send 3b to 1 tag 4294967294
}

rank 1 {
l1: calc 9223372036854775807
}
)");
  EXPECT_THAT(
      result.losses,
      ElementsAre("GOAL has no collectives: 1 are calc 0, which only keep the order.",
                  "1 kernels or host operations have no duration: they are calc 0.",
                  "GOAL has only calculations and messages: 2 operations of the host, loads and "
                  "stores are calculations.",
                  "2 times or sizes are rounded to whole nanoseconds or bytes.",
                  "1 times or sizes are beyond 2^63 - 1: they are that.",
                  "GOAL has no groups: 1 are left out.", "GOAL has no names: 1 are left out.",
                  "GOAL has no data types: 1 are left out.",
                  "GOAL has no floating-point operations: those of 1 operations are left out.",
                  "GOAL has no bytes of what is no message: those of 3 operations are left out.",
                  "GOAL has no recorded starts: 1 are left out.",
                  "What its own format says besides of 1 operations is left out."));
}

TEST(TraceGoal, NeedsAllRanks) {
  const Trace trace = read_text("jsonl", R"({"trainyard_trace":1,"ranks":2,"representative":true}
{"rank":0,"id":1,"kind":"marker"}
)")
                          .trace;
  EXPECT_THROW(written("goal", trace), UsageError);
}

TEST(TraceGoal, IsRecognizedBehindComments) {
  const auto format = Registry<TraceFormat>::of().make("goal");
  EXPECT_TRUE(format->recognizes("x", "num_ranks 4"));
  EXPECT_TRUE(format->recognizes("x", "// a\r\n\r\n/* b\n c */ num_ranks 4\r\n"));
  EXPECT_FALSE(format->recognizes("x", "/* num_ranks 4"));
  EXPECT_FALSE(format->recognizes("x", "num_rank 4"));
  EXPECT_FALSE(format->recognizes("x", "HYBRID_TRANSFORMER_FWD_IN_BCKWD\nnum_ranks 4"));
}

TEST(TraceGoal, IsReadPacked) {
  const std::string packed = gzip(in_rank("l1: calc 5"));
  EXPECT_EQ(read_text("goal", packed).trace.programs[0].ops[0].duration, 5e-9);
}

}  // namespace
}  // namespace trainyard
