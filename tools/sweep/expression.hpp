// Conditions over the numbers of a variant: "tensor * pipeline <= 64", "gpu_memory_peak_bytes < 70
// GiB".
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "sim/json.hpp"

namespace trainyard {

/// The SI value of a number, a boolean (0 or 1) or a text that is a quantity of any dimension ("400
/// Gb/s"); empty for anything else.
std::optional<double> number_of(const Json& value);

/// Arithmetic and comparisons in muParser's notation (+ - * / ^, < <= == != >= >, && ||, min(),
/// max(), …) over names of letters, digits, _ and dots. After a number stands a unit if need be:
/// KiB MiB GiB TiB, kB MB GB TB, us ms s h d, Mbps Gbps, GBps, TFLOPS, kW MW.
class Expression {
 public:
  /// Throws UsageError saying what is wrong: no expression, an assignment, a < b < c.
  explicit Expression(const std::string& text);
  const std::string& text() const { return text_; }
  /// The names in it, sorted.
  const std::vector<std::string>& names() const { return names_; }
  /// Whether a number in it has a unit.
  bool has_units() const { return has_units_; }
  /// Its value with those of the names; empty when one has none, or the result is no number.
  std::optional<double> evaluate(
      const std::function<std::optional<double>(const std::string& name)>& value_of) const;

 private:
  std::string text_;
  std::vector<std::string> names_;
  bool has_units_ = false;
};

}  // namespace trainyard
