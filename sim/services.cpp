#include "sim/services.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/error.hpp"

namespace trainyard {
namespace {

// Work without bytes comes first; what is left serves the bytes. One byte-moving thread among the
// others always gets its turn of a fair scheduler.
double left_for_bytes(double cores, double work) {
  return std::max(cores - work, std::min(1.0, cores / (1 + work)));
}

}  // namespace

void Service::fields(Archive& ar) {
  ar.choice("placement", placement, {"host", "dpu", "engine", "off"},
            "host cores, DPU cores, a fixed-function engine, or not there");
  ar.choice("account", account, {"network", "storage", "security", "management", "application"},
            "whom its cores are charged to");
  ar("reserved_cores", reserved_cores, "cores pinned for it per server", non_negative());
  ar("shared_cores", shared_cores, "host cores that its time-shared threads keep busy",
     non_negative());
  ar("polling_threads", polling_threads,
     "threads that spin while a network operation of the server is open", non_negative());
  ar.choice("traffic", traffic, {"none", "network", "storage", "all"},
            "the bytes that pass through it");
  ar("per_core", per_core, "traffic that one host core handles (0: no cost per byte)",
     non_negative());
  ar("engine_rate", engine_rate, "rate of the fixed function per server (0: no limit)",
     non_negative());
  ar("memory_passes", memory_passes, "passes over memory per byte where it runs", non_negative());
  ar("jitter", jitter, "mean delay of a pass's kernel launches while it is on the host",
     non_negative());
}

ServerLoad load_of(const Server& server, const Services& services) {
  ServerLoad load;
  for (const auto& [name, service] : services) {
    if (service.on("host")) {
      load.host_reserved += service.reserved_cores;
      load.host_shared += service.shared_cores;
      load.polling += service.polling_threads;
      load.jitter += service.jitter;
    } else if (service.on("dpu")) {
      load.dpu_reserved += service.reserved_cores;
      load.dpu_shared += service.shared_cores;
    }
  }
  const double cores = server.host.cores;
  const double demand = load.host_reserved + load.host_shared;
  load.stretch = std::max(1.0, demand / cores);
  load.jitter *= load.stretch;
  load.host_for_bytes =
      std::min<double>(left_for_bytes(cores, demand), server.host.cores_for_network());
  if (server.dpu && server.dpus > 0) {
    const double speed = server.dpu->core_speed, all = server.dpu->cores * server.dpus * speed;
    load.dpu_for_bytes = left_for_bytes(all, load.dpu_reserved * speed + load.dpu_shared);
  }
  return load;
}

double host_cores(const Services& services, std::string_view account) {
  double cores = 0;
  for (const auto& [name, service] : services) {
    if (!service.on("host")) continue;
    if (account.empty() ? service.account != "application" : service.account == account)
      cores += service.reserved_cores + service.shared_cores;
  }
  return cores;
}

void check_services(const Server& server, const Services& services) {
  double host = 0, dpu = 0;
  for (const auto& [name, service] : services) {
    const std::string at = "/services/" + name;
    if (service.on("dpu") && (!server.dpu || server.dpus == 0)) {
      throw DesignError(at + "/placement", "places the service on a DPU, but the servers have none",
                        "set server.dpu and server.dpus, or another placement");
    }
    host += service.on("host") ? service.reserved_cores : 0;
    dpu += service.on("dpu") ? service.reserved_cores : 0;
    if (host > server.host.cores) {
      throw DesignError(
          at + "/reserved_cores",
          fmt::format("pins {:.4g} cores with the services before it, and the host has {}", host,
                      server.host.cores),
          "reserve fewer, use shared_cores, or place services elsewhere", ExitCode::kInfeasible);
    }
    if (service.on("dpu") && dpu > server.dpu->cores * server.dpus) {
      throw DesignError(
          at + "/reserved_cores",
          fmt::format("pins {:.4g} cores with the services before it, and the DPUs have {}", dpu,
                      server.dpu->cores * server.dpus),
          "reserve fewer, use shared_cores, or place services elsewhere", ExitCode::kInfeasible);
    }
  }
}

}  // namespace trainyard
