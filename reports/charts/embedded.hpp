// Files of the page that are part of the program, put in by trainyard_embed() of CMakeLists.txt.
#pragma once

#include <span>

#include "sim/embedded.hpp"

namespace trainyard {

/// reports/charts/*.js and *.css, sorted by path.
std::span<const EmbeddedFile> embedded_page_parts();
/// The chart library and its notices, named by their paths below node_modules.
std::span<const EmbeddedFile> embedded_chart_library();

}  // namespace trainyard
