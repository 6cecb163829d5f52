#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "reports/charts/charts.hpp"
#include "sim/units.hpp"

namespace trainyard {
namespace {

std::string lane_label(const Json& lane) {
  const std::int64_t stands_for = lane.at("stands_for").as_integer();
  return fmt::format("rank {} {}{}", lane.at("rank").as_integer(), lane.at("stream").as_string(),
                     stands_for > 1 ? fmt::format(" (for {})", stands_for) : "");
}

// How many of the first lanes have at most that many bars together, and these bars.
std::pair<std::size_t, std::size_t> first_lanes(const Json& timeline, std::size_t most_bars) {
  const Json::Array& lane = timeline.at("lane").items();
  const std::size_t lanes = timeline.at("lanes").items().size();
  if (lane.size() <= most_bars) return {lanes, lane.size()};
  // Sorted by lane: the one that would go beyond is left out whole; a lone one is cut.
  const auto cut = static_cast<std::size_t>(lane.at(most_bars).as_integer());
  if (cut == 0) return {1, most_bars};
  const auto end = std::lower_bound(
      lane.begin(), lane.end(), static_cast<std::int64_t>(cut),
      [](const Json& one, std::int64_t other) { return one.as_integer() < other; });
  return {cut, static_cast<std::size_t>(end - lane.begin())};
}

struct Sum {
  std::size_t count = 0;
  double seconds = 0;
};

Table sums(const Json& timeline, const Json& lanes, std::size_t bars) {
  constexpr std::size_t kMostRows = 400;
  std::map<std::pair<std::int64_t, std::int64_t>, Sum> all;
  for (std::size_t i = 0; i < bars; ++i) {
    Sum& sum = all[{timeline.at("lane").items()[i].as_integer(),
                    timeline.at("name").items().at(i).as_integer()}];
    ++sum.count;
    sum.seconds += timeline.at("duration_s").items().at(i).as_number();
  }
  Table table{"Time by lane and operation",
              {"lane", "operation", "count", "total time"},
              "llrr",
              {},
              {},
              {}};
  if (all.size() > kMostRows)
    table.caption += fmt::format(", the first {} of {} rows", kMostRows, all.size());
  for (const auto& [key, sum] : all) {
    if (table.rows.size() == kMostRows) break;
    table.rows.push_back({lanes.items().at(key.first).at("label").as_string(),
                          timeline.at("names").items().at(key.second).as_string(),
                          std::to_string(sum.count), show(Seconds::of(sum.seconds))});
  }
  return table;
}

// Of the lane on top, or why there is none.
std::string path_summary(const Json& recording) {
  const Json* path = recording.find("critical_path");
  if (path == nullptr) return {};
  if (!path->at("segments").items().empty())
    return " The lane on top is the critical path, whatever GPU it is on.";
  std::vector<std::string> notes;
  for (const Json& note : path->at("notes").items()) notes.push_back(note.as_string());
  return sentences(notes);
}

std::string summary(const Json& recording, std::size_t bars, std::size_t lanes) {
  const Json& timeline = recording.at("timeline");
  std::string text = fmt::format("{} operations in {} lanes over {}.", bars, lanes,
                                 show(Seconds::of(recording.at("end_s").as_number())));
  const std::size_t dropped = timeline.at("lanes").items().size() - lanes;
  if (dropped > 0)
    text += fmt::format(" {} more lanes are in timeline.jsonl.gz, too many for a page.", dropped);
  const Json* left_out = timeline.find("left_out");
  if (left_out != nullptr && left_out->as_integer() > 0)
    text += fmt::format(" {} operations of other ranks were not kept.", left_out->as_integer());
  return text + sentences(recording_notes(recording, false)) + path_summary(recording);
}

Json first(const Json& column, std::size_t count) {
  const Json::Array& items = column.items();
  return Json(Json::Array(items.begin(), items.begin() + static_cast<std::ptrdiff_t>(count)));
}

}  // namespace

std::optional<Chart> timeline_chart(const Json& result, std::size_t most_bars) {
  const Json* recording = result.find("recording");
  const Json* timeline = recording != nullptr ? recording->find("timeline") : nullptr;
  if (timeline == nullptr || timeline->at("lane").items().empty() || most_bars == 0) return {};
  const auto [lanes, bars] = first_lanes(*timeline, most_bars);
  Chart chart{"timeline", "Timeline", summary(*recording, bars, lanes), {}, {}, Json::object(), {}};
  chart.columns = {{"lane"},
                   {"operation"},
                   {"role"},
                   {"number", Form::kNumber, "1"},
                   {"start", Form::kSeconds},
                   {"duration", Form::kSeconds},
                   {"bytes", Form::kBytes}};
  chart.more["end_s"] = recording->at("end_s");
  chart.more["lanes"] = first(timeline->at("lanes"), lanes);
  for (Json& lane : chart.more["lanes"].items()) lane["label"] = Json(lane_label(lane));
  for (const char* key : {"names", "roles"}) chart.more[key] = timeline->at(key);
  for (const char* key : {"lane", "name", "role", "number", "start_s", "duration_s", "bytes"})
    chart.more[key] = first(timeline->at(key), bars);
  if (const Json* path = recording->find("critical_path"))
    chart.more["path"] = path->at("segments");
  chart.tables = {sums(*timeline, chart.more["lanes"], bars)};
  return chart;
}

}  // namespace trainyard
