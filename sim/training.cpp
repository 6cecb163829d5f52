#include "sim/training.hpp"

#include <cmath>

namespace trainyard {

void CheckpointPlan::fields(Archive& ar) {
  ar("bytes_per_parameter", bytes_per_parameter, "size of a checkpoint (0: none are taken)",
     non_negative());
  ar.choice("mode", mode, {"synchronous", "asynchronous"},
            "GPUs wait until it is written, or only until it is in host memory");
  ar("writers", writers, "servers that write it, in equal parts (0: all of the job)",
     non_negative());
  ar("interval", interval, "time between checkpoints (0: Young's and Daly's optimum)",
     non_negative());
  ar("copy_rate", copy_rate, "asynchronous: rate of one GPU into host memory", non_negative());
  ar.check(mode == "synchronous" || copy_rate > BytesPerSecond(), "copy_rate",
           "is missing, and checkpoints are asynchronous", "like \"20 GB/s\"");
}

void DataPlan::fields(Archive& ar) {
  ar("sample", sample, "bytes read from storage per sample (0: none)", non_negative());
  ar("prefetch", prefetch, "iterations of data held ahead (0: loading is part of the step)",
     non_negative());
  ar("preprocess", preprocess, "host-core time per sample", non_negative());
  ar.choice("preprocessing", preprocessing, {"host", "appliance"},
            "whose cores preprocess: the servers', or infrastructure servers'");
}

void TrainingPlan::fields(Archive& ar) {
  ar("tokens", tokens, "tokens to train on", non_negative());
  ar("steps", steps, "iterations, instead of tokens", non_negative());
  ar("data", data, "training data");
  ar("checkpoint", checkpoint, "checkpoints");
  ar("seeds", seeds, "runs over which failures are averaged", between(1, 100000));
  ar.check(tokens == 0 || steps == 0, "tokens", "is given, and \"steps\" too", "give one of them");
  ar.check(tokens > 0 || steps > 0, "tokens", "is missing, and so is \"steps\"",
           "give one of them");
}

std::int64_t TrainingPlan::iterations(const StepFacts& facts) const {
  if (steps > 0) return steps;
  return static_cast<std::int64_t>(std::ceil(tokens / facts.tokens - 1e-9));
}

}  // namespace trainyard
