#include "sim/routes.hpp"

#include <fmt/format.h>

namespace trainyard {

Routes::Routes(const Cluster& cluster, const Topology& topology)
    : cluster_(cluster),
      topology_(topology),
      gpudirect_(cluster.gpudirect && cluster.transport->rdma() && cluster.server.nic.gpudirect) {}

const std::vector<double>& Routes::capacities(int siblings) const {
  const auto [it, is_new] = capacities_.try_emplace(siblings);
  if (is_new) {
    it->second = topology_.capacities();
    for (std::size_t i = 0; i < it->second.size(); ++i) {
      if (topology_.resources()[i].server.valid()) it->second[i] /= siblings;
    }
  }
  return it->second;
}

std::vector<std::string> Routes::inactive() const {
  std::vector<std::string> reasons;
  if (cluster_.gpudirect && !cluster_.transport->rdma()) {
    reasons.push_back(
        fmt::format("gpudirect: the transport \"{}\" is not RDMA", cluster_.transport->kind()));
  } else if (cluster_.gpudirect && !cluster_.server.nic.gpudirect) {
    reasons.emplace_back("gpudirect: the NIC cannot reach GPU memory");
  }
  return reasons;
}

Seconds Routes::endpoint_latency() const {
  return 2 * cluster_.server.nic.latency + cluster_.transport->latency();
}

// A GPU that is not the NIC's own reaches it over NVLink and the GPU that is (PXN).
void Routes::send_side(Rank rank, int nic, PathBuilder& path) const {
  const ServerId server = topology_.server_of(rank);
  if (nic_of(rank) != nic) {
    path.use(topology_.nvlink_out(rank));
    path.use(topology_.nvlink_in(topology_.owner_of(server, nic)));
  }
  cluster_.transport->send(topology_, {server, nic}, gpudirect_, path);
}

void Routes::receive_side(Rank rank, int nic, PathBuilder& path) const {
  const ServerId server = topology_.server_of(rank);
  cluster_.transport->receive(topology_, {server, nic}, gpudirect_, path);
  if (nic_of(rank) != nic) {
    path.use(topology_.nvlink_out(topology_.owner_of(server, nic)));
    path.use(topology_.nvlink_in(rank));
  }
}

FlowPath Routes::message(Rank from, Rank to, double efficiency, int nic) const {
  require(from != to, "a message from a rank to itself");
  PathBuilder path;
  if (same_server(from, to)) {
    path.use(topology_.nvlink_out(from), 1 / efficiency);
    path.use(topology_.nvlink_in(to), 1 / efficiency);
    path.delay(topology_.resource(topology_.nvlink_out(from)).latency);
    return std::move(path).build();
  }
  const int from_nic = nic >= 0 ? nic : nic_of(from);
  const int to_nic = nic >= 0 ? nic : nic_of(to);
  PathBuilder ends;
  send_side(from, from_nic, ends);
  receive_side(to, to_nic, ends);
  path.add(std::move(ends).build(), 1 / efficiency);
  std::vector<ResourceId> links;
  topology_.route(topology_.nic_node(topology_.server_of(from), from_nic),
                  topology_.nic_node(topology_.server_of(to), to_nic), links);
  const double wire = 1 / (efficiency * cluster_.transport->efficiency());
  for (const ResourceId link : links) {
    path.use(link, wire);
    path.delay(topology_.resource(link).latency);
  }
  path.delay(endpoint_latency());
  return std::move(path).build();
}

}  // namespace trainyard
