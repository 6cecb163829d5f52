// Where a simulation's own time and memory went: `run --profile`. Never part of a result.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sim/json.hpp"

namespace trainyard {

/// User and system time so far of RUSAGE_SELF or RUSAGE_CHILDREN, in seconds.
double cpu_seconds(int who);

/// Wall and CPU time of one process by stage, and what it counted.
class Profile {
 public:
  /// Ends the stage before, if any, and begins another.
  void stage(std::string_view name);
  void count(std::string_view name, double value);
  /// Ends the last stage. {"stages": [{"name", "wall_s", "cpu_s"}], "counts": {name: value},
  /// "peak_memory_bytes": most resident memory of this process so far}.
  Json finish();

 private:
  struct Stage {
    std::string name;
    double wall = 0, cpu = 0;  ///< at its beginning, then what it took
  };
  void end_stage();
  std::vector<Stage> stages_;
  bool running_ = false;
  Json counts_ = Json::object();
};

}  // namespace trainyard
