// The cluster of a scenario: servers, network, transport, collective library.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "sim/archive.hpp"
#include "sim/devices.hpp"
#include "sim/kernel_time.hpp"
#include "sim/services.hpp"
#include "sim/site.hpp"
#include "sim/storage.hpp"
#include "sim/topology.hpp"
#include "sim/transport.hpp"

namespace trainyard {

/// A wire protocol of the collective library (NCCL's Simple, LL, LL128).
struct Protocol {
  Seconds intra_latency;    ///< one step between GPUs of a server, beyond the wire's own latency
  Seconds network_latency;  ///< one step between servers, beyond the wire's own latency
  double efficiency = 1;    ///< payload share of what it sends
  /// "additive": a step takes latency + chunk/bandwidth. "cut-through": max(latency,
  /// chunk/bandwidth), because chunks are cut into slices that travel while the next is prepared.
  std::string law = "additive";
  void fields(Archive& ar);
};

/// Settings of the collective library.
struct CollectiveLibrary {
  static constexpr std::string_view kCatalog = "collective_library";
  std::string algorithm = "auto";  ///< a Collective plug-in, or auto: the least estimated time
  std::string protocol = "auto";   ///< a name in `protocols`, or auto
  std::map<std::string, Protocol> protocols;
  int channels = 0;           ///< parallel rings; 0: one per NIC of a server
  int chunks = 1;             ///< pipeline depth of multi-level algorithms
  double slowdown = 0;        ///< sigma: share of a GPU's compute that a ring or tree kernel takes
  double sharp_slowdown = 0;  ///< the same for in-network reduction
  void fields(Archive& ar);
};

struct Cluster {
  int servers = 1;
  Server server;
  std::unique_ptr<TopologyPlugin> network;
  std::unique_ptr<Transport> transport;
  bool gpudirect = false;
  CollectiveLibrary collectives;
  std::unique_ptr<KernelTime> kernels;
  Services services;
  std::optional<Storage> storage;
  std::map<std::string, Appliance> appliances;
  std::optional<Reliability> reliability;
  std::optional<Site> site;
  /// Time of a kernel on the slowest GPU relative to the typical one: synchronous training goes at
  /// its pace.
  double slowest_gpu = 1;
  ServerLoad load() const { return load_of(server, services); }
  /// The GPU as its host lets it run: launches are stretched where services want more cores than
  /// there are.
  Gpu loaded_gpu() const;
  int gpus() const { return servers * server.gpus; }
  void fields(Archive& ar);
};

/// Throws DesignError when servers have no way to the storage. Pointers are relative to the
/// cluster.
void check_storage(const Cluster& cluster);

}  // namespace trainyard
