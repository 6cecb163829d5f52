#include "reports/folder.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <optional>
#include <utility>
#include <vector>

#include "sim/error.hpp"
#include "sim/report.hpp"

namespace trainyard {
namespace {

namespace fs = std::filesystem;

constexpr const char* kResult = "result.json";
constexpr const char* kComparison = "compare.json";

[[noreturn]] void fail(const fs::path& path, const std::string& why) {
  throw UsageError(fmt::format("--out: cannot write {}: {}", path.string(), why));
}

// Why the bytes could not be written, or an empty string.
std::string write_bytes(const fs::path& path, const std::string& text) {
  std::FILE* file = std::fopen(path.c_str(), "wb");
  if (file == nullptr) return std::strerror(errno);
  const bool written = std::fwrite(text.data(), 1, text.size(), file) == text.size();
  std::string why = written ? "" : std::strerror(errno);
  if (std::fclose(file) != 0 && why.empty()) why = std::strerror(errno);
  return why;
}

void write_whole(const fs::path& path, const std::string& text) {
  const fs::path temporary = path.string() + ".part";
  std::string why = write_bytes(temporary, text);
  std::error_code code;
  if (why.empty()) {
    fs::rename(temporary, path, code);
    if (code) why = code.message();
  }
  if (why.empty()) return;
  fs::remove(temporary, code);
  fail(path, why);
}

// What an earlier document left and this one does without would be taken for its result.
void remove_file(const fs::path& path) {
  std::error_code code;
  fs::remove(path, code);
  if (code) fail(path, code.message());
}

}  // namespace

void write_folder(const std::string& directory, const Json& document) {
  const fs::path folder = directory;
  const bool comparison = is_comparison(document);
  // All texts before the first file: a document that is not whole leaves the folder as it is.
  std::vector<std::pair<std::string, std::optional<std::string>>> files{
      {comparison ? kComparison : kResult, dump_json(document)},
      {comparison ? kResult : kComparison, std::nullopt}};
  for (const auto& [name, entry] : Registry<Report>::of().entries()) {
    const auto report = entry.make();
    files.emplace_back(report->file_name(), report->applies(document)
                                                ? std::optional(report->render(document))
                                                : std::nullopt);
  }
  std::error_code code;
  fs::create_directories(folder, code);
  if (code) fail(folder, code.message());
  for (const auto& [name, text] : files) {
    if (text) {
      write_whole(folder / name, *text);
    } else {
      remove_file(folder / name);
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
    return document;
  }
  throw ScenarioError(Diagnostic{directory, "", "holds neither result.json nor compare.json",
                                 "name a folder that --out wrote"});
}

}  // namespace trainyard
