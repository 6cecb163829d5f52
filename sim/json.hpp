// A JSON value that keeps the order of its members, and the text form of it.
//
// This and sim/json_stream.cpp alone know the JSON library. Everything else reads and writes
// scenarios through sim/archive.hpp and results through this type.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace trainyard {

class Json {
 public:
  using Array = std::vector<Json>;
  using Member = std::pair<std::string, Json>;
  using Object = std::vector<Member>;  ///< in document order; keys are distinct

  Json() = default;            ///< null
  Json(bool v) : value_(v) {}  // NOLINT(google-explicit-constructor): a literal is a value
  Json(int v) : value_(std::int64_t{v}) {}                       // NOLINT
  Json(std::int64_t v) : value_(v) {}                            // NOLINT
  Json(std::size_t v) : value_(static_cast<std::int64_t>(v)) {}  // NOLINT
  Json(double v) : value_(v) {}                                  // NOLINT
  Json(const char* v) : value_(std::string(v)) {}                // NOLINT
  Json(std::string_view v) : value_(std::string(v)) {}           // NOLINT
  Json(std::string v) : value_(std::move(v)) {}                  // NOLINT
  Json(Array v) : value_(std::move(v)) {}                        // NOLINT
  Json(Object v) : value_(std::move(v)) {}                       // NOLINT
  static Json object() { return Json(Object{}); }
  static Json array() { return Json(Array{}); }

  bool is_null() const { return std::holds_alternative<std::monostate>(value_); }
  bool is_bool() const { return std::holds_alternative<bool>(value_); }
  bool is_integer() const { return std::holds_alternative<std::int64_t>(value_); }
  bool is_number() const { return is_integer() || std::holds_alternative<double>(value_); }
  bool is_string() const { return std::holds_alternative<std::string>(value_); }
  bool is_array() const { return std::holds_alternative<Array>(value_); }
  bool is_object() const { return std::holds_alternative<Object>(value_); }
  /// "null", "a boolean", "a number", "a string", "a list", "an object": for messages.
  std::string_view type_name() const;

  // Each throws std::bad_variant_access when the value is of another type.
  bool as_bool() const { return std::get<bool>(value_); }
  std::int64_t as_integer() const { return std::get<std::int64_t>(value_); }
  double as_number() const;
  const std::string& as_string() const { return std::get<std::string>(value_); }
  const Array& items() const { return std::get<Array>(value_); }
  Array& items() { return std::get<Array>(value_); }
  const Object& members() const { return std::get<Object>(value_); }
  Object& members() { return std::get<Object>(value_); }

  /// The member of that name, or nullptr when this is no object or has none.
  const Json* find(std::string_view key) const;
  Json* find(std::string_view key);
  /// The member of that name, made (null) when missing; a null value becomes an object first.
  Json& operator[](std::string_view key);
  /// The member of that name. Throws std::out_of_range naming the key.
  const Json& at(std::string_view key) const;
  void erase(std::string_view key);
  void push_back(Json v) { items().push_back(std::move(v)); }

  friend bool operator==(const Json&, const Json&) = default;

 private:
  std::variant<std::monostate, bool, std::int64_t, double, std::string, Array, Object> value_;
};

/// Reads strict JSON. Throws ScenarioError{file, "line L, column C", …} on syntax errors, numbers
/// that overflow, duplicate keys and nesting deeper than 100.
Json parse_json(std::string_view text, const std::string& file);

/// Reads strict JSON, or takes what is none as a string: "400 Gb/s" needs no quotes within quotes.
Json parse_json_or_text(const std::string& text);

/// Reads a whole file of at most 64 MiB. Throws ScenarioError when it cannot be read or is larger.
std::string read_text_file(const std::string& path);

/// Text with two-space indents (or one line when indent < 0), shortest round-trip numbers, UTF-8
/// kept, and a trailing newline when indented. NaN and infinities are written as null.
std::string dump_json(const Json& value, int indent = 2);

/// Splits "/a/b~1c" or "a.b" into keys. Throws UsageError when it is neither.
std::vector<std::string> split_pointer(std::string_view pointer);

/// RFC 7386 merge with three rules of scenarios on top: a patch that is a tagged leaf
/// ({"value": …}) replaces its target whole, a patch object laid over a string (a catalogue name)
/// makes {"base": name, …patch}, and a patch that names another "kind" or "base" replaces its
/// target whole. Under a "base" a null stays, to take its member out of the catalogue's entry.
void merge_patch(Json& target, const Json& patch);

/// The value at `keys`, list elements by index; null where there is none.
const Json* find_at(const Json& root, const std::vector<std::string>& keys);

/// Sets the value at `keys`, making objects on the way as merge_patch does. List elements are
/// addressed by index. Throws UsageError when an index does not exist.
void set_at(Json& root, const std::vector<std::string>& keys, Json value);

}  // namespace trainyard
