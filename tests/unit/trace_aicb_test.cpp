// Workloads of AICB and SimAI: what comes of their rows, by policy, and what is refused.
#include "models/workloads/trace_aicb.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "tests/support_aicb.hpp"

namespace trainyard {
namespace {

using testing::aicb_file;
using testing::aicb_refusal;
using testing::aicb_row;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::read_aicb_text;
using testing::show_needs;
using testing::show_program;

const std::string kFull =
    "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 4 ep: 2 pp: 1 vpp: 1 ga: 1 "
    "all_gpus: 32 checkpoints: 0 checkpoint_initiates: 0 pp_comm: 0";

std::vector<std::string> transformer_rows() {
  return {aicb_row("norm", 0, "NONE 0", 1, "ALLREDUCE 8", 2, "REDUCESCATTER_DP_EP 16"),
          aicb_row("layer", 3, "ALLTOALL_EP 32", 4, "ALLGATHER 64", 5, "ALLREDUCE 128")};
}

std::vector<std::uint32_t> ranks(const Trace& trace, const std::string& group) {
  for (const TraceGroup& known : trace.groups) {
    if (known.name == group) return known.ranks;
  }
  return {};
}

// Forward down the rows and back up; collectives block, but those of weight gradients.
TEST(TraceAicb, TransformerRunsForwardThenBackInReverse) {
  const Trace trace = read_aicb_text(aicb_file(kFull, transformer_rows())).trace;
  EXPECT_TRUE(trace.representative);
  EXPECT_TRUE(trace.alone);
  EXPECT_EQ(trace.ranks, 32U);
  ASSERT_EQ(trace.programs.size(), 1U);
  EXPECT_THAT(
      show_program(trace, 0),
      ElementsAre("layer 3", "layer all_to_all 32 among ep of stage 0", "layer 4",
                  "layer all_gather 64 among tp of stage 0", "layer 5",
                  "layer all_reduce 128 among dp of stage 0, stream 3", "norm 1",
                  "norm all_reduce 8 among tp of stage 0", "norm 2",
                  "norm reduce_scatter 16 among dp_ep of stage 0, stream 4", "end of step"));
  EXPECT_THAT(show_needs(trace, 0, 5), ElementsAre("layer 5"));
  EXPECT_THAT(show_needs(trace, 0, 6), ElementsAre("layer 5"));
  EXPECT_THAT(show_needs(trace, 0, 10),
              ElementsAre("norm 2", "layer all_reduce 128 among dp of stage 0, stream 3",
                          "norm reduce_scatter 16 among dp_ep of stage 0, stream 4"));
}

// TP 4 x DP 4 x PP 2: replicas are one tensor group apart, stages all replicas apart.
TEST(TraceAicb, GroupsOfThePipeline) {
  const std::string header =
      "HYBRID_TRANSFORMER model_parallel_NPU_group: 4 ep: 2 pp: 2 vpp: 1 ga: 1 all_gpus: 32 "
      "pp_comm: 7";
  const Trace trace =
      read_aicb_text(aicb_file(header, {aicb_row("embedding_layer", 1, 1, 1)})).trace;
  EXPECT_THAT(ranks(trace, "tp of stage 0"), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(ranks(trace, "dp of stage 0"), ElementsAre(0, 4, 8, 12));
  EXPECT_THAT(ranks(trace, "dp of stage 1"), ElementsAre(16, 20, 24, 28));
  EXPECT_THAT(ranks(trace, "ep of stage 1"), ElementsAre(16, 20));
  EXPECT_THAT(ranks(trace, "dp_ep of stage 1"), ElementsAre(16, 24));
  ASSERT_EQ(trace.programs.size(), 2U);
  EXPECT_EQ(trace.programs[1].rank, 16U);
}

// 3e9 ns do not fit in 32 bits.
TEST(TraceAicb, LongKernelsAreExact) {
  const std::string header = "HYBRID_TRANSFORMER model_parallel_NPU_group: 2 all_gpus: 2";
  const Trace trace =
      read_aicb_text(header + "\n1\nx -1 3000000000 NONE 0 0 NONE 0 0 NONE 0 100\n").trace;
  ASSERT_EQ(trace.size(), 1U);
  EXPECT_EQ(trace.programs[0].ops[0].duration, 3.0);
}

TEST(TraceAicb, RanksComeFromTheFileOrTheCaller) {
  const std::string text = aicb_file(
      "HYBRID_TRANSFORMER_FWD_IN_BCKWD\tmodel_parallel_NPU_group: 8 checkpoints: 0 "
      "checkpoint_initiates: 0",
      {aicb_row("a", 1, 1, 1)});
  EXPECT_THAT(aicb_refusal(text), HasSubstr("w.txt: line 1: all_gpus is missing"));
  TraceReading how;
  how.ranks = 24;
  const Trace trace = read_aicb_text(text, how).trace;
  EXPECT_EQ(trace.ranks, 24U);
  EXPECT_THAT(ranks(trace, "dp of stage 0"), ElementsAre(0, 8, 16));
  EXPECT_EQ(read_aicb_text(aicb_file(kFull, {aicb_row("a", 1, 1, 1)}), how).trace.ranks, 32U);
  how.ranks = 12;
  EXPECT_THAT(aicb_refusal(text, how), HasSubstr("all_gpus 12 is no multiple of"));
}

TEST(TraceAicb, DataParallelSkipsTheFirstInputGradient) {
  const auto row = [](const std::string& name) {
    return aicb_row(name, 1, "NONE 0", 2, "NONE 0", 3, "ALLREDUCE 64");
  };
  const Trace trace = read_aicb_text(aicb_file("DATA all_gpus: 4", {row("a"), row("b")})).trace;
  EXPECT_THAT(
      show_program(trace, 0),
      ElementsAre("a 1", "b 1", "b 3", "b all_reduce 64 among dp of stage 0, stream 5", "b 2",
                  "a 3", "a all_reduce 64 among dp of stage 0, stream 5", "end of step"));
  EXPECT_THAT(ranks(trace, "dp of stage 0"), ElementsAre(0, 1, 2, 3));
}

// The collective of the input gradient runs beside the weight gradient, and the row above waits.
TEST(TraceAicb, ModelParallelOverlapsTheInputGradient) {
  const auto row = [](const std::string& name) {
    return aicb_row(name, 1, "ALLGATHER 32", 2, "ALLREDUCE 64", 3, "NONE 0");
  };
  const Trace trace = read_aicb_text(aicb_file("MODEL all_gpus: 4", {row("a"), row("b")})).trace;
  EXPECT_THAT(show_program(trace, 0),
              ElementsAre("a 1", "a all_gather 32 among tp of stage 0", "b 1",
                          "b all_gather 32 among tp of stage 0", "b 2",
                          "b all_reduce 64 among tp of stage 0, stream 6", "b 3", "a 2", "a 3"));
  EXPECT_THAT(show_needs(trace, 0, 5), ElementsAre("b 2"));
  EXPECT_THAT(show_needs(trace, 0, 6), ElementsAre("b 2"));
  EXPECT_THAT(show_needs(trace, 0, 7),
              ElementsAre("b all_reduce 64 among tp of stage 0, stream 6", "b 3"));
}

TEST(TraceAicb, WhereReplicasAreNeighbours) {
  const auto rows = std::vector<std::string>{aicb_row("a", 1, 1, 1)};
  const Trace trace =
      read_aicb_text(aicb_file("HYBRID_MODEL_DATA model_parallel_NPU_group: 2 all_gpus: 8", rows))
          .trace;
  EXPECT_THAT(ranks(trace, "tp of stage 0"), ElementsAre(0, 4));
  EXPECT_THAT(ranks(trace, "dp of stage 0"), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(aicb_refusal(aicb_file("HYBRID_DATA_MODEL all_gpus: 8", rows)),
              HasSubstr("model_parallel_NPU_group is missing"));
}

TEST(TraceAicb, PolicyOfEachRow) {
  const std::string header = "HYBRID_CUSTOMIZED model_parallel_NPU_group: 2 all_gpus: 4";
  const auto with = [](std::string row, const std::string& policy) {
    row.back() = ' ';
    return row + policy + "\n";
  };
  const std::string data = with(aicb_row("a", 1, "NONE 0", 1, "NONE 0", 1, "ALLREDUCE 8"), "DATA");
  const std::string both =
      with(aicb_row("b", 1, "ALLGATHER 16", 1, "NONE 0", 1, "ALLREDUCE 32"), "HYBRID_DATA_MODEL");
  const Trace trace = read_aicb_text(aicb_file(header, {data, both})).trace;
  EXPECT_THAT(show_program(trace, 0),
              ElementsAre("a 1", "b 1", "b all_gather 16 among tp of stage 0", "b 1", "b 1",
                          "b all_reduce 32 among dp of stage 0, stream 3", "a 1", "a 1",
                          "a all_reduce 8 among , stream 5", "end of step"));
  EXPECT_THAT(aicb_refusal(aicb_file(header, {aicb_row("a", 1, 1, 1)})),
              HasSubstr("line 3 (a): has 12 columns of 13"));
  EXPECT_THAT(aicb_refusal(aicb_file(header, {with(aicb_row("a", 1, 1, 1), "WHATEVER")})),
              HasSubstr("column 13 (policy) is \"WHATEVER\""));
}

// The embedding's all-to-all runs beside the bottom rows in both directions.
TEST(TraceAicb, RecommendationModels) {
  const auto row = [](const std::string& name, const std::string& all_to_all) {
    return aicb_row(name, 1, all_to_all, 2, all_to_all, 3, "ALLREDUCE 8");
  };
  const std::vector<std::string> rows{row("embedding", "ALLTOALL 64"), row("bottom", "NONE 0"),
                                      row("top", "NONE 0")};
  const Trace trace =
      read_aicb_text(aicb_file("HYBRID_DLRM DLRM_LAST_BOTTOM_LAYER: 1 all_gpus: 4", rows)).trace;
  const std::string reduce = " all_reduce 8 among dp of stage 0, stream 5";
  const std::string exchange = "embedding all_to_all 64 among dp of stage 0, stream 7";
  EXPECT_THAT(show_program(trace, 0),
              ElementsAre("embedding 1", exchange, "bottom 1", "top 1", "top 3", "top" + reduce,
                          "top 2", exchange, "bottom 3", "bottom" + reduce, "bottom 2",
                          "embedding 3", "embedding" + reduce, "end of step"));
  EXPECT_THAT(show_needs(trace, 0, 2), ElementsAre("embedding 1"));
  EXPECT_THAT(show_needs(trace, 0, 3), ElementsAre(exchange, "bottom 1"));
  EXPECT_THAT(aicb_refusal(aicb_file("HYBRID_DLRM DLRM_LAST_BOTTOM_LAYER: 2 all_gpus: 4", rows)),
              HasSubstr("DLRM_LAST_BOTTOM_LAYER is 2, and no row of 3 is above it"));
}

TEST(TraceAicb, MicroBenchmarksRunOneAfterAnother) {
  const auto row = [](int bytes) {
    return aicb_row("test", 1, "NONE 0", 1, "NONE 0", 1, fmt::format("ALLREDUCE {}", bytes));
  };
  const Trace trace = read_aicb_text(aicb_file("MICRO all_gpus: 8", {row(4), row(8)})).trace;
  EXPECT_THAT(show_program(trace, 0), ElementsAre("test all_reduce 4 among dp of stage 0",
                                                  "test all_reduce 8 among dp of stage 0"));
  EXPECT_EQ(ranks(trace, "dp of stage 0").size(), 8U);
}

TEST(TraceAicb, InferenceIsForwardOnly) {
  const Trace trace =
      read_aicb_text(aicb_file("DISTRIBUTED_INFERENCE all_gpus: 2",
                               {aicb_row("a", 1, "ALLGATHER 8", 2, "NONE 0", 3, "NONE 0")}))
          .trace;
  EXPECT_THAT(show_program(trace, 0), ElementsAre("a 1", "a all_gather 8 among tp of stage 0"));
}

// Before row 2 goes back, rows 1 and 2 - 1 are computed again from the checkpoint in row 1.
TEST(TraceAicb, CheckpointsComputeForwardAgain) {
  const std::string header =
      "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 1 all_gpus: 1 "
      "checkpoints: 2 0 1 checkpoint_initiates: 1 3";
  const std::vector<std::string> rows{aicb_row("a", 1, 2, 0), aicb_row("b", 1, 2, 0),
                                      aicb_row("c", 1, 2, 0), aicb_row("d", 1, 2, 0)};
  EXPECT_THAT(show_program(read_aicb_text(aicb_file(header, rows)).trace, 0),
              ElementsAre("a 1", "b 1", "c 1", "d 1", "b 1", "c 1", "d 2", "c 2", "b 2", "a 2"));
  EXPECT_THAT(aicb_refusal(aicb_file(header, {rows[0]})),
              HasSubstr("names row 3, counted from 0, of 1"));
}

TEST(TraceAicb, FaultsAreMendedOnRequest) {
  struct Case {
    std::string row, message, kind;
  };
  const std::vector<Case> cases{
      {"a -1 1 NONE 5 1 NONE 0 1 NONE 0 100\n", "the forward has 5 bytes and no collective",
       "bytes of no collective: ignored"},
      {"a -1 1 NONE 0 1 SENDRECV 8 1 NONE 0 100\n", "the input gradient has a \"SENDRECV\"",
       "SENDRECV, which does not say to whom: left out"},
      {"a -1 1 NONE 0 1 NONE 0 1 ALLREDUCE_TP 8 100\n",
       "the weight gradient has a \"ALLREDUCE_TP\"", "collectives of an unknown type: left out"},
      {"a -1 1 NONE 0 1 NONE 0 1 NONE 0 100 1 test\n", "has 14 words, and a row has 12 columns",
       "words beyond the columns: ignored"},
  };
  for (const Case& c : cases) {
    const std::string text = kFull + "\n1\n" + c.row;
    EXPECT_THAT(aicb_refusal(text), HasSubstr("w.txt: line 3 (a): " + c.message));
    const ReadTrace read = read_aicb_text(text, {.lenient = true});
    ASSERT_EQ(read.repairs.size(), 1U) << c.row;
    EXPECT_EQ(read.repairs[0].what, c.kind);
    EXPECT_THAT(show_program(read.trace, 0), ElementsAre("a 1", "a 1", "a 1"));
  }
}

TEST(TraceAicb, FaultsOfTheFrameAreMendedOnRequest) {
  const std::string row = aicb_row("a", 1, 0, 0);
  for (const auto& [text, message] : std::vector<std::pair<std::string, std::string>>{
           {kFull + " mode: 1\n1\n" + row, "line 1: \"mode\" is no key of a HYBRID_"},
           {kFull + " ep: 4\n1\n" + row, "line 1: ep is given twice"},
           {kFull + "\n1 1\n" + row, "line 2: has more than the number of rows"},
           {kFull + "\n1\n" + row + row, "line 4: is beyond the 1 rows that line 2 says"},
           {"MICRO ep: 2 all_gpus: 4\n1\n" + row, "line 1: \"ep\" is no key of a MICRO workload"},
           {"DATA all_gpus: 4\n1\n" + aicb_row("a", 1, "ALLREDUCE 4", 0, "NONE 0", 0, "NONE 0"),
            "line 3 (a): the forward has a ALLREDUCE, and its policy has none there"}}) {
    EXPECT_THAT(aicb_refusal(text), HasSubstr("w.txt: " + message));
    const ReadTrace read = read_aicb_text(text, {.lenient = true});
    EXPECT_EQ(read.repairs.size(), 1U) << text;
  }
}

TEST(TraceAicb, TheFirstOfTwoKeysHolds) {
  const std::vector<std::string> rows{aicb_row("a", 1, 2, 0), aicb_row("b", 1, 2, 0),
                                      aicb_row("c", 1, 2, 0)};
  const std::string header =
      "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 1 all_gpus: 4 checkpoints: 1 0 "
      "checkpoint_initiates: 1 2 checkpoint_initiates: 1 1 ep: 4 ep: 2";
  const ReadTrace read = read_aicb_text(aicb_file(header, rows), {.lenient = true});
  EXPECT_EQ(read.repairs.at(0).count, 2U);
  EXPECT_THAT(show_program(read.trace, 0),
              ElementsAre("a 1", "b 1", "c 1", "a 1", "b 1", "c 2", "b 2", "a 2"));
  EXPECT_EQ(ranks(read.trace, "ep of stage 0").size(), 4U);
}

// A reduce_scatter of nothing is what AICB writes for backward passes that need none.
TEST(TraceAicb, CollectivesOfNoBytesAreNone) {
  const Trace trace =
      read_aicb_text(
          aicb_file(kFull, {aicb_row("a", 1, "REDUCESCATTER 0", 0, "BROADCAST 8", 0, "NONE 0")}))
          .trace;
  EXPECT_THAT(show_program(trace, 0), ElementsAre("a 1", "a broadcast 8 among tp of stage 0"));
  EXPECT_EQ(trace.programs[0].ops[1].peer, 0);
  EXPECT_EQ(aicb_refusal(aicb_file("DATA all_gpus: 2",
                                   {aicb_row("a", 1, "ALLREDUCE 0", 1, "NONE 0", 1, "NONE 0")})),
            "");
}

TEST(TraceAicb, RefusesWhatMakesNoSense) {
  const std::string h = "HYBRID_TRANSFORMER model_parallel_NPU_group: ";
  const std::string row = aicb_row("a", 1, 1, 1);
  const auto file = [&](const std::string& rest) { return aicb_file(h + rest, {row}); };
  for (const auto& [text, message] : std::vector<std::pair<std::string, std::string>>{
           {"", "line 1: is empty"},
           {"HYBRID\n1\n", "line 1: begins with \"HYBRID\""},
           {file("0 all_gpus: 8"), "model_parallel_NPU_group is 0"},
           {file("-1 all_gpus: 8"), "model_parallel_NPU_group is \"-1\""},
           {file("x all_gpus: 8"), "model_parallel_NPU_group is \"x\""},
           {file("2.5 all_gpus: 8"), "model_parallel_NPU_group is \"2.5\""},
           {file("2 all_gpus: 1000001"), "all_gpus is 1000001"},
           {file("2 all_gpus: 99999999999999999999"), "all_gpus is \"99999999999999999999\""},
           {file("2 all_gpus:"), "all_gpus has no value"},
           {file("4 pp: 2 pp_comm 1 all_gpus: 12"),
            "all_gpus 12 is no multiple of "
            "model_parallel_NPU_group 4 times pp 2"},
           {file("2 ep: 3 all_gpus: 8"), "ep 3 does not divide the 4 replicas"},
           {file("1 pp: 2000 all_gpus: 2000"), "pp is 2000"},
           {file("2 all_gpus: 8\n\n"), "line 2: is empty, not the number of rows"},
           {h + "2 all_gpus: 8\n-3\n" + row, "line 2: is \"-3\", not the number of rows"},
           {h + "2 all_gpus: 8\n0\n" + row, "line 2: is \"0\", not the number of rows"},
           {h + "2 all_gpus: 8\n18446744073709551615\n" + row, "not the number of rows"},
           {h + "2 all_gpus: 8\n3\n" + row, "line 2: says 3 rows, and there are 1"},
           {h + "2 all_gpus: 8\n1\nx -1 -5 NONE 0 1 NONE 0 1 NONE 0 1\n",
            "line 3 (x): column 3 (ns of the forward) is \"-5\""},
           {h + "2 all_gpus: 8\n1\nx -1 5 NONE nan 1 NONE 0 1 NONE 0 1\n",
            "line 3 (x): column 5 (bytes of the forward) is \"nan\""},
           {h + "2 all_gpus: 8\n1\nx -1 5 NONE 0 1 NONE 0 1 NONE 1e300 1\n",
            "column 11 (bytes of the weight gradient) is \"1e300\""},
           {h + "2 all_gpus: 8\n1\nx -1 5 NONE 0 1 NONE 0 1 NONE 0 z\n",
            "column 12 (update time) is \"z\""},
           {h + std::string(2 << 20, ' '), "line 1: is longer than 1 MiB"},
           {"HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 1 all_gpus: 1 checkpoints: "
            "4000000000 1",
            "checkpoints says 4000000000 rows, and 1 words follow"}})
    EXPECT_THAT(aicb_refusal(text), HasSubstr(message));
}

TEST(TraceAicb, NumbersThatPythonWrote) {
  EXPECT_EQ(aicb_number("25165824.0"), 25165824.0);
  EXPECT_EQ(aicb_number("18446744073709551615"), 18446744073709551615.0);
  EXPECT_EQ(aicb_number("25165824.5"), std::nullopt);
  EXPECT_EQ(aicb_number("18446744073709551616"), std::nullopt);
  EXPECT_EQ(aicb_number(""), std::nullopt);
  EXPECT_EQ(aicb_number("+1"), std::nullopt);
}

TEST(TraceAicb, RecognizesItsFiles) {
  const auto format = Registry<TraceFormat>::of().make("aicb");
  EXPECT_TRUE(format->recognizes("x", "MICRO\n19\n"));
  EXPECT_TRUE(format->recognizes("x.txt", "HYBRID_TRANSFORMER_FWD_IN_BCKWD\tmodel"));
  EXPECT_FALSE(format->recognizes("x.txt", "MICROSCOPE\n"));
  EXPECT_FALSE(format->recognizes("x.txt", "{\"a\": 1}"));
  EXPECT_FALSE(format->recognizes("x.txt", " \n"));
}

std::string pipeline_text() {
  return aicb_file(
      "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 2 ep: 1 pp: 2 vpp: 2 ga: 2 "
      "all_gpus: 4 checkpoints: 1 1 checkpoint_initiates: 1 2 pp_comm: 8",
      {aicb_row("embedding_layer", 1, "ALLREDUCE 8", 1, "NONE 0", 1, "NONE 0"),
       aicb_row("attention", 1, "ALLGATHER 8", 1, "NONE 0", 1, "NONE 0"),
       aicb_row("attention", 1, 1, 1), aicb_row("embedding_layer", 1, 1, 1),
       aicb_row("attention", 1, 1, 1), aicb_row("attention", 1, 1, 1),
       aicb_row("optimizer1", 1, 1, 1)});
}

// Either a trace or a message with the file's name; nothing but the last two columns, of which the
// end cannot be told, may be cut off unnoticed.
TEST(TraceAicb, SurvivesTruncationAnywhere) {
  const std::string text = pipeline_text();
  ASSERT_EQ(aicb_refusal(text), "");
  for (std::size_t size = 0; size < text.size(); ++size) {
    const std::string why = aicb_refusal(text.substr(0, size));
    if (size < text.size() - 4) {
      EXPECT_THAT(why, HasSubstr("w.txt: ")) << size;
    }
    aicb_refusal(text.substr(0, size), {.lenient = true});
  }
}

TEST(TraceAicb, SurvivesDamageAnywhere) {
  const std::string text = pipeline_text();
  for (std::size_t at = 0; at < text.size(); ++at) {
    for (const char c : {'\0', '\n', ' ', '-', '9', ':', '\xff', '<'}) {
      std::string damaged = text;
      damaged[at] = c;
      for (const bool lenient : {false, true}) {
        const std::string why = aicb_refusal(damaged, {.lenient = lenient});
        if (!why.empty()) {
          EXPECT_THAT(why, HasSubstr("w.txt: ")) << at;
        }
      }
    }
  }
}

// 1,000 checkpoints, each of which computes all rows before it again, in 1,000 stages.
TEST(TraceAicb, SmallFilesCannotAskForTooMuch) {
  std::vector<std::string> rows{aicb_row("embedding_layer", 1, 1, 1)};
  std::string initiates = "checkpoints: 1 0 checkpoint_initiates: 999";
  for (int i = 1; i < 1000; ++i) {
    rows.push_back(aicb_row("a", 1, 1, 1));
    initiates += fmt::format(" {}", i);
  }
  const std::string text = aicb_file(
      "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 1 ep: 1 pp: 1000 vpp: 1 ga: 1 "
      "all_gpus: 1000 pp_comm: 8 " +
          initiates,
      rows);
  EXPECT_THAT(aicb_refusal(text), HasSubstr("are more than 16000000 operations"));
}

}  // namespace
}  // namespace trainyard
