#include "sim/profile.hpp"

#include <sys/resource.h>

#include <chrono>

namespace trainyard {
namespace {

double wall_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
}

rusage usage_now() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage;
}

double cpu_now() {
  const rusage usage = usage_now();
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

}  // namespace

void Profile::end_stage() {
  if (!running_) return;
  Stage& last = stages_.back();
  last.wall = wall_now() - last.wall;
  last.cpu = cpu_now() - last.cpu;
  running_ = false;
}

void Profile::stage(std::string_view name) {
  end_stage();
  stages_.push_back({std::string(name), wall_now(), cpu_now()});
  running_ = true;
}

void Profile::count(std::string_view name, double value) { counts_[name] = Json(value); }

Json Profile::finish() {
  end_stage();
  Json out = Json::object();
  out["stages"] = Json::array();
  for (const Stage& stage : stages_) {
    Json one = Json::object();
    one["name"] = Json(stage.name);
    one["wall_s"] = Json(stage.wall);
    one["cpu_s"] = Json(stage.cpu);
    out["stages"].push_back(std::move(one));
  }
  out["counts"] = counts_;
  constexpr double kKilobyte = 1024;  // the unit of ru_maxrss on Linux
  out["peak_memory_bytes"] = Json(static_cast<double>(usage_now().ru_maxrss) * kKilobyte);
  return out;
}

}  // namespace trainyard
