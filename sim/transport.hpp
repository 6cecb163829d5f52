// How bytes get from a GPU onto the wire: the plug-in interface for kernel TCP, RDMA and the like.
#pragma once

#include <string>
#include <vector>

#include "sim/archive.hpp"
#include "sim/path.hpp"
#include "sim/topology.hpp"

namespace trainyard {

/// One end of a message: which server and which of its NICs.
struct Endpoint {
  ServerId server;
  int nic = 0;
  Bytes message = {};  ///< size of the messages that the bytes travel in; 0: large
};

class Transport : public Plugin {
 public:
  static constexpr std::string_view kInterface = "transport";

  /// Adds what one byte costs on the sending (receiving) server: PCIe, host memory, cores. The NIC
  /// port and the fabric are not its business. `gpudirect`: the NIC may reach GPU memory itself.
  virtual void send(const Topology&, Endpoint, bool gpudirect, PathBuilder&) const = 0;
  virtual void receive(const Topology&, Endpoint, bool gpudirect, PathBuilder&) const = 0;
  /// Software share of a message's latency, both ends together.
  virtual Seconds latency() const = 0;
  /// Share of the NIC's payload rate that the protocol reaches.
  virtual double efficiency() const = 0;
  /// Whether NICs write remote memory without the remote CPU: GPUDirect and SHARP need it.
  virtual bool rdma() const = 0;
};

}  // namespace trainyard
