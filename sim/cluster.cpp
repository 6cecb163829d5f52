#include "sim/cluster.hpp"

#include "sim/error.hpp"

namespace trainyard {

void Protocol::fields(Archive& ar) {
  ar("intra_latency", intra_latency, "latency of one step inside a server", non_negative());
  ar("network_latency", network_latency, "latency of one step between servers", non_negative());
  ar("efficiency", efficiency, "payload share of what the protocol sends", trainyard::efficiency());
  ar.choice("law", law, {"additive", "cut-through"},
            "time of a step: latency + chunk/bandwidth, or the larger of the two");
}

void CollectiveLibrary::fields(Archive& ar) {
  ar("algorithm", algorithm, "auto, or one algorithm for all collectives");
  ar("protocol", protocol, "auto, or one of the protocols by name");
  ar.required("protocols", protocols, "wire protocols by name");
  ar("channels", channels, "parallel rings (0: one per NIC of a server)", between(0, 64));
  ar("chunks", chunks, "pipeline depth of multi-level algorithms", between(1, 1024));
  ar("slowdown", slowdown, "share of compute that a ring or tree kernel takes beside it",
     between(0, 0.95));
  ar("sharp_slowdown", sharp_slowdown, "share of compute that in-network reduction takes",
     between(0, 0.95));
  ar.check(!protocols.empty(), "protocols", "names no protocol", R"(at least {"simple": {}})");
  ar.check(protocol == "auto" || protocols.contains(protocol), "protocol",
           "\"" + protocol + "\" is not one of the protocols", "auto, or a name in \"protocols\"");
}

void Cluster::fields(Archive& ar) {
  ar.required("servers", servers, "number of servers", between(1, 1000000));
  ar.required("server", server, "the server");
  ar.plugin("network", network, "the fabric between servers");
  ar.plugin("transport", transport, "how bytes get onto the wire");
  ar("gpudirect", gpudirect,
     "let NICs reach GPU memory without a pass through the host (needs RDMA)");
  ar.required("collectives", collectives, "the collective library");
  ar.plugin("kernels", kernels, "how long kernels take", false);
  ar("services", services, "work around training on every server, by name");
  ar("storage", storage, "shared storage");
  ar("appliances", appliances, "infrastructure servers by name, sized by their load");
  ar("reliability", reliability, "failures and repair");
  ar("site", site, "power and money: asks for watts and prices of every device in use");
  ar("slowest_gpu", slowest_gpu, "time of a kernel on the slowest GPU / on the typical one",
     at_least(1));
  ar.check(static_cast<std::int64_t>(servers) * server.gpus <= 4000000, "servers",
           "gives more than 4,000,000 GPUs", "fewer servers");
}

Gpu Cluster::loaded_gpu() const {
  Gpu gpu = server.gpu;
  gpu.kernel_launch *= load().stretch;
  return gpu;
}

void check_storage(const Cluster& cluster) {
  if (!cluster.storage || cluster.storage->network != "own") return;
  if (cluster.server.storage_rate() > BytesPerSecond()) return;
  throw DesignError("/storage/network",
                    "is a network of its own, and the servers have no port into it: no path",
                    "set server.storage_nic and server.storage_nics, or DPUs, or \"fabric\"");
}

}  // namespace trainyard
