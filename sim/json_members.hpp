// The members of one JSON object, one after another and without a tree: for files with an object on
// each of millions of lines.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace trainyard {

/// The text of one value. Lists and objects are not looked into until they are asked for.
struct JsonText {
  std::string_view raw;  ///< "17", "\"a\"", "[1, 2]", … without space around it

  /// "null", "a boolean", "a number", "a string", "a list", "an object": for messages.
  std::string_view type_name() const;
  bool is_object() const { return raw.starts_with('{'); }

  /// Each is nothing when the value is none of these.
  std::optional<bool> flag() const;
  std::optional<double> number() const;
  std::optional<std::int64_t> integer() const;   ///< also 1e3
  std::optional<std::uint64_t> natural() const;  ///< also 1e3
  /// Without quotes and escapes; in `storage` where it has escapes.
  std::optional<std::string_view> text(std::string& storage) const;
  /// Appends the items of a list of natural numbers. Whether it is one.
  bool naturals(std::vector<std::uint64_t>& items) const;
};

class JsonMembers {
 public:
  /// The text must outlive this.
  explicit JsonMembers(std::string_view object) : text_(object) {}
  /// Goes to the next member. False after the last, and where the text is no JSON object.
  bool next();
  const std::string& key() const { return key_; }
  const JsonText& value() const { return value_; }
  /// What is wrong with the text: "not valid JSON, column 7: …"; empty where nothing is.
  const std::string& fault() const { return fault_; }

 private:
  bool refuse(std::string_view what);
  bool finish();
  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  void skip_space();
  bool skip_value();
  bool skip_string();
  bool skip_nested();

  std::string_view text_;
  std::size_t at_ = 0;
  std::string key_, fault_;
  JsonText value_;
  bool begun_ = false, ended_ = false;
};

}  // namespace trainyard
