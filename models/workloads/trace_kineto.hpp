// Traces of the PyTorch profiler (Kineto): what a file says, before it is put in order. Only
// models/workloads/trace_kineto*.cpp include this. What is made of it is docs/traces.md.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/json.hpp"
#include "sim/trace_builder.hpp"

namespace trainyard::kineto {

inline constexpr std::uint32_t kNothing = 0xffffffffU;
inline constexpr std::uint64_t kNoCorrelation = std::numeric_limits<std::uint64_t>::max();
/// Beyond this many a file has no streams but numbers of something else.
inline constexpr std::size_t kMostStreams = 1024;
/// Kineto once wrote whole microseconds: times closer than that are one.
inline constexpr double kTick = 1;

/// What is said of a collective or message: the arguments of its record_param_comms.
struct Comm {
  std::string operation;  ///< "allreduce", "_allgather_base", …
  std::string dtype, group, ranks;
  std::optional<std::int64_t> in, out;  ///< elements
  std::optional<std::int64_t> size;     ///< of the group
  std::optional<std::int64_t> rank;     ///< the root, as number within the group
  std::optional<std::int64_t> peer;     ///< of a message
};

/// Times are in microseconds, as in the file.
struct Kernel {
  double start = 0, end = 0, bytes = 0;
  std::uint64_t event = 0;  ///< number in the file
  std::uint64_t correlation = kNoCorrelation;
  std::int64_t external = -1;  ///< id of the operator that launched it
  std::int64_t device = 0;
  std::int32_t stream = 0;
  std::uint32_t name = 0;         ///< in the trace
  std::uint32_t comm = kNothing;  ///< in File::comms
  bool nccl = false;
};

enum class CallKind : std::uint8_t { kLaunch, kCopy, kSyncAll, kSyncOne, kRecord, kWait };

/// A call of the CUDA runtime or driver.
struct Call {
  double start = 0, end = 0;
  std::uint64_t correlation = kNoCorrelation;
  std::uint32_t thread = 0, name = 0;
  CallKind kind = CallKind::kLaunch;
};

/// What the profiler says of a call that waits, where it was told to (enable_cuda_sync_events).
struct Sync {
  std::int32_t stream = -1;       ///< that waits
  std::int32_t wait_stream = -1;  ///< on which the event was recorded
  std::uint64_t record = kNoCorrelation;
};

struct File {
  std::string name;
  std::size_t rank = 0, world = 0;  ///< world 0: not said
  std::vector<Kernel> kernels;
  std::vector<Call> calls;
  std::vector<Comm> comms;
  std::map<std::uint64_t, Sync> syncs;                       ///< by correlation of the call
  std::map<std::uint64_t, std::int32_t> records;             ///< stream of an event, by correlation
  std::map<std::int64_t, std::uint32_t> comm_of;             ///< by id of the operator
  std::map<std::string, std::vector<std::uint32_t>> groups;  ///< from distributedInfo
};

/// "event 17 (ncclDevKernel_AllReduce)".
std::string place_of(std::uint64_t event, std::string_view name);

/// Takes the events of a file one by one.
class EventReader {
 public:
  EventReader(File& file, TraceBuilder& builder) : file_(file), builder_(builder) {}
  void event(const Json& event);
  void member(const std::string& key, const Json& value);

 private:
  void kernel(const Json& event, const Json* args);
  void call(const Json& event, const Json* args);
  void cuda_sync(const Json* args);
  Comm comm(const Json& args);
  /// Sets start and end; whether there are any.
  bool times(const Json& event, double& start, double& end);
  std::optional<std::int64_t> whole(const Json* object, std::string_view key);
  std::uint64_t correlation(const Json* args, std::string_view key = "correlation");
  std::int32_t stream(const Json* args, std::string_view key);
  std::string place() const;
  File& file_;
  TraceBuilder& builder_;
  std::uint64_t number_ = 0;  ///< of the event, from 0
  std::string name_;          ///< of the event
  std::map<std::string, std::uint32_t> threads_;
};

/// What a kernel's Comm means: kind, collective, bytes, type, group and peer of the operation.
/// Where that cannot be told it is a fault, and a kernel like others.
class CommReader {
 public:
  CommReader(const File& file, TraceBuilder& builder) : file_(file), builder_(builder) {}
  void read(const Kernel& kernel, TraceOp& op);

 private:
  std::uint32_t group(const Comm& comm, const std::string& place);
  std::vector<std::uint32_t> ranks_of(const Comm& comm, const std::string& place);
  const File& file_;
  TraceBuilder& builder_;
  std::map<std::string, std::uint32_t> groups_;  ///< by all that is said of them
  std::size_t listed_ = 0;                       ///< ranks of them
};

struct Element {
  std::string_view name;  ///< as torch spells it
  double bytes;
};
/// The data type of that name, torch's or another's; nothing for unknown ones.
std::optional<Element> element_of(std::string_view name);
/// As torch names it: "allreduce".
std::string_view torch_name(const TraceOp& op);

/// Puts kernels and what the host did in order, and adds them to the builder.
void add_program(File& file, TraceBuilder& builder);

/// Writes one file per rank. Returns what it cannot hold.
std::vector<std::string> write_files(const Trace& trace, const std::string& path);

}  // namespace trainyard::kineto
