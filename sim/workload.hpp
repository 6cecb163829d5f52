// What a job does: the plug-in interface of generators and importers.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "sim/engine.hpp"
#include "sim/json.hpp"
#include "sim/lowering.hpp"
#include "sim/measure.hpp"
#include "sim/training.hpp"

namespace trainyard {

/// Where a GPU stands in the layout of its job.
struct RankPlace {
  int stage = 0;    ///< of the pipeline
  int replica = 0;  ///< data-parallel
  int tensor = 0;   ///< among the ranks that split a layer
};

/// A GPU that was simulated.
struct RankTime {
  Rank rank;
  double stands_for = 1;  ///< GPUs that did exactly the same, itself included
  RankAccount account;
};

class Workload : public Plugin {
 public:
  static constexpr std::string_view kInterface = "workload";
  /// The folder that its file names are relative to; before check().
  virtual void set_folder(const std::string& /*folder*/) {}
  /// Faults of the workload on `gpus` GPUs of this cluster: thrown as DesignError (pointer relative
  /// to the workload) before anything is built. Layouts that do not divide, memory that does not
  /// fit …
  virtual void check(const Cluster& cluster, std::size_t gpus) const = 0;
  /// Adds the operations of one step. ranks[i] is where the job's i-th GPU stands.
  virtual void lower(Lowering& lowering, std::span<const Rank> ranks) = 0;
  /// Metrics and tables of the finished run, under the keys of docs/metrics.md.
  virtual Json measure(const Lowering& lowering, const Timeline& timeline) const = 0;
  /// Where the job's i-th GPU stands; after lower(). Where nothing divides a model, each GPU is a
  /// replica.
  virtual RankPlace place(std::size_t gpu) const { return {0, static_cast<int>(gpu), 0}; }
  /// Where the time of each GPU that was simulated went; none for a workload without kernels.
  virtual std::vector<RankTime> rank_times(const Lowering& /*lowering*/,
                                           const Timeline& /*timeline*/) const {
    return {};
  }
  /// What one iteration takes in and does; samples is 0 for a workload that is no training.
  virtual StepFacts facts() const { return {}; }
};

}  // namespace trainyard
