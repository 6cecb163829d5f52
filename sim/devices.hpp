// The devices of a cluster as data: what a datasheet says, read from a scenario or the catalogue.
//
// Devices have no behaviour. What they do to time stands in the plug-ins (transport, kernel time,
// collectives, topologies), which read these numbers.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "sim/archive.hpp"
#include "sim/units.hpp"

namespace trainyard {

/// Electric power of a device: idle, and with all it has to do.
struct PowerDraw {
  Watts idle, busy;
  /// Between the two by load, a share from 0 to 1; what is beyond counts as 1.
  Watts at(double load) const { return idle + (busy - idle) * (load < 1 ? load : 1); }
  void fields(Archive& ar);
};

/// Electric power of a GPU by what it does.
struct GpuPower {
  Watts computing;  ///< while kernels run
  Watts waiting;    ///< between kernels of a running step, at full clocks
  Watts idle;       ///< while the job does not run
  void fields(Archive& ar);
};

/// How much of a GPU's peak a matrix product of M × N × K reaches:
/// max · M/(M+m_half) · N/(N+n_half) · K/(K+k_half). Small shapes fill the SMs badly.
struct GemmEfficiency {
  double max = 1;
  double m_half = 0, n_half = 0, k_half = 0;
  void fields(Archive& ar);
};

struct Gpu {
  static constexpr std::string_view kCatalog = "gpu";
  FlopsPerSecond peak_bf16;      ///< dense, never the sparse figure
  FlopsPerSecond peak_fp8;       ///< dense; 0: the GPU has none
  BytesPerSecond hbm_bandwidth;  ///< peak
  double hbm_efficiency = 1;     ///< share of it that streaming kernels reach
  Bytes memory;
  GemmEfficiency gemm;
  GemmEfficiency gemm_fp8;  ///< of peak_fp8
  Seconds kernel_launch;    ///< least time between two kernels that the host can sustain
  std::optional<GpuPower> power;
  void fields(Archive& ar);
};

/// NVLink between the GPUs of a server through NVSwitch: full bandwidth to any peer.
struct NvLink {
  static constexpr std::string_view kCatalog = "nvlink";
  BytesPerSecond bandwidth;    ///< per GPU and direction
  double efficiency = 1;       ///< share of it that collectives reach (protocol overhead)
  double nvls_efficiency = 0;  ///< share that reductions in NVSwitch reach; 0: it has none (NVLS)
  Seconds latency;             ///< one traversal
  void fields(Archive& ar);
};

struct Nic {
  static constexpr std::string_view kCatalog = "nic";
  BytesPerSecond rate;            ///< port, per direction
  double efficiency = 1;          ///< payload share of it
  BytesPerSecond pcie_bandwidth;  ///< to the host or GPU, per direction, effective
  Seconds latency;                ///< port to port hardware share of one message, one NIC
  double message_rate = 0;        ///< messages a second that it sends at most; 0: without limit
  bool rdma = true;
  bool gpudirect = true;  ///< can read and write GPU memory by itself
  std::optional<PowerDraw> power;
  std::optional<double> price_usd;  ///< counted for storage cards; a server's includes the others
  void fields(Archive& ar);
};

/// A DPU: a card whose own cores, memory and engines can run host services.
struct Dpu {
  static constexpr std::string_view kCatalog = "dpu";
  BytesPerSecond rate;  ///< all its ports together, per direction
  int cores = 0;
  BytesPerSecond memory_bandwidth;  ///< its own DRAM
  double core_speed = 1;            ///< per-core speed relative to a host core
  std::optional<PowerDraw> power;
  std::optional<double> price_usd;
  void fields(Archive& ar);
};

struct Host {
  static constexpr std::string_view kCatalog = "host";
  int cores = 1;                    ///< physical cores of all sockets
  int network_cores = 0;            ///< cores that network services may use; 0: all of them
  BytesPerSecond memory_bandwidth;  ///< effective, all sockets
  std::optional<PowerDraw> power;   ///< all sockets and their memory, by share of busy cores
  int cores_for_network() const { return network_cores > 0 ? network_cores : cores; }
  void fields(Archive& ar);
};

/// In-network reduction of a switch (SHARP). Two kinds of tree: low-latency trees (LLT) for small
/// messages and streaming aggregation trees (SAT) at link rate for large ones.
struct Sharp {
  bool enabled = false;
  double efficiency = 0.95;     ///< share of link rate that streaming aggregation reaches
  Seconds aggregation_latency;  ///< added per switch that reduces
  int streaming_trees = 1;      ///< SAT trees that one switch can hold at a time
  int low_latency_trees = 1;    ///< LLT trees (groups) that one switch can hold
  int radix = 0;                ///< most children of one aggregation node; 0: every port
  Bytes low_latency_max;        ///< largest message that an LLT carries
  void fields(Archive& ar);
};

struct Switch {
  static constexpr std::string_view kCatalog = "switch";
  int ports = 0;
  BytesPerSecond rate;  ///< per port and direction
  Seconds latency;      ///< port to port
  Sharp sharp;
  std::optional<PowerDraw> power;
  std::optional<double> price_usd;
  /// Of one port in use: its transceiver and half of its cable.
  std::optional<Watts> port_power;
  std::optional<double> port_price_usd;
  void fields(Archive& ar);
};

struct Server {
  static constexpr std::string_view kCatalog = "server";
  int gpus = 1;
  Gpu gpu;
  NvLink nvlink;
  int nics = 1;
  Nic nic;
  Host host;
  std::optional<Dpu> dpu;
  int dpus = 0;
  std::optional<Nic> storage_nic;   ///< the card of a storage network of its own
  int storage_nics = 0;             ///< its ports; DPUs add theirs
  std::optional<Watts> base_power;  ///< fans, NVSwitches, drives, boards, conversion losses
  std::optional<double> price_usd;  ///< with its GPUs, NICs and host; without DPUs and storage NICs
  /// Rate of the ports that reach storage by a network of their own, per direction.
  BytesPerSecond storage_rate() const;
  /// By GPU, the NIC that it sends through; empty: neighbours share one.
  std::vector<int> nic_affinity;
  /// The NIC that GPU `local` of a server sends through.
  int nic_of(int local) const {
    return nic_affinity.empty() ? local * nics / gpus
                                : nic_affinity[static_cast<std::size_t>(local)];
  }
  /// The GPU (of the server) that a NIC hangs beside: the first that sends through it.
  int gpu_of(int nic) const {
    const auto it = std::find(nic_affinity.begin(), nic_affinity.end(), nic);
    return it == nic_affinity.end() ? nic * gpus / nics
                                    : static_cast<int>(it - nic_affinity.begin());
  }
  void fields(Archive& ar);
};

}  // namespace trainyard
