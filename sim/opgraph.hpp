// The operations of a run and what waits for what, in flat arrays.
//
// An operation may stand for many: its *iterations*, which start in order, each with the work of
// the operation. A pipeline's schedule is then a handful of operations a rank instead of as many as
// there are micro-batches, and a ring of a thousand ranks a thousand instead of two million.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <limits>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "sim/ids.hpp"
#include "sim/path.hpp"
#include "sim/units.hpp"

namespace trainyard {

enum class OpKind : std::uint8_t {
  kJoin,     ///< no work: ends when all it waits for has ended
  kCompute,  ///< a kernel on a rank's compute stream; slowed by communication kernels beside it
  kDelay,    ///< a fixed time that nothing slows
  kFlow,     ///< bytes over a path
};

/// What an operation is for: the account its time is charged to.
enum class OpRole : std::uint8_t {
  kOther,
  kCompute,
  kHost,        ///< the host keeps the GPU waiting
  kStorage,     ///< bytes from or to storage
  kNvLink,      ///< communication that stays inside a server
  kTensorComm,  ///< between servers, from here on
  kPipelineComm,
  kDataComm,
  kCollective
};
/// Communication over the network between servers.
inline bool is_network(OpRole role) { return role >= OpRole::kTensorComm; }
std::string_view role_name(OpRole role);

/// Communication kernels that take SMs from the compute of some ranks while an operation runs.
struct Occupancy {
  std::vector<Rank> ranks;
  double slowdown = 0;  ///< sigma: compute beside it runs at 1 - sigma
};

/// A condition between operations. Iteration k of the one that waits needs iteration k - shift of
/// the other, where both exist; elsewhere there is no condition. Between operations of one
/// iteration: the one needs the other.
struct OpEdge {
  /// The first iteration needs the last one.
  static constexpr std::int32_t kAfterLast = std::numeric_limits<std::int32_t>::min();
  /// The last iteration needs the last one.
  static constexpr std::int32_t kLastAfterLast = kAfterLast + 1;
  OpId op;  ///< the other end
  std::int32_t shift = 0;
};

/// Built once, then frozen. Ids are given in creation order; edges are kept in CSR form.
class OpGraph {
 public:
  static constexpr std::uint32_t kNoOccupancy = 0xffffffffU;
  static constexpr std::uint32_t kNoQueue = 0xffffffffU;
  using Queues = std::array<std::uint32_t, 2>;  ///< those of one operation, kNoQueue beyond

  /// Operations added from now on have this many iterations (at least 1).
  void set_iterations(std::uint32_t count);
  std::uint32_t iterations() const { return adding_; }

  OpId add_join(OpRole role = OpRole::kOther);
  OpId add_compute(Rank rank, Seconds time, OpRole role, std::uint32_t label,
                   std::uint32_t number = 0);
  OpId add_delay(Rank rank, Seconds time, OpRole role, std::uint32_t label,
                 std::uint32_t number = 0);
  /// `rank` is the one the flow is listed under (the sender); `bytes` at least 0.
  OpId add_flow(Rank rank, PathId path, Bytes bytes, OpRole role, std::uint32_t label,
                std::uint32_t number = 0);
  /// Pauses of their own length each: one per iteration. Edges must keep iterations from
  /// overlapping: they end in the order in which they started.
  OpId add_delays(Rank rank, const std::vector<double>& seconds, OpRole role, std::uint32_t label,
                  std::uint32_t number = 0);
  /// `after` does not start before `before` has ended; see OpEdge. An invalid `before` is no
  /// condition. Between an operation of one iteration and one of many, shift 0 concerns the first
  /// of the many.
  void add_edge(OpId before, OpId after, std::int32_t shift = 0);
  /// The first iteration of `after` needs all of `before`.
  void add_edge_after_all(OpId before, OpId after) { add_edge(before, after, OpEdge::kAfterLast); }
  /// Another path for a flow.
  void set_path(OpId op, PathId path) { path_[op.index()] = path; }
  void set_occupancy(OpId op, std::uint32_t occupancy) { occupancy_[op.index()] = occupancy; }
  /// From now on kernels of one rank may run beside each other: on streams that overlap.
  void allow_overlap() { overlap_ = true; }
  bool overlap() const { return overlap_; }
  /// A kernel that communication beside it does not slow: its time is what it took beside whatever
  /// there was.
  void set_steady(OpId op);
  bool steady(OpId op) const { return op.index() < steady_.size() && steady_[op.index()]; }
  /// Something that runs one operation at a time: of those that are ready the one that was added
  /// first. For operations of one iteration.
  std::uint32_t add_queue() { return queues_++; }
  /// The operation starts when this queue is free too, and with two when both are.
  void set_queues(OpId op, std::uint32_t queue, std::uint32_t other = kNoQueue);
  /// What it serves where its time is charged to something else: a pipeline's message inside a
  /// server is charged to NVLink. Its role until set.
  void set_purpose(OpId op, OpRole purpose) { purpose_[op.index()] = purpose; }
  /// All ranks that take part in an operation. In the order of operations; the ranks must outlive
  /// the graph.
  void set_members(OpId op, std::span<const Rank> ranks) { members_.emplace_back(op, ranks); }
  std::uint32_t add_occupancy(Occupancy occupancy);

