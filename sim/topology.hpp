// The cluster as a graph: GPUs, NVSwitches, NICs and switches, and the resources that flows share.
//
// A Topology is built once per run by a topology plug-in and is immutable afterwards. Every edge is
// a Resource; servers also have resources that are no edges (host memory, cores). Nothing is stored
// per GPU, per node, per resource or per pair: nodes and resources are numbered in blocks, and what
// they are, where edges lead and how routes go follows from the numbers.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sim/archive.hpp"
#include "sim/devices.hpp"
#include "sim/error.hpp"
#include "sim/ids.hpp"
#include "sim/topology_blocks.hpp"
#include "sim/units.hpp"

namespace trainyard {

enum class NodeKind : std::uint8_t { kGpu, kNvSwitch, kNic, kSwitch };

struct TopologyNode {
  NodeKind kind = NodeKind::kGpu;
  std::uint8_t tier = 0;    ///< switches: 1 = leaf
  std::uint32_t index = 0;  ///< among its kind (and tier)
};

/// The links of one way through the fabric, in order. Takes no memory of its own, since every
/// message asks for one.
class Route {
 public:
  static constexpr std::size_t kMost = 8;  ///< links; a fat tree of three tiers has 6
  void push_back(ResourceId link) {
    require(size_ < kMost, "a route of too many links");
    links_[size_++] = link;
  }
  std::size_t size() const { return size_; }
  ResourceId operator[](std::size_t i) const { return links_[i]; }
  const ResourceId* begin() const { return links_.data(); }
  const ResourceId* end() const { return links_.data() + size_; }

 private:
  std::array<ResourceId, kMost> links_;
  std::size_t size_ = 0;
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

struct ServerLoad;
struct Service;
struct Storage;

/// What one byte from or to storage uses on the way, beside services.
struct StorageResources {
  ResourceId drives_read, drives_write;  ///< drives and file system
  ResourceId targets_out, targets_in;    ///< the targets' ports
  PerServer ports_in, ports_out;         ///< of each server; not valid on the GPUs' fabric
};

class Topology {
 public:
  Topology(const Server& server, int servers);
  virtual ~Topology();
  Topology(const Topology&) = delete;
  Topology& operator=(const Topology&) = delete;

  /// Nodes are numbered server by server, then switches tier by tier.
  TopologyNode node(NodeId id) const;
  /// "server3/gpu5 -> server3/nvswitch", "server3 host memory": for messages and reports.
  std::string resource_name(ResourceId id) const;
  std::string node_name(NodeId id) const;

  /// All about a resource, its ends too. The accessors below it are cheaper.
  Resource resource(ResourceId id) const { return resources_.resource(id); }
  const ResourceTraits& traits_of(ResourceId id) const { return resources_.traits(id); }
  ResourceKind kind_of(ResourceId id) const { return resources_.traits(id).kind; }
  /// In SI units of its kind, per second.
  double capacity_of(ResourceId id) const { return resources_.traits(id).capacity; }
  /// Of one traversal.
  Seconds latency_of(ResourceId id) const { return resources_.traits(id).latency; }
  /// The owner of host memory, cores and the like; invalid for edges and for what servers share.
  ServerId server_of_resource(ResourceId id) const { return resources_.server_of(id); }
  /// Calls body(ResourceId, const ResourceTraits&) for every resource, in the order of ids.
  template <class Body>
  void each_resource(Body&& body) const {
    resources_.each(std::forward<Body>(body));
  }

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

  /// GPU to NVSwitch, and back.
  ResourceId nvlink_out(Rank r) const { return nvlink(r, 0); }
  ResourceId nvlink_in(Rank r) const { return nvlink(r, 1); }
  /// GPU to NIC, and back.
  ResourceId pcie_tx(ServerId s, int nic) const { return pcie(s, nic, 0); }
  ResourceId pcie_rx(ServerId s, int nic) const { return pcie(s, nic, 1); }
  PerServer host_memory() const { return host_memory_; }
  PerServer network_cores() const { return network_cores_; }
  /// Not valid when the servers have no DPU.
  PerServer dpu_cores() const { return dpu_cores_; }
  PerServer dpu_memory() const { return dpu_memory_; }
  ResourceId host_memory(ServerId s) const { return host_memory_[s]; }
  ResourceId network_cores(ServerId s) const { return network_cores_[s]; }
  ResourceId dpu_cores(ServerId s) const { return dpu_cores_[s]; }
  ResourceId dpu_memory(ServerId s) const { return dpu_memory_[s]; }
  /// The engine of a service by its name; not valid where it has none.
  PerServer engine(const std::string& service) const;
  /// Null without storage.
  const StorageResources* storage() const { return storage_ ? &*storage_ : nullptr; }
  /// The fabric link out of (into) a NIC; invalid when there is no fabric.
  ResourceId port_out(ServerId s, int nic) const {
    return ports_.valid() ? ports_.up(nic_index(s, nic)) : ResourceId();
  }
  ResourceId port_in(ServerId s, int nic) const {
    return ports_.valid() ? ports_.down(nic_index(s, nic)) : ResourceId();
  }
  NodeId nic_node(ServerId s, int nic) const {
    return NodeId(s.index() * nodes_per_server() + 1 + static_cast<std::size_t>(server_.gpus) +
                  static_cast<std::size_t>(nic));
  }

