// Where a number of a scenario comes from.
#pragma once

#include <optional>
#include <string>

#include "sim/json.hpp"

namespace trainyard {

/// A tagged leaf, or a leaf of a catalogue entry. `kind` is "sourced" (a citation), "derived" (a
/// calculation from sourced ones) or "assumed" (a judgement, with a range and a reason).
struct Parameter {
  std::string pointer;  ///< JSON pointer in the resolved scenario
  Json value;           ///< as written
  std::string kind;
  std::string text;                       ///< the citation, derivation or reason
  std::string low, high;                  ///< the range as written; empty without one
  std::optional<double> si;               ///< the value in SI units, for numbers and quantities
  std::optional<double> low_si, high_si;  ///< the range in SI units
  /// The value lies outside its own range: more than its source supports.
  bool outside() const { return si && low_si && high_si && (*si < *low_si || *si > *high_si); }
};

}  // namespace trainyard
