#include "sim/topology.hpp"

#include <fmt/format.h>

#include "sim/services.hpp"
#include "sim/storage.hpp"

namespace trainyard {

Topology::Topology(const Server& server, int servers) : server_(server), servers_(servers) {}

Topology::~Topology() = default;

NodeId Topology::add_switches(int tier, std::size_t count) {
  const std::size_t first = nodes();
  if (count > NodeId::kNone - first) {
    throw DesignError("", fmt::format("has {} nodes, more than can be numbered", first + count),
                      "fewer servers, GPUs or NICs");
  }
  tiers_.push_back({first, static_cast<std::uint8_t>(tier)});
  switches_ += count;
  return NodeId(first);
}

ResourceId Topology::add_resources(std::size_t repetitions, std::vector<ResourceTraits> pattern,
                                   ResourceBlocks::EndsRule ends) {
  for (const ResourceTraits& traits : pattern) {
    if (traits.kind == ResourceKind::kLink && ends) fabric_links_ += repetitions;
  }
  return resources_.add(repetitions, std::move(pattern), std::move(ends));
}

LinkPairs Topology::add_links(std::size_t pairs, double capacity, Seconds up_latency,
                              Seconds down_latency, std::function<Ends(std::size_t pair)> ends) {
  return LinkPairs(add_resources(
      pairs,
      {{ResourceKind::kLink, capacity, up_latency}, {ResourceKind::kLink, capacity, down_latency}},
      [ends = std::move(ends)](std::size_t pair, std::size_t way) {
        const auto [low, high] = ends(pair);
        return way == 0 ? Ends{low, high} : Ends{high, low};
      }));
}

void Topology::add_ports(double capacity, Seconds up_latency, Seconds down_latency,
                         std::function<NodeId(std::size_t nic)> at) {
  const auto ends = [this, at = std::move(at)](std::size_t nic) {
    const auto per_server = static_cast<std::size_t>(server_.nics);
    return Ends{nic_node(ServerId(nic / per_server), static_cast<int>(nic % per_server)), at(nic)};
  };
  ports_ = add_links(nics(), capacity, up_latency, down_latency, ends);
}

std::vector<ResourceTraits> Topology::server_pattern() const {
  const double nvlink = (server_.nvlink.bandwidth * server_.nvlink.efficiency).si();
  const double pcie = server_.nic.pcie_bandwidth.si();
  std::vector<ResourceTraits> pattern;
  for (int g = 0; g < server_.gpus; ++g) {
    pattern.push_back({ResourceKind::kNvLink, nvlink, server_.nvlink.latency});
    pattern.push_back({ResourceKind::kNvLink, nvlink, Seconds()});
  }
  for (int way = 0; way < 2 * server_.nics; ++way)
    pattern.push_back({ResourceKind::kPcie, pcie, Seconds()});
  const auto whole = [&](ResourceKind kind, double capacity) {
    pattern.push_back({kind, capacity, Seconds(), true});
  };
  whole(ResourceKind::kHostMemory, server_.host.memory_bandwidth.si());
  whole(ResourceKind::kNetworkCores, server_.host.cores_for_network());
  if (server_.dpu && server_.dpus > 0) {
    whole(ResourceKind::kDpuCores, server_.dpu->cores * server_.dpus * server_.dpu->core_speed);
    whole(ResourceKind::kDpuMemory, (server_.dpu->memory_bandwidth * server_.dpus).si());
  }
  return pattern;
}

// NVLink joins a GPU and the NVSwitch, PCIe a NIC and the GPU that it hangs beside; even places
// lead away from the GPU.
Ends Topology::server_ends(std::size_t server, std::size_t place) const {
  const auto gpus = static_cast<std::size_t>(server_.gpus);
  const std::size_t hub = server * nodes_per_server(), pair = place / 2;
  const bool nvlink = pair < gpus;
  const std::size_t beside =
      nvlink ? pair : static_cast<std::size_t>(server_.gpu_of(static_cast<int>(pair - gpus)));
  const NodeId gpu(hub + 1 + beside), other(nvlink ? hub : hub + 1 + pair);
  return place % 2 == 0 ? Ends{gpu, other} : Ends{other, gpu};
}

void Topology::add_servers() {
  require(nodes() == 0, "servers must be the first nodes");
  std::vector<ResourceTraits> pattern = server_pattern();
  const bool has_dpu = server_.dpu && server_.dpus > 0;
  const std::size_t edges = 2 * static_cast<std::size_t>(server_.gpus + server_.nics);
  per_server_ = pattern.size();
  first_of_server_ = add_resources(static_cast<std::size_t>(servers_), std::move(pattern),
                                   [this](std::size_t server, std::size_t place) {
                                     return server_ends(server, place);
                                   })
                         .index();
  server_nodes_ = static_cast<std::size_t>(servers_) * nodes_per_server();
  const auto whole = [&](std::size_t place) {
    return PerServer(ResourceId(first_of_server_ + edges + place), per_server_);
  };
  host_memory_ = whole(0);
  network_cores_ = whole(1);
  if (!has_dpu) return;
  dpu_cores_ = whole(2);
  dpu_memory_ = whole(3);
}

void Topology::add_services(const ServerLoad& load,
                            const std::map<std::string, Service>& services) {
  const ServerId any(0);
  resources_.set_capacity(network_cores_[any], load.host_for_bytes);
  if (dpu_cores_.valid()) resources_.set_capacity(dpu_cores_[any], load.dpu_for_bytes);
  for (const auto& [name, service] : services) {
    if (!service.on("engine") || service.engine_rate == BytesPerSecond()) continue;
    engines_[name] = PerServer(
        add_resources(static_cast<std::size_t>(servers_),
                      {{ResourceKind::kEngine, service.engine_rate.si(), Seconds(), true}}),
        1);
  }
}

void Topology::add_storage(const Storage& storage) {
  const auto shared = [&](BytesPerSecond rate) {
    return add_resources(1, {{ResourceKind::kStorage, rate.si(), Seconds()}});
  };
  const auto limited = [](BytesPerSecond rate, BytesPerSecond limit) {
    return limit > BytesPerSecond() ? std::min(rate, limit) : rate;
  };
  StorageResources all;
  all.drives_read = shared(limited(storage.drives_rate(false), storage.read_limit));
  all.drives_write = shared(limited(storage.drives_rate(true), storage.write_limit));
  all.targets_out = shared(storage.targets_rate());
  all.targets_in = shared(storage.targets_rate());
  if (storage.network == "own") {
    const ResourceTraits port{ResourceKind::kStoragePort, server_.storage_rate().si(), Seconds(),
                              true};
    const ResourceId first = add_resources(static_cast<std::size_t>(servers_), {port, port});
    all.ports_in = PerServer(first, 2);
    all.ports_out = PerServer(ResourceId(first.index() + 1), 2);
  }
  storage_ = all;
}

PerServer Topology::engine(const std::string& service) const {
  const auto it = engines_.find(service);
  return it == engines_.end() ? PerServer() : it->second;
}

TopologyNode Topology::node(NodeId id) const {
  if (id.index() >= server_nodes_) {
    auto tier = tiers_.rbegin();
    while (id.index() < tier->first) ++tier;
    return {NodeKind::kSwitch, tier->number, static_cast<std::uint32_t>(id.index() - tier->first)};
  }
  const auto server = static_cast<std::uint32_t>(id.index() / nodes_per_server());
  const auto place = static_cast<std::uint32_t>(id.index() % nodes_per_server());
  const auto gpus = static_cast<std::uint32_t>(server_.gpus);
  if (place == 0) return {NodeKind::kNvSwitch, 0, server};
  if (place <= gpus) return {NodeKind::kGpu, 0, server * gpus + place - 1};
  return {NodeKind::kNic, 0, static_cast<std::uint32_t>(nic_index(id))};
}

std::string Topology::node_name(NodeId id) const {
  const TopologyNode n = node(id);
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
  const Resource r = resource(id);
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
