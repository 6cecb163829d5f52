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

void Routes::serve(ServerId server, std::string_view bytes, PathBuilder& path) const {
  for (const auto& [name, service] : cluster_.services) {
    if (!service.sees(bytes) || bypassed(service, bytes) || service.on("off")) continue;
    if (service.on("engine")) {
      if (const ResourceId engine = topology_.engine(name, server); engine.valid())
        path.use(engine);
      continue;
    }
    const bool host = service.on("host");
    if (service.per_core > BytesPerSecond())
      path.use(host ? topology_.network_cores(server) : topology_.dpu_cores(server),
               1 / service.per_core.si());
    if (service.memory_passes > 0)
      path.use(host ? topology_.host_memory(server) : topology_.dpu_memory(server),
               service.memory_passes);
  }
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
  serve(server, "network", path);
}

void Routes::receive_side(Rank rank, int nic, PathBuilder& path) const {
  const ServerId server = topology_.server_of(rank);
  cluster_.transport->receive(topology_, {server, nic}, gpudirect_, path);
  serve(server, "network", path);
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

FlowPath Routes::storage(ServerId server, bool write, double cores) const {
  const StorageResources* all = topology_.storage();
  require(all != nullptr, "a storage path without storage");
  PathBuilder builder;
  builder.use(write ? all->drives_write : all->drives_read);
  builder.use(write ? all->targets_in : all->targets_out);
  if (!all->ports_in.empty()) {
    builder.use((write ? all->ports_out : all->ports_in)[server.index()]);
  } else {
    const int nics = topology_.nics_per_server();
    for (int n = 0; n < nics; ++n) {
      builder.use(write ? topology_.port_out(server, n) : topology_.port_in(server, n), 1.0 / nics);
    }
  }
  serve(server, "storage", builder);
  if (cores > 0) builder.use(topology_.network_cores(server), cores);
  FlowPath path = std::move(builder).build();
  const Storage& storage = *cluster_.storage;
  const BytesPerSecond limit = write ? storage.node_write_limit : storage.node_read_limit;
  if (limit > BytesPerSecond()) path.bound = limit;
  return path;
}

}  // namespace trainyard
