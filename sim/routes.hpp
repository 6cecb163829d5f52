// What a message between two GPUs uses, computed in this one place.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "sim/cluster.hpp"
#include "sim/path.hpp"
#include "sim/topology.hpp"

namespace trainyard {

/// What each resource has, looked up when asked for: a topology has many more than are asked for.
class Capacities {
 public:
  /// `siblings`: equal users that divide what belongs to a whole server (host memory, cores, the
  /// DPU).
  Capacities(const Topology& topology, int siblings) : topology_(topology), siblings_(siblings) {}
  double operator[](std::size_t resource) const {
    const ResourceTraits& traits = topology_.traits_of(ResourceId(resource));
    return traits.of_server ? traits.capacity / siblings_ : traits.capacity;
  }
  std::size_t size() const { return topology_.resource_count(); }

 private:
  const Topology& topology_;
  int siblings_;
};

class Routes {
 public:
  Routes(const Cluster& cluster, const Topology& topology);

  /// The path of a message between two different ranks: NVLink inside a server; else what the
  /// transport takes at both ends, both NIC ports and the fabric. Its latency is the wire's, the
  /// NICs' and the transport's. `efficiency` is the payload share of what the protocol sends, which
  /// costs everywhere: an LL message of 1 byte is 2 on the wire, in memory and on PCIe.
  /// `nic` < 0: each rank's own NIC, or, with pxn, that of the receiver's rail on both; else that
  /// NIC on both servers, reached over NVLink when it belongs to another GPU (what NCCL calls PXN).
  /// `size`: of the messages that its bytes travel in, each of which costs by itself; 0: large.
  FlowPath message(Rank from, Rank to, double efficiency = 1, int nic = -1, Bytes size = {}) const;

  /// What a byte of payload is on each link of the fabric, with the headers of protocol and
  /// transport; at least 1.
  double wire_bytes(double efficiency) const;

  /// What one byte into (out of) the fabric takes on the server of a rank, NIC port excluded.
  void send_side(Rank rank, int nic, PathBuilder& path, Bytes size = {}) const;
  void receive_side(Rank rank, int nic, PathBuilder& path, Bytes size = {}) const;

  /// One byte between a server and storage: drives, targets' ports, the server's ports and the
  /// services that storage traffic passes through. `cores`: host-core seconds per byte beside (what
  /// preprocessing takes). Only with storage.
  FlowPath storage(ServerId server, bool write, double cores = 0) const;

  const Cluster& cluster() const { return cluster_; }
  const Topology& topology() const { return topology_; }
  /// By resource index, when `siblings` equal users divide what belongs to a whole server among
  /// them.
  Capacities capacities(int siblings = 1) const { return {topology_, siblings}; }
  bool gpudirect() const { return gpudirect_; }
  bool same_server(Rank a, Rank b) const {
    return topology_.server_of(a) == topology_.server_of(b);
  }
  int nic_of(Rank rank) const { return topology_.nic_of(rank); }
  /// Latency of a message over the fabric that the wires do not explain: NICs and transport.
  Seconds endpoint_latency() const;
  /// Features that were asked for and cannot act, each with its reason.
  std::vector<std::string> inactive() const;

 private:
  /// What a byte takes of one resource of its server.
  struct Cost {
    PerServer resource;
    double weight = 1;
  };
  /// What services take for each byte of "network" or "storage" on one end, in their order.
  std::vector<Cost> costs_of(std::string_view bytes) const;
  static void pay(const std::vector<Cost>& costs, ServerId server, PathBuilder& path);
  double port_time(ResourceId port, Bytes size) const;
  bool bypassed(const Service& service, std::string_view bytes) const;

  const Cluster& cluster_;
  const Topology& topology_;
  bool gpudirect_;
  std::vector<Cost> network_, storage_;
};

}  // namespace trainyard
