// The part of the page that is about one run.
#pragma once

#include <string>

#include "sim/json.hpp"

namespace trainyard {

struct RunSection {
  int level = 1;                    ///< of its heading: 1 for the only run of a page
  std::size_t most_bars = 200'000;  ///< of its timeline
};

/// A section under a heading; `label` is the run's name, text; `id` its anchor.
std::string run_section(const Json& result, const std::string& label, const std::string& id,
                        const RunSection& how);

}  // namespace trainyard
