// Everything in a cluster that draws power and costs money, counted.
#pragma once

#include <string>
#include <vector>

#include "sim/cluster.hpp"
#include "sim/usage.hpp"

namespace trainyard {

/// What a job does to the equipment, averaged over its training.
struct Activity {
  int servers = 0;             ///< of the job
  Usage usage;                 ///< of its iterations
  double data_rate = 0;        ///< bytes/s of training data, all servers
  double checkpoint_rate = 0;  ///< bytes/s while a checkpoint is written
};

/// Devices of one kind, with the power of one in each phase of a job.
struct Equipment {
  std::string name;
  bool in_server = false;  ///< stands in a training server
  double count = 0;
  Watts training, blocked, down;  ///< GPUs compute; wait for storage; the job does not run
  double price_usd = 0;           ///< of one
};

/// The equipment of a job: its servers, and its share (by servers) of network, storage and
/// appliances. Without powers or prices: throws DesignError naming device and field, with a pointer
/// relative to the cluster.
std::vector<Equipment> equipment(const Cluster& cluster, const Topology& topology,
                                 const Activity& activity);
/// The fault that equipment() would throw, if the cluster has a site.
void check_equipment(const Cluster& cluster, const Topology& topology);

/// Infrastructure servers that this load needs: ceil(share · load / what one carries).
double appliances_needed(const Appliance& appliance, double load);

}  // namespace trainyard
