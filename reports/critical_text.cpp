#include "reports/critical_text.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "reports/charts/chart.hpp"
#include "reports/csv.hpp"
#include "reports/text.hpp"

namespace trainyard {
namespace {

using Rows = std::vector<std::vector<std::string>>;

constexpr std::size_t kLabels = 20, kSegments = 20;

std::string seconds(const Json& value) { return show_cell({"", Form::kSeconds, {}}, value); }
std::string share(const Json& value) { return show_cell({"", Form::kShare, {}}, value); }

// " (the first 20 of 401)" where not all are shown.
std::string first_of(const char* which, std::size_t shown, std::size_t all) {
  return shown < all ? fmt::format(" (the {} {} of {})", which, shown, all) : std::string();
}

std::string labels(const Json::Array& all) {
  const std::size_t shown = std::min(all.size(), kLabels);
  Rows rows{{"what the step hangs on" + first_of("first", shown, all.size()), "role", "stream",
             "on the path", "share", "gain", "gain at 10% less"}};
  for (std::size_t i = 0; i < shown; ++i) {
    const Json& label = all[i];
    rows.push_back({label.at("name").as_string(), label.at("role").as_string(),
                    label.at("stream").as_string(), seconds(label.at("time_s")),
                    share(label.at("share")), seconds(label.at("gain_s")),
                    seconds(label.at("gain_10_percent_s"))});
  }
  return aligned(rows);
}

std::string segments(const Json::Array& all) {
  const std::size_t shown = std::min(all.size(), kSegments);
  Rows rows{{"the path" + first_of("first", shown, all.size()), "role", "rank", "number", "start",
             "duration", "gain"}};
  for (std::size_t i = 0; i < shown; ++i) {
    const Json::Array& cells = all[i].items();
    rows.push_back({cells[1].as_string(), cells[2].as_string(),
                    std::to_string(cells[0].as_integer()), std::to_string(cells[3].as_integer()),
                    seconds(cells[4]), seconds(cells[5]), seconds(cells[6])});
  }
  return aligned(rows);
}

}  // namespace

std::string critical_text(const Json& recording) {
  const Json* path = recording.find("critical_path");
  if (path == nullptr)
    return "This recording has no critical path: run the scenario again with --out.\n";
  std::string text = fmt::format("critical path of {}, {} of it waiting\n",
                                 seconds(recording.at("end_s")), seconds(path->at("waiting_s")));
  const Json::Array& all = path->at("segments").items();
  if (!all.empty()) text += "\n" + labels(path->at("labels").items()) + "\n" + segments(all);
  std::vector<std::string> notes;
  for (const Json& note : path->at("notes").items()) notes.push_back(note.as_string());
  return text + (notes.empty() ? "" : "\n") + lines(notes, "  ");
}

std::string critical_csv(const Json& recording) {
  std::string text =
      csv_line({"rank", "name", "role", "number", "start_s", "duration_s", "gain_s"});
  for (const Json& segment : recording.at("critical_path").at("segments").items())
    text += csv_line(segment.items());
  return text;
}

std::string critical_labels_csv(const Json& recording) {
  const std::vector<const char*> keys{"name",  "role",   "stream",           "time_s",
                                      "share", "gain_s", "gain_10_percent_s"};
  std::vector<Json> cells(keys.begin(), keys.end());
  std::string text = csv_line(cells);
  for (const Json& label : recording.at("critical_path").at("labels").items()) {
    for (std::size_t i = 0; i < keys.size(); ++i) cells[i] = label.at(keys[i]);
    text += csv_line(cells);
  }
  return text;
}

}  // namespace trainyard
