// The pipelines of workloads of AICB: schedules against hand-made ones, and against the time that
// theory gives them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "models/workloads/trace_aicb.hpp"
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

std::string header(std::size_t pp, std::size_t vpp, std::size_t ga, std::size_t ranks = 0) {
  return fmt::format(
      "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 2 ep: 1 pp: {} vpp: {} ga: {} "
      "all_gpus: {} checkpoints: 0 checkpoint_initiates: 0 pp_comm 64",
      pp, vpp, ga, ranks == 0 ? 2 * pp : ranks);
}

/// Micro-batches of an embedding and so many layers of two rows, that take f and b ns each.
std::vector<std::string> batches(std::size_t count, std::size_t layers, int f, int b) {
  std::vector<std::string> rows;
  for (std::size_t i = 0; i < count; ++i) {
    rows.push_back(aicb_row("embedding_layer", 0, 0, 0));
    for (std::size_t layer = 0; layer < layers; ++layer) {
      rows.push_back(aicb_row("attention", f, b, 0));
      rows.push_back(aicb_row("mlp", 0, 0, 0));
    }
  }
  return rows;
}

/// "F0.1" of the first micro-batch forward through the second chunk.
std::string passes(std::size_t stage, std::size_t stages, std::size_t micro_batches,
                   std::size_t chunks) {
  std::string text;
  for (const PipelinePass& pass : pipeline_passes(stage, stages, micro_batches, chunks))
    text += fmt::format("{}{}{}{}", text.empty() ? "" : " ", pass.backward ? "B" : "F",
                        pass.micro_batch, chunks == 1 ? "" : fmt::format(".{}", pass.chunk));
  return text;
}

TEST(TraceAicbPipeline, OneForwardOneBackward) {
  EXPECT_EQ(passes(0, 2, 4, 1), "F0 F1 B0 F2 B1 F3 B2 B3");
  EXPECT_EQ(passes(1, 2, 4, 1), "F0 B0 F1 B1 F2 B2 F3 B3");
  EXPECT_EQ(passes(0, 4, 2, 1), "F0 F1 B0 B1");
}

// Two stages of two chunks, as in figure 4 of Narayanan et al. (SC'21).
TEST(TraceAicbPipeline, Interleaved) {
  EXPECT_EQ(passes(0, 2, 4, 2),
            "F0.0 F1.0 F0.1 F1.1 F2.0 B0.1 F3.0 B1.1 F2.1 B0.0 F3.1 B1.0 B2.1 B3.1 B2.0 B3.0");
  EXPECT_EQ(passes(1, 2, 4, 2),
            "F0.0 F1.0 F0.1 B0.1 F1.1 B1.1 F2.0 B0.0 F3.0 B1.0 F2.1 B2.1 F3.1 B3.1 B2.0 B3.0");
}

// Stages are 4 ranks apart: two of a tensor group, two replicas.
TEST(TraceAicbPipeline, ProgramsOfTwoStages) {
  const Trace trace =
      read_aicb_text(aicb_file(header(2, 1, 2, 8), {aicb_row("embedding_layer", 10, 20, 0),
                                                    aicb_row("embedding_layer", 11, 21, 0)}))
          .trace;
  EXPECT_THAT(
      show_program(trace, 0),
      ElementsAre("embedding_layer 10", "send_forward to 4 tag 0", "embedding_layer 11",
                  "send_forward to 4 tag 2", "recv_backward from 4 tag 1", "embedding_layer 20",
                  "recv_backward from 4 tag 3", "embedding_layer 21"));
  EXPECT_THAT(show_program(trace, 1),
              ElementsAre("recv_forward from 0 tag 0", "embedding_layer 10", "embedding_layer 20",
                          "send_backward to 0 tag 1", "recv_forward from 0 tag 2",
                          "embedding_layer 11", "embedding_layer 21", "send_backward to 0 tag 3"));
  EXPECT_THAT(show_needs(trace, 0, 3), ElementsAre("embedding_layer 11"));
  EXPECT_THAT(show_needs(trace, 0, 4), IsEmpty());
  EXPECT_THAT(show_needs(trace, 0, 5),
              ElementsAre("recv_backward from 4 tag 1", "embedding_layer 11"));
  for (const TraceOp& op : trace.programs[0].ops) {
    if (op.kind == TraceKind::kSend || op.kind == TraceKind::kReceive) {
      EXPECT_EQ(op.bytes, 64);
      EXPECT_EQ(op.stream, TraceOp::kNone);
    }
  }
}

