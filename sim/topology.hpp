// The cluster as a graph: GPUs, NVSwitches, NICs and switches, and the resources that flows share.
//
// A Topology is built once per run by a topology plug-in and is immutable afterwards. Every edge is
// a Resource; servers also have resources that are no edges (host memory, cores). Routes are
// computed when asked for and never stored per pair.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sim/archive.hpp"
#include "sim/devices.hpp"
#include "sim/ids.hpp"
#include "sim/units.hpp"

namespace trainyard {

enum class NodeKind : std::uint8_t { kGpu, kNvSwitch, kNic, kSwitch };
enum class ResourceKind : std::uint8_t {
  kLink,          ///< fabric link, NIC port included; bytes/s
  kNvLink,        ///< GPU to NVSwitch or back; bytes/s
  kPcie,          ///< GPU to NIC or back; bytes/s
  kHostMemory,    ///< bytes/s, all passes together
  kNetworkCores,  ///< core-seconds per second
  kDpuCores,      ///< core-seconds per second
  kDpuMemory,     ///< bytes/s
  kDrive,         ///< bytes/s
  kEngine,        ///< fixed function of a service on one server; bytes/s
  kStoragePort,   ///< a server's ports into a storage network of its own; bytes/s
  kStorage,       ///< all storage targets together: drives, or their ports; bytes/s
};

struct TopologyNode {
  NodeKind kind = NodeKind::kGpu;
  std::uint8_t tier = 0;    ///< switches: 1 = leaf
  std::uint32_t index = 0;  ///< among its kind (and tier)
};

struct Resource {
  ResourceKind kind = ResourceKind::kLink;
  NodeId from, to;      ///< the edge; only valid for edges
  ServerId server;      ///< owner; only valid for server resources
  double capacity = 0;  ///< in SI units of its kind, per second
  Seconds latency;      ///< of one traversal
};

/// One link pair of a reduction tree.
struct TreeEdge {
  ResourceId up, down;
  int level = 0;   ///< 0: NIC to leaf switch
  int leaves = 1;  ///< members of the group below this edge
};

/// A tree of switches that reduces over a set of NICs.
struct AggregationTree {
  std::vector<TreeEdge> edges;
  std::vector<NodeId> switches;  ///< every switch that aggregates, leaf to root
  int depth = 0;                 ///< levels of switches, at least 1
  int widest = 0;                ///< most children of one switch
  Seconds latency;               ///< up and down again: links and switch traversals, no aggregation
};

struct TopologyGraph;
struct ServerLoad;
struct Service;
struct Storage;

/// What one byte from or to storage uses on the way, beside services.
struct StorageResources {
  ResourceId drives_read, drives_write;         ///< drives and file system
  ResourceId targets_out, targets_in;           ///< the targets' ports
  std::vector<ResourceId> ports_in, ports_out;  ///< by server; empty on the GPUs' fabric
};

class Topology {
 public:
  Topology(const Server& server, int servers);
  virtual ~Topology();
  Topology(const Topology&) = delete;
  Topology& operator=(const Topology&) = delete;

  /// The Boost graph, for algorithms over it (sim/topology_graph.hpp).
  const TopologyGraph& graph() const { return *graph_; }
  const TopologyNode& node(NodeId id) const { return nodes_[id.index()]; }
  const std::vector<Resource>& resources() const { return resources_; }
  const Resource& resource(ResourceId id) const { return resources_[id.index()]; }
  /// "server3/gpu5 -> nvswitch3", "server3 host memory": for messages and reports.
  std::string resource_name(ResourceId id) const;
  std::string node_name(NodeId id) const;

  int servers() const { return servers_; }
  int gpus_per_server() const { return server_.gpus; }
  int nics_per_server() const { return server_.nics; }
  std::size_t ranks() const {
    return static_cast<std::size_t>(servers_) * static_cast<std::size_t>(server_.gpus);
  }
  ServerId server_of(Rank r) const {
    return ServerId(r.index() / static_cast<std::size_t>(server_.gpus));
  }
  int local_of(Rank r) const {
    return static_cast<int>(r.index() % static_cast<std::size_t>(server_.gpus));
  }

  /// The NIC (of its server) that a rank sends through, and the rank that a NIC hangs beside.
  int nic_of(Rank r) const { return server_.nic_of(local_of(r)); }
  Rank owner_of(ServerId s, int nic) const {
    return Rank(s.index() * static_cast<std::size_t>(server_.gpus) +
                static_cast<std::size_t>(server_.gpu_of(nic)));
  }
  /// By resource index.
  std::vector<double> capacities() const;