  /// Interns a path, so that flows over the same resources share one. Spans into it stay valid.
  PathId add_path(FlowPath path);
  /// Interns a name for timelines and messages.
  std::uint32_t label(std::string_view name);

  /// Kernels and pauses among first … last-1 that wait for nothing. Only before freeze().
  std::vector<OpId> sources(std::size_t first, std::size_t last) const;

  /// Sorts the edges; nothing may be added afterwards.
  void freeze();

  std::size_t size() const { return kind_.size(); }
  std::size_t edges() const { return successors_.empty() ? pending_.size() : successors_.size(); }
  /// Iterations of all operations together.
  std::uint64_t instances() const { return instances_; }
  std::uint32_t iterations(OpId op) const { return count_[op.index()]; }
  OpKind kind(OpId op) const { return kind_[op.index()]; }
  OpRole role(OpId op) const { return role_[op.index()]; }
  OpRole purpose(OpId op) const { return purpose_[op.index()]; }
  Rank rank(OpId op) const { return rank_[op.index()]; }
  /// The ranks that take part: those that were set, or the one it is listed under.
  std::span<const Rank> members(OpId op) const;
  /// Whether its iterations are pauses of different lengths.
  bool has_own_delays(OpId op) const {
    return kind_[op.index()] == OpKind::kDelay && path_[op.index()].valid();
  }
  /// Of one iteration: seconds for computes and delays, bytes for flows.
  double work(OpId op, std::uint32_t iteration = 0) const {
    return has_own_delays(op) ? delays_[path_[op.index()].index() + iteration] : work_[op.index()];
  }
  PathId path_id(OpId op) const { return path_[op.index()]; }
  const FlowPath& path(OpId op) const { return paths_[path_[op.index()].index()]; }
  const FlowPath& path(PathId id) const { return paths_[id.index()]; }
  std::size_t paths() const { return paths_.size(); }
  std::uint32_t queues() const { return queues_; }
  Queues queues(OpId op) const {
    return op.index() < queues_of_.size() ? queues_of_[op.index()] : Queues{kNoQueue, kNoQueue};
  }
  std::uint32_t occupancy(OpId op) const { return occupancy_[op.index()]; }
  const Occupancy& occupancy_at(std::uint32_t index) const { return occupancies_[index]; }
  const std::string& label_of(OpId op) const { return labels_[label_[op.index()]]; }
  std::uint32_t number(OpId op) const { return number_[op.index()]; }
  /// "send 3 of rank 5 (op 17)", for an iteration of one.
  std::string describe(OpId op, std::uint32_t iteration = 0) const;
  /// What waits for the operation. Only after freeze().
  std::span<const OpEdge> successors(OpId op) const { return row(successors_, first_, op); }
  /// What an operation of several iterations waits for; nothing for others. Only after freeze().
  std::span<const OpEdge> predecessors(OpId op) const {
    return row(predecessors_, first_predecessor_, op);
  }
  /// How many edges come into each; by op index. Only after freeze().
  const std::vector<std::uint32_t>& waits() const { return waits_; }
  /// What all flows of the graph take of each resource that any takes, by resource; as weights the
  /// bytes × weight.
  std::vector<Share> bytes_by_resource() const;

 private:
  OpId add(OpKind kind, Rank rank, PathId path, double work, OpRole role, std::uint32_t label,
           std::uint32_t number);
  struct Edge {
    OpId before, after;
    std::int32_t shift;
  };
  bool applies(const Edge& edge) const;
  static std::span<const OpEdge> row(const std::vector<OpEdge>& edges,
                                     const std::vector<std::size_t>& first, OpId op) {
    const std::size_t i = op.index();
    return {edges.data() + first[i], first[i + 1] - first[i]};
  }
  std::vector<OpKind> kind_;
  std::vector<OpRole> role_, purpose_;
  std::vector<Rank> rank_;
  std::vector<PathId> path_;
  std::vector<double> work_;
  std::vector<std::uint32_t> label_, number_, occupancy_, count_;
  std::vector<double> delays_;     ///< of add_delays(); path_ of such an operation is its first
  std::vector<bool> steady_;       ///< by op, as far as any is
  std::vector<Queues> queues_of_;  ///< by op, as far as any has one
  std::uint32_t queues_ = 0;
  bool overlap_ = false;
  std::uint32_t adding_ = 1;
  std::uint64_t instances_ = 0;
  std::vector<Edge> pending_;
  std::vector<OpEdge> successors_, predecessors_;
  std::vector<std::size_t> first_, first_predecessor_;
  std::vector<std::uint32_t> waits_;
  std::deque<FlowPath> paths_;
  std::unordered_multimap<std::uint64_t, PathId> path_ids_;  ///< by hash
  std::vector<Occupancy> occupancies_;
  std::vector<std::pair<OpId, std::span<const Rank>>> members_;  ///< by op
  std::vector<std::string> labels_;
  std::map<std::string, std::uint32_t, std::less<>> label_ids_;
};

}  // namespace trainyard
