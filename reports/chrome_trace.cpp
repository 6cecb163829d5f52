#include "reports/chrome_trace.hpp"

#include <fmt/format.h>

#include <array>
#include <map>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

namespace trainyard {
namespace {

// As torch's ProcessGroupNCCL names them; tools for its traces go by that.
std::string_view torch_name(std::string_view operation) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 4> kNames{
      {{"all_reduce", "allreduce"},
       {"all_gather", "_allgather_base"},
       {"reduce_scatter", "_reduce_scatter_base"},
       {"all_to_all", "all_to_all"}}};
  for (const auto& [ours, theirs] : kNames) {
    if (ours == operation) return theirs;
  }
  return operation;
}

std::string_view category_of(std::string_view role) {
  if (role == "host") return "cpu_op";
  return role == "storage" ? "gpu_memcpy" : "kernel";
}

std::size_t index_at(const Json& list, std::size_t i) {
  return static_cast<std::size_t>(list.items().at(i).as_integer());
}

class ChromeTrace {
 public:
  ChromeTrace(const Json& recording, const ChromeTraceOptions& options)
      : recording_(recording),
        timeline_(recording.at("timeline")),
        lanes_(timeline_.at("lanes").items()),
        options_(options) {}

  std::size_t write(const TextSink& sink) {
    choose();
    TraceEventWriter out(sink, members());
    std::set<std::size_t> named;
    for (std::size_t lane = 0; lane < lanes_.size(); ++lane) {
      if (!used_[lane]) continue;
      const std::size_t rank = rank_of(lane);
      if (named.insert(rank).second) out.process(rank, process_name(lane));
      out.track(rank, track_[lane], lanes_[lane].at("stream").as_string());
    }
    for (const std::size_t bar : bars_) write_bar(bar, out);
    out.finish();
    return bars_.size();
  }

 private:
  std::size_t rank_of(std::size_t lane) const {
    return static_cast<std::size_t>(lanes_[lane].at("rank").as_integer());
  }
  double number(const char* column, std::size_t bar) const {
    return timeline_.at(column).items().at(bar).as_number();
  }

  // The bars to write, and the tracks: the lanes of a rank are numbered from 0.
  void choose() {
    std::map<std::size_t, std::size_t> lanes_of;
    for (std::size_t lane = 0; lane < lanes_.size(); ++lane)
      track_.push_back(lanes_of[rank_of(lane)]++);
    used_.resize(lanes_.size());
    const std::size_t count = timeline_.at("lane").items().size();
    for (std::size_t bar = 0; bar < count && bars_.size() < options_.keep.bars; ++bar) {
      const std::size_t lane = index_at(timeline_.at("lane"), bar);
      const double start = number("start_s", bar);
      if (!options_.keep.wants(rank_of(lane)) || start >= options_.keep.to ||
          start + number("duration_s", bar) <= options_.keep.from)
        continue;
      used_[lane] = true;
      bars_.push_back(bar);
    }
  }

  Json members() const {
    Json all = Json::object();
    all["schemaVersion"] = Json(1);
    all["displayTimeUnit"] = Json("ms");
    all["notes"] = recording_.at("notes");
    std::set<std::size_t> ranks;
    for (std::size_t lane = 0; lane < lanes_.size(); ++lane) {
      if (used_[lane]) ranks.insert(rank_of(lane));
    }
    if (ranks.size() == 1) {
      Json info = Json::object();
      info["backend"] = Json("nccl");
      info["rank"] = Json(*ranks.begin());
      if (options_.world_size > 0) info["world_size"] = Json(options_.world_size);
      all["distributedInfo"] = std::move(info);
    }
    return all;
  }

  std::string process_name(std::size_t lane) const {
    const std::int64_t others = lanes_[lane].at("stands_for").as_integer();
    return fmt::format("rank {}{}", rank_of(lane),
                       others > 1 ? fmt::format(" (for {})", others) : "");
  }

  void write_bar(std::size_t bar, TraceEventWriter& out) const {
    const auto text = [&](const char* list, const char* column) -> const std::string& {
      return timeline_.at(list).items().at(index_at(timeline_.at(column), bar)).as_string();
    };
    const std::string& role = text("roles", "role");
    const std::size_t lane = index_at(timeline_.at("lane"), bar);
    std::string args =
        fmt::format(R"("number": {}, "role": "{}", "stream": {}, "correlation": {})",
                    index_at(timeline_.at("number"), bar), role, track_[lane], bar + 1);
    const Json& bytes = timeline_.at("bytes").items().at(bar);
    if (!bytes.is_null()) args += ", \"bytes\": " + dump_json(bytes, -1);
    args += call_of(bar);
    out.bar({category_of(role), text("names", "name"), rank_of(lane), track_[lane],
             number("start_s", bar), number("duration_s", bar)},
            args);
  }

  std::string call_of(std::size_t bar) const {
    const Json* calls = timeline_.find("calls");
    if (calls == nullptr || timeline_.at("call").items().at(bar).is_null()) return {};
    const Json& call = calls->items().at(index_at(timeline_.at("call"), bar));
    std::string text = ", \"Collective name\": ";
    append_json_text(torch_name(call.at("operation").as_string()), text);
    for (const auto& [theirs, ours] :
         {std::pair("Group size", "ranks"), std::pair("buffer bytes", "bytes"),
          std::pair("algorithm", "algorithm"), std::pair("protocol", "protocol")})
      text += fmt::format(R"(, "{}": {})", theirs, dump_json(call.at(ours), -1));
    return text;
  }

  const Json& recording_;
  const Json& timeline_;
  const Json::Array& lanes_;
  const ChromeTraceOptions& options_;
  std::vector<std::size_t> track_;  ///< by lane
  std::vector<bool> used_;          ///< by lane
  std::vector<std::size_t> bars_;   ///< of the recording, that are written
};

}  // namespace

std::size_t write_chrome_trace(const Json& recording, const ChromeTraceOptions& options,
                               const TextSink& sink) {
  return ChromeTrace(recording, options).write(sink);
}

std::string chrome_trace(const Json& recording, const ChromeTraceOptions& options) {
  std::string text;
  write_chrome_trace(recording, options, [&](const std::string& piece) { text += piece; });
  return text;
}

}  // namespace trainyard
