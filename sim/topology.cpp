#include "sim/topology.hpp"

#include <fmt/format.h>

#include "sim/services.hpp"
#include "sim/storage.hpp"
#include "sim/topology_graph.hpp"

namespace trainyard {

Topology::Topology(const Server& server, int servers)
    : graph_(std::make_unique<TopologyGraph>()), server_(server), servers_(servers) {}

Topology::~Topology() = default;

NodeId Topology::add_node(TopologyNode node) {
  if (node.kind == NodeKind::kSwitch) ++switches_;
  const NodeId id(nodes_.size());
  nodes_.push_back(node);
  boost::add_vertex(id, *graph_);
  return id;
}

ResourceId Topology::add_edge(ResourceKind kind, NodeId from, NodeId to, double capacity,
                              Seconds latency) {
  require(capacity > 0, "an edge without capacity");
  const ResourceId id(resources_.size());
  resources_.push_back({kind, from, to, ServerId(), capacity, latency});
  boost::add_edge(from.index(), to.index(), id, *graph_);
  if (kind == ResourceKind::kLink) {
    ++fabric_links_;
    // A NIC has one port: its links are the ones that name it.
    if (node(from).kind == NodeKind::kNic) port_out_[node(from).index] = id;
    if (node(to).kind == NodeKind::kNic) port_in_[node(to).index] = id;
  }
  return id;
}

ResourceId Topology::add_server_resource(ResourceKind kind, ServerId server, double capacity) {
  const ResourceId id(resources_.size());
  resources_.push_back({kind, NodeId(), NodeId(), server, capacity, Seconds()});
  return id;
}

void Topology::add_servers() {
  const double nvlink = (server_.nvlink.bandwidth * server_.nvlink.efficiency).si();
  for (int s = 0; s < servers_; ++s) {
    const ServerId server(static_cast<std::size_t>(s));
    const auto at = static_cast<std::uint32_t>(s);
    const NodeId hub = add_node({NodeKind::kNvSwitch, 0, at});
    std::vector<NodeId> gpus;
    for (int g = 0; g < server_.gpus; ++g) {
      const NodeId gpu =
          add_node({NodeKind::kGpu, 0, static_cast<std::uint32_t>(nvlink_out_.size())});
      gpus.push_back(gpu);
      nvlink_out_.push_back(
          add_edge(ResourceKind::kNvLink, gpu, hub, nvlink, server_.nvlink.latency));
      nvlink_in_.push_back(add_edge(ResourceKind::kNvLink, hub, gpu, nvlink, Seconds()));
    }
    for (int n = 0; n < server_.nics; ++n) {
      const NodeId nic = add_node({NodeKind::kNic, 0, static_cast<std::uint32_t>(nics_.size())});
      nics_.push_back(nic);
      port_out_.emplace_back();
      port_in_.emplace_back();
      const NodeId gpu = gpus[static_cast<std::size_t>(server_.gpu_of(n))];
      const double pcie = server_.nic.pcie_bandwidth.si();
      pcie_tx_.push_back(add_edge(ResourceKind::kPcie, gpu, nic, pcie, Seconds()));
      pcie_rx_.push_back(add_edge(ResourceKind::kPcie, nic, gpu, pcie, Seconds()));
    }
    host_memory_.push_back(
        add_server_resource(ResourceKind::kHostMemory, server, server_.host.memory_bandwidth.si()));
    network_cores_.push_back(
        add_server_resource(ResourceKind::kNetworkCores, server, server_.host.cores_for_network()));
    if (server_.dpu && server_.dpus > 0) {
      dpu_cores_.push_back(
          add_server_resource(ResourceKind::kDpuCores, server,
                              server_.dpu->cores * server_.dpus * server_.dpu->core_speed));
      dpu_memory_.push_back(add_server_resource(
          ResourceKind::kDpuMemory, server, (server_.dpu->memory_bandwidth * server_.dpus).si()));
    }
  }
}

void Topology::add_services(const ServerLoad& load,
                            const std::map<std::string, Service>& services) {
  for (const ResourceId id : network_cores_) resources_[id.index()].capacity = load.host_for_bytes;
  for (const ResourceId id : dpu_cores_) resources_[id.index()].capacity = load.dpu_for_bytes;
  for (const auto& [name, service] : services) {
    if (!service.on("engine") || service.engine_rate == BytesPerSecond()) continue;
    for (int s = 0; s < servers_; ++s) {
      engines_[name].push_back(add_server_resource(
          ResourceKind::kEngine, ServerId(static_cast<std::size_t>(s)), service.engine_rate.si()));
    }
  }
}

void Topology::add_storage(const Storage& storage) {
  const auto shared = [&](BytesPerSecond rate) {
    return add_server_resource(ResourceKind::kStorage, ServerId(), rate.si());
  };
  const auto limited = [](BytesPerSecond rate, BytesPerSecond limit) {
    return limit > BytesPerSecond() ? std::min(rate, limit) : rate;
  };
  StorageResources all;
  all.drives_read = shared(limited(storage.drives_rate(false), storage.read_limit));
  all.drives_write = shared(limited(storage.drives_rate(true), storage.write_limit));
  all.targets_out = shared(storage.targets_rate());
  all.targets_in = shared(storage.targets_rate());
  for (int s = 0; s < servers_ && storage.network == "own"; ++s) {
    for (auto* ports : {&all.ports_in, &all.ports_out}) {
      ports->push_back(add_server_resource(ResourceKind::kStoragePort,
                                           ServerId(static_cast<std::size_t>(s)),
                                           server_.storage_rate().si()));
    }
  }
  storage_ = std::move(all);
}

ResourceId Topology::engine(const std::string& service, ServerId s) const {
  const auto it = engines_.find(service);
  return it == engines_.end() ? ResourceId() : it->second[s.index()];
}

std::vector<double> Topology::capacities() const {
  std::vector<double> all;
  all.reserve(resources_.size());
  for (const Resource& resource : resources_) all.push_back(resource.capacity);
  return all;
}

std::string Topology::node_name(NodeId id) const {
  const TopologyNode& n = node(id);
  const auto per_gpu = static_cast<std::uint32_t>(server_.gpus);
  const auto per_nic = static_cast<std::uint32_t>(server_.nics);
  switch (n.kind) {
    case NodeKind::kGpu:
      return fmt::format("server{}/gpu{}", n.index / per_gpu, n.index % per_gpu);
    case NodeKind::kNvSwitch:
      return fmt::format("server{}/nvswitch", n.index);
    case NodeKind::kNic:
      return fmt::format("server{}/nic{}", n.index / per_nic, n.index % per_nic);
    case NodeKind::kSwitch:
      return fmt::format("switch{}.{}", n.tier, n.index);
  }
  return {};
}

std::string Topology::resource_name(ResourceId id) const {
  const Resource& r = resource(id);
  if (r.from.valid()) return fmt::format("{} -> {}", node_name(r.from), node_name(r.to));
  switch (r.kind) {
    case ResourceKind::kHostMemory:
      return fmt::format("server{} host memory", r.server.index());
    case ResourceKind::kNetworkCores:
      return fmt::format("server{} network cores", r.server.index());
    case ResourceKind::kDpuCores:
      return fmt::format("server{} DPU cores", r.server.index());
    case ResourceKind::kDpuMemory:
      return fmt::format("server{} DPU memory", r.server.index());
    case ResourceKind::kEngine:
      return fmt::format("server{} service engine", r.server.index());
    case ResourceKind::kStoragePort:
      return fmt::format("server{} storage port", r.server.index());
    case ResourceKind::kStorage:
      return "storage targets";
    default:
      return fmt::format("resource {}", id.index());
  }
}

}  // namespace trainyard
