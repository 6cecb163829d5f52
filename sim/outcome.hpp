// From the simulated iteration of a job to days, watts and money.
#pragma once

#include "sim/equipment.hpp"
#include "sim/scenario.hpp"

namespace trainyard {

/// What was simulated of one job, in seconds.
struct JobParts {
  Json metrics;              ///< of one iteration, as its workload measured it
  Usage usage;               ///< of one iteration
  double load = 0;           ///< until the data of one iteration has arrived; 0: nothing is loaded
  double write = 0;          ///< one checkpoint, alone
  double read = 0;           ///< one checkpoint back into the servers
  double draining_step = 0;  ///< an iteration while a checkpoint is written beside it
  double drain = 0;          ///< and until that checkpoint is written
};

/// The metrics of the job: those of the iteration, and where the job trains and the cluster has a
/// site those of the whole run (docs/metrics.md). Ends with the tables "energy" and "cost".
Json job_metrics(const Scenario& scenario, const Topology& topology, const Job& job,
                 const JobParts& parts);

}  // namespace trainyard
