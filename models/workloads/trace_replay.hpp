// A trace as operations on the simulated cluster.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sim/lowering.hpp"
#include "sim/trace_match.hpp"

namespace trainyard {

/// The LogGOPS model of messages (Hoefler, Schneider, Lumsdaine 2010), instead of the simulated
/// network: a message of s bytes takes the sender's core for o, its NIC for g + (s-1)·G, arrives
/// L + (s-1)·G after the core is done with it, and takes the receiver's core for o.
struct LogGops {
  Seconds latency;   ///< L
  Seconds overhead;  ///< o
  Seconds gap;       ///< g, between messages
  Seconds per_byte;  ///< G
  Bytes rendezvous;  ///< S: a larger message leaves when its receive is posted; 0: none does
  void fields(Archive& ar);
};

struct ReplayPlan {
  bool recompute = false;    ///< kernels from FLOPs and bytes where they are known
  double compute_scale = 1;  ///< of every kernel and host operation
  int repeat = 1;
  int replicas = 1;
  std::vector<bool> across;  ///< by group: spans the replicas
  Bytes rendezvous;          ///< larger messages leave when their receive is posted; 0: none does
  std::optional<LogGops> loggops;
  /// Time of a collective of that group, operation, bytes and ranks, where it is given.
  std::function<std::optional<Seconds>(const std::string&, TraceCollective, Bytes, std::size_t)>
      given_time;
};

/// How long a kernel or host operation takes on that cluster; nothing when the trace says neither a
/// duration nor FLOPs nor bytes.
std::optional<Seconds> replayed_time(const TraceOp& op, const ReplayPlan& plan,
                                     const Cluster& cluster);

/// A collective or message of the replay, when it is over: for sums by group and rank.
struct ReplayedComm {
  std::uint32_t call = 0;   ///< index of a call, or
  bool is_message = false;  ///< of a message
  int replica = 0;
  OpId first, last;  ///< operations first … last-1 are it
};

class TraceReplay {
 public:
  TraceReplay(const Trace& trace, const TraceMatches& matches, const ReplayPlan& plan,
              Lowering& lowering, std::span<const Rank> gpus);
  void lower();
  /// The GPU of a rank of the trace in a replica.
  Rank gpu(std::uint32_t rank, int replica) const {
    return gpus_[static_cast<std::size_t>(replica) * trace_.ranks + rank];
  }
  const std::vector<ReplayedComm>& comms() const { return comms_; }
  /// Per replica and program, of the last repetition: the operation after which all is done.
  OpId end_of(int replica, std::size_t program) const {
    return ends_[static_cast<std::size_t>(replica) * trace_.programs.size() + program];
  }

 private:
  /// One program in one replica.
  struct Instance {
    std::vector<OpId> start, end;         ///< by op: what needs go into, and what others wait for
    std::map<std::int64_t, OpId> chains;  ///< by stream or group: what was last on it
    std::uint32_t compute_queue = 0, host_queue = 0, nic_out = 0, nic_in = 0;
    OpId before;  ///< the end of the repetition before
  };
  Instance& at(int replica, std::size_t program) {
    return instances_[static_cast<std::size_t>(replica) * trace_.programs.size() + program];
  }
  void lower_once();
  void add_ops(int replica, std::size_t program);
  void add_work(const TraceOp& op, Rank gpu, Instance& instance, std::size_t index);
  void add_send(const TraceOp& op, Rank gpu, int replica, Instance& instance, std::size_t index);
  void add_calls();
  void add_call(std::uint32_t call, int replica);
  std::vector<OpId> lower_call(const TraceCall& call, const std::vector<Rank>& ranks,
                               const std::vector<OpId>& entry);
  std::vector<OpId> lower_rooted(const TraceCall& call, const std::vector<Rank>& ranks,
                                 const std::vector<OpId>& entry);
  std::vector<Rank> ranks_of(std::uint32_t group, int replica) const;
  void add_messages(int replica);
  void receive_loggops(const TraceMessage& message, int replica, OpId arrived);
  void connect(int replica, std::size_t program);
  void chain(Instance& instance, const TraceOp& op, std::size_t index);
  void finish(int replica, std::size_t program);

  const Trace& trace_;
  const TraceMatches& matches_;
  const ReplayPlan& plan_;
  Lowering& lowering_;
  OpGraph& graph_;
  std::span<const Rank> gpus_;
  std::vector<std::uint32_t> labels_;  ///< by name of the trace
  std::vector<Instance> instances_;
  std::vector<std::vector<bool>> sent_;  ///< by program and op: a send that is received
  std::vector<ReplayedComm> comms_;
  std::vector<OpId> ends_;
};

}  // namespace trainyard
