#include "sim/cluster.hpp"

#include "sim/error.hpp"

namespace trainyard {

void Protocol::fields(Archive& ar) {
  ar("base_latency", base_latency, "latency of a call before its first step", non_negative());
  ar("intra_latency", intra_latency, "latency of one step inside a server", non_negative());
  ar("network_latency", network_latency, "latency of one step between servers", non_negative());
  ar("tree_intra_latency", tree_intra_latency, "the same of trees (absent: as in rings)",
     non_negative());
  ar("tree_network_latency", tree_network_latency, "the same of trees (absent: as in rings)",
     non_negative());
  ar("efficiency", efficiency, "payload share of what the protocol sends", trainyard::efficiency());
  ar("intra_rate", intra_rate, "most bus bandwidth inside a server (0: without limit)",
     non_negative());
  ar("network_rate", network_rate, "most bus bandwidth between servers (0: without limit)",
     non_negative());
  ar.choice("law", law, {"additive", "cut-through"},
            "time of a step: latency + chunk/bandwidth, or the larger of the two");
  ar("tree_fill", tree_fill, "how the pipeline of a tree fills");
  ar("slices", slices, "slices of a chunk when cut through (0: endlessly many)", between(0, 1024));
}

void PipelineFill::fields(Archive& ar) {
  ar("bytes", bytes, "most that passes the first level before the last has any", non_negative());
  ar("share", share, "the same as a share of the buffer", non_negative());
}

void CollectiveLibrary::fields(Archive& ar) {
  ar("algorithm", algorithm, "auto, or one algorithm for all collectives");
  ar("protocol", protocol, "auto, or one of the protocols by name");
  ar.required("protocols", protocols, "wire protocols by name");
  ar.choice("choice", choice, {"fastest", "nccl"},
            "what auto takes: the least closed form, or what NCCL's cost model takes");
  ar("channels", channels, "parallel rings (0: one per NIC of a server)", between(0, 64));
  ar("ctas", ctas, "thread blocks of a kernel, NCCL's channels (0: without limit)",
     between(0, 1024));
  ar("cta_rate", cta_rate, "rate of one of them between servers (0: without limit)",
     non_negative());
  ar("proxy_latency", proxy_latency,
     "added to a ring's step between servers per further message of a proxy thread",
     non_negative());
  ar("tree_efficiency", tree_efficiency, "share of the network's rate that trees reach",
     efficiency());
  ar("nvls_latency", nvls_latency, "of a reduction and a broadcast in NVSwitch", non_negative());
  ar("nvls_tree_efficiency", nvls_tree_efficiency, "rate in NVSwitch beside the network / alone",
     efficiency());
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
  ar("pxn", pxn, "let messages between rails cross NVLink and stay on the receiver's rail");
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
