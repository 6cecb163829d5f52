#include "sim/json_members.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "sim/error.hpp"
#include "sim/json.hpp"

namespace trainyard {
namespace {

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::size_t digits(std::string_view text, std::size_t at) {
  const std::size_t begin = at;
  while (at < text.size() && is_digit(text[at])) ++at;
  return at - begin;
}

// JSON's grammar is narrower than from_chars: no "01", "1.", ".5", "+1", "inf".
bool is_number(std::string_view text) {
  std::size_t at = text.starts_with('-') ? 1 : 0;
  const std::size_t whole = digits(text, at);
  if (whole == 0 || (whole > 1 && text[at] == '0')) return false;
  at += whole;
  if (at < text.size() && text[at] == '.') {
    const std::size_t part = digits(text, at + 1);
    if (part == 0) return false;
    at += 1 + part;
  }
  if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
    ++at;
    if (at < text.size() && (text[at] == '+' || text[at] == '-')) ++at;
    const std::size_t power = digits(text, at);
    if (power == 0) return false;
    at += power;
  }
  return at == text.size();
}

template <class Integer>
std::optional<Integer> to_integer(const JsonText& value) {
  if (!is_number(value.raw)) return {};
  Integer number{};
  const char* end = value.raw.data() + value.raw.size();
  const auto [stop, error] = std::from_chars(value.raw.data(), end, number);
  if (stop == end && error == std::errc()) return number;
  // Whole numbers may be written otherwise; beyond 2^53 that would guess at their last digits.
  const std::optional<double> real = value.number();
  constexpr double kExact = 9007199254740992.0;
  if (!real || std::trunc(*real) != *real || std::abs(*real) > kExact) return {};
  if (*real < 0 && std::is_unsigned_v<Integer>) return {};
  return static_cast<Integer>(*real);
}

}  // namespace

std::string_view JsonText::type_name() const {
  switch (raw.empty() ? 'n' : raw[0]) {
    case 'n':
      return "null";
    case 't':
    case 'f':
      return "a boolean";
    case '"':
      return "a string";
    case '[':
      return "a list";
    case '{':
      return "an object";
    default:
      return "a number";
  }
}

std::optional<bool> JsonText::flag() const {
  if (raw != "true" && raw != "false") return {};
  return raw == "true";
}

std::optional<double> JsonText::number() const {
  if (!is_number(raw)) return {};
  double number = 0;
  const auto [end, error] = std::from_chars(raw.data(), raw.data() + raw.size(), number);
  if (error != std::errc() || !std::isfinite(number)) return {};
  return number;
}

std::optional<std::int64_t> JsonText::integer() const { return to_integer<std::int64_t>(*this); }
std::optional<std::uint64_t> JsonText::natural() const { return to_integer<std::uint64_t>(*this); }

std::optional<std::string_view> JsonText::text(std::string& storage) const {
  if (raw.size() < 2 || raw[0] != '"') return {};
  const std::string_view inside = raw.substr(1, raw.size() - 2);
  const bool plain = std::all_of(inside.begin(), inside.end(),
                                 [](char c) { return c >= ' ' && c <= '~' && c != '\\'; });
  if (plain) return inside;
  try {
    storage = parse_json(raw, "").as_string();
  } catch (const ScenarioError&) {
    return {};  // a wrong escape, or no UTF-8
  }
  return storage;
}

bool JsonText::naturals(std::vector<std::uint64_t>& items) const {
  if (!raw.starts_with('[')) return false;
  std::size_t at = 1;
  while (true) {
    while (is_space(raw[at])) ++at;  // it ends in a bracket, so there is always another character
    if (raw[at] == ']') return raw.find_first_not_of(" \t\r\n", 1) == at;  // not after a comma
    const std::size_t end = raw.find_first_of(",] \t\r\n", at);
    const std::optional<std::uint64_t> number = JsonText{raw.substr(at, end - at)}.natural();
    if (!number) return false;
    items.push_back(*number);
    at = end;
    while (is_space(raw[at])) ++at;
    if (raw[at] == ']') return at + 1 == raw.size();
    if (raw[at++] != ',') return false;
  }
}

bool JsonMembers::refuse(std::string_view what) {
  fault_ = fmt::format("not valid JSON, column {}: {}", at_ + 1, what);
  return false;
}

void JsonMembers::skip_space() {
  while (is_space(peek())) ++at_;
}

bool JsonMembers::finish() {
  ++at_;
  ended_ = true;
  skip_space();
  return at_ == text_.size() ? false : refuse("goes on after the end of the object");
}

bool JsonMembers::next() {
  if (ended_ || !fault_.empty()) return false;
  skip_space();
  if (!begun_) {
    if (peek() != '{') return refuse("no object");
    begun_ = true;
    ++at_;
    skip_space();
    if (peek() == '}') return finish();
  } else {
    if (peek() == '}') return finish();
    if (peek() != ',') return refuse("neither \",\" nor \"}\" after a member");
    ++at_;
    skip_space();
  }
  const std::size_t key = at_;
  if (!skip_string()) return false;
  const auto text = JsonText{text_.substr(key, at_ - key)}.text(key_);
  if (!text) return refuse("a name with a wrong escape, or no UTF-8");
  if (text->data() != key_.data()) key_.assign(*text);
  skip_space();
  if (peek() != ':') return refuse("no \":\" after a name");
  ++at_;
  skip_space();
  const std::size_t value = at_;
  if (!skip_value()) return false;
  value_.raw = text_.substr(value, at_ - value);
  return true;
}

bool JsonMembers::skip_string() {
  if (peek() != '"') return refuse("no string where a name must be");
  for (++at_; at_ < text_.size(); ++at_) {
    if (text_[at_] == '"') return ++at_, true;
    if (text_[at_] == '\\') ++at_;
  }
  at_ = text_.size();
  return refuse("a string without an end");
}

// Only finds the end: what is inside is read where it is used.
bool JsonMembers::skip_nested() {
  std::size_t depth = 0;
  while (at_ < text_.size()) {
    const char c = text_[at_];
    if (c == '"') {
      if (!skip_string()) return false;
      continue;
    }
    ++at_;
    if (c == '[' || c == '{') ++depth;
    if ((c == ']' || c == '}') && --depth == 0) return true;
  }
  return refuse("a list or an object without an end");
}

bool JsonMembers::skip_value() {
  const char first = peek();
  if (first == '"') return skip_string();
  if (first == '[' || first == '{') return skip_nested();
  const std::size_t begin = at_;
  while (at_ < text_.size() && peek() != ',' && peek() != '}' && !is_space(peek())) ++at_;
  const std::string_view word = text_.substr(begin, at_ - begin);
  if (word == "true" || word == "false" || word == "null" || is_number(word)) return true;
  at_ = begin;
  return refuse("no value after a name");
}

}  // namespace trainyard
