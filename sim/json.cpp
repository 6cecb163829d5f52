#include "sim/json.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>

#include "sim/error.hpp"

namespace trainyard {
namespace {

constexpr std::size_t kMaxDepth = 100;
constexpr std::int64_t kMaxFileBytes = 64 * 1024 * 1024;

std::string line_and_column(std::string_view text, std::size_t offset) {
  offset = std::min(offset, text.size());
  const std::string_view before = text.substr(0, offset);
  const auto line = std::count(before.begin(), before.end(), '\n') + 1;
  const std::size_t newline = before.rfind('\n');
  const std::size_t column = newline == std::string_view::npos ? offset : offset - newline - 1;
  return fmt::format("line {}, column {}", line, std::max<std::size_t>(column, 1));
}

// Builds a Json from parser events. It stops at the first fault, leaving where and what.
class Builder : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit Builder(std::string_view text) : text_(text) {}
  Json result;
  std::string fault, where, hint;

  bool null() override { return put(Json()); }
  bool boolean(bool v) override { return put(Json(v)); }
  bool number_integer(number_integer_t v) override { return put(Json(std::int64_t{v})); }
  bool number_unsigned(number_unsigned_t v) override {
    constexpr auto kMax = static_cast<number_unsigned_t>(std::numeric_limits<std::int64_t>::max());
    return put(v <= kMax ? Json(static_cast<std::int64_t>(v)) : Json(static_cast<double>(v)));
  }
  bool number_float(number_float_t v, const string_t& /*text*/) override { return put(Json(v)); }
  bool string(string_t& v) override { return put(Json(std::move(v))); }
  bool binary(binary_t& /*v*/) override { return false; }
  bool start_object(std::size_t /*n*/) override { return open(Json::object()); }
  bool start_array(std::size_t /*n*/) override { return open(Json::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool key(string_t& name) override {
    if (stack_.back()->find(name) != nullptr) {
      fault = fmt::format("the key \"{}\" appears twice in one object", name);
      hint = "keep one of the two";
      where = path();
      return false;
    }
    key_ = std::move(name);
    return true;
  }
  bool parse_error(std::size_t offset, const std::string& token,
                   const nlohmann::json::exception& error) override {
    where = line_and_column(text_, offset);
    constexpr int kNumberOverflow = 406;
    if (error.id == kNumberOverflow) {
      fault = fmt::format("the number {} is too large for a double", token);
      hint = "the largest is about 1.8e308";
      return false;
    }
    fault = "not valid JSON";
    std::string what = error.what();
    if (const auto at = what.find("- "); at != std::string::npos)
      fault += ": " + what.substr(at + 2);
    return false;
  }

 private:
  bool put(Json v) {
    place(std::move(v));
    return true;
  }
  Json* place(Json v) {
    if (stack_.empty()) {
      result = std::move(v);
      return &result;
    }
    Json& parent = *stack_.back();
    if (parent.is_array()) {
      parent.items().push_back(std::move(v));
      return &parent.items().back();
    }
    parent.members().emplace_back(std::move(key_), std::move(v));
    return &parent.members().back().second;
  }
  bool open(Json v) {
    if (stack_.size() >= kMaxDepth) {
      fault = fmt::format("nested deeper than {} levels", kMaxDepth);
      hint = "no scenario needs that; is this the right file?";
      return false;
    }
    stack_.push_back(place(std::move(v)));
    return true;
  }
  bool close() {
    stack_.pop_back();
    return true;
  }
  std::string path() const {
    std::string text;
    for (const Json* node : stack_) {
      if (node == stack_.back()) break;
      text += node->is_array() ? "/" + std::to_string(node->items().size() - 1)
                               : "/" + node->members().back().first;
    }
    return text.empty() ? "/" : text;
  }

  std::string_view text_;
  std::vector<Json*> stack_;  // open containers; only the last one grows, so pointers stay valid
  std::string key_;
};

nlohmann::ordered_json to_library(const Json& v) {
  if (v.is_null()) return nullptr;
  if (v.is_bool()) return v.as_bool();
  if (v.is_integer()) return v.as_integer();
  if (v.is_number()) {
    const double number = v.as_number();
    if (!std::isfinite(number)) return nullptr;
    return number;
  }
  if (v.is_string()) return v.as_string();
  if (v.is_array()) {
    auto out = nlohmann::ordered_json::array();
    for (const Json& item : v.items()) out.push_back(to_library(item));
    return out;
  }
  auto out = nlohmann::ordered_json::object();
  for (const auto& [key, member] : v.members()) out[key] = to_library(member);
  return out;
}

bool is_tagged_leaf(const Json& v) { return v.find("value") != nullptr; }

// A catalogue name, tagged or not, that is to be changed inside: {"base": name}.
void open_name(Json& v) {
  const Json* name = is_tagged_leaf(v) ? v.find("value") : &v;
  if (!name->is_string()) return;
  Json named = Json::object();
  named["base"] = *name;
  v = std::move(named);
}

// A patch that names another kind or catalogue entry starts afresh: the fields of the old one would
// mean nothing there.
bool names_another(const Json& target, const Json& patch) {
  for (const std::string_view key : {"kind", "base"}) {
    const Json* wanted = patch.find(key);
    const Json* present = target.find(key);
    if (wanted != nullptr && target.is_object() && (present == nullptr || *present != *wanted))
      return true;
  }
  return false;
}

std::optional<std::size_t> to_index(const std::string& key) {
  std::size_t index = 0;
  const auto [end, code] = std::from_chars(key.data(), key.data() + key.size(), index);
  if (code != std::errc() || end != key.data() + key.size()) return std::nullopt;
  return index;
}

}  // namespace

std::string_view Json::type_name() const {
  if (is_null()) return "null";
  if (is_bool()) return "a boolean";
  if (is_number()) return "a number";
  if (is_string()) return "a string";
  return is_array() ? "a list" : "an object";
}

double Json::as_number() const {
  return is_integer() ? static_cast<double>(as_integer()) : std::get<double>(value_);
}

const Json* Json::find(std::string_view key) const {
  if (!is_object()) return nullptr;
  const auto& all = members();
  const auto it =
      std::find_if(all.begin(), all.end(), [&](const Member& m) { return m.first == key; });
  return it == all.end() ? nullptr : &it->second;
}

Json* Json::find(std::string_view key) {
  return const_cast<Json*>(static_cast<const Json*>(this)->find(key));
}

Json& Json::operator[](std::string_view key) {
  if (is_null()) value_ = Object{};
  if (Json* found = find(key)) return *found;
  return members().emplace_back(std::string(key), Json()).second;
}

const Json& Json::at(std::string_view key) const {
  if (const Json* found = find(key)) return *found;
  throw std::out_of_range(fmt::format("no member \"{}\"", key));
}

void Json::erase(std::string_view key) {
  std::erase_if(members(), [&](const Member& m) { return m.first == key; });
}

Json parse_json(std::string_view text, const std::string& file) {
  Builder builder(text);
  const bool whole = nlohmann::json::sax_parse(text.begin(), text.end(), &builder);
  if (!whole || !builder.fault.empty()) {
    throw ScenarioError(Diagnostic{file, builder.where, builder.fault, builder.hint});
  }
  return std::move(builder.result);
}

Json parse_json_or_text(const std::string& text) {
  try {
    return parse_json(text, "");
  } catch (const ScenarioError&) {
    return Json(text);
  }
}

std::string read_text_file(const std::string& path) {
  struct stat info {};
  if (stat(path.c_str(), &info) != 0) {
    throw ScenarioError(Diagnostic{
        path, "", fmt::format("cannot be read: {}", std::strerror(errno)), "check the path"});
  }
  if (!S_ISREG(info.st_mode) && !S_ISFIFO(info.st_mode) && !S_ISCHR(info.st_mode)) {
    throw ScenarioError(Diagnostic{path, "", "is not a file", "name a JSON file"});
  }
  if (info.st_size > kMaxFileBytes) {
    throw ScenarioError(
        Diagnostic{path, "",
                   fmt::format("is {} bytes long; scenario files may have {} at most", info.st_size,
                               kMaxFileBytes),
                   "is this the right file?"});
  }
  std::ifstream in(path, std::ios::binary);
  std::string text;
  std::vector<char> block(1 << 16);
  while (in.good() && text.size() <= static_cast<std::size_t>(kMaxFileBytes)) {
    in.read(block.data(), static_cast<std::streamsize>(block.size()));
    text.append(block.data(), static_cast<std::size_t>(in.gcount()));
  }
  if (in.bad() || (!in.eof() && text.empty())) {
    throw ScenarioError(Diagnostic{
        path, "", fmt::format("cannot be read: {}", std::strerror(errno)), "check the path"});
  }
  if (text.size() > static_cast<std::size_t>(kMaxFileBytes)) {
    throw ScenarioError(Diagnostic{path, "", "is longer than 64 MiB", "is this the right file?"});
  }
  return text;
}

std::string dump_json(const Json& value, int indent) {
  std::string text =
      to_library(value).dump(indent, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  if (indent >= 0) text += '\n';
  return text;
}

std::vector<std::string> split_pointer(std::string_view pointer) {
  const bool slashes = pointer.starts_with('/');
  const char separator = slashes ? '/' : '.';
  if (pointer.empty())
    throw UsageError("an empty path names no field (write /cluster/nodes or cluster.nodes)");
  std::vector<std::string> keys;
  std::size_t begin = slashes ? 1 : 0;
  while (true) {
    const std::size_t end = std::min(pointer.find(separator, begin), pointer.size());
    std::string key(pointer.substr(begin, end - begin));
    if (key.empty()) {
      throw UsageError(
          fmt::format("\"{}\" has an empty step (write /cluster/nodes or cluster.nodes)", pointer));
    }
    for (std::size_t at = 0; slashes && (at = key.find('~', at)) != std::string::npos; ++at) {
      if (key.compare(at, 2, "~1") == 0) key.replace(at, 2, "/");
      if (key.compare(at, 2, "~0") == 0) key.replace(at, 2, "~");
    }
    keys.push_back(std::move(key));
    if (end == pointer.size()) return keys;
    begin = end + 1;
  }
}

namespace {

// `named`: a catalogue's entry will be laid under the target, or under something around it, so a
// null has to wait there for what it takes out.
void merge(Json& target, const Json& patch, bool named) {
  if (!patch.is_object() || is_tagged_leaf(patch)) {
    target = patch;
    return;
  }
  open_name(target);
  if (names_another(target, patch)) target = Json::object();
  if (!target.is_object() || is_tagged_leaf(target)) {
    target = Json::object();
  }
  named = named || target.find("base") != nullptr;
  for (const auto& [key, value] : patch.members()) {
    if (!value.is_null()) {
      merge(target[key], value, named);
    } else if (named) {
      target[key] = Json();
    } else {
      target.erase(key);
    }
  }
}

}  // namespace

void merge_patch(Json& target, const Json& patch) { merge(target, patch, false); }

const Json* find_at(const Json& root, const std::vector<std::string>& keys) {
  const Json* at = &root;
  for (const std::string& key : keys) {
    if (at->is_array()) {
      const auto index = to_index(key);
      at = index && *index < at->items().size() ? &at->items()[*index] : nullptr;
    } else {
      at = at->find(key);
    }
    if (at == nullptr) return nullptr;
  }
  return at;
}

void set_at(Json& root, const std::vector<std::string>& keys, Json value) {
  Json* at = &root;
  for (const std::string& key : keys) {
    if (at->is_array()) {
      const auto index = to_index(key);
      if (!index || *index >= at->items().size()) {
        throw UsageError(fmt::format("no element \"{}\" in a list of {} (elements count from 0)",
                                     key, at->items().size()));
      }
      at = &at->items()[*index];
      continue;
    }
    open_name(*at);
    if (!at->is_object() || is_tagged_leaf(*at)) {
      *at = Json::object();
    }
    at = &(*at)[key];
  }
  *at = std::move(value);
}

}  // namespace trainyard
