// The cluster of a scenario: servers, network, transport, collective library.
#pragma once

#include <map>
#include <memory>
#include <optional>
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

/// How a pipeline through the levels of a tree fills: before the last level has its first piece,
/// `share` of the buffer has passed the first one, but no more than `bytes`.
struct PipelineFill {
  Bytes bytes;
  double share = 0;
  void fields(Archive& ar);
};

/// A wire protocol of the collective library (NCCL's Simple, LL, LL128).
struct Protocol {
  Seconds base_latency;     ///< of a whole call: launching its kernels, the first synchronization
  Seconds intra_latency;    ///< one step between GPUs of a server, beyond the wire's own latency
  Seconds network_latency;  ///< one step between servers, beyond the wire's own latency
  /// The same of trees; where not given, as in rings.
  std::optional<Seconds> tree_intra_latency, tree_network_latency;
  double efficiency = 1;  ///< payload share of what it sends
  /// Bus bandwidth that it reaches at most, inside a server and between them; 0: without limit.
  BytesPerSecond intra_rate, network_rate;
  /// "additive": a step takes latency + chunk/bandwidth. "cut-through": max(chunk/bandwidth,
  /// latency + chunk/bandwidth/slices), because the slices of a chunk travel while the next is
  /// prepared.
  std::string law = "additive";
  PipelineFill tree_fill;  ///< of trees and of reductions in NVSwitch
  int slices = 0;          ///< of a chunk when cut through; 0: so many that only the latency counts
  void fields(Archive& ar);
};

/// Settings of the collective library.
struct CollectiveLibrary {
  static constexpr std::string_view kCatalog = "collective_library";
  std::string algorithm = "auto";  ///< a Collective plug-in, or auto: the least estimated time
  std::string protocol = "auto";   ///< a name in `protocols`, or auto
  std::map<std::string, Protocol> protocols;
  /// What auto takes: "fastest", the least closed form of all algorithms; "nccl", what NCCL's own
  /// cost model believes to be fastest of the algorithms that NCCL has.
  std::string choice = "fastest";
  int channels = 0;  ///< parallel rings; 0: one per NIC of a server
  int ctas = 0;  ///< thread blocks (NCCL's channels) of a kernel, over all NICs; 0: without limit
  BytesPerSecond cta_rate;  ///< that one of them sends between servers; 0: without limit
  /// Added to a ring's step between servers for each message beyond the first that a proxy thread
  /// has to post and to complete in it.
  Seconds proxy_latency;
  double tree_efficiency = 1;  ///< share of the network's rate that trees reach between servers
  Seconds nvls_latency;        ///< of a reduction and a broadcast in NVSwitch
  double nvls_tree_efficiency = 1;  ///< rate in NVSwitch beside the network / alone
  int chunks = 1;                   ///< pipeline depth of multi-level algorithms
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
  /// Messages between rails cross NVLink to the GPU beside the receiver's rail first, and stay on
  /// that rail (what NCCL calls PXN); else they leave by the sender's own NIC.
  bool pxn = false;
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
