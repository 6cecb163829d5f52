// "Did you mean": the nearest known name to a mistyped one.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace trainyard {

/// The candidate at the least edit distance (insert, delete, replace, swap neighbours), or an empty
/// view when none is near (more than a third of the letters differ).
std::string_view nearest_name(std::string_view word, std::span<const std::string_view> candidates);

/// The text with A to Z as a to z.
std::string lower_case(std::string text);

/// `did you mean "x"?` or, when nothing is near, `one of: a, b, c` (at most 12 names).
std::string suggest(std::string_view word, std::span<const std::string_view> candidates);

}  // namespace trainyard
