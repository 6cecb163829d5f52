// Kernel TCP sockets: every byte is copied through host memory and costs core time on both sides.
//
// Rate of a node: min(wire, memory bandwidth / passes per byte, cores · bytes per core-second).
// Data is staged in host memory, so GPU-to-host and host-to-NIC transfers share the PCIe link.
// Leaves out: window limits, loss (sources and figures: docs/models/network.md).
#include "sim/transport.hpp"

namespace trainyard {
namespace {

class Tcp : public Transport {
 public:
  void fields(Archive& ar) override {
    ar.required("per_core", per_core_, "payload that one core moves, sending or receiving",
                positive());
    ar.required("send_passes", send_passes_, "passes over memory per byte sent, staging included",
                positive());
    ar.required("receive_passes", receive_passes_,
                "passes over memory per byte received, staging included", positive());
    ar("message_cost", message_cost_, "core time of one message beside its bytes", non_negative());
    ar("remote_numa_share", remote_numa_share_, "share of bytes handled by cores of another socket",
       between(0, 1));
    ar("remote_numa_loss", remote_numa_loss_, "share of a core's rate that they lose",
       between(0, 0.95));
    ar("staging_passes", staging_passes_, "of these, passes between GPU and host buffer",
       non_negative());
    ar("latency", latency_, "software latency of a message, both ends", non_negative());
    ar("efficiency", efficiency_, "share of the NIC's payload rate after headers",
       trainyard::efficiency());
    ar.choice("placement", placement_, {"host", "dpu"}, "whose cores and memory run the stack");
  }

  void send(const Topology& t, Endpoint at, bool /*gpudirect*/, PathBuilder& path) const override {
    side(t, at, send_passes_, path);
  }
  void receive(const Topology& t, Endpoint at, bool /*gpudirect*/,
               PathBuilder& path) const override {
    side(t, at, receive_passes_, path);
  }
  Seconds latency() const override { return latency_; }
  double efficiency() const override { return efficiency_; }
  bool rdma() const override { return false; }

 private:
  void side(const Topology& t, Endpoint at, double passes, PathBuilder& path) const {
    path.use(t.pcie_tx(at.server, at.nic));
    path.use(t.pcie_rx(at.server, at.nic));
    const double remote = remote_numa_share_ * remote_numa_loss_ / (1 - remote_numa_loss_);
    double core_seconds = (1 + remote) / per_core_.si();
    if (at.message > Bytes()) core_seconds += message_cost_.si() / at.message.si();
    if (placement_ == "host") {
      path.use(t.host_memory(at.server), passes);
      path.use(t.network_cores(at.server), core_seconds);
      return;
    }
    if (!t.dpu_cores(at.server).valid()) {
      throw DesignError("/transport/placement",
                        "places the stack on a DPU, but the servers have none",
                        "set server.dpu and server.dpus, or placement \"host\"");
    }
    path.use(t.host_memory(at.server), staging_passes_);
    if (passes > staging_passes_) path.use(t.dpu_memory(at.server), passes - staging_passes_);
    path.use(t.dpu_cores(at.server), core_seconds);
  }

  BytesPerSecond per_core_;
  Seconds message_cost_;
  double remote_numa_share_ = 0, remote_numa_loss_ = 0;
  double send_passes_ = 0, receive_passes_ = 0, staging_passes_ = 1;
  Seconds latency_;
  double efficiency_ = 1;
  std::string placement_ = "host";
};

const Registration<Transport, Tcp> registered{"tcp",
                                              "kernel TCP sockets: copies and cores per byte"};

}  // namespace
}  // namespace trainyard
