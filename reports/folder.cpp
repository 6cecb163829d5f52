#include "reports/folder.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <optional>
#include <utility>
#include <vector>

#include "reports/recording_files.hpp"
#include "sim/error.hpp"
#include "sim/report.hpp"
#include "sim/whole_file.hpp"

namespace trainyard {
namespace {

namespace fs = std::filesystem;

constexpr const char* kResult = "result.json";
constexpr const char* kComparison = "compare.json";

[[noreturn]] void fail(const fs::path& path, const std::string& why) {
  throw UsageError(fmt::format("--out: cannot write {}: {}", path.string(), why));
}

// What an earlier document left and this one does without would be taken for its result.
void remove_file(const fs::path& path) {
  std::error_code code;
  fs::remove(path, code);
  if (code) fail(path, code.message());
}

void make_folder(const fs::path& path) {
  std::error_code code;
  fs::create_directories(path, code);
  if (code) fail(path, code.message());
}

// The folders on the way to a file below `top` that nothing is left in.
void remove_empty(const fs::path& top, fs::path way) {
  std::error_code code;
  for (; !way.empty() && fs::is_empty(top / way, code) && !code; way = way.parent_path()) {
    if (!fs::remove(top / way, code)) return;
  }
}

}  // namespace

void prepare_folder(const std::string& directory) {
  const fs::path folder = directory;
  std::error_code code;
  // A run that fails leaves no folder: what is made here for the trial is taken away again.
  std::vector<fs::path> made;
  for (fs::path at = folder; !at.empty() && !fs::exists(at, code) && at != at.root_path();
       at = at.parent_path())
    made.push_back(at);
  make_folder(folder);
  if (fs::exists(folder / "sweep.json", code))
    fail(folder, "it holds a sweep, whose report would be lost: take another folder");
  const fs::path trial = folder / ".trainyard";
  const std::string why = write_whole_file(trial.string(), "");
  fs::remove(trial, code);
  for (const fs::path& one : made) fs::remove(one, code);
  if (!why.empty()) fail(folder, why);
}

void write_folder(const std::string& directory, const Json& document) {
  const fs::path folder = directory;
  const bool comparison = is_comparison(document);
  // All texts before the first file: a document that is not whole leaves the folder as it is.
  FolderFiles files{{comparison ? kComparison : kResult, dump_json(without_recordings(document))},
                    {comparison ? kResult : kComparison, std::nullopt}};
  for (const auto& [name, entry] : Registry<Report>::of().entries()) {
    const auto report = entry.make();
    files.emplace_back(report->file_name(), report->applies(document)
                                                ? std::optional(report->render(document))
                                                : std::nullopt);
  }
  for (auto& file : recording_files(directory, document)) files.push_back(std::move(file));
  make_folder(folder);
  for (const auto& [name, text] : files) {
    if (text) {
      make_folder((folder / name).parent_path());
      const std::string why = write_whole_file((folder / name).string(), *text);
      if (!why.empty()) fail(folder / name, why);
    } else {
      remove_file(folder / name);
      remove_empty(folder, fs::path(name).parent_path());
    }
  }
}

Json read_folder(const std::string& directory) {
  constexpr std::int64_t kSchemaVersion = 1;
  for (const char* name : {kResult, kComparison}) {
    const std::string path = (fs::path(directory) / name).string();
    std::error_code code;
    if (!fs::exists(path, code)) continue;
    Json document = parse_json(read_text_file(path), path);
    const Json* version = document.find("schema_version");
    if (version == nullptr || *version != Json(kSchemaVersion)) {
      throw ScenarioError(Diagnostic{path, "/schema_version",
                                     "is missing or of another version of trainyard",
                                     "run the scenario again"});
    }
    read_recordings(directory, document);
    return document;
  }
  throw ScenarioError(Diagnostic{directory, "", "holds neither result.json nor compare.json",
                                 "name a folder that --out wrote"});
}

}  // namespace trainyard
