// The three kinds of failure: the user's input, a workload that cannot finish, and our own bugs.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace trainyard {

/// Process exit codes, the same for every command (docs/cli.md).
enum class ExitCode : int {
  kOk = 0,
  kInternal = 1,    ///< a bug of ours: the message says so and how to report it
  kUsage = 2,       ///< the command line
  kScenario = 3,    ///< a file, scenario or workload that is wrong
  kInfeasible = 4,  ///< a valid scenario that cannot run as described (out of memory …)
  kAssert = 5,      ///< an --assert did not hold
  kInterrupted = 130,
};

/// One thing wrong with an input: where it is, what is wrong, what to do.
struct Diagnostic {
  std::string file;     ///< as the user named it
  std::string pointer;  ///< JSON pointer ("/cluster/nodes"), or "line 3, column 7", or empty
  std::string message;
  std::string hint;  ///< the remedy; may be empty
};

/// `file: pointer: message (hint)` on one line.
std::string to_string(const Diagnostic& diagnostic);

/// What the user gave cannot be used. Carries every fault found, not just the first.
class ScenarioError : public std::runtime_error {
 public:
  explicit ScenarioError(std::vector<Diagnostic> diagnostics,
                         ExitCode exit_code = ExitCode::kScenario);
  explicit ScenarioError(Diagnostic diagnostic, ExitCode exit_code = ExitCode::kScenario)
      : ScenarioError(std::vector<Diagnostic>{std::move(diagnostic)}, exit_code) {}
  const std::vector<Diagnostic>& diagnostics() const { return diagnostics_; }
  ExitCode exit_code() const { return exit_code_; }

 private:
  std::vector<Diagnostic> diagnostics_;
  ExitCode exit_code_;
};

/// A design whose parts do not fit together (a switch with too few ports, a group that no tree can
/// hold). Thrown where the file is not known; the scenario loader adds file and pointer.
class DesignError : public std::runtime_error {
 public:
  /// `pointer` is relative to the object that was being built ("/tiers"), or empty.
  /// kInfeasible for a right description of something that cannot run (out of memory).
  DesignError(std::string pointer, const std::string& message, std::string hint,
              ExitCode exit_code = ExitCode::kScenario)
      : std::runtime_error(message),
        pointer_(std::move(pointer)),
        hint_(std::move(hint)),
        exit_code_(exit_code) {}
  const std::string& pointer() const { return pointer_; }
  const std::string& hint() const { return hint_; }
  ExitCode exit_code() const { return exit_code_; }

 private:
  std::string pointer_, hint_;
  ExitCode exit_code_;
};

/// A workload that can never finish; the message names ranks and operations. Exit code 3.
class StuckError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A wrong command line (unknown option value, missing file argument). Exit code 2.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Throws std::logic_error: for conditions that only a bug of ours can break, never for user input.
void require(bool condition, std::string_view what);

}  // namespace trainyard
