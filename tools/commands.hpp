// The subcommands: what each is told, and what it does. Each returns the process's exit code.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "sim/error.hpp"
#include "sim/result.hpp"
#include "sim/scenario.hpp"

namespace trainyard {

enum class Format { kText, kJson, kCsv };

/// Options that several commands share.
struct CommonOptions {
  LoadOptions load;
  Format format = Format::kText;
  std::string out;                   ///< folder for results and report; empty: none
  std::vector<std::string> asserts;  ///< "metric<value"
  bool profile = false;              ///< say on stderr where the simulator's own time went
};

ExitCode run_command(const std::string& scenario, const CommonOptions& options);
/// `audited`: try what the claim's rows hang on (sim/audit.hpp), where there is a claim.
ExitCode compare_command(const std::vector<std::string>& scenarios, bool audited,
                         const CommonOptions& options);

struct CollectiveOptions {
  std::string operation = "all_reduce";
  std::string sizes = "1M:1G:4x";  ///< nccl-tests' notation: list or from:to:factor x
  int ranks = 0;
  std::string algorithm, protocol, fidelity;
};
ExitCode collective_command(const std::string& scenario, const CollectiveOptions& what,
                            const CommonOptions& options);

ExitCode check_command(const std::vector<std::string>& scenarios, const CommonOptions& options);
ExitCode schema_command();
ExitCode list_command(const std::string& kind, const CommonOptions& options);
ExitCode init_command(const std::string& file, const std::string& preset);
ExitCode report_command(const std::string& directory);
ExitCode docs_command(const std::string& page);

/// Stages, counts and memory of every simulation behind a result, and the CPU time of all.
std::string profile_text(const std::vector<ResultPart>& parts);
/// Prints what the format's function makes; the others are not called.
void print_as(Format format, const std::function<std::string()>& text,
              const std::function<std::string()>& json, const std::function<std::string()>& csv);
/// Writes to stdout and reports a full disk or closed pipe as UsageError.
void print(const std::string& text);

/// What --assert demands of a result: "metric<limit".
struct Assertion {
  std::string metric;
  std::string condition;  ///< as written, like "<=10"
  double limit = 0;
  bool or_equal = false;
};
/// Throws UsageError for one that is no assertion.
std::vector<Assertion> parse_asserts(const std::vector<std::string>& texts);
/// Checks every assertion against a result's metrics; prints those that fail. kOk or kAssert.
/// Throws UsageError for one that names no metric.
ExitCode check_asserts(const std::vector<Assertion>& asserts, const Json& result);

}  // namespace trainyard
