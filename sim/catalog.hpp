// Named devices and models: JSON entries whose every number has a source.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "sim/json.hpp"

namespace trainyard {

/// The entries of all kinds. A kind is a file name ("gpu.json" holds kind "gpu"); a file is an
/// object of entries. An entry has a "source", which holds for each of its leaves that is not
/// itself a tagged leaf; an entry with neither is a ScenarioError naming it.
class Catalog {
 public:
  /// The entries built into the program.
  static Catalog embedded();
  /// Adds (or replaces by name) the entries of every *.json of a folder, in name order.
  /// Throws ScenarioError when it cannot be read or an entry has a fault.
  void add_directory(const std::string& path);
  /// Adds the entries of one file's text. Throws ScenarioError.
  void add(const std::string& kind, std::string_view text, const std::string& file);

  /// The entry with its leaves tagged ({"value", "source"…}), or nullptr.
  const Json* find(std::string_view kind, std::string_view name) const;
  std::vector<std::string_view> names(std::string_view kind) const;
  std::vector<std::string_view> kinds() const;

 private:
  std::map<std::string, std::map<std::string, Json, std::less<>>, std::less<>> entries_;
};

}  // namespace trainyard
