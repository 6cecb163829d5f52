// PyTorch profiler traces: what is read, what is made of it, and that it comes back.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>

#include "sim/trace_format.hpp"

namespace trainyard {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

struct Read {
  Trace trace;
  std::vector<TraceRepair> repairs;
};

Read read_text(const std::string& text, bool lenient = false) {
  TraceBuilder builder("kineto", {lenient, false});
  ByteSource source("t.json", text);
  Registry<TraceFormat>::of().make("kineto")->read(source, 0, builder);
  Read read{builder.finish(), {}};
  read.repairs = builder.repairs();
  return read;
}

std::string document(const std::vector<std::string>& events, const std::string& info = {}) {
  return fmt::format(R"({{"schemaVersion": 1, {}"traceEvents": [{}]}})", info,
                     fmt::join(events, ", "));
}
std::string distributed(int rank, int world, const std::string& more = {}) {
  return fmt::format(
      R"("distributedInfo": {{"backend": "nccl", "rank": {}, "world_size": {}{}}}, )", rank, world,
      more);
}

std::string event(const std::string& cat, const std::string& name, int tid, double ts, double dur,
                  const std::string& args) {
  return fmt::format(
      R"({{"ph": "X", "cat": "{}", "name": "{}", "pid": 1, "tid": {}, "ts": {}, "dur": {}, )"
      R"("args": {{{}}}}})",
      cat, name, tid, ts, dur, args);
}
std::string kernel(const std::string& name, int stream, double ts, double dur, int correlation = -1,
                   const std::string& more = {}) {
  return event(
      "kernel", name, stream, ts, dur,
      fmt::format(R"("stream": {}{}{})", stream,
                  correlation < 0 ? "" : fmt::format(R"(, "correlation": {})", correlation), more));
}
std::string call(const std::string& name, int tid, double ts, double dur, int correlation) {
  return event("cuda_runtime", name, tid, ts, dur,
               fmt::format(R"("correlation": {})", correlation));
}
std::string launch(int tid, double ts, double dur, int correlation) {
  return call("cudaLaunchKernel", tid, ts, dur, correlation);
}
std::string comm(const std::string& name, std::int64_t in, std::int64_t out, int size = 4,
                 const std::string& more = {}, const std::string& dtype = "Float") {
  return fmt::format(
      R"(, "Collective name": "{}", "In msg nelems": {}, "Out msg nelems": {}, "Group size": {}, )"
      R"("dtype": "{}"{})",
      name, in, out, size, dtype, more);
}

/// When each operation ends (us), if it starts as soon as its stream and what it waits for allow.
std::vector<double> replay(const TraceProgram& program) {
  std::vector<double> end(program.ops.size(), -1);
  std::map<std::int32_t, std::uint32_t> last;
  std::vector<std::int64_t> before(program.ops.size(), -1);
  for (std::uint32_t i = 0; i < program.ops.size(); ++i) {
    const auto [it, is_first] = last.try_emplace(program.ops[i].stream, i);
    if (!is_first) before[i] = it->second;
    it->second = i;
  }
  const std::function<double(std::uint32_t)> visit = [&](std::uint32_t i) {
    if (end[i] >= 0) return end[i];
    double start = before[i] < 0 ? 0 : visit(static_cast<std::uint32_t>(before[i]));
    const TraceOp& op = program.ops[i];
    for (std::uint32_t n = 0; n < op.needs; ++n)
      start = std::max(start, visit(program.needs[op.first_need + n].op));
    return end[i] = start + op.duration * 1e6;
  };
  for (std::uint32_t i = 0; i < program.ops.size(); ++i) visit(i);
  return end;
}

TraceOp& find(Trace& trace, const std::string& name) {
  for (TraceOp& op : trace.programs.front().ops) {
    if (trace.name(op) == name && op.kind != TraceKind::kHost) return op;
  }
  throw std::logic_error("no " + name);
}
double end_of(Trace& trace, const std::string& name) {
  const TraceProgram& program = trace.programs.front();
  return replay(program)[static_cast<std::size_t>(&find(trace, name) - program.ops.data())];
}

struct Case {
  const char* name;
  std::int64_t in, out;
  TraceKind kind;
  TraceCollective collective;
  double bytes;
};

// Sizes by hand: the whole buffer, 2 bytes each.
TEST(TraceKineto, CollectivesAsTorchNamesThem) {
  using enum TraceCollective;
  for (const Case& one : std::initializer_list<Case>{
           {"allreduce", 100, 100, TraceKind::kCollective, kAllReduce, 200},
           {"allreduce_coalesced", 100, 100, TraceKind::kCollective, kAllReduce, 200},
           {"_allgather_base", 25, 100, TraceKind::kCollective, kAllGather, 200},
           {"all_gather", 25, 100, TraceKind::kCollective, kAllGather, 200},
           {"allgather_into_tensor_coalesced", 25, 100, TraceKind::kCollective, kAllGather, 200},
           {"_reduce_scatter_base", 100, 25, TraceKind::kCollective, kReduceScatter, 200},
           {"reduce_scatter", 100, 25, TraceKind::kCollective, kReduceScatter, 200},
           {"reduce_scatter_tensor_coalesced", 100, 25, TraceKind::kCollective, kReduceScatter,
            200},
           {"broadcast", 100, 100, TraceKind::kCollective, kBroadcast, 200},
           {"reduce", 100, 100, TraceKind::kCollective, kReduce, 200},
           {"all_to_all", 100, 100, TraceKind::kCollective, kAllToAll, 200},
           {"all_to_allv", 100, 80, TraceKind::kCollective, kAllToAll, 200},
           {"gather", 25, 0, TraceKind::kCollective, kGather, 200},
           {"scatter", 0, 25, TraceKind::kCollective, kScatter, 200},
           {"barrier", 0, 0, TraceKind::kCollective, kBarrier, 0},
       }) {
    Trace trace = read_text(document({kernel("ncclDevKernel_X", 20, 1, 5, -1,
                                             comm(one.name, one.in, one.out, 4, "", "BFloat16"))},
                                     distributed(0, 4)))
                      .trace;
    const TraceOp& op = find(trace, "ncclDevKernel_X");
    EXPECT_EQ(op.kind, one.kind) << one.name;
    EXPECT_EQ(op.collective, one.collective) << one.name;
    EXPECT_EQ(op.bytes, one.bytes) << one.name;
    EXPECT_EQ(trace.names[op.type], "BFloat16");
    EXPECT_EQ(op.stream, 20);
    EXPECT_EQ(trace.group_size(op.group), 4U);
  }
}

TEST(TraceKineto, MessagesAndRoots) {
  Trace trace =
      read_text(document({kernel("s", 20, 1, 5, -1, comm("send", 10, 10, 2, R"(, "Dst Rank": 6)")),
                          kernel("r", 21, 1, 5, -1, comm("recv", 10, 10, 2, R"(, "Src Rank": 5)")),
                          kernel("b", 22, 1, 5, -1,
                                 comm("broadcast", 10, 10, 2,
                                      R"(, "Rank": 1, "Process Group Name": "7",
                                         "Process Group Ranks": "[2, 6]")"))},
                         distributed(2, 8)))
          .trace;
  EXPECT_EQ(find(trace, "s").kind, TraceKind::kSend);
  EXPECT_EQ(find(trace, "s").peer, 6);
  EXPECT_EQ(find(trace, "s").bytes, 40);
  EXPECT_EQ(find(trace, "r").kind, TraceKind::kReceive);
  EXPECT_EQ(find(trace, "r").peer, 5);
  EXPECT_EQ(find(trace, "b").peer, 6);
  EXPECT_EQ(trace.programs.front().rank, 2U);
  EXPECT_EQ(trace.ranks, 8U);
  EXPECT_TRUE(trace.representative);
}

std::vector<std::uint32_t> ranks_of(const std::string& ranks, int size, int world,
                                    const std::string& info = {}) {
  const std::string more =
      fmt::format(R"(, "Process Group Name": "3", "Process Group Ranks": "{}")", ranks);
  Trace trace = read_text(document({kernel("c", 20, 1, 5, -1, comm("allreduce", 1, 1, size, more))},
                                   distributed(0, world, info)))
                    .trace;
  return trace.groups[find(trace, "c").group].ranks;
}

TEST(TraceKineto, Groups) {
  EXPECT_THAT(ranks_of("[0, 2, 4]", 3, 8), ElementsAre(0, 2, 4));
  EXPECT_THAT(ranks_of("[0, 1]", 2, 2), IsEmpty());
  // Elided lists: continued evenly, as both spellings have it, or from the list of groups.
  EXPECT_THAT(ranks_of("[0, 8, ..., 24]", 4, 32), ElementsAre(0, 8, 16, 24));
  EXPECT_THAT(ranks_of("[1, 3, 5, ...]", 4, 32), ElementsAre(1, 3, 5, 7));
  EXPECT_THAT(ranks_of("[0, 1, ...]", 32, 32), IsEmpty());
  EXPECT_THAT(
      ranks_of("[0, 1, ...]", 3, 8, R"(, "pg_config": [{"pg_name": "3", "ranks": [0, 1, 5]}])"),
      ElementsAre(0, 1, 5));
}

// A bucket is reduced beside a kernel: 215 us, not the 315 of one after the other.
std::vector<std::string> overlapping() {
  return {launch(1, 0, 5, 1),
          kernel("first", 7, 5, 100, 1),
          launch(1, 10, 5, 2),
          kernel("ncclDevKernel_AllReduce", 20, 15, 200, 2, comm("allreduce", 1000, 1000)),
          launch(1, 20, 5, 3),
          kernel("second", 7, 105, 10, 3)};
}
TEST(TraceKineto, StreamsOverlap) {
  Trace trace = read_text(document(overlapping(), distributed(0, 4))).trace;
  EXPECT_DOUBLE_EQ(end_of(trace, "first"), 105);
  EXPECT_DOUBLE_EQ(end_of(trace, "second"), 115);
  EXPECT_DOUBLE_EQ(end_of(trace, "ncclDevKernel_AllReduce"), 215);
  find(trace, "ncclDevKernel_AllReduce").duration = 50e-6;
  EXPECT_DOUBLE_EQ(end_of(trace, "ncclDevKernel_AllReduce"), 65);
}

// The GPU idles while the host works: the second kernel cannot begin before its launch at 55.
TEST(TraceKineto, TheHostKeepsTheGpuWaiting) {
  Trace trace = read_text(document({launch(1, 0, 5, 1), kernel("a", 7, 5, 10, 1),
                                    launch(1, 50, 5, 2), kernel("b", 7, 55, 10, 2)}))
                    .trace;
  EXPECT_DOUBLE_EQ(end_of(trace, "b"), 65);
  find(trace, "a").duration = 1e-6;
  EXPECT_DOUBLE_EQ(end_of(trace, "b"), 65);
}

// The host waits for "a" from 10 to 110, 5 us longer than it runs, and launches "b" 15 us later.
TEST(TraceKineto, TheHostWaitsForTheGpu) {
  for (const char* name : {"cudaStreamSynchronize", "cudaDeviceSynchronize"}) {
    Trace trace = read_text(document({launch(1, 0, 5, 1), kernel("a", 7, 5, 100, 1),
                                      call(name, 1, 10, 100, 2), launch(1, 120, 5, 3),
                                      kernel("b", 7, 125, 10, 3)}))
                      .trace;
    EXPECT_DOUBLE_EQ(end_of(trace, "b"), 135) << name;
    find(trace, "a").duration = 50e-6;
    EXPECT_DOUBLE_EQ(end_of(trace, "b"), 85) << name;
    find(trace, "a").duration = 1e-6;  // the call then takes its 5 us
    EXPECT_DOUBLE_EQ(end_of(trace, "b"), 40) << name;
  }
}

// The autograd thread begins where the main thread has come to.
TEST(TraceKineto, ThreadsHandOver) {
  Trace trace = read_text(document({launch(1, 0, 5, 1), kernel("a", 7, 5, 100, 1),
                                    call("cudaStreamSynchronize", 1, 10, 100, 2),
                                    launch(2, 120, 5, 3), kernel("b", 7, 125, 10, 3)}))
                    .trace;
  EXPECT_DOUBLE_EQ(end_of(trace, "b"), 135);
  find(trace, "a").duration = 50e-6;
  EXPECT_DOUBLE_EQ(end_of(trace, "b"), 85);
}

// "b" waits for the event after "comm", recorded by call 3, though the host is long done.
std::vector<std::string> waiting(bool with_syncs) {
  std::vector<std::string> events{
      launch(1, 0, 5, 1),
      kernel("comm", 20, 5, 100, 1),
      call("cudaEventRecord", 1, 6, 1, 2),
      launch(1, 8, 5, 9),
      kernel("after", 20, 105, 50, 9),
      call("cudaStreamWaitEvent", 1, 14, 1, 3),
      launch(1, 20, 5, 4),
      kernel("b", 7, 105, 10, 4),
  };
  if (with_syncs) {
    events.push_back(
        event("cuda_event", "cudaEventRecord", 20, 6, 0, R"("stream": 20, "correlation": 2)"));
    events.push_back(event("cuda_sync", "Stream Wait Event", 7, 14, 0,
                           R"("cuda_sync_kind": "Stream Wait Event", "wait_on_stream": 20,
                              "wait_on_cuda_event_record_corr_id": 2, "stream": 7,
                              "correlation": 3)"));
  }
  return events;
}
TEST(TraceKineto, StreamsWaitForEvents) {
  for (const bool with_syncs : {true, false}) {
    Trace trace = read_text(document(waiting(with_syncs))).trace;
    EXPECT_DOUBLE_EQ(end_of(trace, "b"), 115) << with_syncs;
    find(trace, "comm").duration = 300e-6;
    EXPECT_DOUBLE_EQ(end_of(trace, "b"), 315) << with_syncs;
  }
}

TEST(TraceKineto, CollectivesWaitForWhatWasComputedBefore) {
  Trace trace =
      read_text(document({launch(1, 0, 5, 1), kernel("a", 7, 5, 100, 1), launch(1, 10, 5, 2),
                          kernel("ncclDevKernel_AllReduce", 20, 105, 50, 2,
                                 comm("allreduce", 1000, 1000))},
                         distributed(0, 4)))
          .trace;
  find(trace, "a").duration = 200e-6;
  EXPECT_DOUBLE_EQ(end_of(trace, "ncclDevKernel_AllReduce"), 255);
}

// Nothing is known of the host: gaps are pauses after what ended last, and the times come back.
TEST(TraceKineto, KernelsAloneKeepTheirGaps) {
  Trace trace = read_text(document({kernel("a", 7, 100, 50), kernel("c", 20, 120, 60),
                                    kernel("b", 7, 200, 10), kernel("d", 7, 215, 5)}))
                    .trace;
  const TraceProgram& program = trace.programs.front();
  for (std::size_t i = 0; i < program.ops.size(); ++i) {
    const TraceOp& op = program.ops[i];
    if (op.kind == TraceKind::kHost) continue;
    EXPECT_NEAR(replay(program)[i] + 100, (op.start + op.duration) * 1e6, 1e-6) << trace.name(op);
  }
  find(trace, "c").duration += 30e-6;
  EXPECT_NEAR(end_of(trace, "b"), 140, 1e-9);  // "b" waited for "c", and 20 us more
}

TEST(TraceKineto, TheOperatorSaysWhatAKernelDoesNot) {
  Trace trace =
      read_text(
          document({event("cpu_op", "record_param_comms", 1, 0, 1,
                          R"("External id": 42)" + comm("_allgather_base", 25, 100)),
                    kernel("ncclDevKernel_AllGather", 20, 5, 10, -1, R"(, "External id": 42)")},
                   distributed(0, 4)))
          .trace;
  EXPECT_EQ(find(trace, "ncclDevKernel_AllGather").collective, TraceCollective::kAllGather);
  EXPECT_EQ(find(trace, "ncclDevKernel_AllGather").bytes, 400);
}

/// What is wrong strictly, and the repair leniently.
std::string fault(const std::vector<std::string>& events, const std::string& info = {}) {
  std::string message;
  try {
    read_text(document(events, info));
  } catch (const ScenarioError& e) {
    message = to_string(e.diagnostics().front());
  }
  const Read read = read_text(document(events, info), true);
  for (const TraceRepair& repair : read.repairs)
    message += fmt::format("\n{} {}", repair.count, repair.what);
  return message;
}

TEST(TraceKineto, FaultsAndTheirRepairs) {
  EXPECT_EQ(
      fault({kernel("a", 7, 5, 10), kernel("b", 7, 12, 10)}),
      "t.json: event 1 (b): begins 3 us before the kernel before it on stream 7 ends "
      "(--lenient makes this of kernels that overlap on one stream: the later begins when the "
      "earlier has ended)\n1 kernels that overlap on one stream: the later begins when the "
      "earlier has ended");
  EXPECT_THAT(fault({kernel("a", 7, 5, -10)}), HasSubstr("\n1 negative durations: taken as 0"));
  EXPECT_THAT(fault({launch(1, 0, 1, 4), kernel("a", 7, 5, 1, 4), kernel("b", 7, 8, 1, 5)}),
              HasSubstr("event 2 (b): was launched by no call in the file"));
  EXPECT_THAT(
      fault({R"({"ph": "X", "cat": "kernel", "name": "a", "tid": "x", "ts": 1, "dur": 1})"}),
      HasSubstr("\n1 kernels without a stream: on stream 0"));
  EXPECT_THAT(fault({kernel("a", 7, 5, 1),
                     R"({"ph": "X", "cat": "kernel", "name": "b", "tid": 7, "dur": 1})"}),
              HasSubstr("\n1 events without \"ts\" or \"dur\": left out"));
  EXPECT_THAT(fault({kernel("ncclDevKernel_AllReduce", 7, 5, 1)}),
              HasSubstr("\n1 NCCL kernels without \"Collective name\": kernels of the recorded"));
  EXPECT_THAT(fault({kernel("n", 7, 5, 1, -1, comm("frobnicate", 1, 1))}),
              HasSubstr("\"Collective name\" \"frobnicate\" is unknown"));
  EXPECT_THAT(fault({kernel("n", 7, 5, 1, -1, comm("allreduce", 1, 1, 4, "", "Quaternion"))}),
              HasSubstr("\"dtype\" \"Quaternion\" is unknown"));
  EXPECT_THAT(fault({kernel("n", 7, 5, 1, -1, comm("send", 1, 1))}),
              HasSubstr("\n1 messages without \"Src Rank\" or \"Dst Rank\""));
  EXPECT_THAT(fault({kernel("n", 7, 5, 1, -1,
                            comm("allreduce", 1, 1, 40,
                                 R"(, "Process Group Name": "5",
                                    "Process Group Ranks": "[0, 3, 4, ...]")"))},
                    distributed(0, 64)),
              HasSubstr("\n1 groups without a list of their ranks: all ranks"));
}

std::string refusal(const std::vector<std::string>& events, const std::string& info = {}) {
  try {
    read_text(document(events, info), true);
  } catch (const ScenarioError& e) {
    return e.what();
  }
  return {};
}

TEST(TraceKineto, RefusesNumbersThatMakeNoSense) {
  EXPECT_THAT(refusal({kernel("a", 7, -5, 1)}), HasSubstr("event 0 (a): \"ts\" -5 is no time"));
  EXPECT_THAT(refusal({kernel("a", 7, 1e30, 1)}), HasSubstr("is no time"));
  EXPECT_THAT(refusal({kernel("a", 7, 1, 1, -1, R"(, "bytes": -3)")}),
              HasSubstr("event 0 (a): \"bytes\" -3 is no size"));
  EXPECT_THAT(refusal({kernel("a", 7, 1, 1, -1, comm("allreduce", -4, 1))}),
              HasSubstr("\"In msg nelems\" -4 is no amount"));
  EXPECT_THAT(refusal({event("kernel", "a", 7, 1, 1, R"("stream": 3000000000)")}),
              HasSubstr("\"stream\" 3000000000 is no number of a stream"));
  EXPECT_THAT(refusal({event("kernel", "a", 7, 1, 1, R"("stream": 1.5)")}),
              HasSubstr("\"stream\" is no whole number"));
  EXPECT_THAT(refusal({kernel("a", 7, 1, 1)}, distributed(-1, 4)),
              HasSubstr("distributedInfo: \"rank\" is no number of ranks"));
  EXPECT_THAT(refusal({kernel("a", 7, 1, 1, -1,
                              comm("allreduce", 1, 1, 2, R"(, "Process Group Ranks": "[0, 9]")"))},
                      distributed(0, 4)),
              HasSubstr("names rank 9 of 4"));
  EXPECT_THAT(refusal({event("cpu_op", "aten::mm", 1, 1, 1, "")}), HasSubstr("has no kernels"));
}

TEST(TraceKineto, DamageIsAnErrorOrAnotherTrace) {
  std::vector<std::string> events = waiting(true);
  events.push_back(kernel("ncclDevKernel_AllReduce", 21, 200, 10, -1,
                          comm("allreduce", 9, 9, 2, R"(, "Process Group Name": "1",
                                "Process Group Ranks": "[0, ..., 1]")")));
  const std::string text = document(events, distributed(0, 4));
  for (std::size_t i = 0; i < text.size(); ++i) {
    EXPECT_THROW(read_text(text.substr(0, i), true), ScenarioError) << i;
    for (int bit = 0; bit < 8; bit += 3) {
      std::string damaged = text;
      damaged[i] = static_cast<char>(damaged[i] ^ (1 << bit));
      try {
        read_text(damaged, true);
      } catch (const ScenarioError&) {
      }
    }
  }
}

// Many calls, waits and streams: no time that grows with the square of the file.
TEST(TraceKineto, LargeFilesAreReadInTimeSlow) {
  std::vector<std::string> events;
  for (int i = 0; i < 100'000; ++i) {
    events.push_back(launch(1 + i % 3, i, 0.5, i));
    events.push_back(kernel("k", i % 50, i + 0.5, 30, i));
    if (i % 10 == 0) events.push_back(call("cudaStreamWaitEvent", 1, i + 0.75, 0.1, 1'000'000 + i));
  }
  EXPECT_EQ(read_text(document(events)).trace.programs.front().ops.size(), 200'000U);
}

TEST(TraceKineto, IsRecognized) {
  const auto format = Registry<TraceFormat>::of().make("kineto");
  EXPECT_TRUE(format->recognizes("x", document({kernel("a", 1, 1, 1)})));
  EXPECT_TRUE(format->recognizes("x", R"([{"name": "a", "ph": "X"}])"));
  EXPECT_FALSE(format->recognizes("x", R"({"op": "compute"})"));
  EXPECT_FALSE(format->recognizes("x", "num_ranks 4\n"));
  EXPECT_TRUE(format->file_per_rank());
}

}  // namespace
}  // namespace trainyard
