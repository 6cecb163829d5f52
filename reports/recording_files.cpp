#include "reports/recording_files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "reports/critical_text.hpp"
#include "reports/csv.hpp"
#include "sim/gzip.hpp"
#include "sim/recording_text.hpp"
#include "sim/report.hpp"

namespace trainyard {
namespace {

namespace fs = std::filesystem;

constexpr const char* kTimeline = "timeline.jsonl.gz";
// Bytes of a timeline, unpacked: three times what as many bars and accounts as there may be take.
constexpr std::size_t kMostText = 128 * 1024 * 1024;

std::string rows_csv(const Json& rows, const std::vector<const char*>& keys) {
  std::vector<Json> cells(keys.begin(), keys.end());
  std::string text = csv_line(cells);
  for (const Json& row : rows.items()) {
    for (std::size_t i = 0; i < keys.size(); ++i) cells[i] = row.at(keys[i]);
    text += csv_line(cells);
  }
  return text;
}

/// The files of one run, below `prefix`; without contents where there is no recording.
void add_files(const std::string& prefix, const Json* recording, FolderFiles& files) {
  const auto add_of = [&](const Json* source, const char* name,
                          std::string (*contents)(const Json&)) {
    files.emplace_back(prefix + name,
                       source != nullptr ? std::optional(contents(*source)) : std::nullopt);
  };
  const auto add = [&](const char* name, std::string (*contents)(const Json&)) {
    add_of(recording, name, contents);
  };
  add(kTimeline, [](const Json& r) { return gzip(recording_text(r)); });
  add("series/utilization.csv", utilization_csv);
  add("links.csv", links_csv);
  add("accounts.csv", accounts_csv);
  // Recordings of earlier versions have none.
  const bool has_path = recording != nullptr && recording->find("critical_path") != nullptr;
  add_of(has_path ? recording : nullptr, "critical_path.csv", critical_csv);
  add_of(has_path ? recording : nullptr, "critical_labels.csv", critical_labels_csv);
}

std::string run_prefix(std::size_t run) { return fmt::format("runs/{}/", run + 1); }

bool is_number(const std::string& name) {
  return !name.empty() && name.size() < 10 &&
         std::all_of(name.begin(), name.end(), [](char c) { return c >= '0' && c <= '9'; });
}

// Folders of runs that are there.
std::vector<std::string> runs_in(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code code;
  for (fs::directory_iterator it(folder / "runs", code), end; !code && it != end;
       it.increment(code))
    if (is_number(it->path().filename().string())) names.push_back(it->path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace

FolderFiles recording_files(const std::string& directory, const Json& document) {
  FolderFiles files;
  add_files("", document.find("recording"), files);
  const std::size_t runs =
      is_comparison(document) ? document.at("results").items().size() : std::size_t{0};
  for (std::size_t i = 0; i < runs; ++i)
    add_files(run_prefix(i), document.at("results").items()[i].find("recording"), files);
  for (const std::string& name : runs_in(directory)) {
    const std::size_t number = std::stoul(name);
    if (number < 1 || number > runs || name != std::to_string(number))
      add_files("runs/" + name + "/", nullptr, files);
  }
  return files;
}

Json without_recordings(const Json& document) {
  Json out = Json::object();
  for (const auto& [key, value] : document.members()) {
    if (key == "recording") continue;
    if (key != "results") {
      out[key] = value;
      continue;
    }
    out[key] = Json::array();
    for (const Json& result : value.items()) out[key].push_back(without_recordings(result));
  }
  return out;
}

namespace {

void read_recording(const fs::path& folder, Json& result) {
  const fs::path path = folder / kTimeline;
  std::error_code code;
  if (!result.is_object() || !fs::exists(path, code)) return;
  const std::string file = path.string();
  result["recording"] = parse_recording(gunzip(read_text_file(file), kMostText, file), file);
}

}  // namespace

void read_recordings(const std::string& directory, Json& document) {
  if (!is_comparison(document)) return read_recording(directory, document);
  Json* results = document.find("results");
  if (!results->is_array()) return;
  for (std::size_t i = 0; i < results->items().size(); ++i)
    read_recording(fs::path(directory) / run_prefix(i), results->items()[i]);
}

std::string utilization_csv(const Json& recording) {
  const Json& series = recording.at("series");
  const auto& columns = series.at("columns").items();
  std::vector<Json> cells{Json("time_s")};
  for (const Json& column : columns) cells.push_back(column.at("key"));
  std::string text = csv_line(cells);
  const auto bins = static_cast<std::size_t>(series.at("bins").as_integer());
  for (std::size_t b = 0; b < bins; ++b) {
    cells.front() = Json(series.at("bin_s").as_number() * static_cast<double>(b));
    for (std::size_t c = 0; c < columns.size(); ++c)
      cells[c + 1] = columns[c].at("values").items().at(b);
    text += csv_line(cells);
  }
  return text;
}

std::string links_csv(const Json& recording) {
  return rows_csv(recording.at("links"), {"from", "to", "tier", "direction", "capacity_bytes_per_s",
                                          "carried_bytes", "load"});
}

std::string accounts_csv(const Json& recording) {
  return rows_csv(recording.at("accounts"),
                  {"rank", "stage", "stands_for", "compute_s", "network_s", "nvlink_s", "host_s",
                   "storage_s", "bubble_s"});
}

}  // namespace trainyard
