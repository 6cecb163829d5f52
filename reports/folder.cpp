#include "reports/folder.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "sim/error.hpp"
#include "sim/registry.hpp"
#include "sim/report.hpp"

namespace trainyard {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const fs::path& path, const std::string& why) {
  throw UsageError(fmt::format("--out: cannot write {}: {}", path.string(), why));
}

void write_whole(const fs::path& path, const std::string& text) {
  const fs::path temporary = path.string() + ".part";
  errno = 0;
  std::FILE* file = std::fopen(temporary.c_str(), "wb");
  if (file == nullptr) fail(path, std::strerror(errno));
  const bool written = std::fwrite(text.data(), 1, text.size(), file) == text.size();
  const bool closed = std::fclose(file) == 0;
  const std::string why = std::strerror(errno);
  std::error_code code;
  if (!written || !closed) {
    fs::remove(temporary, code);
    fail(path, why);
  }
  fs::rename(temporary, path, code);
  if (code) fail(path, code.message());
}

}  // namespace

void write_folder(const std::string& directory, const Json& document) {
  std::error_code code;
  fs::create_directories(directory, code);
  if (code) fail(directory, code.message());
  write_whole(fs::path(directory) / (is_comparison(document) ? "compare.json" : "result.json"),
              dump_json(document));
  for (const auto& [name, entry] : Registry<Report>::of().entries()) {
    const auto report = entry.make();
    write_whole(fs::path(directory) / report->file_name(), report->render(document));
  }
}

Json read_folder(const std::string& directory) {
  constexpr std::int64_t kSchemaVersion = 1;
  for (const char* name : {"result.json", "compare.json"}) {
    const std::string path = (fs::path(directory) / name).string();
    if (!fs::exists(path)) continue;
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
