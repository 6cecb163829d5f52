#include <fmt/format.h>

#include <algorithm>

#include "reports/charts/charts.hpp"
#include "sim/units.hpp"

namespace trainyard {
namespace {

constexpr std::size_t kMostRows = 100;

// "ring (data, network)": names alone may be the same.
std::string label_of(const Json& label) {
  const std::string& role = label.at("role").as_string();
  const std::string& stream = label.at("stream").as_string();
  return fmt::format("{} ({})", label.at("name").as_string(),
                     role == stream ? role : stream + ", " + role);
}

std::string summary(const Json& recording, const Json& path) {
  constexpr std::size_t kNamed = 3;
  std::string text = fmt::format("The longest chain of operations takes {} in {} segments",
                                 show(Seconds::of(recording.at("end_s").as_number())),
                                 path.at("segments").items().size());
  const Json::Array& labels = path.at("labels").items();
  for (std::size_t i = 0; i < std::min(labels.size(), kNamed); ++i) {
    const Json& label = labels[i];
    text += fmt::format("{} {} is {:.1f}% of it", i == 0 ? ":" : ";", label_of(label),
                        100 * label.at("share").as_number());
    if (const Json& gain = label.at("gain_s"); gain.is_number())
      text += fmt::format(", and without it the run would end {} earlier",
                          show(Seconds::of(gain.as_number())));
  }
  std::vector<std::string> notes;
  for (const Json& note : path.at("notes").items()) notes.push_back(note.as_string());
  return text + "." + sentences(notes);
}

}  // namespace

std::optional<Chart> critical_chart(const Json& result) {
  const Json* recording = result.find("recording");
  const Json* path = recording != nullptr ? recording->find("critical_path") : nullptr;
  if (path == nullptr || path->at("labels").items().empty()) return {};
  Chart chart{
      "critical", "What the step hangs on", summary(*recording, *path), {}, {}, Json::object(), {}};
  chart.columns = {{"operation"},
                   {"time on the path", Form::kSeconds},
                   {"share", Form::kShare},
                   {"gain if it took no time", Form::kSeconds},
                   {"gain if it took 10% less", Form::kSeconds}};
  chart.most_rows = kMostRows;
  chart.more["roles"] = Json::array();
  for (const Json& label : path->at("labels").items()) {
    if (chart.rows.size() == kMostRows) break;
    chart.rows.push_back({Json(label_of(label)), label.at("time_s"), label.at("share"),
                          label.at("gain_s"), label.at("gain_10_percent_s")});
    chart.more["roles"].push_back(label.at("role"));
  }
  return chart;
}

}  // namespace trainyard
