// Workloads of AICB in memory: written row by row, read, and shown as text.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "sim/error.hpp"
#include "sim/registry.hpp"
#include "sim/trace_format.hpp"

namespace trainyard::testing {

inline ReadTrace read_aicb_text(const std::string& text, const TraceReading& how = {}) {
  TraceBuilder builder("aicb", how);
  ByteSource source("w.txt", text);
  Registry<TraceFormat>::of().make("aicb")->read(source, 0, builder);
  ReadTrace read;
  read.trace = builder.finish();
  read.repairs = builder.repairs();
  return read;
}

/// Why the text is refused, all of it; empty when it is taken.
inline std::string aicb_refusal(const std::string& text, const TraceReading& how = {}) {
  try {
    read_aicb_text(text, how);
  } catch (const ScenarioError& e) {
    return e.what();
  }
  return {};
}

/// A row: kernels in ns, collectives as "ALLREDUCE 64" or "NONE 0".
inline std::string aicb_row(const std::string& name, int forward, const std::string& forward_comm,
                            int input, const std::string& input_comm, int weight,
                            const std::string& weight_comm) {
  return fmt::format("{}\t-1\t{} {}\t{} {}\t{} {}\t100\n", name, forward, forward_comm, input,
                     input_comm, weight, weight_comm);
}
inline std::string aicb_row(const std::string& name, int forward, int input, int weight) {
  return aicb_row(name, forward, "NONE 0", input, "NONE 0", weight, "NONE 0");
}

inline std::string aicb_file(const std::string& header, const std::vector<std::string>& rows) {
  return fmt::format("{}\n{}\n{}", header, rows.size(), fmt::join(rows, ""));
}

/// "layer 5" of a kernel of 5 ns, "layer all_reduce 64 among tp of stage 0, stream 3",
/// "send_forward to 4 tag 0": all operations in the order of the program.
inline std::string show(const Trace& trace, const TraceOp& op) {
  switch (op.kind) {
    case TraceKind::kMarker:
      return trace.name(op);
    case TraceKind::kCollective:
      return fmt::format(
          "{} {} {} among {}{}", trace.name(op), trace_collective_name(op.collective), op.bytes,
          trace.groups[op.group].name, op.stream == 0 ? "" : fmt::format(", stream {}", op.stream));
    case TraceKind::kSend:
      return fmt::format("{} to {} tag {}", trace.name(op), op.peer, op.tag);
    case TraceKind::kReceive:
      return fmt::format("{} from {} tag {}", trace.name(op), op.peer, op.tag);
    default:
      return fmt::format("{} {}", trace.name(op), std::round(op.duration * 1e9));
  }
}

inline std::vector<std::string> show_program(const Trace& trace, std::size_t program) {
  std::vector<std::string> shown;
  for (const TraceOp& op : trace.programs.at(program).ops) shown.push_back(show(trace, op));
  return shown;
}

/// What the operation waits for, besides what its stream has before it.
inline std::vector<std::string> show_needs(const Trace& trace, std::size_t program,
                                           std::size_t op) {
  const TraceProgram& p = trace.programs.at(program);
  std::vector<std::string> shown;
  for (std::uint32_t n = 0; n < p.ops.at(op).needs; ++n)
    shown.push_back(show(trace, p.ops[p.needs[p.ops[op].first_need + n].op]));
  return shown;
}

}  // namespace trainyard::testing
