// What a replayed trace did: time of computing and communicating by rank, communication by group.
#pragma once

#include "models/workloads/trace_replay.hpp"
#include "sim/json.hpp"
#include "sim/timeline.hpp"

namespace trainyard {

/// Times of one rank of the trace, seconds.
struct ReplayedRank {
  double end = 0;      ///< when its last operation ended
  double compute = 0;  ///< in which at least one kernel ran
  double comm = 0;     ///< in which at least one collective or message of it was under way
  double exposed = 0;  ///< of comm, in which no kernel ran
  double sent = 0;     ///< bytes: of collectives what a bandwidth-optimal algorithm sends
};

/// By replica, then program. `first` … `last`-1 are the operations of the replay.
std::vector<ReplayedRank> replayed_ranks(const Trace& trace, const TraceMatches& matches,
                                         const ReplayPlan& plan, const TraceReplay& replay,
                                         const OpGraph& graph, const Timeline& timeline,
                                         std::size_t first, std::size_t last);

/// A list of group, ranks, operation, calls, bytes, sent_bytes (of one rank) and time_s (from when
/// the last rank joins until the last is done, sum over the calls).
Json replayed_communication(const Trace& trace, const TraceMatches& matches, const ReplayPlan& plan,
                            const TraceReplay& replay, const OpGraph& graph,
                            const Timeline& timeline);

}  // namespace trainyard
