#include "sim/trace.hpp"

#include <fmt/format.h>

#include <array>

namespace trainyard {
namespace {

constexpr std::array<std::string_view, 8> kKinds{"marker", "compute",    "host", "load",
                                                 "store",  "collective", "send", "receive"};
constexpr std::array<std::string_view, 9> kCollectives{"all_reduce", "reduce",         "all_gather",
                                                       "gather",     "scatter",        "broadcast",
                                                       "all_to_all", "reduce_scatter", "barrier"};

}  // namespace

std::string_view trace_kind_name(TraceKind kind) { return kKinds[static_cast<std::size_t>(kind)]; }

std::string_view trace_collective_name(TraceCollective op) {
  return kCollectives[static_cast<std::size_t>(op)];
}

double sent_bytes(TraceCollective op, double bytes, std::size_t ranks) {
  const double share = static_cast<double>(ranks - 1) / static_cast<double>(ranks);
  switch (op) {
    case TraceCollective::kAllReduce:
      return 2 * share * bytes;
    case TraceCollective::kBarrier:
      return 0;
    case TraceCollective::kGather:
    case TraceCollective::kScatter:
      return share * bytes / static_cast<double>(ranks);
    default:
      return share * bytes;
  }
}

std::size_t Trace::size() const {
  std::size_t all = 0;
  for (const TraceProgram& program : programs) all += program.ops.size();
  return all;
}

std::string Trace::describe(const TraceOp& op) const {
  return op.name == 0 ? fmt::format("node {}", op.id)
                      : fmt::format("node {} ({})", op.id, name(op));
}

}  // namespace trainyard