  /// The fabric links from one NIC's port to another's. The two differ.
  virtual Route route(NodeId from_nic, NodeId to_nic) const = 0;
  /// Whether NICs of one number see the network as NICs of any other number do: messages between
  /// NICs of different numbers aside, their routes take links that no other number's take, and the
  /// same ones up to names. A promise that tests hold the topology to.
  virtual bool rails_alike() const { return false; }
  /// The switch device at a node. Only for nodes of kind kSwitch.
  virtual const Switch& switch_at(NodeId node) const = 0;
  /// A reduction tree over these NICs (distinct, at least one), spread over roots by `spread`.
  virtual AggregationTree aggregation_tree(std::span<const NodeId> nics,
                                           std::size_t spread) const = 0;

  /// What all resources of a kind have together.
  double capacity_of_all(ResourceKind kind) const { return resources_.capacity_of_all(kind); }
  /// Counts: nodes, resources, and for reports switches and fabric link pairs.
  std::size_t nodes() const { return server_nodes_ + switches_; }
  std::size_t resource_count() const { return resources_.size(); }
  std::size_t switches() const { return switches_; }
  std::size_t fabric_links() const { return fabric_links_ / 2; }
  /// Invalid when there is none.
  NodeId first_switch() const { return switches_ > 0 ? NodeId(server_nodes_) : NodeId(); }

  // Building, by topology plug-ins only: servers first. All of them throw DesignError when there
  // is more than ids can number.
  /// GPUs, NVSwitches, NICs and server resources of every server.
  void add_servers();
  /// Switches of a tier, numbered from the returned id on.
  NodeId add_switches(int tier, std::size_t count);
  /// `repetitions` times the resources of a pattern; returns the id of the first.
  ResourceId add_resources(std::size_t repetitions, std::vector<ResourceTraits> pattern,
                           ResourceBlocks::EndsRule ends = {});
  /// Pairs of links; `ends` gives the lower and the upper node of a pair by its number.
  LinkPairs add_links(std::size_t pairs, double capacity, Seconds up_latency, Seconds down_latency,
                      std::function<Ends(std::size_t pair)> ends);
  /// A pair of links for every NIC, server by server, to the switch that `at` gives by the number
  /// of the NIC.
  void add_ports(double capacity, Seconds up_latency, Seconds down_latency,
                 std::function<NodeId(std::size_t nic)> at);

  // Furnishing, once after building.
  /// Cores that services leave to the bytes, and the engines of those that have a rate.
  void add_services(const ServerLoad& load, const std::map<std::string, Service>& services);
  void add_storage(const Storage& storage);

 protected:
  /// Where a NIC is: its server and its number there.
  struct NicPlace {
    std::uint32_t server, nic;
  };
  NicPlace nic_place(NodeId nic_node) const {
    const auto id = static_cast<std::uint32_t>(nic_node.index());
    const auto period = static_cast<std::uint32_t>(nodes_per_server());
    return {id / period, id % period - 1 - static_cast<std::uint32_t>(server_.gpus)};
  }
  std::size_t nic_index(NodeId nic_node) const {
    const NicPlace at = nic_place(nic_node);
    return nic_index(ServerId(at.server), static_cast<int>(at.nic));
  }
  std::size_t nics() const {
    return static_cast<std::size_t>(servers_) * static_cast<std::size_t>(server_.nics);
  }
  const LinkPairs& ports() const { return ports_; }  ///< by number of the NIC

 private:
  struct Tier {
    std::size_t first = 0;  ///< node
    std::uint8_t number = 0;
  };
  /// A server's nodes: NVSwitch, GPUs, NICs.
  std::size_t nodes_per_server() const {
    return 1 + static_cast<std::size_t>(server_.gpus) + static_cast<std::size_t>(server_.nics);
  }
  std::size_t nic_index(ServerId s, int nic) const {
    return s.index() * static_cast<std::size_t>(server_.nics) + static_cast<std::size_t>(nic);
  }
  // A server's resources: NVLink pairs, PCIe pairs, then the others.
  ResourceId nvlink(Rank r, std::size_t way) const {
    const auto rank = static_cast<std::uint32_t>(r.index());
    const auto gpus = static_cast<std::uint32_t>(server_.gpus);
    return ResourceId(first_of_server_ + rank / gpus * per_server_ + 2 * (rank % gpus) + way);
  }
  ResourceId pcie(ServerId s, int nic, std::size_t way) const {
    return ResourceId(first_of_server_ + s.index() * per_server_ +
                      2 * static_cast<std::size_t>(server_.gpus + nic) + way);
  }
  std::vector<ResourceTraits> server_pattern() const;
  Ends server_ends(std::size_t server, std::size_t place) const;

  Server server_;
  int servers_;
  ResourceBlocks resources_;
  std::vector<Tier> tiers_;
  std::size_t server_nodes_ = 0, switches_ = 0, fabric_links_ = 0;
  std::size_t first_of_server_ = 0, per_server_ = 0;  ///< resources
  PerServer host_memory_, network_cores_, dpu_cores_, dpu_memory_;
  std::map<std::string, PerServer> engines_;
  std::optional<StorageResources> storage_;
  LinkPairs ports_;
};

/// The plug-in interface: reads its parameters and builds the graph.
class TopologyPlugin : public Plugin {
 public:
  static constexpr std::string_view kInterface = "topology";
  /// Throws DesignError when the numbers do not fit together (too few ports …).
  virtual std::unique_ptr<Topology> build(const Server& server, int servers) const = 0;
};

}  // namespace trainyard
