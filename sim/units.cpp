#include "sim/units.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

#include "sim/spelling.hpp"

namespace trainyard {
namespace {

enum PrefixKind : unsigned { kNone = 0, kLarge = 1, kSmall = 2, kIec = 4 };

struct Prefix {
  std::string_view text;
  unsigned kind;
  int exp10 = 0, exp2 = 0;
};
constexpr Prefix kPrefixes[] = {
    {"", kNone},         {"k", kLarge, 3},       {"M", kLarge, 6},       {"G", kLarge, 9},
    {"T", kLarge, 12},   {"P", kLarge, 15},      {"E", kLarge, 18},      {"m", kSmall, -3},
    {"u", kSmall, -6},   {"\u00b5", kSmall, -6}, {"\u03bc", kSmall, -6}, {"n", kSmall, -9},
    {"p", kSmall, -12},  {"Ki", kIec, 0, 10},    {"Mi", kIec, 0, 20},    {"Gi", kIec, 0, 30},
    {"Ti", kIec, 0, 40}, {"Pi", kIec, 0, 50},    {"Ei", kIec, 0, 60},
};

struct Symbol {
  std::string_view text;
  Dimension dimension;
  unsigned prefixes;  // the kinds it takes; none above 1 for seconds, where "Ms" is a mistyped "ms"
  double factor = 1;  // a whole number
  int exp2 = 0;       // times 2^exp2
};
constexpr Symbol kSymbols[] = {
    {"B", {1, 0, 0, 0}, kLarge | kIec},    {"b", {1, 0, 0, 0}, kLarge | kIec, 1, -3},
    {"Bps", {1, -1, 0, 0}, kLarge | kIec}, {"bps", {1, -1, 0, 0}, kLarge | kIec, 1, -3},
    {"s", {0, 1, 0, 0}, kSmall},           {"min", {0, 1, 0, 0}, kNone, 60},
    {"h", {0, 1, 0, 0}, kNone, 3600},      {"d", {0, 1, 0, 0}, kNone, 86400},
    {"day", {0, 1, 0, 0}, kNone, 86400},   {"Hz", {0, -1, 0, 0}, kLarge},
    {"FLOP", {0, 0, 1, 0}, kLarge},        {"FLOPS", {0, -1, 1, 0}, kLarge},
    {"J", {0, 0, 0, 1}, kLarge | kSmall},  {"Wh", {0, 0, 0, 1}, kLarge | kSmall, 3600},
    {"W", {0, -1, 0, 1}, kLarge | kSmall}, {"1", {}, kNone},
};

struct Kind {
  Dimension dimension;
  std::string_view name, example, unit;  // the unit of value 1, to write
};
constexpr Kind kKinds[] = {
    {{1, 0, 0, 0}, "bytes", "24 GiB", "B"},
    {{0, 1, 0, 0}, "seconds", "1.5 us", "s"},
    {{0, 0, 1, 0}, "floating-point operations", "3.5 TFLOP", "FLOP"},
    {{0, 0, 0, 1}, "joules", "5 kJ", "J"},
    {{1, -1, 0, 0}, "bytes per second", "400 Gb/s", "B/s"},
    {{0, -1, 1, 0}, "floating-point operations per second", "312 TFLOPS", "FLOPS"},
    {{0, -1, 0, 1}, "watts", "6.5 kW", "W"},
    {{0, -1, 0, 0}, "times per second", "2 /s", "/s"},
    {{-1, 0, 1, 0}, "floating-point operations per byte", "100 FLOP/B", "FLOP/B"},
    {{1, 0, -1, 0}, "bytes per floating-point operation", "0.5 B/FLOP", "B/FLOP"},
    {{-1, 1, 0, 0}, "seconds per byte", "1.2 ns/B", "s/B"},
    {{-1, 0, 0, 1}, "joules per byte", "10 pJ/B", "J/B"},
};

const Kind* find_kind(Dimension dimension) {
  const auto* kind = std::ranges::find(kKinds, dimension, &Kind::dimension);
  return kind == std::end(kKinds) ? nullptr : kind;
}

std::string unit_of(Dimension d) {
  if (const Kind* kind = find_kind(d)) return std::string(kind->unit);
  std::string over, under;  // no kind of ours, but results of arithmetic can be shown: "B*s"
  const auto add = [&](std::string_view base, int power) {
    for (; power > 0; --power) over += fmt::format("{}{}", over.empty() ? "" : "*", base);
    for (; power < 0; ++power) under += fmt::format("/{}", base);
  };
  add("B", d.bytes);
  add("FLOP", d.flops);
  add("J", d.joules);
  add("s", d.seconds);
  return (over.empty() ? "1" : over) + under;
}

/// A product of units: times · 10^exp10 · 2^exp2 / per, kept apart for evaluate().
struct Unit {
  Dimension dimension = {};
  int exp10 = 0, exp2 = 0;
  double times = 1, per = 1;
  std::string error = {};
};

/// Calls visit(prefix, symbol) for each pair that exists until it returns true.
template <class Visit>
bool any_unit(Visit visit) {
  for (const Symbol& symbol : kSymbols) {
    for (const Prefix& prefix : kPrefixes) {
      if ((prefix.kind & ~symbol.prefixes) == 0 && visit(prefix, symbol)) return true;
    }
  }
  return false;
}

/// Multiplies `unit` by [prefix]symbol to the power of `sign`, unless there is no such unit.
bool apply_factor(Unit& unit, std::string_view factor, int sign) {
  return any_unit([&](const Prefix& prefix, const Symbol& symbol) {
    if (factor.size() != prefix.text.size() + symbol.text.size() ||
        !factor.starts_with(prefix.text) || !factor.ends_with(symbol.text)) {
      return false;
    }
    unit.dimension.bytes += sign * symbol.dimension.bytes;
    unit.dimension.seconds += sign * symbol.dimension.seconds;
    unit.dimension.flops += sign * symbol.dimension.flops;
    unit.dimension.joules += sign * symbol.dimension.joules;
    unit.exp10 += sign * prefix.exp10;
    unit.exp2 += sign * (prefix.exp2 + symbol.exp2);
    (sign > 0 ? unit.times : unit.per) *= symbol.factor;
    return true;
  });
}

/// The units that differ from `factor` in letter case or a plural s only: ` (did you mean …?)`
std::string suggest(std::string_view factor) {
  const std::string typed = lower_case(std::string(factor));
  std::string text;
  any_unit([&](const Prefix& prefix, const Symbol& symbol) {
    const std::string right = fmt::format("{}{}", prefix.text, symbol.text);
    if (typed == lower_case(right) || typed == lower_case(right) + "s") {
      text += fmt::format("{} \"{}\"", text.empty() ? " (did you mean" : " or", right);
    }
    return false;
  });
  return text.empty() ? text : text + "?)";
}

std::string_view trim(std::string_view text) {
  const std::size_t first = std::min(text.find_first_not_of(' '), text.size());
  return text.substr(first, text.find_last_not_of(' ') + 1 - first);
}

/// Input as it may stand in a one-line message: short, printable ASCII.
std::string escape(std::string_view text) {
  constexpr std::size_t kLongest = 40;
  std::string out;
  for (const char c : text.substr(0, kLongest)) {
    const bool plain = c >= ' ' && c <= '~' && c != '"' && c != '\\';
    out += plain ? std::string(1, c) : fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
  }
  return text.size() > kLongest ? out + "..." : out;
}

/// unit := ["per "] ["/"] factor (("*" | "/") factor)*
Unit parse_unit(std::string_view text) {
  Unit unit;
  const std::size_t inverse = text.starts_with('/') ? 1 : text.starts_with("per ") ? 4 : 0;
  std::string_view rest = text.substr(inverse);
  int sign = inverse > 0 ? -1 : 1;
  while (true) {
    const std::size_t end = std::min(rest.find_first_of("*/"), rest.size());
    const std::string_view factor = trim(rest.substr(0, end));
    if (factor.empty()) return {.error = fmt::format("incomplete unit \"{}\"", escape(text))};
    if (!apply_factor(unit, factor, sign)) {
      return {.error = fmt::format("unknown unit \"{}\"{}", escape(factor), suggest(factor))};
    }
    if (end == rest.size()) return unit;
    sign = rest[end] == '/' ? -1 : 1;
    rest.remove_prefix(end + 1);
  }
}

struct Number {
  std::string_view mantissa = {};  // empty: the text does not start with a number
  int exponent = 0;
  std::size_t length = 0;
};

/// Reads -?digits[.digits][e[+-]digits]. An e without digits is the unit's: "1EB" is an exabyte.
Number read_number(std::string_view text) {
  const auto skip_digits = [&](std::size_t from) {
    return std::min(text.find_first_not_of("0123456789", from), text.size());
  };
  const auto at = [&](std::size_t i) { return i < text.size() ? text[i] : '\0'; };
  const std::size_t first = at(0) == '-' ? 1 : 0;
  std::size_t end = skip_digits(first);
  std::size_t points = 0;
  if (at(end) == '.') points = 1, end = skip_digits(end + 1);
  if (end - first == points) return {};
  Number number{text.substr(0, end), 0, end};
  if (at(end) != 'e' && at(end) != 'E') return number;
  const std::size_t begin = end + (at(end + 1) == '-' || at(end + 1) == '+' ? 2 : 1);
  if (skip_digits(begin) <= begin) return number;
  number.length = skip_digits(begin);
  constexpr int kHuge = 1'000'000'000;
  int exponent = kHuge;  // what stays when the digits overflow an int
  std::from_chars(text.data() + begin, text.data() + number.length, exponent);
  number.exponent = std::min(exponent, kHuge) * (at(end + 1) == '-' ? -1 : 1);
  return number;
}

/// The value in SI base units, or nothing when it is beyond a double. The decimal exponents are
/// added before the digits are converted, so that "1.5 us" is the double 1.5e-6 and not 1.5 * 1e-6.
std::optional<double> evaluate(const Number& number, const Unit& unit) {
  const std::string text = fmt::format("{}e{}", number.mantissa, number.exponent + unit.exp10);
  double value = 0;
  if (std::from_chars(text.data(), text.data() + text.size(), value).ec != std::errc()) return {};
  const double si = std::ldexp(value, unit.exp2) * unit.times / unit.per;
  if (!std::isfinite(si) || (si == 0 && value != 0)) return {};
  return si;
}

/// The kinds of prefix that a unit as unit_of() writes it takes in front.
unsigned prefixes_of(std::string_view unit) {
  const std::string_view lead = unit.substr(0, unit.find_first_of("*/"));
  const auto* symbol = std::ranges::find(kSymbols, lead, &Symbol::text);
  return symbol == std::end(kSymbols) ? kNone : symbol->prefixes;
}

struct Scaled {
  double value;
  std::string_view prefix;
};

/// `si` as 1 … 999.9 with the SI prefix that does it, or as it is when there is none.
Scaled scale(double si, std::string_view unit) {
  const std::string digits = fmt::format("{}", si);  // the shortest that give si back
  const Number number = read_number(digits);
  const unsigned excluded = ~prefixes_of(unit) | kIec;
  for (const Prefix& prefix : kPrefixes) {
    const double rough = std::abs(si) / std::pow(10, prefix.exp10);
    if ((prefix.kind & excluded) != 0 || rough < 0.5 || rough > 2000) continue;
    const double value = evaluate(number, {.exp10 = -prefix.exp10}).value_or(0);
    if (std::abs(value) >= 1 && std::abs(value) < 1000) return {value, prefix.text};
  }
  return {si, ""};
}

}  // namespace

ParsedQuantity parse_quantity(std::string_view text, Dimension wanted) {
  text = trim(text);
  const auto fail = [&](std::string_view what) {
    const std::string_view example = quantity_example(wanted);
    return ParsedQuantity{0, fmt::format("{}; write it like \"{}\"", what, example)};
  };
  const auto reject = [&](std::string_view why) {
    return fail(fmt::format("\"{}\" is not a quantity: {}", escape(text), why));
  };
  if (text.empty()) return fail("an empty string is not a quantity");
  const Number number = read_number(text);
  if (number.mantissa.empty()) return reject("it does not start with a number");
  const std::string_view unit_text = trim(text.substr(number.length));
  if (unit_text.empty()) return fail(fmt::format("{} has no unit", escape(text)));
  if (std::string_view(",_'").find(unit_text[0]) != std::string_view::npos) {
    return reject("numbers take no separator but a decimal point");
  }
  const Unit unit = parse_unit(unit_text);
  if (!unit.error.empty()) return reject(unit.error);
  if (unit.dimension != wanted) {
    const Kind* kind = find_kind(unit.dimension);
    return fail(fmt::format("\"{}\" is {}, not {}", escape(text),
                            kind ? std::string(kind->name) : "in " + unit_of(unit.dimension),
                            quantity_name(wanted)));
  }
  const std::optional<double> si = evaluate(number, unit);
  return si ? ParsedQuantity{*si, ""} : reject("the number is out of range");
}

std::string_view quantity_example(Dimension dimension) {
  const Kind* kind = find_kind(dimension);
  return kind ? kind->example : "a number and its unit";
}

std::string_view quantity_name(Dimension dimension) {
  const Kind* kind = find_kind(dimension);
  return kind ? kind->name : "an unnamed quantity";
}

std::string write_quantity(double si, Dimension dimension) {
  const std::string unit = unit_of(dimension);
  const Scaled scaled = scale(si, unit);
  std::string best = fmt::format("{} {}{}", scaled.value, scaled.prefix, unit);
  if (parse_quantity(best, dimension).si != si) best = fmt::format("{} {}", si, unit);
  if ((prefixes_of(unit) & kIec) == 0) return best;
  for (const Prefix& prefix : kPrefixes) {
    const double count = std::ldexp(si, -prefix.exp2);
    if (prefix.kind != kIec || std::abs(count) < 1 || count != std::trunc(count)) continue;
    const std::string text = fmt::format("{} {}{}", count, prefix.text, unit);
    if (text.size() < best.size()) best = text;
  }
  return best;
}

std::string show_quantity(double si, Dimension dimension) {
  const std::string unit = unit_of(dimension);
  const double shown = std::isnan(si) ? NAN : si + 0.0;  // no "-nan", no "-0"
  const auto rounded = evaluate(read_number(fmt::format("{:.3e}", shown)), {});
  const Scaled scaled = scale(rounded.value_or(shown), unit);
  return fmt::format("{} {}{}", scaled.value, scaled.prefix, unit);
}

}  // namespace trainyard
