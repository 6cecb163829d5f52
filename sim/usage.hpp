// What a run took of the servers and the network, averaged over its time: cores, ports, traffic.
#pragma once

#include "sim/cluster.hpp"
#include "sim/json.hpp"
#include "sim/lowering.hpp"
#include "sim/timeline.hpp"

namespace trainyard {

/// Means over the servers of one job and the seconds from 0 to `end`.
struct Usage {
  double gpu_active = 0;       ///< share of the time in which a GPU runs kernels, NVLink's too
  double network_cores = 0;    ///< host cores busy with bytes between servers
  double storage_cores = 0;    ///< host cores busy with bytes from or to storage
  double polling_cores = 0;    ///< host cores that spin because a network operation is open
  double open_share = 0;       ///< share of the time in which one of the server's is open
  double dpu_cores = 0;        ///< busy cores of the DPUs, in host cores
  double nic_load = 0;         ///< of a NIC's port, the busier direction
  double storage_load = 0;     ///< of the server's storage ports, the busier direction
  double fabric_load = 0;      ///< of all fabric links of the cluster, NIC ports included
  double sent_per_second = 0;  ///< bytes/s of one server into the fabric
};

/// `servers`: those of the job.
Usage usage_of(const Lowering& lowering, const Timeline& timeline, ServerId first, int servers,
               double end);
Json usage_to_json(const Usage& usage);
Usage usage_from_json(const Json& json);

}  // namespace trainyard
