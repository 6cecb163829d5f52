// From a scenario file to one JSON value: extends, --set, features.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "sim/json.hpp"

namespace trainyard {

/// Which file each value of a resolved scenario came from.
class Origins {
 public:
  /// Everything in `value`, which stands at `pointer`, came from `file`.
  void note(const Json& value, const std::string& pointer, const std::string& file);
  /// The file of the value at the pointer, or of the nearest object around it; empty if unknown.
  std::string file_of(std::string pointer) const;

 private:
  std::map<std::string, std::string> files_;
};

struct ResolvedScenario {
  Json root;
  Origins origins;
};

/// - "extends": a file relative to this one; this one is merged over it (merge_patch). Any depth; a
///   cycle is a ScenarioError naming it.
/// - each of `sets` is "path=value"; the value is JSON, or else a string. Messages about what they
///   set name `sets_origin` as the file.
/// - "features": {name: patch}; each name in "enable" has its patch merged in, in the order of
///   "features" (so the order of "enable" does not matter), and --set is applied again over them.
/// The result has neither "extends" nor "features". Catalogue names are not yet expanded.
ResolvedScenario resolve_scenario(Json root, const std::string& file,
                                  const std::vector<std::string>& sets,
                                  const std::string& sets_origin = "--set");
/// The path and the value of "path=value". Throws UsageError for a text that is none.
std::pair<std::string, std::string> split_set(const std::string& set);
/// Merges what "extends" names, and nothing else: "features" stay.
Json merge_extended(Json root, const std::string& file);

}  // namespace trainyard
