// Traces of the PyTorch profiler: Chrome trace JSON as Kineto writes it, a file per rank.
//
// Names of events and arguments are those of Kineto (pytorch/kineto, libkineto/src/output_json.cpp
// and CuptiActivity.cpp) and of torch's record_param_comms (torch/csrc/profiler/util.cpp).
#include "models/workloads/trace_kineto.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/json_stream.hpp"
#include "sim/trace_format.hpp"

namespace trainyard {
namespace {

class KinetoFormat : public TraceFormat {
 public:
  bool recognizes(std::string_view, std::string_view head) const override {
    const auto has = [&](std::string_view text) { return head.find(text) != head.npos; };
    const std::size_t begin = head.find_first_not_of(" \t\r\n");
    if (begin == head.npos) return false;
    if (head[begin] == '{')
      return has("\"traceEvents\"") || (has("\"schemaVersion\"") && has("\"deviceProperties\""));
    return head[begin] == '[' && has("\"ph\"");
  }

  bool file_per_rank() const override { return true; }

  void read(ByteSource& source, std::size_t rank, TraceBuilder& builder) const override {
    kineto::File file;
    file.name = source.name();
    file.rank = rank;
    kineto::EventReader reader(file, builder);
    const StreamedJson seen = stream_json(
        source, "traceEvents", [&](const Json& event, std::uint64_t) { reader.event(event); },
        [&](const std::string& key, const Json& value) { reader.member(key, value); });
    if (!seen.has_list)
      builder.fail(file.name, "", "has no \"traceEvents\"",
                   "a trace of the PyTorch profiler has that list");
    if (file.kernels.empty())
      builder.fail(file.name, "", "has no kernels",
                   "profile with ProfilerActivity.CUDA, on a machine with GPUs");
    builder.begin(file.rank, file.name);
    Trace& trace = builder.trace();
    trace.ranks = std::max({trace.ranks, file.world, file.rank + 1});
    trace.representative = trace.programs.size() < trace.ranks;
    kineto::add_program(file, builder);
  }

  bool writes() const override { return true; }
  std::vector<std::string> write(const Trace& trace, const std::string& path) const override {
    return kineto::write_files(trace, path);
  }
};

const Registration<TraceFormat, KinetoFormat> registered{
    "kineto", "PyTorch profiler traces (Kineto): Chrome trace JSON, a file per rank"};

}  // namespace
}  // namespace trainyard
