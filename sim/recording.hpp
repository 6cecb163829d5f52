// What a run leaves to be looked at: a timeline, utilization over time, loads of links, and where
// the time of each GPU went. Its form is docs/results.md, "The recording".
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "sim/scenario.hpp"

namespace trainyard {

/// What of the timeline is kept.
struct RecordingOptions {
  std::size_t bars = 200'000;  ///< at most
  /// From and to, both included; empty: as many GPUs as `bars` allows.
  std::vector<std::pair<std::size_t, std::size_t>> ranks;
  double from = 0, to = std::numeric_limits<double>::infinity();  ///< seconds

  bool wants(std::size_t rank) const;
};

/// Up to so many GPUs the recording simulates each, up to so many iterations of operations each of
/// those; beyond, it simulates one for several as the run itself does (engine.fold).
inline constexpr std::size_t kMostRanksRecorded = 2048;
inline constexpr std::uint64_t kMostIterationsRecorded = 3'000'000;

/// The recording of a finished run of these jobs, as the text of sim/recording_text.hpp.
std::string record_run(const std::vector<Job>& jobs, const Lowering& lowering,
                       const Timeline& timeline, const RecordingOptions& options);

}  // namespace trainyard
