#include "tools/sweep/expression.hpp"

#include <fmt/format.h>
#include <muParser.h>

#include <array>
#include <cmath>
#include <deque>
#include <utility>

#include "sim/error.hpp"
#include "sim/units.hpp"

namespace trainyard {
namespace {

// muParser takes plain functions, so that each unit needs one of its own.
template <auto kScale>
double times(double value) {
  return value * static_cast<double>(kScale);
}
double micro(double value) { return value / 1e6; }
double milli(double value) { return value / 1e3; }

constexpr std::array<std::pair<const char*, double (*)(double)>, 19> kUnits{{
    {"KiB", times<1LL << 10>},
    {"MiB", times<1LL << 20>},
    {"GiB", times<1LL << 30>},
    {"TiB", times<1LL << 40>},
    {"kB", times<1'000LL>},
    {"MB", times<1'000'000LL>},
    {"GB", times<1'000'000'000LL>},
    {"TB", times<1'000'000'000'000LL>},
    {"us", micro},
    {"ms", milli},
    {"s", times<1LL>},
    {"h", times<3'600LL>},
    {"d", times<86'400LL>},
    {"Mbps", times<125'000LL>},
    {"Gbps", times<125'000'000LL>},
    {"GBps", times<1'000'000'000LL>},
    {"TFLOPS", times<1'000'000'000'000LL>},
    {"kW", times<1'000LL>},
    {"MW", times<1'000'000LL>},
}};

double* keep(const char*, void* values) {
  return &static_cast<std::deque<double>*>(values)->emplace_back(1);
}

struct Parsed {
  std::deque<double> values;  // where the parser's variables live
  mu::Parser parser;
};

void parse(const std::string& text, Parsed& parsed, bool with_units = true) {
  parsed.parser.DefineNameChars("0123456789_.abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ");
  for (const auto& [name, scale] : kUnits) {
    if (with_units) parsed.parser.DefinePostfixOprt(name, scale);
  }
  parsed.parser.SetVarFactory(keep, &parsed.values);
  parsed.parser.SetExpr(text);
}

[[noreturn]] void refuse(const std::string& text, const std::string& why) {
  constexpr std::size_t kShown = 200;
  throw UsageError(
      fmt::format("\"{}{}\" is no condition: {} (write it like \"cluster.servers <= 64\" or "
                  "\"gpu_memory_peak_bytes < 70 GiB\")",
                  text.substr(0, kShown), text.size() > kShown ? "…" : "", why));
}

// What the parser takes and nobody means: "a = 8" assigns, and "1 < a < 9" compares 0 or 1 with 9.
void check_comparisons(const std::string& text) {
  std::vector<int> comparisons{0};  // since the last &&, || or comma, by depth of parentheses
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i], next = i + 1 < text.size() ? text[i + 1] : ' ';
    if (c == '"' || c == '\'') refuse(text, R"(text is compared by "when": {"axis": "text"})");
    if (c == '(') comparisons.push_back(0);
    if (c == ')' && comparisons.size() > 1) comparisons.pop_back();
    if (c == ',' || (c == '&' && next == '&') || (c == '|' && next == '|')) comparisons.back() = 0;
    const bool two = next == '=' && (c == '=' || c == '!' || c == '<' || c == '>');
    if (c == '=' && !two) refuse(text, "= is no comparison, == is");
    if (two || c == '<' || c == '>') {
      if (++comparisons.back() > 1) refuse(text, "two comparisons in a row are joined by &&");
      i += two ? 1 : 0;
    }
  }
}

}  // namespace

std::optional<double> number_of(const Json& value) {
  if (value.is_number()) return value.as_number();
  if (value.is_bool()) return value.as_bool() ? 1 : 0;
  if (!value.is_string()) return {};
  constexpr std::array kDimensions{
      dimension_of(Bytes()),  dimension_of(Seconds()),        dimension_of(BytesPerSecond()),
      dimension_of(Flops()),  dimension_of(FlopsPerSecond()), dimension_of(Watts()),
      dimension_of(Joules()), Dimension{0, -1, 0, 0},         Dimension{-1, 1, 0, 0}};
  for (const Dimension& dimension : kDimensions) {
    const ParsedQuantity parsed = parse_quantity(value.as_string(), dimension);
    if (parsed.error.empty()) return parsed.si;
  }
  return {};
}

Expression::Expression(const std::string& text) : text_(text) {
  check_comparisons(text);
  try {
    Parsed parsed;
    parse(text, parsed);
    for (const auto& [name, place] : parsed.parser.GetUsedVar()) names_.push_back(name);
    parsed.parser.Eval();
  } catch (const mu::ParserError& e) {
    refuse(text, e.GetMsg());
  }
  try {
    Parsed without;
    parse(text, without, false);
    without.parser.Eval();
  } catch (const mu::ParserError&) {
    has_units_ = true;
  }
}

std::optional<double> Expression::evaluate(
    const std::function<std::optional<double>(const std::string&)>& value_of) const {
  try {
    Parsed parsed;
    parse(text_, parsed);
    for (const auto& [name, place] : parsed.parser.GetUsedVar()) {
      const std::optional<double> value = value_of(name);
      if (!value) return {};
      *place = *value;
    }
    const double result = parsed.parser.Eval();
    return std::isnan(result) ? std::nullopt : std::optional(result);
  } catch (const mu::ParserError&) {
    return {};
  }
}

}  // namespace trainyard
