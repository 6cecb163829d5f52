// RDMA (InfiniBand or RoCE): the NIC moves the bytes; the host pays no core time per byte.
//
// With GPUDirect the NIC reads and writes GPU memory. Without, data bounces through host memory
// (`staging_passes` on each side) and crosses PCIe twice, which halves it when both directions run.
#include "sim/transport.hpp"

namespace trainyard {
namespace {

class Rdma : public Transport {
 public:
  void fields(Archive& ar) override {
    ar("staging_passes", staging_passes_,
       "passes over host memory per byte and side without GPUDirect", non_negative());
    ar("latency", latency_, "software latency of a message, both ends", non_negative());
    ar("efficiency", efficiency_, "share of the NIC's payload rate after headers",
       trainyard::efficiency());
  }

  void send(const Topology& t, Endpoint at, bool gpudirect, PathBuilder& path) const override {
    path.use(t.pcie_tx(at.server, at.nic));
    if (!gpudirect) stage(t, at, t.pcie_rx(at.server, at.nic), path);
  }
  void receive(const Topology& t, Endpoint at, bool gpudirect, PathBuilder& path) const override {
    path.use(t.pcie_rx(at.server, at.nic));
    if (!gpudirect) stage(t, at, t.pcie_tx(at.server, at.nic), path);
  }
  Seconds latency() const override { return latency_; }
  double efficiency() const override { return efficiency_; }
  bool rdma() const override { return true; }

 private:
  void stage(const Topology& t, Endpoint at, ResourceId other_way, PathBuilder& path) const {
    path.use(other_way);
    if (staging_passes_ > 0) path.use(t.host_memory(at.server), staging_passes_);
  }

  double staging_passes_ = 2;
  Seconds latency_;
  double efficiency_ = 1;
};

const Registration<Transport, Rdma> registered{
    "rdma", "RDMA: the NIC moves bytes, with GPUDirect or staged"};

}  // namespace
}  // namespace trainyard
