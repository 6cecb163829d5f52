#include "sim/equipment.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/error.hpp"

namespace trainyard {
namespace {

template <class T>
T known(const std::optional<T>& value, const std::string& pointer, const char* what) {
  if (value) return *value;
  throw DesignError(
      pointer, fmt::format("is missing, and the site asks for the {} of every device in use", what),
      "give it, or take the device from the catalogue, or leave \"site\" out");
}
PowerDraw power_of(const std::optional<PowerDraw>& value, const std::string& device) {
  return known(value, device + "/power", "power");
}
double price_of(const std::optional<double>& value, const std::string& device) {
  return known(value, device + "/price_usd", "price");
}

Equipment steady(std::string name, bool in_server, double count, Watts each, double price) {
  return {std::move(name), in_server, count, each, each, each, price};
}

void add_servers(const Cluster& cluster, const Activity& a, std::vector<Equipment>& all) {
  const Server& server = cluster.server;
  const double servers = a.servers;
  const GpuPower gpu = known(server.gpu.power, "/server/gpu/power", "power");
  all.push_back({"GPUs", true, servers * server.gpus,
                 gpu.computing * a.usage.gpu_active + gpu.waiting * (1 - a.usage.gpu_active),
                 gpu.waiting, gpu.idle, 0});
  const PowerDraw host = power_of(server.host.power, "/server/host");
  const ServerLoad load = cluster.load();
  const double cores = server.host.cores;
  const auto busy = [&](double more) {
    return host.at((load.host_reserved + load.host_shared + more) / cores);
  };
  const double moving =
      std::max(a.usage.network_cores, a.usage.polling_cores) + a.usage.storage_cores;
  all.push_back({"host CPUs", true, servers, busy(moving), busy(0), busy(0), 0});
  all.push_back(steady("server boards, fans, NVSwitches", true, servers,
                       known(server.base_power, "/server/base_power", "power"),
                       price_of(server.price_usd, "/server")));
  const PowerDraw nic = power_of(server.nic.power, "/server/nic");
  all.push_back(
      {"NICs", true, servers * server.nics, nic.at(a.usage.nic_load), nic.idle, nic.idle, 0});
  if (server.storage_nics > 0) {
    const PowerDraw draw = power_of(server.storage_nic->power, "/server/storage_nic");
    all.push_back({"storage NICs", true, servers * server.storage_nics,
                   draw.at(a.usage.storage_load), draw.busy, draw.idle,
                   price_of(server.storage_nic->price_usd, "/server/storage_nic")});
  }
  if (server.dpus > 0) {
    const PowerDraw draw = power_of(server.dpu->power, "/server/dpu");
    const double speed = server.dpu->core_speed,
                 all_cores = server.dpu->cores * server.dpus * speed;
    const double fixed = load.dpu_reserved * speed + load.dpu_shared;
    const auto at = [&](double more) { return draw.at((fixed + more) / all_cores); };
    all.push_back({"DPUs", true, servers * server.dpus, at(a.usage.dpu_cores), at(0), at(0),
                   price_of(server.dpu->price_usd, "/server/dpu")});
  }
}

void add_network(const Topology& topology, const Activity& a, double part,
                 std::vector<Equipment>& all) {
  if (!topology.first_switch().valid()) return;
  const Switch* device = &topology.switch_at(topology.first_switch());
  const std::string at = "/network/switch";
  const PowerDraw draw = power_of(device->power, at);
  all.push_back({"switches", false, part * static_cast<double>(topology.switches()),
                 draw.at(a.usage.fabric_load), draw.idle, draw.idle,
                 price_of(device->price_usd, at)});
  all.push_back(steady("switch ports, cables", false,
                       part * 2 * static_cast<double>(topology.fabric_links()),
                       known(device->port_power, at + "/port_power", "power"),
                       known(device->port_price_usd, at + "/port_price_usd", "price")));
}

void add_storage(const Storage& storage, const Activity& a, double part,
                 std::vector<Equipment>& all) {
  const std::string at = "/storage/target";
  const PowerDraw target = power_of(storage.target.power, at);
  const double reading = a.data_rate / storage.drives_rate(false).si();
  const double writing = a.checkpoint_rate / storage.drives_rate(true).si();
  all.push_back({"storage targets", false, part * storage.targets, target.at(reading),
                 target.at(writing), target.idle, price_of(storage.target.price_usd, at)});
  const PowerDraw drive = power_of(storage.target.drive.power, at + "/drive");
  all.push_back({"NVMe drives", false, part * storage.targets * storage.target.drives,
                 drive.at(reading), drive.at(writing), drive.idle,
                 price_of(storage.target.drive.price_usd, at + "/drive")});
}

double load_on(const Appliance& appliance, const Activity& a) {
  if (appliance.load == "servers") return a.servers;
  if (appliance.load == "network") return a.usage.sent_per_second * a.servers;
  return appliance.load == "data" ? a.data_rate : a.checkpoint_rate;
}

}  // namespace

double appliances_needed(const Appliance& appliance, double load) {
  const double one = appliance.load == "servers" ? appliance.servers : appliance.rate.si();
  return std::max(0.0, std::ceil(appliance.share * load / one - 1e-9));
}

std::vector<Equipment> equipment(const Cluster& cluster, const Topology& topology,
                                 const Activity& activity) {
  const double part = static_cast<double>(activity.servers) / cluster.servers;
  std::vector<Equipment> all;
  add_servers(cluster, activity, all);
  add_network(topology, activity, part, all);
  if (cluster.storage) add_storage(*cluster.storage, activity, part, all);
  for (const auto& [name, appliance] : cluster.appliances) {
    const std::string at = "/appliances/" + name;
    all.push_back(steady(name, false, appliances_needed(appliance, load_on(appliance, activity)),
                         known(appliance.power, at + "/power", "power"),
                         price_of(appliance.price_usd, at)));
  }
  return all;
}

void check_equipment(const Cluster& cluster, const Topology& topology) {
  if (!cluster.site) return;
  Activity nothing;
  nothing.servers = cluster.servers;
  equipment(cluster, topology, nothing);
}

}  // namespace trainyard
