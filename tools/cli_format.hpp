// The option --format, which many commands have.
#pragma once

#include <string>
#include <vector>

#include "tools/commands.hpp"

namespace CLI {
class App;
}

namespace trainyard {

/// Of "text", "json" and "csv" those that the command prints. Sets `common.format`.
void add_format(CLI::App* command, CommonOptions& common, const std::vector<std::string>& formats);

}  // namespace trainyard