TEST(TraceAicbPipeline, InterleavedMessagesGoRound) {
  const Trace trace = read_aicb_text(aicb_file(header(2, 2, 2), batches(2, 2, 1, 2))).trace;
  EXPECT_THAT(show_program(trace, 0),
              ElementsAre("attention 1", "send_forward to 2 tag 0",  // F0.0
                          "attention 1", "send_forward to 2 tag 4",  // F1.0
                          "recv_forward from 2 tag 2", "attention 1", "send_forward to 2 tag 2",
                          "recv_forward from 2 tag 6", "attention 1", "send_forward to 2 tag 6",
                          "recv_backward from 2 tag 3", "attention 2", "send_backward to 2 tag 1",
                          "recv_backward from 2 tag 7", "attention 2", "send_backward to 2 tag 5",
                          "recv_backward from 2 tag 1", "attention 2", "recv_backward from 2 tag 5",
                          "attention 2"));
  EXPECT_THAT(trace.attributes.at("notes").items().size(), 1U);
}

/// When the last rank is done, in ns, where messages take no time; negative when ranks are stuck or
/// a message is sent or received alone.
double finish(const Trace& trace) {
  using Message = std::tuple<std::uint32_t, std::uint32_t, std::int32_t>;
  std::map<Message, double> sent;
  std::size_t left = trace.size(), received = 0;
  std::vector<std::vector<double>> ends;
  for (const TraceProgram& program : trace.programs) ends.emplace_back(program.ops.size(), -1);
  double last = 0;
  for (bool moved = true; moved && left > 0;) {
    moved = false;
    for (std::size_t p = 0; p < trace.programs.size(); ++p) {
      const TraceProgram& program = trace.programs[p];
      std::map<std::int32_t, double> streams;  // when each is free; -1: not known yet
      for (std::size_t i = 0; i < program.ops.size(); ++i) {
        const TraceOp& op = program.ops[i];
        double start =
            op.stream == TraceOp::kNone ? 0 : streams.emplace(op.stream, 0).first->second;
        for (std::uint32_t n = 0; n < op.needs && start >= 0; ++n) {
          const double end = ends[p][program.needs[op.first_need + n].op];
          start = end < 0 ? -1 : std::max(start, end);
        }
        const auto peer = static_cast<std::uint32_t>(op.peer);
        if (op.kind == TraceKind::kReceive && start >= 0) {
          const auto it = sent.find({peer, program.rank, op.tag});
          start = it == sent.end() ? -1 : std::max(start, it->second);
        }
        if (start >= 0 && ends[p][i] < 0) {
          ends[p][i] = start + (op.kind == TraceKind::kCompute ? op.duration * 1e9 : 0);
          if (op.kind == TraceKind::kSend &&
              !sent.emplace(Message{program.rank, peer, op.tag}, start).second)
            return -2;
          received += op.kind == TraceKind::kReceive ? 1 : 0;
          moved = true;
          --left;
          last = std::max(last, ends[p][i]);
        }
        if (op.stream != TraceOp::kNone) streams[op.stream] = ends[p][i];
      }
    }
  }
  return left > 0 || received != sent.size() ? -1 : last;
}

// m (f + b) of work and a bubble of (p - 1)(f + b) / v: Narayanan et al., section 2.2.
TEST(TraceAicbPipeline, TakesAsLongAsTheorySays) {
  constexpr int kForward = 6, kBackward = 12;  // of a chunk
  for (const auto& [p, v, m] : std::vector<std::tuple<std::size_t, std::size_t, std::size_t>>{
           {2, 1, 4}, {4, 1, 8}, {4, 1, 3}, {2, 2, 4}, {4, 2, 8}, {4, 3, 12}, {3, 4, 3}}) {
    const Trace trace =
        read_aicb_text(aicb_file(header(p, v, m), batches(m, v, kForward, kBackward))).trace;
    const auto both = static_cast<double>(v * (kForward + kBackward));
    EXPECT_NEAR(
        finish(trace),
        static_cast<double>(m) * both + static_cast<double>(p - 1) * both / static_cast<double>(v),
        1e-6)
        << p << " " << v << " " << m;
  }
}

// What AICB writes before the micro-batches goes back behind them, in reverse.
TEST(TraceAicbPipeline, RowsOncePerStep) {
  const std::vector<std::string> rows{
      aicb_row("grad_gather", 1, "NONE 0", 0, "NONE 0", 2, "ALLGATHER 8"),
      aicb_row("grad_param_comm", 3, "NONE 0", 0, "NONE 0", 4, "REDUCESCATTER 16"),
      aicb_row("embedding_layer", 10, 20, 0),
      aicb_row("embedding_layer", 11, 21, 0),
      aicb_row("cross_entropy1", 5, "ALLREDUCE 32", 6, "NONE 0", 0, "NONE 0"),
      aicb_row("optimizer1", 7, 8, 0)};
  const Trace trace = read_aicb_text(aicb_file(header(2, 1, 2), rows)).trace;
  EXPECT_THAT(show_program(trace, 1),
              ElementsAre("grad_gather 1", "grad_param_comm 3", "recv_forward from 0 tag 0",
                          "embedding_layer 10", "embedding_layer 20", "send_backward to 0 tag 1",
                          "recv_forward from 0 tag 2", "embedding_layer 11", "embedding_layer 21",
                          "send_backward to 0 tag 3", "cross_entropy1 5",
                          "cross_entropy1 all_reduce 32 among tp of stage 1", "optimizer1 7",
                          "optimizer1 8", "cross_entropy1 6", "grad_param_comm 4",
                          "grad_param_comm reduce_scatter 16 among dp of stage 1, stream 3",
                          "grad_gather 2", "grad_gather all_gather 8 among dp of stage 1, stream 3",
                          "end of step"));
}

