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
    return add_resources(1, {{kind, capacity, Seconds()}});
  }

  Route route(NodeId, NodeId) const override { refuse(); }
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
    const std::size_t others = this->nics() - 1;
    first_ = add_resources(this->nics() * others, {{ResourceKind::kLink, kFabric, Seconds()}},
                           [this, others](std::size_t i, std::size_t) {
                             const std::size_t from = i / others, to = i % others;
                             return Ends{nic(from), nic(to < from ? to : to + 1)};
                           });
  }

  Route route(NodeId from, NodeId to) const override {
    const std::size_t i = nic_index(from), j = nic_index(to);
    Route links;
    links.push_back(ResourceId(first_.index() + i * (nics() - 1) + (j < i ? j : j - 1)));
    return links;
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
  NodeId nic(std::size_t i) const {
    const auto per_server = static_cast<std::size_t>(nics_per_server());
    return nic_node(ServerId(i / per_server), static_cast<int>(i % per_server));
  }
  ResourceId first_;
};

}  // namespace trainyard::testing
