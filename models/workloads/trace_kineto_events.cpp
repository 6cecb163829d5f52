// Reads the events of a Kineto trace.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <utility>

#include "models/workloads/trace_kineto.hpp"

namespace trainyard::kineto {
namespace {

constexpr double kMostTime = 1e18;  // us: beyond, a double tells no two apart
constexpr std::int64_t kMostElements = std::int64_t{1} << 53;

std::string text_of(const Json* object, std::string_view key) {
  const Json* found = object == nullptr ? nullptr : object->find(key);
  return found != nullptr && found->is_string() ? found->as_string() : std::string();
}

std::string lower(std::string text) {
  for (char& c : text) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return text;
}

bool is_kernel(const std::string& category) {
  // The latter ones are those of profilers before 2022.
  constexpr std::array<std::string_view, 5> kAll{"kernel", "gpu_memcpy", "gpu_memset", "memcpy",
                                                 "memset"};
  return std::find(kAll.begin(), kAll.end(), category) != kAll.end();
}

std::optional<CallKind> call_kind(const std::string& name) {
  const auto has = [&](std::string_view part) { return name.find(part) != std::string::npos; };
  if (has("EventRecord")) return CallKind::kRecord;
  if (has("StreamWaitEvent")) return CallKind::kWait;
  if (has("StreamSynchronize") || has("EventSynchronize")) return CallKind::kSyncOne;
  if (has("DeviceSynchronize") || has("CtxSynchronize")) return CallKind::kSyncAll;
  if (has("Memcpy") && !has("Async")) return CallKind::kCopy;
  if (has("Launch") || has("Memcpy") || has("Memset")) return CallKind::kLaunch;
  return {};
}

}  // namespace

std::string place_of(std::uint64_t event, std::string_view name) {
  constexpr std::size_t kLongest = 60;
  std::string shown(name.substr(0, kLongest));
  for (char& c : shown) c = static_cast<unsigned char>(c) < ' ' ? '?' : c;
  if (name.size() > kLongest) shown += "...";
  return shown.empty() ? fmt::format("event {}", event)
                       : fmt::format("event {} ({})", event, shown);
}

std::string EventReader::place() const { return place_of(number_, name_); }

std::optional<std::int64_t> EventReader::whole(const Json* object, std::string_view key) {
  const Json* found = object == nullptr ? nullptr : object->find(key);
  if (found == nullptr || found->is_null()) return {};
  if (found->is_integer()) return found->as_integer();
  constexpr double kExact = 9007199254740992.0;
  if (found->is_number() && std::fabs(found->as_number()) <= kExact &&
      found->as_number() == std::floor(found->as_number()))
    return static_cast<std::int64_t>(found->as_number());
  if (found->is_string()) {
    const std::string& text = found->as_string();
    std::int64_t value = 0;
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (code == std::errc() && end == text.data() + text.size() && !text.empty()) return value;
  }
  builder_.fail(file_.name, place(), fmt::format("\"{}\" is no whole number", key),
                "is the file damaged?");
}

std::uint64_t EventReader::correlation(const Json* args, std::string_view key) {
  const std::int64_t value = whole(args, key).value_or(-1);
  return value < 0 ? kNoCorrelation : static_cast<std::uint64_t>(value);
}

std::int32_t EventReader::stream(const Json* args, std::string_view key) {
  const std::int64_t value = whole(args, key).value_or(-1);
  if (value > std::numeric_limits<std::int32_t>::max())
    builder_.fail(file_.name, place(),
                  fmt::format("\"{}\" {} is no number of a stream", key, value),
                  "is the file damaged?");
  return value < 0 ? -1 : static_cast<std::int32_t>(value);
}

void EventReader::event(const Json& event) {
  if (!event.is_object()) {
    name_.clear();
    builder_.fault(file_.name, place(), "is no object", "events that are no objects: left out");
  } else if (text_of(&event, "ph") == "X") {
    name_ = text_of(&event, "name");
    const std::string category = lower(text_of(&event, "cat"));
    const Json* args = event.find("args");
    if (is_kernel(category)) {
      kernel(event, args);
    } else if (category.ends_with("runtime") || category.ends_with("_driver")) {
      call(event, args);
    } else if (category == "cuda_sync") {
      cuda_sync(args);
    } else if (category == "cuda_event") {
      const std::uint64_t id = correlation(args);
      if (id != kNoCorrelation) file_.records[id] = stream(args, "stream");
    } else if (category == "cpu_op" && name_ == "record_param_comms" && args != nullptr) {
      const std::optional<std::int64_t> id = whole(args, "External id");
      if (id && args->find("Collective name") != nullptr) {
        file_.comm_of[*id] = static_cast<std::uint32_t>(file_.comms.size());
        file_.comms.push_back(comm(*args));
      }
    }
  }
  ++number_;
}

bool EventReader::times(const Json& event, double& start, double& end) {
  std::array<double, 2> values{};
  for (std::size_t i = 0; i < 2; ++i) {
    const char* key = i == 0 ? "ts" : "dur";
    const Json* found = event.find(key);
    if (found == nullptr || !found->is_number()) {
      builder_.fault(file_.name, place(), fmt::format("has no number as \"{}\"", key),
                     "events without \"ts\" or \"dur\": left out");
      return false;
    }
    values[i] = found->as_number();
    if (std::fabs(values[i]) > kMostTime || (i == 0 && values[i] < 0))
      builder_.fail(file_.name, place(), fmt::format("\"{}\" {} is no time", key, values[i]),
                    "times are microseconds from 0 on");
  }
  if (values[1] < 0) {
    builder_.fault(file_.name, place(), fmt::format("lasts {} us", values[1]),
                   "negative durations: taken as 0");
    values[1] = 0;
  }
  start = values[0];
  end = values[0] + values[1];
  return true;
}

void EventReader::kernel(const Json& event, const Json* args) {
  Kernel one;
  if (!times(event, one.start, one.end)) return;
  one.event = number_;
  one.name = builder_.name(name_);
  one.correlation = correlation(args);
  one.external = whole(args, "External id").value_or(-1);
  one.device = whole(args, "device").value_or(0);
  one.stream = stream(args, "stream");
  if (one.stream < 0 && event.find("tid") != nullptr && event.find("tid")->is_number())
    one.stream = stream(&event, "tid");
  if (one.stream < 0) {
    builder_.fault(file_.name, place(), "names no stream", "kernels without a stream: on stream 0");
    one.stream = 0;
  }
  const Json* bytes = args == nullptr ? nullptr : args->find("bytes");
  if (bytes != nullptr && bytes->is_number()) {
    one.bytes = bytes->as_number();
    if (one.bytes < 0)
      builder_.fail(file_.name, place(), fmt::format("\"bytes\" {} is no size", one.bytes),
                    "is the file damaged?");
  }
  const bool says = args != nullptr && args->find("Collective name") != nullptr;
  one.nccl = says || lower(name_.substr(0, 4)) == "nccl";
  if (says) {
    one.comm = static_cast<std::uint32_t>(file_.comms.size());
    file_.comms.push_back(comm(*args));
  }
  file_.kernels.push_back(one);
}

Comm EventReader::comm(const Json& args) {
  Comm one;
  one.operation = text_of(&args, "Collective name");
  one.dtype = text_of(&args, "dtype");
  one.group = text_of(&args, "Process Group Name");
  one.ranks = text_of(&args, "Process Group Ranks");
  const auto amount = [&](std::string_view key) {
    const std::optional<std::int64_t> value = whole(&args, key);
    if (value && (*value < 0 || *value > kMostElements))
      builder_.fail(file_.name, place(), fmt::format("\"{}\" {} is no amount", key, *value),
                    "is the file damaged?");
    return value;
  };
  one.in = amount("In msg nelems");
  one.out = amount("Out msg nelems");
  one.size = amount("Group size");
  one.rank = whole(&args, "Rank");
  const bool receives = one.operation.find("recv") != std::string::npos;
  one.peer = whole(&args, receives ? "Src Rank" : "Dst Rank");
  return one;
}

void EventReader::call(const Json& event, const Json* args) {
  const std::optional<CallKind> kind = call_kind(name_);
  if (!kind) return;
  Call one;
  if (!times(event, one.start, one.end)) return;
  one.kind = *kind;
  one.name = builder_.name(name_);
  one.correlation = correlation(args);
  const Json* thread = event.find("tid");
  const auto key = thread == nullptr ? std::string() : dump_json(*thread, -1);
  one.thread = threads_.try_emplace(key, static_cast<std::uint32_t>(threads_.size())).first->second;
  if (threads_.size() > kMostStreams)
    builder_.fail(file_.name, place(), fmt::format("is on thread {} of one process", kMostStreams),
                  "is \"tid\" the number of a thread?");
  file_.calls.push_back(one);
}

void EventReader::cuda_sync(const Json* args) {
  const std::uint64_t id = correlation(args);
  if (id == kNoCorrelation) return;
  file_.syncs[id] = {stream(args, "stream"), stream(args, "wait_on_stream"),
                     correlation(args, "wait_on_cuda_event_record_corr_id")};
}

void EventReader::member(const std::string& key, const Json& value) {
  Json& attributes = builder_.trace().attributes;
  if (key == "deviceProperties" && attributes.find(key) == nullptr) attributes[key] = value;
  if (key != "distributedInfo" || !value.is_object()) return;
  const auto number = [&](const Json& object, std::string_view name) -> std::size_t {
    const Json* found = object.find(name);
    if (found == nullptr) return TraceBuilder::kMostRanks + 1;
    const bool right = found->is_integer() && found->as_integer() >= 0 &&
                       found->as_integer() <= std::int64_t{TraceBuilder::kMostRanks};
    if (!right)
      builder_.fail(file_.name, "distributedInfo",
                    fmt::format("\"{}\" is no number of ranks", name), "is the file damaged?");
    return static_cast<std::size_t>(found->as_integer());
  };
  if (value.find("rank") != nullptr) file_.rank = number(value, "rank");
  if (value.find("world_size") != nullptr) file_.world = number(value, "world_size");
  const Json* groups = value.find("pg_config");
  if (groups == nullptr || !groups->is_array()) return;
  for (const Json& group : groups->items()) {
    const Json* ranks = group.find("ranks");
    const std::string name = text_of(&group, "pg_name");
    if (name.empty() || ranks == nullptr || !ranks->is_array()) continue;
    std::vector<std::uint32_t>& all = file_.groups[name];
    all.clear();
    for (const Json& rank : ranks->items()) {
      Json one = Json::object();
      one["ranks"] = rank;
      all.push_back(static_cast<std::uint32_t>(number(one, "ranks")));
    }
  }
}

}  // namespace trainyard::kineto
