// Recordings for tests: a small one written by hand, and those of scenarios.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "sim/run.hpp"
#include "tests/support_scenario.hpp"

namespace trainyard::testing {

inline Json small_recording() {
  return parse_json(R"({
    "end_s": 0.5, "notes": ["A sentence, \"quoted\"."],
    "timeline": {
      "lanes": [{"rank": 0, "stream": "compute", "stage": 0, "stands_for": 2},
                {"rank": 0, "stream": "pipeline", "stage": 0, "stands_for": 2}],
      "names": ["forward", "activations"],
      "roles": ["compute", "network", "nvlink", "storage", "host", "other"],
      "lane": [0, 1], "name": [0, 1], "role": [0, 1], "number": [3, 0],
      "start_s": [0.0, 0.30000000000000004], "duration_s": [0.1, 0.2], "bytes": [null, 1024.0],
      "bars": 2, "left_out": 5},
    "series": {"bin_s": 0.25, "bins": 2, "columns": [
      {"key": "gpu", "title": "GPU kernels", "resource": "GPU", "unit": "1", "values": [0.5, 1.0]},
      {"key": "nic_out", "title": "NICs", "resource": "NIC", "unit": "1", "values": [0.0, 0.1]}]},
    "links": [{"from": "=server0/nic0", "to": "switch1.0", "tier": 0, "direction": "up",
               "capacity_bytes_per_s": 5e10, "carried_bytes": 1024.0, "load": 4.096e-08}],
    "nodes": [{"name": "server0", "kind": "server", "tier": 0},
              {"name": "switch1.0", "kind": "switch", "tier": 1}],
    "links_left_out": 3,
    "accounts": [{"rank": 0, "stage": 0, "stands_for": 2, "compute_s": 0.1, "network_s": 0.2,
                  "nvlink_s": 0.0, "host_s": 0.0, "storage_s": 0.0, "bubble_s": 0.2}]
  })",
                    "by hand");
}

/// A scenario's result, and its recording.
struct RecordedRun {
  Json result, recording;
};

inline RecordedRun record(LoadedScenario loaded, const RecordingOptions& options = {}) {
  std::vector<LoadedScenario> all;
  all.push_back(std::move(loaded));
  std::vector<std::vector<ResultPart>> parts;
  Json result = run_scenarios(all, &parts, &options).front();
  return {std::move(result), take_recording(parts.front())};
}

inline RecordedRun record_file(const std::string& path, const std::vector<std::string>& sets,
                               const RecordingOptions& options = {}) {
  LoadOptions load;
  load.sets = sets;
  return record(
      load_scenario(std::string(TRAINYARD_SOURCE_DIR) + "/scenarios/" + path + ".json", load),
      options);
}

inline RecordedRun record_text(const std::string& text, const std::vector<std::string>& sets = {},
                               const RecordingOptions& options = {}) {
  LoadOptions load;
  load.sets = sets;
  return record(load_scenario_text(text, "test.json", load), options);
}

/// Messages [from, to, GB, begin in s] between servers of one GPU, without latency.
inline Json record_messages(int servers, const std::vector<std::array<double, 4>>& messages,
                            const RecordingOptions& options = {}) {
  std::vector<std::string> list;
  for (const auto& [from, to, size, at] : messages)
    list.push_back(fmt::format(R"({{"from": {}, "to": {}, "size": "{} GB", "at": "{} s"}})", from,
                               to, size, at));
  Ideal ideal;
  ideal.servers = servers;
  const std::string job =
      fmt::format(R"("jobs": [{{"workload": {{"kind": "traffic", "pattern": "list",
                   "list": [{}]}}}}])",
                  fmt::join(list, ","));
  return record_text(ideal_scenario(ideal, job), {}, options).recording;
}

inline std::vector<double> values_of(const Json& recording, const std::string& key) {
  std::vector<double> values;
  for (const Json& column : recording.at("series").at("columns").items()) {
    if (column.at("key") != Json(key)) continue;
    for (const Json& v : column.at("values").items()) values.push_back(v.as_number());
  }
  return values;
}
inline double mean_of(const Json& recording, const std::string& key) {
  double sum = 0;
  const std::vector<double> values = values_of(recording, key);
  for (const double v : values) sum += v;
  return sum / static_cast<double>(values.size());
}
inline std::vector<std::string> keys_of(const Json& recording) {
  std::vector<std::string> keys;
  for (const Json& column : recording.at("series").at("columns").items())
    keys.push_back(column.at("key").as_string());
  return keys;
}

struct Bar {
  std::int64_t rank;
  std::string stream, name;
  std::int64_t number;
  double start, finish;
};
inline std::vector<Bar> bars_of(const Json& recording) {
  const Json& t = recording.at("timeline");
  std::vector<Bar> bars;
  const auto at = [&](const char* key, std::size_t i) -> const Json& {
    return t.at(key).items()[i];
  };
  for (std::size_t i = 0; i < t.at("lane").items().size(); ++i) {
    const auto index = [&](const char* key) {
      return static_cast<std::size_t>(at(key, i).as_integer());
    };
    const Json& lane = t.at("lanes").items()[index("lane")];
    const double start = at("start_s", i).as_number();
    bars.push_back({lane.at("rank").as_integer(), lane.at("stream").as_string(),
                    t.at("names").items()[index("name")].as_string(), at("number", i).as_integer(),
                    start, start + at("duration_s", i).as_number()});
  }
  return bars;
}
inline std::vector<std::string> streams_of(const Json& recording) {
  std::vector<std::string> all;
  for (const Json& lane : recording.at("timeline").at("lanes").items())
    all.push_back(
        fmt::format("{} {}", lane.at("rank").as_integer(), lane.at("stream").as_string()));
  return all;
}
inline std::set<std::int64_t> ranks_of(const Json& recording) {
  std::set<std::int64_t> ranks;
  for (const Json& lane : recording.at("timeline").at("lanes").items())
    ranks.insert(lane.at("rank").as_integer());
  return ranks;
}

inline std::int64_t bars(const Json& r) { return r.at("timeline").at("bars").as_integer(); }
inline std::int64_t left_out(const Json& r) { return r.at("timeline").at("left_out").as_integer(); }

// Bars of a lane follow each other, in the order in which they stand.
inline void expect_no_overlap(const Json& recording) {
  const Json& t = recording.at("timeline");
  const auto& lane = t.at("lane").items();
  for (std::size_t i = 1; i < lane.size(); ++i) {
    ASSERT_LE(lane[i - 1].as_integer(), lane[i].as_integer());
    if (lane[i - 1] != lane[i]) continue;
    const double before =
        t.at("start_s").items()[i - 1].as_number() + t.at("duration_s").items()[i - 1].as_number();
    ASSERT_LE(before, t.at("start_s").items()[i].as_number()) << i;
  }
}

inline std::string notes_of(const Json& recording) { return dump_json(recording.at("notes"), -1); }

/// 128 GPUs: tensor 8, 8 stages, 2 replicas of 4 micro-batches.
const std::vector<std::string> kSmall{"cluster.servers=16", "jobs.0.workload.global_batch=8"};

}  // namespace trainyard::testing
