// A recording as Chrome trace JSON, in the shape of the PyTorch profiler's (docs/traces.md).
#pragma once

#include <cstddef>
#include <string>

#include "sim/json.hpp"
#include "sim/recording.hpp"
#include "sim/trace_event_text.hpp"

namespace trainyard {

struct ChromeTraceOptions {
  RecordingOptions keep;       ///< of the recording's bars; the first ones where there are more
  std::size_t world_size = 0;  ///< GPUs of the job; 0: not said
};

/// Writes the "recording" member of a result (docs/results.md): a process for each GPU, a track for
/// each of its lanes. Returns the number of bars.
std::size_t write_chrome_trace(const Json& recording, const ChromeTraceOptions& options,
                               const TextSink& sink);

/// The same in one text.
std::string chrome_trace(const Json& recording, const ChromeTraceOptions& options = {});

}  // namespace trainyard
