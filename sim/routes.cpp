#include "sim/routes.hpp"

#include <fmt/format.h>

namespace trainyard {

Routes::Routes(const Cluster& cluster, const Topology& topology)
    : cluster_(cluster),
      topology_(topology),
      gpudirect_(cluster.gpudirect && cluster.transport->rdma() && cluster.server.nic.gpudirect),
      network_(costs_of("network")),
      storage_(costs_of("storage")) {}

std::vector<std::string> Routes::inactive() const {
  std::vector<std::string> reasons;
  if (cluster_.gpudirect && !cluster_.transport->rdma()) {
    reasons.push_back(
        fmt::format("gpudirect: the transport \"{}\" is not RDMA", cluster_.transport->kind()));
  } else if (cluster_.gpudirect && !cluster_.server.nic.gpudirect) {
    reasons.emplace_back("gpudirect: the NIC cannot reach GPU memory");
  }
  for (const auto& [name, service] : cluster_.services) {
    if (service.sees("network") && bypassed(service, "network") &&
        service.per_core > BytesPerSecond())
      reasons.push_back(fmt::format("service {}: RDMA bypasses the host cores it runs on", name));
  }
  return reasons;
}

// RDMA leaves out the host, and with it what its cores would do to each byte.
bool Routes::bypassed(const Service& service, std::string_view bytes) const {
  return service.on("host") && bytes == "network" && cluster_.transport->rdma();
}

std::vector<Routes::Cost> Routes::costs_of(std::string_view bytes) const {
  std::vector<Cost> costs;
  const auto add = [&](PerServer resource, double weight) {
    if (resource.valid()) costs.push_back({resource, weight});
  };
  for (const auto& [name, service] : cluster_.services) {
    if (!service.sees(bytes) || bypassed(service, bytes) || service.on("off")) continue;
    if (service.on("engine")) {
      add(topology_.engine(name), 1);
      continue;
    }
    const bool host = service.on("host");
    if (service.per_core > BytesPerSecond())
      add(host ? topology_.network_cores() : topology_.dpu_cores(), 1 / service.per_core.si());
    if (service.memory_passes > 0)
      add(host ? topology_.host_memory() : topology_.dpu_memory(), service.memory_passes);
  }
  return costs;
}

void Routes::pay(const std::vector<Cost>& costs, ServerId server, PathBuilder& path) {
  for (const Cost& cost : costs) path.use(cost.resource[server], cost.weight);
}

Seconds Routes::endpoint_latency() const {
  return 2 * cluster_.server.nic.latency + cluster_.transport->latency();
}

// A GPU that is not the NIC's own reaches it over NVLink and the GPU that is (PXN).
void Routes::send_side(Rank rank, int nic, PathBuilder& path, Bytes size) const {
  const ServerId server = topology_.server_of(rank);
  if (nic_of(rank) != nic) {
    path.use(topology_.nvlink_out(rank));
    path.use(topology_.nvlink_in(topology_.owner_of(server, nic)));
  }
  cluster_.transport->send(topology_, {server, nic, size}, gpudirect_, path);
  pay(network_, server, path);
}

void Routes::receive_side(Rank rank, int nic, PathBuilder& path, Bytes size) const {
  const ServerId server = topology_.server_of(rank);
  cluster_.transport->receive(topology_, {server, nic, size}, gpudirect_, path);
  pay(network_, server, path);
  if (nic_of(rank) != nic) {
    path.use(topology_.nvlink_out(topology_.owner_of(server, nic)));
    path.use(topology_.nvlink_in(rank));
  }
}

// A card that sends so many messages a second is busy with each for at least that long: in bytes of
// its port per byte of the message.
double Routes::port_time(ResourceId port, Bytes size) const {
  const double rate = cluster_.server.nic.message_rate;
  return rate > 0 && size > Bytes() ? topology_.capacity_of(port) / rate / size.si() : 0;
}

double Routes::wire_bytes(double efficiency) const {
  return 1 / (efficiency * cluster_.transport->efficiency());
}

FlowPath Routes::message(Rank from, Rank to, double efficiency, int nic, Bytes size) const {
  require(from != to, "a message from a rank to itself");
  PathBuilder path;
  if (same_server(from, to)) {
    path.use(topology_.nvlink_out(from), 1 / efficiency);
    path.use(topology_.nvlink_in(to), 1 / efficiency);
    path.delay(topology_.latency_of(topology_.nvlink_out(from)));
    return std::move(path).build();
  }
  if (nic < 0 && cluster_.pxn) nic = nic_of(to);
  const int from_nic = nic >= 0 ? nic : nic_of(from);
  const int to_nic = nic >= 0 ? nic : nic_of(to);
  send_side(from, from_nic, path, size);
  receive_side(to, to_nic, path, size);
  path.scale(1 / efficiency);
  const Route links = topology_.route(topology_.nic_node(topology_.server_of(from), from_nic),
                                      topology_.nic_node(topology_.server_of(to), to_nic));
  const double wire = wire_bytes(efficiency);
  for (const ResourceId link : links) {
    path.use(link, link == links[0] ? std::max(wire, port_time(link, size)) : wire);
    path.delay(topology_.latency_of(link));
  }
  path.delay(endpoint_latency());
  return std::move(path).build();
}

FlowPath Routes::storage(ServerId server, bool write, double cores) const {
  const StorageResources* all = topology_.storage();
  require(all != nullptr, "a storage path without storage");
  PathBuilder builder;
  builder.use(write ? all->drives_write : all->drives_read);
  builder.use(write ? all->targets_in : all->targets_out);
  if (all->ports_in.valid()) {
    builder.use((write ? all->ports_out : all->ports_in)[server]);
  } else {
    const int nics = topology_.nics_per_server();
    for (int n = 0; n < nics; ++n) {
      builder.use(write ? topology_.port_out(server, n) : topology_.port_in(server, n), 1.0 / nics);
    }
  }
  pay(storage_, server, builder);
  if (cores > 0) builder.use(topology_.network_cores(server), cores);
  FlowPath path = std::move(builder).build();
  const Storage& storage = *cluster_.storage;
  const BytesPerSecond limit = write ? storage.node_write_limit : storage.node_read_limit;
  if (limit > BytesPerSecond()) path.bound = limit;
  return path;
}

}  // namespace trainyard