  ResourceId nvlink_out(Rank r) const { return nvlink_out_[r.index()]; }
  ResourceId nvlink_in(Rank r) const { return nvlink_in_[r.index()]; }
  ResourceId pcie_tx(ServerId s, int nic) const { return pcie_tx_[nic_index(s, nic)]; }
  ResourceId pcie_rx(ServerId s, int nic) const { return pcie_rx_[nic_index(s, nic)]; }
  ResourceId host_memory(ServerId s) const { return host_memory_[s.index()]; }
  ResourceId network_cores(ServerId s) const { return network_cores_[s.index()]; }
  /// Invalid ids when the server has no DPU.
  ResourceId dpu_cores(ServerId s) const {
    return dpu_cores_.empty() ? ResourceId() : dpu_cores_[s.index()];
  }
  ResourceId dpu_memory(ServerId s) const {
    return dpu_memory_.empty() ? ResourceId() : dpu_memory_[s.index()];
  }
  /// The engine of a service by its name on a server; invalid where it has none.
  ResourceId engine(const std::string& service, ServerId s) const;
  /// Null without storage.
  const StorageResources* storage() const { return storage_ ? &*storage_ : nullptr; }
  /// The fabric link out of (into) a NIC.
  ResourceId port_out(ServerId s, int nic) const { return port_out_[nic_index(s, nic)]; }
  ResourceId port_in(ServerId s, int nic) const { return port_in_[nic_index(s, nic)]; }
  NodeId nic_node(ServerId s, int nic) const { return nics_[nic_index(s, nic)]; }

  /// The fabric links from one NIC's port to another's, in order. The two differ. Appends to `out`.
  virtual void route(NodeId from_nic, NodeId to_nic, std::vector<ResourceId>& out) const = 0;
  /// The switch device at a node. Only for nodes of kind kSwitch.
  virtual const Switch& switch_at(NodeId node) const = 0;
  /// A reduction tree over these NICs (distinct, at least one), spread over roots by `spread`.
  virtual AggregationTree aggregation_tree(std::span<const NodeId> nics,
                                           std::size_t spread) const = 0;

  /// Counts for reports: switches and fabric link pairs.
  std::size_t nodes() const { return nodes_.size(); }
  std::size_t switches() const { return switches_; }
  std::size_t fabric_links() const { return fabric_links_ / 2; }

  // Building, by topology plug-ins only.
  NodeId add_node(TopologyNode node);
  /// A one-way edge.
  ResourceId add_edge(ResourceKind kind, NodeId from, NodeId to, double capacity, Seconds latency);
  /// GPUs, NVSwitches, NICs and server resources of every server.
  void add_servers();

  // Furnishing, once after building.
  /// Cores that services leave to the bytes, and the engines of those that have a rate.
  void add_services(const ServerLoad& load, const std::map<std::string, Service>& services);
  void add_storage(const Storage& storage);

 protected:
  std::vector<Resource> resources_;

 private:
  std::size_t nic_index(ServerId s, int nic) const {
    return s.index() * static_cast<std::size_t>(server_.nics) + static_cast<std::size_t>(nic);
  }
  ResourceId add_server_resource(ResourceKind kind, ServerId server, double capacity);

  std::unique_ptr<TopologyGraph> graph_;
  std::vector<TopologyNode> nodes_;
  Server server_;
  int servers_;
  std::vector<ResourceId> nvlink_out_, nvlink_in_, pcie_tx_, pcie_rx_;
  std::vector<ResourceId> host_memory_, network_cores_, dpu_cores_, dpu_memory_;
  std::vector<ResourceId> port_out_, port_in_;
  std::map<std::string, std::vector<ResourceId>> engines_;
  std::optional<StorageResources> storage_;
  std::vector<NodeId> nics_;
  std::size_t switches_ = 0, fabric_links_ = 0;
};

/// The plug-in interface: reads its parameters and builds the graph.
class TopologyPlugin : public Plugin {
 public:
  static constexpr std::string_view kInterface = "topology";
  /// Throws DesignError when the numbers do not fit together (too few ports …).
  virtual std::unique_ptr<Topology> build(const Server& server, int servers) const = 0;
};

}  // namespace trainyard
