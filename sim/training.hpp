// A whole training run: how many iterations, their data, their checkpoints.
#pragma once

#include <cstdint>
#include <string>

#include "sim/archive.hpp"
#include "sim/units.hpp"

namespace trainyard {

/// What one iteration of a workload takes in and does, for the job around it.
struct StepFacts {
  double samples = 0;  ///< sequences, images …; 0: the workload counts none
  double tokens = 0;
  double parameters = 0;  ///< of the model, all ranks together
  Flops model_flops;      ///< without recomputation
};

struct CheckpointPlan {
  double bytes_per_parameter = 0;  ///< 0: no checkpoints
  std::string mode = "synchronous";
  int writers = 0;           ///< servers that write it; 0: all
  Seconds interval;          ///< 0: Young's and Daly's optimum
  BytesPerSecond copy_rate;  ///< asynchronous: per GPU, into host memory while the GPUs stand still
  void fields(Archive& ar);
};

struct DataPlan {
  Bytes sample;        ///< read from storage per sample
  int prefetch = 2;    ///< iterations of data held ahead; 0: loading is part of the step
  Seconds preprocess;  ///< host-core time per sample
  std::string preprocessing = "host";  ///< host | appliance: whose cores
  void fields(Archive& ar);
};

struct TrainingPlan {
  double tokens = 0;       ///< to train on; or
  std::int64_t steps = 0;  ///< iterations
  DataPlan data;
  CheckpointPlan checkpoint;
  int seeds = 16;  ///< runs of the Monte Carlo over failures, from engine.seed on
  void fields(Archive& ar);
  /// Iterations of a workload with these facts.
  std::int64_t iterations(const StepFacts& facts) const;
};

}  // namespace trainyard
