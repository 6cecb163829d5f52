#include "sim/trace_format.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <optional>

namespace trainyard {
namespace {

namespace fs = std::filesystem;

std::optional<std::uint64_t> number_of(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (code != std::errc() || end != text.data() + text.size() || text.empty()) return {};
  return number;
}

// The last number in a name, or nothing: "x.12.et", "rank3_trace.json.gz".
std::optional<std::uint64_t> last_number(const std::string& name) {
  std::size_t end = name.size();
  while (end > 0 && (name[end - 1] < '0' || name[end - 1] > '9')) --end;
  std::size_t begin = end;
  while (begin > 0 && name[begin - 1] >= '0' && name[begin - 1] <= '9') --begin;
  return number_of(std::string_view(name).substr(begin, end - begin));
}

std::vector<std::string> by_number(std::vector<std::string> files) {
  std::sort(files.begin(), files.end(), [](const std::string& a, const std::string& b) {
    const std::string x = fs::path(a).filename().string(), y = fs::path(b).filename().string();
    const auto m = last_number(x), n = last_number(y);
    return std::tie(m, x) < std::tie(n, y);
  });
  return files;
}

[[noreturn]] void refuse(const std::string& path, const std::string& message,
                         const std::string& hint) {
  throw ScenarioError(Diagnostic{path, "", message, hint});
}

const TraceFormat& recognized(const std::string& path, ByteSource& source,
                              std::vector<std::unique_ptr<TraceFormat>>& formats,
                              std::string& name) {
  const std::string_view head = source.peek();
  if (head.empty()) refuse(path, "is empty", "a trace has at least one operation");
  for (const auto& [known, entry] : Registry<TraceFormat>::of().entries()) {
    formats.push_back(entry.make());
    if (!formats.back()->recognizes(source.name(), head)) continue;
    name = known;
    return *formats.back();
  }
  refuse(path, "is no trace of a known format",
         fmt::format("name the format: {}", fmt::join(Registry<TraceFormat>::of().names(), ", ")));
}

// Whether some format has such files beside its traces.
bool is_beside(const std::string& name) {
  const auto& formats = Registry<TraceFormat>::of().entries();
  return std::any_of(formats.begin(), formats.end(),
                     [&](const auto& entry) { return entry.second.make()->is_beside(name); });
}

}  // namespace

std::vector<std::string> TraceFormat::write(const Trace&, const std::string& path) const {
  throw UsageError(fmt::format("{}: this format is only read", path));
}

namespace {

// As the writers of files for each rank take it: "t.et" is the prefix of t.0.et.
std::string without_ending(const std::string& path) {
  for (const std::string_view ending : {".et", ".json", ".json.gz"}) {
    if (path.ends_with(ending)) return path.substr(0, path.size() - ending.size());
  }
  return path;
}

// The ranks of a trace's files: their numbers, where all have one of their own, else their order.
std::vector<std::size_t> ranks_of(const std::vector<std::string>& files) {
  std::vector<std::size_t> order, numbers;
  for (const std::string& file : files) {
    order.push_back(order.size());
    if (const auto number = last_number(fs::path(file).filename().string()))
      numbers.push_back(*number);
  }
  const bool distinct = std::adjacent_find(numbers.begin(), numbers.end()) == numbers.end();
  return files.size() > 1 && numbers.size() == files.size() && distinct ? numbers : order;
}

}  // namespace

std::vector<std::string> trace_files(const std::string& path) {
  std::error_code code;
  std::vector<std::string> files;
  if (fs::is_directory(path, code)) {
    for (const auto& entry : fs::directory_iterator(path, code)) {
      const std::string name = entry.path().filename().string();
      if (entry.is_regular_file() && !name.starts_with(".") && !is_beside(name))
        files.push_back(entry.path().string());
    }
    if (files.empty()) refuse(path, "has no files in it", "name the trace, or its folder");
    return by_number(files);
  }
  if (fs::exists(path, code)) return {path};
  const fs::path parent = fs::path(path).has_parent_path() ? fs::path(path).parent_path() : ".";
  const std::string stem = fs::path(without_ending(path)).filename().string() + ".";
  for (const auto& entry : fs::directory_iterator(parent, code)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(stem)) continue;
    const std::string rest = name.substr(stem.size());
    if (number_of(rest.substr(0, rest.find('.')))) files.push_back(entry.path().string());
  }
  if (files.empty())
    refuse(path, "is no file, no folder, and no prefix of files named PREFIX.RANK.et",
           "check the path");
  return by_number(files);
}

ReadTrace read_trace(const std::string& path, const std::string& format, const TraceReading& how) {
  const std::vector<std::string> files = trace_files(path);
  const std::vector<std::size_t> ranks = ranks_of(files);
  std::string name = format;
  std::vector<std::unique_ptr<TraceFormat>> formats;
  std::optional<TraceBuilder> builder;
  const TraceFormat* reader = nullptr;
  for (std::size_t i = 0; i < files.size(); ++i) {
    ByteSource source(files[i]);
    if (i == 0) {
      if (!format.empty()) formats.push_back(Registry<TraceFormat>::of().make(format));
      reader = format.empty() ? &recognized(files[0], source, formats, name) : formats.back().get();
      require(reader != nullptr, "a trace format that was not checked");
      if (files.size() > 1 && !reader->file_per_rank())
        refuse(path,
               fmt::format("has {} files, and a trace in the format {} is one", files.size(), name),
               "name one file");
      builder.emplace(name, how);
    }
    reader->read(source, ranks[i], *builder);
  }
  ReadTrace read;
  read.trace = builder->finish();
  read.matches = builder->match(read.trace);
  read.repairs = builder->repairs();
  return read;
}

}  // namespace trainyard
