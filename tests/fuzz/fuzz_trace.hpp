// What every input must do to a reader of traces: be read, or be refused with a ScenarioError.
// Anything else that is thrown is a finding, and so is a crash, a hang or too much memory.
#pragma once

#include <algorithm>
#include <stdexcept>
#include <string>
#include <string_view>

#include "models/workloads/trace_jsonl.hpp"
#include "sim/trace_format.hpp"

namespace trainyard {

/// The name of the target that has no format: bytes, packed or not, and their lines.
inline constexpr std::string_view kFuzzLines = "gzip_lines";

inline Trace fuzz_read(std::string_view format, std::string_view bytes, bool lenient) {
  ByteSource source("input", bytes);
  TraceBuilder builder(std::string(format), {lenient, true});
  Registry<TraceFormat>::of().make(format)->read(source, 0, builder);
  return builder.finish();
}

/// Whether all that it names is in it: one file of several need not be.
inline bool fuzz_is_whole(const Trace& trace) {
  if (trace.programs.size() != trace.ranks && !trace.representative) return false;
  for (const TraceProgram& program : trace.programs) {
    for (const TraceOp& op : program.ops) {
      if (op.peer != TraceOp::kNone && static_cast<std::size_t>(op.peer) >= trace.ranks)
        return false;
    }
  }
  return std::all_of(trace.groups.begin(), trace.groups.end(), [&](const TraceGroup& group) {
    return std::all_of(group.ranks.begin(), group.ranks.end(),
                       [&](std::uint32_t rank) { return rank < trace.ranks; });
  });
}

inline std::string fuzz_jsonl(const Trace& trace) {
  std::string text;
  write_jsonl(trace, [&](const std::string& piece) { text += piece; });
  return text;
}

// Our own format holds every trace: what is read from it is what was written.
inline void fuzz_round_trip(const Trace& trace) {
  if (trace.size() == 0 || !fuzz_is_whole(trace)) return;
  const std::string text = fuzz_jsonl(trace);
  std::string again;
  try {
    again = fuzz_jsonl(fuzz_read("jsonl", text, false));
  } catch (const ScenarioError& error) {
    throw std::logic_error(std::string("a trace cannot be read back: ") + error.what());
  }
  if (again != text) throw std::logic_error("a trace comes back as another");
}

inline void fuzz_lines(std::string_view bytes) {
  ByteSource source("input", bytes);
  source.peek();
  LineReader lines(source);
  std::string_view line;
  std::size_t count = 0, size = 0;
  while (lines.next(line)) {
    ++count;
    size += line.size();
    if (lines.number() != count) throw std::logic_error("lines are not counted");
  }
  if (!bytes.starts_with("\x1f\x8b") && size + 2 * count + 1 < bytes.size())
    throw std::logic_error("lines are lost");
}

/// Throws what is a finding.
inline void fuzz_trace(std::string_view target, std::string_view bytes) {
  try {
    if (target == kFuzzLines) {
      fuzz_lines(bytes);
      return;
    }
    Registry<TraceFormat>::of().make(target)->recognizes("input", bytes);
    fuzz_round_trip(fuzz_read(target, bytes, false));
  } catch (const ScenarioError&) {
  }
  try {
    if (target != kFuzzLines) fuzz_jsonl(fuzz_read(target, bytes, true));
  } catch (const ScenarioError&) {
  }
}

}  // namespace trainyard
