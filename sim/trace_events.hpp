// Checks Chrome trace JSON against what viewers take (docs/traces.md, "What a viewer takes").
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "sim/byte_source.hpp"

namespace trainyard {

/// A rule that is broken, and where first.
struct TraceEventProblem {
  std::string rule;       ///< "bars of a track overlap in part"
  std::string first;      ///< "event 17 (forward, ts 12.5): …"
  std::size_t count = 0;  ///< events that break it
  bool warning = false;   ///< viewers take it all the same
};

struct TraceEventReport {
  std::uint64_t bytes = 0;  ///< unpacked
  std::size_t events = 0, bars = 0, tracks = 0, processes = 0, flows = 0;
  std::vector<TraceEventProblem> problems;  ///< in the order of the rules

  /// Whether there is nothing but warnings.
  bool good() const;
};

/// Reads a document. Memory grows with its bars and flows, some 50 bytes each. Throws ScenarioError
/// when it is no JSON, or has no list of events.
TraceEventReport check_trace_events(ByteSource& source);

}  // namespace trainyard
