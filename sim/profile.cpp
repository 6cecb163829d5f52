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

rusage usage_of(int who) {
  rusage usage{};
  getrusage(who, &usage);
  return usage;
}

}  // namespace

double cpu_seconds(int who) {
  const rusage usage = usage_of(who);
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

void Profile::end_stage() {
  if (!running_) return;
  Stage& last = stages_.back();
  last.wall = wall_now() - last.wall;
  last.cpu = cpu_seconds(RUSAGE_SELF) - last.cpu;
  running_ = false;
}

void Profile::stage(std::string_view name) {
  end_stage();
  stages_.push_back({std::string(name), wall_now(), cpu_seconds(RUSAGE_SELF)});
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
  out["peak_memory_bytes"] = Json(static_cast<double>(usage_of(RUSAGE_SELF).ru_maxrss) * kKilobyte);
  return out;
}

}  // namespace trainyard
