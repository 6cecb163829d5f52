// Traces in the shape of the PyTorch profiler's: they come back, and viewers take them.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "sim/trace_events.hpp"
#include "sim/trace_format.hpp"

namespace trainyard {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class KinetoFiles : public ::testing::Test {
 protected:
  KinetoFiles() {
    folder_ = std::filesystem::temp_directory_path() / fmt::format("kineto.{}", getpid());
    std::filesystem::create_directories(folder_);
  }
  ~KinetoFiles() override { std::filesystem::remove_all(folder_); }
  std::filesystem::path folder_;
};

Trace two_ranks() {
  Trace trace;
  trace.ranks = 4;
  trace.groups = {{"", {}}, {"5", {0, 2}}, {"0", {1, 3}}};
  trace.names = {"", "matmul", "BFloat16", "a \"quoted\" \n name", "Float"};
  const auto op = [](TraceKind kind, double start, double duration, std::int32_t stream) {
    TraceOp one;
    one.kind = kind;
    one.start = start;
    one.duration = duration;
    one.stream = stream;
    return one;
  };
  for (std::uint32_t rank : {0U, 2U}) {
    TraceProgram program;
    program.rank = rank;
    TraceOp a = op(TraceKind::kCompute, 0.001, 0.0000123456789, 7);
    a.name = 1;
    TraceOp b = op(TraceKind::kCollective, 0.0010001, 0.5, 20);
    b.collective = TraceCollective::kAllGather;
    b.group = 1;
    b.type = 2;
    b.bytes = 4096;
    TraceOp c = op(TraceKind::kSend, 0.6, 1e-9, 21);
    c.peer = 3;
    c.type = 4;
    c.bytes = 40;
    c.name = 3;
    TraceOp d = op(TraceKind::kCollective, 0.7, 0.1, 20);
    d.collective = TraceCollective::kBroadcast;
    d.peer = 2;
    d.type = 4;
    d.bytes = 12;
    TraceOp e = op(TraceKind::kCollective, 0.8, 0.1, 20);
    e.bytes = 13;  // no whole number of Floats
    e.type = 4;
    TraceOp never = op(TraceKind::kCompute, -1, -1, 7);
    program.ops = {a, b, c, d, e, never};
    for (std::size_t i = 0; i < program.ops.size(); ++i) program.ops[i].id = i;
    trace.programs.push_back(program);
  }
  return trace;
}

TEST_F(KinetoFiles, ATraceComesBack) {
  const Trace trace = two_ranks();
  const auto format = Registry<TraceFormat>::of().make("kineto");
  const std::vector<std::string> lost = format->write(trace, (folder_ / "t").string());
  EXPECT_THAT(lost, ElementsAre("Operations without a recorded time are left out: 2."));
  ASSERT_TRUE(std::filesystem::exists(folder_ / "t.2.json.gz"));
  const ReadTrace read = read_trace((folder_ / "t").string(), "", {});
  EXPECT_EQ(read.trace.format, "kineto");
  EXPECT_EQ(read.trace.ranks, 4U);
  ASSERT_EQ(read.trace.programs.size(), 2U);
  for (std::size_t p = 0; p < 2; ++p) {
    const TraceProgram& was = trace.programs[p];
    const TraceProgram& is = read.trace.programs[p];
    EXPECT_EQ(is.rank, was.rank);
    std::size_t i = 0;
    for (const TraceOp& op : is.ops) {
      if (op.kind == TraceKind::kHost) continue;
      const TraceOp& old = was.ops.at(i++);
      EXPECT_EQ(op.kind, old.kind);
      EXPECT_NEAR(op.start, old.start, old.start * 1e-15);
      EXPECT_NEAR(op.duration, old.duration, 1e-15);
      EXPECT_EQ(op.stream, old.stream);
      EXPECT_EQ(op.peer, old.peer);
      EXPECT_EQ(op.collective, old.collective);
      EXPECT_EQ(op.bytes, old.bytes);
      EXPECT_EQ(read.trace.groups[op.group].ranks, trace.groups[old.group].ranks);
      if (old.name != 0) {
        EXPECT_EQ(read.trace.name(op), trace.name(old));
      }
      // 13 bytes are no Floats: they are written as bytes.
      EXPECT_EQ(read.trace.names[op.type], i == 5 ? "Byte" : trace.names[old.type]);
    }
    EXPECT_EQ(i, 5U);
  }
}

// Whatever overlaps gets tracks of its own; viewers take what is written.
TEST_F(KinetoFiles, WhatIsWrittenPassesTheRules) {
  Trace trace = two_ranks();
  for (TraceProgram& program : trace.programs) {
    for (TraceOp& op : program.ops) op.stream = op.kind == TraceKind::kSend ? 20 : TraceOp::kNone;
    TraceOp host = program.ops[0];
    host.kind = TraceKind::kHost;
    TraceOp again = program.ops[0];
    again.start += again.duration / 2;
    program.ops.push_back(host);
    program.ops.push_back(again);
  }
  const auto format = Registry<TraceFormat>::of().make("kineto");
  EXPECT_THAT(
      format->write(trace, (folder_ / "t.json").string()),
      ElementsAre("Operations of the host are written for the eye: they are not read back: 2.",
                  "Operations without a recorded time are left out: 2."));
  ByteSource source((folder_ / "t.0.json").string());
  const TraceEventReport report = check_trace_events(source);
  EXPECT_THAT(report.problems, IsEmpty());
  EXPECT_EQ(report.bars, 7U);
  EXPECT_EQ(report.tracks, 5U);  // stream 20, two for kernels, one for collectives, the host's
}

}  // namespace
}  // namespace trainyard
