// The commands on traces: import, and trace stats, check, export, critical.
#pragma once

#include <functional>
#include <string>

#include "tools/commands.hpp"

namespace CLI {
class App;
}

namespace trainyard {

struct ImportOptions {
  std::string path, from, to, out;
  int ranks = 0;  ///< of the traced job, where the trace does not say
  bool lenient = false, representative = false;
};
ExitCode import_command(const ImportOptions& options, Format format);
ExitCode trace_stats_command(const ImportOptions& options, Format format);

struct ExportOptions {
  std::string source, to, out;
};
/// --timeline-… are for "chrome" only.
ExitCode trace_export_command(const ExportOptions& options, const CommonOptions& common);
/// `source`: an --out folder, or a scenario, which is simulated.
ExitCode trace_critical_command(const std::string& source, const CommonOptions& common);
ExitCode trace_check_command(const std::string& file, Format format);
/// Of an --out folder, or of a scenario, which is simulated.
Json recording_of(const std::string& source, const CommonOptions& common);

/// The format that a path's ending means, or an empty string.
std::string trace_format_of(const std::string& path);
/// Throws UsageError naming the option unless it is a format or one of these names.
void check_trace_format(const std::string& option, const std::string& name,
                        const std::vector<std::string_view>& others = {});

/// Adds the commands to the command line; a chosen one sets `action`. What is added must outlive
/// the parsing and the action: it is kept by the app's callbacks.
void add_trace_commands(CLI::App& app, CommonOptions& common, std::function<ExitCode()>& action);

}  // namespace trainyard
