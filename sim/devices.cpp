#include "sim/devices.hpp"

#include <algorithm>

namespace trainyard {
namespace {

void price(Archive& ar, std::optional<double>& usd, std::string_view doc) {
  ar("price_usd", usd, doc, non_negative());
}

}  // namespace

void PowerDraw::fields(Archive& ar) {
  ar.required("idle", idle, "power with nothing to do", non_negative());
  ar.required("busy", busy, "power with all it can do", non_negative());
  ar.check(busy >= idle, "busy", "is less than idle", "at least \"idle\"");
}

void GpuPower::fields(Archive& ar) {
  ar.required("computing", computing, "power while kernels run", non_negative());
  ar.required("waiting", waiting, "power between the kernels of a running step", non_negative());
  ar.required("idle", idle, "power while the job does not run", non_negative());
}

void GemmEfficiency::fields(Archive& ar) {
  ar("max", max, "share of peak that large products reach", efficiency());
  ar("m_half", m_half, "rows (M) at which half of max is reached", non_negative());
  ar("n_half", n_half, "columns (N) at which half of max is reached", non_negative());
  ar("k_half", k_half, "depth (K) at which half of max is reached", non_negative());
}

void Gpu::fields(Archive& ar) {
  ar.required("peak_bf16", peak_bf16, "dense BF16 peak, like \"312 TFLOPS\"", positive());
  ar("peak_fp8", peak_fp8, "dense FP8 peak (0: none)", non_negative());
  ar.required("hbm_bandwidth", hbm_bandwidth, "peak memory bandwidth", positive());
  ar("hbm_efficiency", hbm_efficiency, "share of hbm_bandwidth that kernels reach", efficiency());
  ar.required("memory", memory, "device memory", positive());
  ar("gemm", gemm, "efficiency of matrix products by shape");
  ar("gemm_fp8", gemm_fp8, "the same for FP8, of peak_fp8");
  ar("power", power, "electric power");
  ar("kernel_launch", kernel_launch, "least time between kernel launches", non_negative());
}

void NvLink::fields(Archive& ar) {
  ar.required("bandwidth", bandwidth, "per GPU and direction (half of the marketing figure)",
              positive());
  ar("efficiency", efficiency, "share of bandwidth that collectives reach",
     trainyard::efficiency());
  ar("nvls_efficiency", nvls_efficiency,
     "share of bandwidth that reductions in NVSwitch (NVLS) reach (0: none)", between(0, 1));
  ar("latency", latency, "one traversal of NVLink and NVSwitch", non_negative());
}

void Nic::fields(Archive& ar) {
  ar.required("rate", rate, "port rate per direction, like \"200 Gb/s\"", positive());
  ar("efficiency", efficiency, "payload share of the port rate", trainyard::efficiency());
  ar.required("pcie_bandwidth", pcie_bandwidth, "effective PCIe bandwidth per direction",
              positive());
  ar("latency", latency, "one NIC's share of a message's latency", non_negative());
  ar("message_rate", message_rate, "messages a second that it sends at most (0: without limit)",
     non_negative());
  ar("rdma", rdma, "the card can do RDMA");
  ar("gpudirect", gpudirect, "the card can read and write GPU memory by itself");
  ar("power", power, "electric power of one card");
  price(ar, price_usd, "price of one storage card; a server's price includes its other cards");
}

void Dpu::fields(Archive& ar) {
  ar.required("rate", rate, "all ports together, per direction", positive());
  ar.required("cores", cores, "cores on the card", at_least(1));
  ar.required("memory_bandwidth", memory_bandwidth, "bandwidth of the card's own memory",
              positive());
  ar("core_speed", core_speed, "speed of one core relative to a host core", positive());
  ar("power", power, "electric power of one card");
  price(ar, price_usd, "price of one card");
}

void Host::fields(Archive& ar) {
  ar.required("cores", cores, "physical cores of all sockets", at_least(1));
  ar("network_cores", network_cores, "cores that network services may use (0: all)",
     non_negative());
  ar.required("memory_bandwidth", memory_bandwidth, "effective memory bandwidth, all sockets",
              positive());
  ar("power", power, "electric power of all sockets and their memory, by share of busy cores");
  ar.check(network_cores <= cores, "network_cores", "asks for more cores than the host has",
           "at most \"cores\"");
}

void Sharp::fields(Archive& ar) {
  ar("enabled", enabled, "reduce in this switch");
  ar("efficiency", efficiency, "share of link rate that streaming aggregation reaches",
     trainyard::efficiency());
  ar("aggregation_latency", aggregation_latency, "added by each reducing switch", non_negative());
  ar("streaming_trees", streaming_trees, "streaming (SAT) trees one switch can hold",
     non_negative());
  ar("low_latency_trees", low_latency_trees, "low-latency (LLT) trees one switch can hold",
     non_negative());
  ar("radix", radix, "most children of one aggregation node (0: every port)", non_negative());
  ar("low_latency_max", low_latency_max, "largest message on a low-latency tree", non_negative());
}

void Switch::fields(Archive& ar) {
  ar.required("ports", ports, "ports", at_least(2));
  ar.required("rate", rate, "port rate per direction", positive());
  ar("latency", latency, "port-to-port latency", non_negative());
  ar("sharp", sharp, "in-network reduction");
  ar("power", power, "electric power without transceivers");
  price(ar, price_usd, "price without transceivers");
  ar("port_power", port_power, "power of one port in use: its transceiver", non_negative());
  ar("port_price_usd", port_price_usd, "price of one port in use: transceiver and half a cable",
     non_negative());
}

void Server::fields(Archive& ar) {
  ar.required("gpus", gpus, "GPUs per server", between(1, 1024));
  ar.required("gpu", gpu, "the GPU");
  ar.required("nvlink", nvlink, "the links between the GPUs of a server");
  ar.required("nics", nics, "network cards for GPU traffic per server", between(1, 1024));
  ar.required("nic", nic, "the network card");
  ar.required("host", host, "CPUs and memory of the server");
  ar("nic_affinity", nic_affinity, "by GPU, the NIC that it sends through (empty: spread evenly)");
  ar.check(nic_affinity.empty() || static_cast<int>(nic_affinity.size()) == gpus, "nic_affinity",
           "does not name one NIC for each GPU", "one number for each of \"gpus\"");
  ar.check(std::all_of(nic_affinity.begin(), nic_affinity.end(),
                       [&](int n) { return n >= 0 && n < nics; }),
           "nic_affinity", "names a NIC that the server does not have",
           "numbers from 0, less than \"nics\"");
  ar("dpu", dpu, "data processing unit");
  ar("dpus", dpus, "DPUs per server", non_negative());
  ar("storage_nic", storage_nic, "card of a storage network of its own");
  ar("storage_nics", storage_nics,
     "storage cards in the server, beside DPUs; there, they draw power and cost money",
     between(0, 64));
  ar("base_power", base_power, "power of fans, NVSwitches, drives, boards and losses",
     non_negative());
  price(ar, price_usd, "price with GPUs, NICs and host, without DPUs and storage NICs");
  ar.check(storage_nics == 0 || storage_nic.has_value(), "storage_nics",
           "counts storage ports, but no \"storage_nic\" is given",
           "name one, like \"connectx-6-200g\"");
  ar.check(dpus == 0 || dpu.has_value(), "dpus", "counts DPUs, but no \"dpu\" is given",
           "name one, like \"bluefield-2\"");
}

BytesPerSecond Server::storage_rate() const {
  BytesPerSecond rate;
  if (storage_nic) rate += storage_nics * (storage_nic->rate * storage_nic->efficiency);
  if (dpu) rate += dpus * dpu->rate;
  return rate;
}

}  // namespace trainyard
