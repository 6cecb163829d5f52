// What the length of a run hangs on: the operations of its longest chain, and by how much shorter
// ones would let it end earlier.
//
// A *gain* is how much earlier the run would end if something took no time, or a tenth less, while
// everything else takes as long as it did. So it leaves out that flows that share a link with it
// would go at another speed, and that kernels beside communication would be slowed for another
// time. Chains beside the longest one bound it: what has as much time elsewhere gains nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "sim/timeline.hpp"

namespace trainyard {

/// An iteration of an operation on the path that takes time.
struct CriticalStep {
  OpId op;
  std::uint32_t iteration = 0;
  double start = 0, duration = 0;  ///< seconds
  std::optional<double> gain;      ///< seconds, of this iteration alone; none beyond the limits
};

/// All operations of one label, role and purpose, on the path or not.
struct CriticalLabel {
  OpId example;                            ///< one of them
  double time = 0;                         ///< seconds that they are on the path
  std::optional<double> gain, gain_tenth;  ///< of all of them everywhere; none beyond the limits
};

struct CriticalPath {
  std::vector<CriticalStep> steps;    ///< in order of time; with `waiting` they last to the end
  std::vector<CriticalLabel> labels;  ///< that are on the path: others gain nothing
  double waiting = 0;                 ///< seconds between a step and what it waited for last
};

struct CriticalLimits {
  std::uint64_t records = 5'000'000;  ///< of a graph whose gains are looked for
  std::uint64_t edges = 50'000'000;   ///< the same
  std::size_t labels = 64;            ///< whose gains are looked for: the longest on the path
};

/// The path from what ended last back along what each waited for last. Nothing for a run in which
/// one period stands for several (Timeline::repeats()): its chain is not that of all of them.
std::optional<CriticalPath> find_critical_path(const OpGraph& graph, const Timeline& timeline,
                                               const CriticalLimits& limits = {});

}  // namespace trainyard
