// Which operations of different ranks belong together: the calls of collectives, and the two ends
// of messages.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "sim/trace.hpp"

namespace trainyard {

struct TraceRef {
  std::uint32_t program, op;
};

/// A collective, with all that join it.
struct TraceCall {
  TraceCollective op = TraceCollective::kAllReduce;
  std::uint32_t group = 0;
  std::int32_t root = TraceOp::kNone;
  double bytes = 0;
  std::uint32_t first = 0, members = 0;  ///< in TraceMatches::members, in the order of the group
};

struct TraceMessage {
  TraceRef send, receive;
};

struct TraceMatches {
  std::vector<TraceCall> calls;
  std::vector<TraceRef> members;
  std::vector<TraceMessage> messages;
  /// Of a representative trace: sends to ranks that have no program. What those send is received at
  /// once.
  std::vector<TraceRef> lone_sends;
};

/// What an operation takes turns on: a stream of the GPU, a thread of the host, or, for a
/// collective without a stream, its group. Numbers of different kinds of them differ; nothing for
/// an operation that waits only for what it names.
std::optional<std::int64_t> turn_of(const TraceOp& op);

/// Told of each fault: file, place, message, and what a lenient reading makes of faults of its
/// kind.
using TraceFault = std::function<void(const std::string&, const std::string&, const std::string&,
                                      const std::string&)>;

/// The k-th collective of a group on one of its ranks belongs to the k-th on each other; the k-th
/// send of a rank to another with a tag to the k-th receive of that. What does not fit goes to
/// `fault` and is mended: ranks that never join are left out, sizes are the largest of a collective
/// and the sender's of a message, ends of messages without another are in no match.
TraceMatches match_trace(const Trace& trace, const TraceFault& fault);

}  // namespace trainyard
