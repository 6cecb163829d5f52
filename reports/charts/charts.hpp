// All charts of the page, each from its file; nothing where a document has no data for one.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "reports/charts/chart.hpp"

namespace trainyard {

/// A run of the document under the name that tells it from the others.
struct NamedResult {
  std::string label;
  const Json* result = nullptr;
};
using NamedResults = std::vector<NamedResult>;

// stages.cpp
/// Where the GPU time goes, mean over GPUs, of the whole job: a bar for each run.
std::optional<Chart> job_time_chart(const NamedResults& runs);
/// The same of the recorded iteration: a bar for each pipeline stage of a run …
std::optional<Chart> stage_time_chart(const Json& result);
/// … or for each run, where all are recorded.
std::optional<Chart> iteration_time_chart(const NamedResults& runs);

// timeline.cpp
/// What ran when. A page keeps at most `most_bars` of a run: its first lanes.
std::optional<Chart> timeline_chart(const Json& result, std::size_t most_bars);

// critical.cpp
/// What the length of the recorded iteration hangs on: labels by what shortening them gains.
std::optional<Chart> critical_chart(const Json& result);

// utilization.cpp
std::optional<Chart> utilization_chart(const Json& result);

// network.cpp
/// The network with the load of its links: a picture, or a map of cells for a large one.
std::optional<Chart> network_chart(const Json& result);

// collectives.cpp
/// Time and bus bandwidth against size, simulated and measured.
std::optional<Chart> collectives_chart(const NamedResults& runs);

// equipment.cpp
std::optional<Chart> equipment_chart(const NamedResults& runs);

// claim.cpp
/// Simulated over claimed, for each claimed row of a comparison.
std::optional<Chart> claim_chart(const Json& comparison);

// sweep.cpp
/// The table of variants, all of them in its data, which the others draw as well: two metrics or
/// axes against each other, and a metric over two axes.
std::optional<Chart> variants_chart(const Json& sweep);
std::optional<Chart> pareto_chart(const Json& sweep);
std::optional<Chart> grid_chart(const Json& sweep);

}  // namespace trainyard
