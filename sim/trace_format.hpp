// Formats of traces: the plug-in interface of importers and exporters.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sim/byte_source.hpp"
#include "sim/registry.hpp"
#include "sim/trace_builder.hpp"
#include "sim/trace_match.hpp"

namespace trainyard {

class TraceFormat {
 public:
  static constexpr std::string_view kInterface = "trace_format";
  virtual ~TraceFormat() = default;

  /// Whether a file of that name that begins with these bytes (unpacked) is one.
  virtual bool recognizes(std::string_view name, std::string_view head) const = 0;
  /// Whether each rank has a file of its own.
  virtual bool file_per_rank() const { return false; }
  /// Whether a file of that name, in the folder of a trace, is no rank's but one that read() opens
  /// itself.
  virtual bool is_beside(std::string_view /*name*/) const { return false; }
  /// Reads one file; `rank` is the number in its name, or its place among those of the trace, where
  /// each rank has one. Faults
  /// go to the builder.
  virtual void read(ByteSource& source, std::size_t rank, TraceBuilder& builder) const = 0;
  virtual bool writes() const { return false; }
  /// Writes a trace: into the file, or where each rank has one into `path`.RANK.ext. Returns what
  /// the format cannot hold, each as a sentence. Throws UsageError when it cannot be written.
  virtual std::vector<std::string> write(const Trace& trace, const std::string& path) const;
};

/// The files of a trace: the file itself; all files of a folder, or all PREFIX.NUMBER.ext (named
/// PREFIX or PREFIX.ext), by number. Throws ScenarioError when there is none.
std::vector<std::string> trace_files(const std::string& path);

struct ReadTrace {
  Trace trace;
  TraceMatches matches;
  std::vector<TraceRepair> repairs;
};
/// Reads a trace. `format` is the name of one, or empty to find it out. Throws ScenarioError.
ReadTrace read_trace(const std::string& path, const std::string& format, const TraceReading& how);

}  // namespace trainyard
