#include "sim/catalog.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "sim/embedded.hpp"
#include "sim/error.hpp"

namespace trainyard {
namespace {

bool is_tag(std::string_view key) {
  return key == "source" || key == "derived" || key == "assumed";
}

bool has_tag(const Json& leaf) {
  return std::any_of(leaf.members().begin(), leaf.members().end(),
                     [](const Json::Member& m) { return is_tag(m.first); });
}

// Gives every leaf of an entry its tag, so that it keeps its source wherever it is merged to.
class Tagger {
 public:
  Tagger(std::string file, const Json* source) : file_(std::move(file)), source_(source) {}
  std::vector<Diagnostic> faults;

  void tag(Json& node, const std::string& pointer) {
    if (node.find("value") != nullptr) {
      if (!has_tag(node)) fault(pointer);
      return;
    }
    if (node.is_object()) {
      for (auto& [key, child] : node.members()) {
        if (key == "base" || key == "source" || key == "kind") continue;
        tag(child, fmt::format("{}/{}", pointer, key));
      }
      return;
    }
    if (source_ == nullptr) return fault(pointer);
    Json leaf = Json::object();
    leaf["value"] = std::move(node);
    leaf["source"] = *source_;
    node = std::move(leaf);
  }

 private:
  void fault(const std::string& pointer) {
    faults.push_back(
        {file_, pointer, "a catalogue value without a source",
         "give the entry a \"source\", or write {\"value\": …, \"source\": \"where it stands\"}"});
  }
  std::string file_;
  const Json* source_;
};

}  // namespace

Catalog Catalog::embedded() {
  Catalog catalog;
  for (const EmbeddedFile& file : embedded_catalog()) {
    const std::string name(file.name);
    const std::string stem = std::filesystem::path(name).stem().string();
    catalog.add(stem, file.text, "catalog/" + std::filesystem::path(name).filename().string());
  }
  return catalog;
}

void Catalog::add_directory(const std::string& path) {
  std::error_code code;
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(path, code)) {
    if (entry.path().extension() == ".json") files.push_back(entry.path());
  }
  if (code) {
    throw ScenarioError(Diagnostic{path, "", fmt::format("cannot be read: {}", code.message()),
                                   "--catalog takes a folder of JSON files"});
  }
  std::sort(files.begin(), files.end());
  for (const auto& file : files)
    add(file.stem().string(), read_text_file(file.string()), file.string());
}

void Catalog::add(const std::string& kind, std::string_view text, const std::string& file) {
  Json root = parse_json(text, file);
  if (!root.is_object()) {
    throw ScenarioError(Diagnostic{file, "/", "a catalogue file holds an object of entries",
                                   R"({"my-gpu": {"base": "a100-sxm-80gb", "source": "…"}})"});
  }
  std::vector<Diagnostic> faults;
  for (auto& [name, entry] : root.members()) {
    if (!entry.is_object()) {
      faults.push_back({file, "/" + name, "a catalogue entry is an object", ""});
      continue;
    }
    const Json* found = entry.find("source");
    const Json source = found != nullptr ? *found : Json();
    Tagger tagger(file, source.is_string() ? &source : nullptr);
    tagger.tag(entry, "/" + name);
    faults.insert(faults.end(), tagger.faults.begin(), tagger.faults.end());
    entries_[kind].insert_or_assign(name, entry);
  }
  if (!faults.empty()) throw ScenarioError(std::move(faults));
}

const Json* Catalog::find(std::string_view kind, std::string_view name) const {
  const auto of_kind = entries_.find(kind);
  if (of_kind == entries_.end()) return nullptr;
  const auto it = of_kind->second.find(name);
  return it == of_kind->second.end() ? nullptr : &it->second;
}

std::vector<std::string_view> Catalog::names(std::string_view kind) const {
  std::vector<std::string_view> all;
  const auto of_kind = entries_.find(kind);
  if (of_kind == entries_.end()) return all;
  for (const auto& [name, entry] : of_kind->second) all.push_back(name);
  return all;
}

std::vector<std::string_view> Catalog::kinds() const {
  std::vector<std::string_view> all;
  for (const auto& [kind, entries] : entries_) all.push_back(kind);
  return all;
}

}  // namespace trainyard
