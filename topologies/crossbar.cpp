// One ideal switch with as many ports as there are NICs: the network that a closed form assumes.
//
// Counts: 1 switch, N links. Bisection: N/2 · port rate.
#include "sim/topology.hpp"

namespace trainyard {
namespace {

class Crossbar final : public Topology {
 public:
  Crossbar(const Server& server, int servers, const Switch& device, Seconds link_latency)
      : Topology(server, servers), device_(device), link_latency_(link_latency) {
    add_servers();
    hub_ = add_switches(1, 1);
    const double rate = std::min(device.rate.si(), (server.nic.rate * server.nic.efficiency).si());
    add_ports(rate, link_latency + device.latency, link_latency,
              [hub = hub_](std::size_t) { return hub; });
  }

  bool rails_alike() const override { return true; }

  Route route(NodeId from, NodeId to) const override {
    Route links;
    links.push_back(ports().up(nic_index(from)));
    links.push_back(ports().down(nic_index(to)));
    return links;
  }

  const Switch& switch_at(NodeId) const override { return device_; }

  AggregationTree aggregation_tree(std::span<const NodeId> nics,
                                   std::size_t /*spread*/) const override {
    AggregationTree tree;
    tree.edges.reserve(nics.size());
    for (const NodeId nic : nics) {
      const std::size_t i = nic_index(nic);
      tree.edges.push_back({ports().up(i), ports().down(i), 0, 1});
    }
    tree.switches = {hub_};
    tree.depth = 1;
    tree.widest = static_cast<int>(nics.size());
    tree.latency = 2 * link_latency_ + device_.latency;
    return tree;
  }

 private:
  Switch device_;
  Seconds link_latency_;
  NodeId hub_;
};

class CrossbarPlugin : public TopologyPlugin {
 public:
  void fields(Archive& ar) override {
    ar.required("switch", device_, "the switch; its port count is not a limit here");
    ar("link_latency", link_latency_, "one cable", non_negative());
  }
  std::unique_ptr<Topology> build(const Server& server, int servers) const override {
    return std::make_unique<Crossbar>(server, servers, device_, link_latency_);
  }

 private:
  Switch device_;
  Seconds link_latency_;
};

const Registration<TopologyPlugin, CrossbarPlugin> registered{
    "crossbar", "one ideal switch: every NIC has its own port, nothing else is shared"};

}  // namespace
}  // namespace trainyard
