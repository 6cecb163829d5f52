// Collectives that stream: every link carries its part of the buffer at once, at one pace, and the
// last byte ends a latency after it set out. Trees, in-network reductions, NVLS.
#pragma once

#include <string_view>
#include <vector>

#include "models/collectives/phases.hpp"

namespace trainyard {

/// What one link, or one message between neighbours, carries.
struct Stream {
  FlowPath path;        ///< of one of its bytes; latency and bound are not looked at
  double part = 1;      ///< of the buffer
  double progress = 0;  ///< share of the latency after which its first byte comes
  Rank rank;            ///< whose it is
  std::string_view name;
};

/// Streams as one flow: a byte of the buffer takes of every resource what all streams take for it.
/// Closed form: latency + buffer / (the least capacity per weight).
PhaseFlow flow_of(const std::vector<Stream>& streams, Bytes buffer, Seconds latency);

/// Every stream as an operation of its own. Whoever is ahead is held back by those that combine or
/// copy its bytes, so alone none is faster than the pace of `whole`, the streams as one flow.
std::vector<OpId> lower_as_streams(const CollectiveCall& call, const CollectiveContext& context,
                                   const std::vector<Stream>& streams, const PhaseFlow& whole,
                                   double slowdown, std::span<const OpId> entry);

/// Lets a path use only a share of the rate of its network links.
void slow_links(FlowPath& path, const Topology& topology, double share);

/// What the pipeline takes to fill, of a flow that runs at `rate` bytes per second.
Seconds fill_time(const CollectiveContext& context, Bytes buffer, double rate);

}  // namespace trainyard
