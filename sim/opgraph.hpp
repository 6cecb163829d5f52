// The operations of a run and what waits for what, in flat arrays.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
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

/// Built once, then frozen. Ids are given in creation order; edges are kept in CSR form.
class OpGraph {
 public:
  static constexpr std::uint32_t kNoOccupancy = 0xffffffffU;

  OpId add_join(OpRole role = OpRole::kOther);
  OpId add_compute(Rank rank, Seconds time, OpRole role, std::uint32_t label,
                   std::uint32_t number = 0);
  OpId add_delay(Rank rank, Seconds time, OpRole role, std::uint32_t label,
                 std::uint32_t number = 0);
  /// `rank` is the one the flow is listed under (the sender); `bytes` at least 0.
  OpId add_flow(Rank rank, PathId path, Bytes bytes, OpRole role, std::uint32_t label,
                std::uint32_t number = 0);
  /// `after` does not start before `before` has ended. An invalid `before` is no condition.
  void add_edge(OpId before, OpId after);
  void set_occupancy(OpId op, std::uint32_t occupancy) { occupancy_[op.index()] = occupancy; }
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
  OpKind kind(OpId op) const { return kind_[op.index()]; }
  OpRole role(OpId op) const { return role_[op.index()]; }
  Rank rank(OpId op) const { return rank_[op.index()]; }
  /// Seconds for computes and delays, bytes for flows.
  double work(OpId op) const { return work_[op.index()]; }
  PathId path_id(OpId op) const { return path_[op.index()]; }
  const FlowPath& path(OpId op) const { return paths_[path_[op.index()].index()]; }
  const FlowPath& path(PathId id) const { return paths_[id.index()]; }
  std::size_t paths() const { return paths_.size(); }
  std::uint32_t occupancy(OpId op) const { return occupancy_[op.index()]; }
  const Occupancy& occupancy_at(std::uint32_t index) const { return occupancies_[index]; }
  const std::string& label_of(OpId op) const { return labels_[label_[op.index()]]; }
  std::uint32_t number(OpId op) const { return number_[op.index()]; }
  /// "send 3 of rank 5 (op 17)".
  std::string describe(OpId op) const;
  /// Only after freeze().
  std::span<const OpId> successors(OpId op) const {
    const std::size_t i = op.index();
    return {successors_.data() + first_[i], first_[i + 1] - first_[i]};
  }
  /// How many operations each waits for; by op index. Only after freeze().
  const std::vector<std::uint32_t>& waits() const { return waits_; }

 private:
  OpId add(OpKind kind, Rank rank, PathId path, double work, OpRole role, std::uint32_t label,
           std::uint32_t number);
  struct Edge {
    OpId before, after;
  };
  std::vector<OpKind> kind_;
  std::vector<OpRole> role_;
  std::vector<Rank> rank_;
  std::vector<PathId> path_;
  std::vector<double> work_;
  std::vector<std::uint32_t> label_, number_, occupancy_;
  std::vector<Edge> pending_;
  std::vector<OpId> successors_;
  std::vector<std::size_t> first_;
  std::vector<std::uint32_t> waits_;
  std::vector<FlowPath> paths_;
  std::map<std::vector<double>, PathId> path_ids_;
  std::vector<Occupancy> occupancies_;
  std::vector<std::string> labels_;
  std::map<std::string, std::uint32_t, std::less<>> label_ids_;
};

}  // namespace trainyard
