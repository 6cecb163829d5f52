// What a sweep varies: its axes, as a sweep file or --axis describes them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/error.hpp"
#include "sim/json.hpp"
#include "tools/sweep/expression.hpp"

namespace trainyard {

/// One point of an axis.
struct Choice {
  std::vector<Json> shown;        ///< one value per column of the axis
  std::vector<std::string> sets;  ///< "path=value", as --set takes them
  Json patch;                     ///< merged into the scenario before them; null: none
};

/// When an axis applies. Elsewhere its columns are empty and it multiplies nothing.
struct Condition {
  std::optional<Expression> expression;
  struct Match {
    std::string column;
    std::vector<Json> values;
  };
  std::vector<Match> matches;  ///< each column shows one of its values
};

/// Columns that are varied together.
struct Axis {
  std::vector<std::string> columns;
  std::vector<Choice> choices;
  Condition when;
  bool own_paths = false;  ///< each choice may set other fields (list, cases)
};

/// Reads the member "axes" of a sweep (docs/sweeps.md). Adds a diagnostic for each fault.
std::vector<Axis> read_axes(const Json& axes, const std::string& file,
                            std::vector<Diagnostic>& faults);

/// The element of "axes" that an option --axis "path=values" stands for. The values are a list
/// ("64,128", commas inside quotes, brackets or braces do not part), from:to:2x (times 2) or
/// from:to:+16. Throws UsageError.
Json parse_axis_option(const std::string& text);

/// The values that a column of these axes can have, null where a point sets none; empty for a
/// column of none.
std::vector<Json> values_of(const std::vector<Axis>& axes, const std::string& column);
/// Of values, the first with which nothing can be computed, as JSON; empty if there is none.
std::optional<std::string> first_text(const std::vector<Json>& values);

/// A value for tables and files: text as it is, anything else as JSON; empty for null.
std::string shown_text(const Json& value);

}  // namespace trainyard
