#include "sim/error.hpp"

#include <fmt/format.h>

namespace trainyard {
namespace {

std::string join(const std::vector<Diagnostic>& diagnostics) {
  std::string text;
  for (const Diagnostic& d : diagnostics) {
    if (!text.empty()) text += '\n';
    text += to_string(d);
  }
  return text;
}

}  // namespace

std::string to_string(const Diagnostic& d) {
  std::string text = d.file;
  if (!d.pointer.empty()) text += (text.empty() ? "" : ": ") + d.pointer;
  text += (text.empty() ? "" : ": ") + d.message;
  if (!d.hint.empty()) text += fmt::format(" ({})", d.hint);
  return text;
}

ScenarioError::ScenarioError(std::vector<Diagnostic> diagnostics, ExitCode exit_code)
    : std::runtime_error(join(diagnostics)),
      diagnostics_(std::move(diagnostics)),
      exit_code_(exit_code) {}

void require(bool condition, std::string_view what) {
  if (!condition) throw std::logic_error(std::string(what));
}

}  // namespace trainyard
