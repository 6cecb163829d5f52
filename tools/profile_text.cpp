// `run --profile`: where the simulations behind a result spent their time and memory.
#include <fmt/format.h>
#include <sys/resource.h>

#include "reports/text.hpp"
#include "sim/profile.hpp"
#include "sim/units.hpp"
#include "tools/commands.hpp"

namespace trainyard {
namespace {

std::string name_of(const ResultPart& part) {
  using Kind = ResultPart::Kind;
  switch (part.kind) {
    case Kind::kJobs:
      return "an iteration of the jobs";
    case Kind::kWrite:
      return fmt::format("checkpoint of job {} into storage", part.job);
    case Kind::kRead:
      return fmt::format("checkpoint of job {} from storage", part.job);
    case Kind::kRecording:
      return "an iteration of the jobs, recorded";
    case Kind::kDraining:
      return "an iteration beside a checkpoint";
    case Kind::kProbe:
      return "probe " + part.probe;
  }
  return {};
}

std::string part_text(const ResultPart& part) {
  const Json& profile = part.found.at("profile");
  std::vector<std::vector<std::string>> rows{{"stage", "wall", "CPU"}};
  for (const Json& stage : profile.at("stages").items()) {
    rows.push_back({stage.at("name").as_string(), show(Seconds::of(stage.at("wall_s").as_number())),
                    show(Seconds::of(stage.at("cpu_s").as_number()))});
  }
  for (const auto& [name, count] : profile.at("counts").members())
    rows.push_back({name, fmt::format("{:.0f}", count.as_number()), ""});
  rows.push_back({"peak memory", show(Bytes::of(profile.at("peak_memory_bytes").as_number())), ""});
  return name_of(part) + "\n" + aligned(rows);
}

}  // namespace

std::string profile_text(const std::vector<ResultPart>& parts) {
  std::string text;
  for (const ResultPart& part : parts) text += part_text(part);
  return text +
         fmt::format("whole command: {} of CPU, {} of it in the simulations' processes\n",
                     show(Seconds::of(cpu_seconds(RUSAGE_SELF) + cpu_seconds(RUSAGE_CHILDREN))),
                     show(Seconds::of(cpu_seconds(RUSAGE_CHILDREN))));
}

}  // namespace trainyard
