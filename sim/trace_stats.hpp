// What a trace holds, counted, without simulating it.
#pragma once

#include "sim/json.hpp"
#include "sim/trace_match.hpp"

namespace trainyard {

/// An object with
/// - format, ranks, programs, representative, operations;
/// - kinds: operations of each kind;
/// - communication: a list of group, ranks, operation, calls, bytes (of all calls), sent_bytes (of
///   one rank, by a bandwidth-optimal algorithm); messages of all ranks together as one row;
/// - compute_s, host_s, communication_s: recorded durations, mean over the programs, and
///   compute_to_communication (null where no communication has a duration);
/// - critical_path: the longest chain of operations that wait for each other, across ranks, by
///   recorded durations: seconds, and of them compute_s, host_s, communication_s; operations on it.
Json trace_stats(const Trace& trace, const TraceMatches& matches);

}  // namespace trainyard
