// The parts that a recording is put together from; only sim/recording*.cpp and tests include this.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "sim/json.hpp"
#include "sim/recording.hpp"

namespace trainyard {

/// A GPU of the cluster in a recording.
struct RecordedRank {
  static constexpr std::size_t kNoJob = static_cast<std::size_t>(-1);
  std::size_t job = kNoJob;
  RankPlace place;
  double stands_for = 0;  ///< GPUs that did the same; 0: another stands for it
};

/// The run that is recorded.
struct Recorded {
  Recorded(const std::vector<Job>& jobs, const Lowering& lowering, const Timeline& timeline);

  const std::vector<Job>& jobs;
  const Lowering& lowering;
  const Topology& topology;
  const OpGraph& graph;
  const Timeline& timeline;
  std::vector<RecordedRank> ranks;  ///< all of the cluster
  std::vector<RankTime> times;      ///< of those that were simulated, by job

  /// The resource whose load is that of this one.
  ResourceId stand_in(ResourceId resource) const;
  /// For how many resources of other rails that are alike this one stands, itself included.
  double rails_of(ResourceId resource) const;
};

/// What the bars of a lane are.
inline constexpr std::array<const char*, 7> kRecordedStreams{
    "compute", "tensor", "pipeline", "data", "collective", "storage", "host"};
std::uint8_t recorded_stream(const OpGraph& graph, OpId op);
/// What the time of an operation is charged to.
inline constexpr std::array<const char*, 6> kRecordedRoles{"compute", "network", "nvlink",
                                                           "storage", "host",    "other"};
std::uint8_t recorded_role(OpRole role);

/// The timeline: what the header of the text says of it, and a line for each bar.
struct RecordedTimeline {
  Json lanes, names, roles, calls;
  std::size_t bars = 0, left_out = 0;
  std::string lines;
};
RecordedTimeline record_timeline(const Recorded& run, const RecordingOptions& options,
                                 std::vector<std::string>& notes);

/// What the length of the run hangs on. It has notes of its own.
Json record_critical_path(const Recorded& run);

/// Means over equal bins of time, as shares of the capacity.
Json record_series(const Recorded& run);

/// Adds "links", "nodes" and "links_left_out".
void record_links(const Recorded& run, Json& recording, std::vector<std::string>& notes);

}  // namespace trainyard
