// What a job does, operation by operation and rank by rank, as traces of many formats say it: read
// by importers, replayed by the workload "trace", written by exporters. docs/traces.md.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "sim/json.hpp"

namespace trainyard {

enum class TraceKind : std::uint8_t {
  kMarker,      ///< no work
  kCompute,     ///< a kernel of the GPU
  kHost,        ///< work of the host
  kLoad,        ///< from memory beyond the GPU's
  kStore,       ///< to memory beyond the GPU's
  kCollective,  ///< all ranks of its group take part
  kSend,        ///< matches the receive of the same pair of ranks and tag, in order
  kReceive
};
std::string_view trace_kind_name(TraceKind kind);  ///< "compute", …

enum class TraceCollective : std::uint8_t {
  kAllReduce,
  kReduce,
  kAllGather,
  kGather,
  kScatter,
  kBroadcast,
  kAllToAll,
  kReduceScatter,
  kBarrier
};
std::string_view trace_collective_name(TraceCollective op);  ///< "all_reduce", …

/// Bytes that each rank of n sends in a collective of that size, by a bandwidth-optimal algorithm;
/// of broadcast, reduce, gather and scatter the mean over the ranks.
double sent_bytes(TraceCollective op, double bytes, std::size_t ranks);

/// What an operation waits for.
struct TraceNeed {
  enum class Kind : std::uint8_t {
    kData,     ///< the other has ended
    kControl,  ///< the other has ended; known apart for formats that tell the two from each other
    kStart     ///< the other has started
  };
  std::uint32_t op = 0;  ///< index in the same program
  Kind kind = Kind::kData;
};

struct TraceOp {
  static constexpr std::int32_t kNone = -1;
  static constexpr std::uint32_t kNoExtra = 0xffffffffU;
  std::uint64_t id = 0;  ///< unique in its program
  double start = -1;     ///< recorded, seconds; negative: not recorded
  double duration = -1;  ///< recorded, seconds; negative: not recorded
  /// Of a message; of a kernel or a host operation what it moves in memory; of a collective the
  /// whole buffer as nccl-tests counts it: what all_gather ends with and reduce_scatter begins
  /// with, on each rank.
  double bytes = 0;
  double flops = 0;
  std::uint32_t name = 0;       ///< in Trace::names
  std::uint32_t type = 0;       ///< data type, in Trace::names; 0: not said
  std::uint32_t group = 0;      ///< of a collective, in Trace::groups; 0: all ranks
  std::int32_t stream = kNone;  ///< what is on one stream runs in the order of the program
  std::int32_t peer =
      kNone;             ///< the other rank of a message; the root of a collective that has one
  std::int32_t tag = 0;  ///< of a message
  std::uint32_t first_need = 0, needs = 0;  ///< in TraceProgram::needs
  std::uint32_t extra = kNoExtra;           ///< in Trace::extras
  TraceKind kind = TraceKind::kMarker;
  TraceCollective collective = TraceCollective::kAllReduce;
};

/// What one rank does.
///
/// Operations of one stream run one after another. Where none is given, kernels run one at a time,
/// of those that are ready the one with the least id; so does what the host does; collectives of
/// one group run in order; messages as soon as they are ready.
struct TraceProgram {
  std::uint32_t rank = 0;
  std::string file;  ///< for messages
  std::vector<TraceOp> ops;
  std::vector<TraceNeed> needs;
};

struct TraceGroup {
  std::string name;
  std::vector<std::uint32_t> ranks;  ///< empty: all
};

struct Trace {
  std::string format;     ///< that it was read from
  std::size_t ranks = 0;  ///< of the job
  /// Ranks without a program do at each moment what the recorded ones do. Else all have one.
  bool representative = false;
  /// Durations of kernels are those that they have with the GPU to themselves: communication beside
  /// them slows them. Else they are as recorded, beside whatever there was.
  bool alone = false;
  std::vector<TraceProgram> programs;  ///< by rank
  std::vector<TraceGroup> groups;      ///< the first is that of all ranks
  std::vector<std::string> names;      ///< the first is empty
  /// JSON objects: what a format says of an operation that has no place here.
  std::vector<std::string> extras;
  Json attributes = Json::object();  ///< what it says of the whole

  std::size_t size() const;  ///< operations of all programs
  const std::string& name(const TraceOp& op) const { return names[op.name]; }
  /// How many ranks a group has.
  std::size_t group_size(std::uint32_t group) const {
    return groups[group].ranks.empty() ? ranks : groups[group].ranks.size();
  }
  /// "node 17 (ncclAllReduce)".
  std::string describe(const TraceOp& op) const;
};

}  // namespace trainyard
