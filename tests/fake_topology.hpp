// Topologies for tests that need resources, not networks.
#pragma once

#include <stdexcept>
#include <vector>

#include "sim/topology.hpp"

namespace trainyard::testing {

/// Resources of given capacities in the order of add(), which no edge connects, and `ranks` ranks
/// on one server. It has no routes.
class FakeTopology : public Topology {
 public:
  explicit FakeTopology(const std::vector<double>& capacities = {}, int ranks = 1)
      : Topology(server_of(ranks, 1), 1) {
    for (const double capacity : capacities) add(capacity);
  }

  ResourceId add(double capacity, ResourceKind kind = ResourceKind::kLink) {
    resources_.push_back({kind, NodeId(), NodeId(), ServerId(), capacity, Seconds()});
    return ResourceId(resources_.size() - 1);
  }

  void route(NodeId, NodeId, std::vector<ResourceId>&) const override { refuse(); }
  const Switch& switch_at(NodeId) const override { refuse(); }
  AggregationTree aggregation_tree(std::span<const NodeId>, std::size_t) const override {
    refuse();
  }

 protected:
  FakeTopology(int servers, const Server& server) : Topology(server, servers) {}
  static Server server_of(int gpus, int nics) {
    Server server;
    server.gpus = gpus;
    server.nics = nics;
    return server;
  }
  [[noreturn]] static void refuse() { throw std::logic_error("a FakeTopology has no network"); }
};

/// Whole servers, with a fabric of one link from every NIC to every other.
class MeshTopology : public FakeTopology {
 public:
  static constexpr double kNvLink = 400e9, kPcie = 60e9, kFabric = 50e9;

  MeshTopology(int servers, int gpus, int nics) : FakeTopology(servers, server_with(gpus, nics)) {
    add_servers();
    for (int i = 0; i < servers * nics; ++i) {
      for (int j = 0; j < servers * nics; ++j) {
        if (i != j) fabric_.push_back(add_edge(ResourceKind::kLink, nic(i), nic(j), kFabric, {}));
      }
    }
  }

  void route(NodeId from, NodeId to, std::vector<ResourceId>& out) const override {
    for (const ResourceId link : fabric_) {
      if (resource(link).from == from && resource(link).to == to) out.push_back(link);
    }
  }

 private:
  static Server server_with(int gpus, int nics) {
    Server server = server_of(gpus, nics);
    server.nvlink.bandwidth = BytesPerSecond::of(kNvLink);
    server.nvlink.efficiency = 1;
    server.nic.pcie_bandwidth = BytesPerSecond::of(kPcie);
    server.host.memory_bandwidth = BytesPerSecond::of(200e9);
    return server;
  }
  NodeId nic(int i) const {
    return nic_node(ServerId(static_cast<std::size_t>(i / nics_per_server())),
                    i % nics_per_server());
  }
  std::vector<ResourceId> fabric_;
};

}  // namespace trainyard::testing
