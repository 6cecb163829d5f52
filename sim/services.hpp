// Host services: the work around training that needs cores, and where it runs.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "sim/archive.hpp"
#include "sim/devices.hpp"

namespace trainyard {

/// One service of every server: what it costs there, and where it is placed. The network stack's
/// own cost per byte belongs to the transport.
struct Service {
  static constexpr std::string_view kCatalog = "service";
  /// "host": the server's cores; "dpu": the cores of its DPUs, slower by core_speed; "engine": a
  /// fixed function of NIC or DPU that costs no cores; "off": not there.
  std::string placement = "host";
  /// Whom its cores are charged to: network | storage | security | management | application.
  std::string account = "management";
  /// Host cores pinned for it; on a DPU, as many cores of the DPU's.
  double reserved_cores = 0;
  /// Cores that its time-shared threads keep busy on average (in host cores, wherever it runs).
  double shared_cores = 0;
  /// Threads that spin while a network operation of the server is open.
  double polling_threads = 0;
  /// The bytes that pass through it, on both ends: none | network | storage | all.
  std::string traffic = "none";
  BytesPerSecond per_core;     ///< traffic that one host core handles; 0: costs no core per byte
  BytesPerSecond engine_rate;  ///< of the fixed function, per server and all bytes; 0: no limit
  double memory_passes = 0;    ///< over the memory of where it runs, per byte
  /// Mean delay that it adds to a pass's kernel launches while it shares the host's cores.
  Seconds jitter;
  void fields(Archive& ar);

  bool on(std::string_view place) const { return placement == place; }
  /// Whether bytes of that traffic ("network" or "storage") pass through it.
  bool sees(std::string_view bytes) const { return traffic == "all" || traffic == bytes; }
};

using Services = std::map<std::string, Service>;

/// What the services ask of one server, and what they leave to the bytes.
struct ServerLoad {
  double host_reserved = 0;   ///< cores pinned on the host
  double host_shared = 0;     ///< cores that time-shared threads ask for
  double polling = 0;         ///< spinning threads on the host, while a network operation is open
  double dpu_reserved = 0;    ///< cores of the DPUs
  double dpu_shared = 0;      ///< in host cores
  double host_for_bytes = 0;  ///< host cores that flows may use
  double dpu_for_bytes = 0;   ///< the DPUs' cores that flows may use, in host cores
  double stretch = 1;         ///< of delays on the host: max(1, demand / cores)
  Seconds jitter;             ///< mean delay of a pass's launches, stretched
};
ServerLoad load_of(const Server& server, const Services& services);
/// Host cores pinned or asked for by the services of an account; all accounts but "application"
/// when it is empty.
double host_cores(const Services& services, std::string_view account);

/// Throws DesignError when a service is placed where there is nothing to run it, or more cores are
/// pinned than exist. Pointers are relative to the cluster.
void check_services(const Server& server, const Services& services);

}  // namespace trainyard