// Chunks have equally many layers; the embedding is in the first, what follows them in the last.
TEST(TraceAicbPipeline, ChunksAreCutBetweenLayers) {
  std::vector<std::string> rows{aicb_row("embedding_layer", 1, 1, 1)};
  for (const auto& [attentions, mlps] : {std::pair{1, 1}, {2, 3}, {2, 3}, {2, 1}}) {
    for (int i = 0; i < attentions; ++i) rows.push_back(aicb_row("attention", 1, 1, 1));
    for (int i = 0; i < mlps; ++i) rows.push_back(aicb_row("mlp", 1, 1, 1));
  }
  rows.push_back(aicb_row("final_column", 1, 1, 1));
  const std::string text = aicb_file(header(1, 2, 1), rows);
  TraceBuilder builder("aicb", {});
  ByteSource source("w.txt", text);
  AicbWorkload workload = read_aicb(source, builder);
  workload.pp = 1;
  const AicbBlocks blocks = aicb_blocks(workload, builder);
  ASSERT_EQ(blocks.chunks.size(), 1U);
  ASSERT_EQ(blocks.chunks[0].size(), 2U);
  EXPECT_EQ(blocks.chunks[0][0].begin, 0U);
  EXPECT_EQ(blocks.chunks[0][0].end, 8U);
  EXPECT_EQ(blocks.chunks[0][1].begin, 8U);
  EXPECT_EQ(blocks.chunks[0][1].end, 17U);
}

std::vector<std::string> notes(const Trace& trace) {
  std::vector<std::string> found;
  for (const Json& note : trace.attributes.at("notes").items()) found.push_back(note.as_string());
  return found;
}

TEST(TraceAicbPipeline, FallsBackToPlainWithANote) {
  const Trace odd = read_aicb_text(aicb_file(header(2, 2, 3), batches(3, 2, 1, 1))).trace;
  EXPECT_THAT(notes(odd)[0], HasSubstr("3 micro-batches are no multiple of 2 stages"));
  const Trace uncut = read_aicb_text(aicb_file(header(2, 2, 2), batches(2, 3, 1, 1))).trace;
  EXPECT_THAT(notes(uncut)[0], HasSubstr("cannot be cut into 2 equal chunks"));
  // Plain: all three layers of 1 + 1 ns pass at once; two micro-batches and one stage's bubble.
  EXPECT_NEAR(finish(uncut), 3 * 6, 1e-6);
}

TEST(TraceAicbPipeline, UnequalMicroBatchesAreAFault) {
  std::vector<std::string> rows = batches(2, 1, 1, 1);
  rows.push_back(aicb_row("mlp", 1, 1, 1));
  const std::string text = aicb_file(header(2, 1, 2), rows);
  EXPECT_THAT(aicb_refusal(text), HasSubstr("the rows are not 2 equal blocks"));
  const ReadTrace read = read_aicb_text(text, {.lenient = true});
  EXPECT_EQ(read.repairs.at(0).what,
            "pipelines without equal micro-batches: taken as one micro-batch");
  // All seven rows in one pass: 2 + 1 ns forward and 2 + 1 + 1 back, on both stages in turn.
  EXPECT_NEAR(finish(read.trace), 2 * (3 + 4), 1e-6);
  rows.pop_back();
  rows.back() = aicb_row("other", 1, 1, 1);
  EXPECT_THAT(aicb_refusal(aicb_file(header(2, 1, 2), rows)), HasSubstr("not 2 equal blocks"));
  rows.pop_back();
  EXPECT_THAT(aicb_refusal(aicb_file(header(2, 1, 2), rows)), HasSubstr("not 2 equal blocks"));
  EXPECT_THAT(aicb_refusal(aicb_file(header(2, 1, 3), batches(2, 1, 1, 1))),
              HasSubstr("ga is 3, and the rows are not 3 equal blocks"));
}

TEST(TraceAicbPipeline, MessagesWithoutASizeAreAFault) {
  std::string text = aicb_file(header(2, 1, 1), batches(1, 1, 1, 1));
  text.replace(text.find("pp_comm 64"), 10, "pp_comm: 0");
  EXPECT_THAT(aicb_refusal(text), HasSubstr("pp_comm is missing or 0"));
  EXPECT_EQ(read_aicb_text(text, {.lenient = true}).repairs.size(), 1U);
}

}  // namespace
}  // namespace trainyard
