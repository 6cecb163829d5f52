#include "sim/resolve.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>

#include "sim/error.hpp"
#include "sim/spelling.hpp"

namespace trainyard {
namespace {

Json load_base(const Json& extends, const std::string& file, std::vector<std::string>& chain,
               Origins& origins);

Json extend(Json root, const std::string& file, std::vector<std::string>& chain, Origins& origins) {
  if (!root.is_object()) {
    throw ScenarioError(Diagnostic{file, "/", fmt::format("is {}, not an object", root.type_name()),
                                   "a scenario is {…}"});
  }
  const Json* extends = root.find("extends");
  if (extends == nullptr) {
    origins.note(root, "", file);
    return root;
  }
  Json merged = load_base(*extends, file, chain, origins);
  origins.note(root, "", file);
  root.erase("extends");
  merge_patch(merged, root);
  return merged;
}

Json load_base(const Json& extends, const std::string& file, std::vector<std::string>& chain,
               Origins& origins) {
  if (!extends.is_string()) {
    throw ScenarioError(Diagnostic{file, "/extends",
                                   fmt::format("is {}, not a file name", extends.type_name()),
                                   "name one file"});
  }
  namespace fs = std::filesystem;
  const std::string base =
      (fs::path(file).parent_path() / extends.as_string()).lexically_normal().string();
  if (std::find(chain.begin(), chain.end(), base) != chain.end()) {
    throw ScenarioError(Diagnostic{file, "/extends",
                                   fmt::format("a cycle: {} -> {}", fmt::join(chain, " -> "), base),
                                   "a scenario cannot extend itself"});
  }
  if (!fs::exists(base)) {
    throw ScenarioError(Diagnostic{file, "/extends", fmt::format("there is no file {}", base),
                                   "the path is relative to this file"});
  }
  chain.push_back(base);
  return extend(parse_json(read_text_file(base), base), base, chain, origins);
}

void apply_set(Json& root, Origins& origins, const std::string& set, const std::string& origin) {
  const auto [path, text] = split_set(set);
  Json value = parse_json_or_text(text);
  const std::vector<std::string> keys = split_pointer(path);
  origins.note(value, "/" + fmt::format("{}", fmt::join(keys, "/")), origin);
  set_at(root, keys, std::move(value));
}

std::vector<std::string> enabled_names(const Json& root, const std::string& file) {
  std::vector<std::string> names;
  const Json* enable = root.find("enable");
  if (enable == nullptr) return names;
  const Json* features = root.find("features");
  std::vector<std::string_view> known;
  if (features != nullptr && features->is_object()) {
    for (const auto& [name, patch] : features->members()) known.push_back(name);
  }
  if (!enable->is_array()) {
    throw ScenarioError(Diagnostic{
        file, "/enable", fmt::format("is {}, not a list of features", enable->type_name()),
        R"(like ["rdma"])"});
  }
  std::vector<Diagnostic> faults;
  for (std::size_t i = 0; i < enable->items().size(); ++i) {
    const Json& name = enable->items()[i];
    names.push_back(name.is_string() ? name.as_string() : dump_json(name, -1));
    if (name.is_string() && std::find(known.begin(), known.end(), names.back()) != known.end())
      continue;
    faults.push_back({file, fmt::format("/enable/{}", i),
                      fmt::format("\"{}\" is not a feature", names.back()),
                      suggest(names.back(), known)});
  }
  if (!faults.empty()) throw ScenarioError(std::move(faults));
  return names;
}

void check_features(const Json* features, const Origins& origins) {
  if (features == nullptr) return;
  std::vector<Diagnostic> faults;
  const auto object = [&](const Json& value, const std::string& pointer) {
    if (value.is_object()) return;
    faults.push_back({origins.file_of(pointer), pointer,
                      fmt::format("is {}, not an object", value.type_name()),
                      R"(like {"rdma": {"cluster": {"transport": "rdma"}}})"});
  };
  object(*features, "/features");
  if (features->is_object()) {
    for (const auto& [name, patch] : features->members()) object(patch, "/features/" + name);
  }
  if (!faults.empty()) throw ScenarioError(std::move(faults));
}

}  // namespace

void Origins::note(const Json& value, const std::string& pointer, const std::string& file) {
  files_[pointer] = file;
  if (value.is_object()) {
    for (const auto& [key, member] : value.members())
      note(member, fmt::format("{}/{}", pointer, key), file);
  } else if (value.is_array()) {
    for (std::size_t i = 0; i < value.items().size(); ++i)
      note(value.items()[i], fmt::format("{}/{}", pointer, i), file);
  }
}

std::string Origins::file_of(std::string pointer) const {
  while (true) {
    const auto it = files_.find(pointer);
    if (it != files_.end()) return it->second;
    const std::size_t slash = pointer.rfind('/');
    if (slash == std::string::npos) return {};
    pointer.resize(slash);
  }
}

std::pair<std::string, std::string> split_set(const std::string& set) {
  const std::size_t equals = set.find('=');
  if (equals == std::string::npos || equals == 0) {
    throw UsageError(
        fmt::format("--set \"{}\" is not path=value (write --set cluster.servers=64)", set));
  }
  return {set.substr(0, equals), set.substr(equals + 1)};
}

Json merge_extended(Json root, const std::string& file) {
  std::vector<std::string> chain{std::filesystem::path(file).lexically_normal().string()};
  Origins origins;
  return extend(std::move(root), file, chain, origins);
}

ResolvedScenario resolve_scenario(Json root, const std::string& file,
                                  const std::vector<std::string>& sets,
                                  const std::string& sets_origin) {
  std::vector<std::string> chain{std::filesystem::path(file).lexically_normal().string()};
  Origins origins;
  Json resolved = extend(std::move(root), file, chain, origins);
  for (const std::string& set : sets) apply_set(resolved, origins, set, sets_origin);
  check_features(resolved.find("features"), origins);
  const std::vector<std::string> enabled = enabled_names(resolved, origins.file_of("/enable"));
  if (const Json* found = resolved.find("features")) {
    const Json features = *found;
    for (const auto& [name, patch] : features.members()) {
      if (std::find(enabled.begin(), enabled.end(), name) == enabled.end()) continue;
      origins.note(patch, "", origins.file_of("/features/" + name));
      merge_patch(resolved, patch);
    }
    for (const std::string& set : sets) apply_set(resolved, origins, set, sets_origin);
  }
  resolved.erase("features");
  return {std::move(resolved), std::move(origins)};
}

}  // namespace trainyard
