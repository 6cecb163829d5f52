// Host services: each costs nothing while there is room for it, and what arithmetic says beyond.
#include <cmath>
#include <map>

#include "tests/support_host.hpp"

namespace trainyard {
namespace {

using testing::expect_ratio;
using testing::host_fault;
using testing::host_metric;
using testing::kGptJob;
using testing::kGradients;
using testing::Sets;
using testing::operator+;

constexpr double kWire = 10e9;  // bytes/s of a port
constexpr double kExact = 1e-9, kHand = 0.02;

/// Seconds of the all-reduce of 1 GB, and of the step that ends with that of its gradients, when a
/// server moves `rate` bytes/s each way.
void expect_network(const Sets& sets, double rate, double tolerance, const std::string& what) {
  expect_ratio(host_metric(kGptJob, "allreduce_time_s", sets), 1e9 / rate, tolerance, what);
  expect_ratio(host_metric(kGptJob, "step_time_s", sets), testing::kPasses + kGradients / rate,
               tolerance, what);
}

std::string set(const std::string& field, double value, const std::string& unit = "") {
  return fmt::format("cluster.{}={}{}", field, value, unit);
}

/// A service "it" of these fields.
std::string service(const std::string& fields) { return "cluster.services.it={" + fields + "}"; }

// ---- the cost of bytes ----

// At 5 GB/s a core 4 of 8 cores are busy, at 2.5 all 8, at 1.25 twice as many as there are.
TEST(Services, TcpStackSlowsTheNetworkOnlyWhenItsCoresRunOut) {
  expect_network({}, kWire, kExact, "5 GB/s a core");
  expect_network({set("transport.per_core", 2.5, " GB/s")}, kWire, kExact, "2.5 GB/s");
  expect_network({set("transport.per_core", 1.25, " GB/s")}, 8 * 1.25e9 / 2, kHand, "1.25 GB/s");
  expect_network({set("transport.per_core", 0.625, " GB/s")}, 8 * 0.625e9 / 2, kHand, "0.625 GB/s");
}

// TCP leaves 4 cores: encryption at 10 GB/s a core takes 2 of them, at 5 all, at 2.5 GB/s 8.
TEST(Services, IpsecSlowsTheNetworkOnlyWhenItsCoresRunOut) {
  const auto ipsec = [](double per_core) {
    return Sets{service(fmt::format(R"("traffic": "network", "account": "security",
                                      "per_core": "{} GB/s")",
                                    per_core))};
  };
  expect_network(ipsec(10), kWire, kExact, "10 GB/s a core");
  expect_network(ipsec(5), kWire, kExact, "5 GB/s");
  expect_network(ipsec(2.5), 8 / (2 / 5e9 + 2 / 2.5e9), kHand, "2.5 GB/s");
  expect_network(ipsec(1.25), 8 / (2 / 5e9 + 2 / 1.25e9), kHand, "1.25 GB/s");
}

// Each byte is read and written once more: 100 GB/s of memory carry 8 + 4 passes at 8.33 GB/s.
TEST(Services, IpsecTakesHostMemoryToo) {
  const std::string passes = R"("traffic": "network", "memory_passes": 2)";
  expect_network({service(passes), set("server.host.memory_bandwidth", 120, " GB/s")}, kWire,
                 kExact, "120 GB/s");
  expect_network({service(passes), set("server.host.memory_bandwidth", 100, " GB/s")}, 100e9 / 12,
                 kHand, "100 GB/s");
}

// An engine carries what is sent and what is received: 20 GB/s at wire speed.
TEST(Services, EngineSlowsTheNetworkOnlyBelowBothDirectionsOfThePort) {
  const auto engine = [](double rate) {
    return Sets{service(fmt::format(R"("placement": "engine", "traffic": "network",
        "per_core": "1 MB/s", "memory_passes": 1000, "engine_rate": "{} GB/s")",
                                    rate))};
  };
  expect_network(engine(0), kWire, kExact, "no limit");
  expect_network(engine(20), kWire, kExact, "20 GB/s");
  expect_network(engine(10), 5e9, kHand, "10 GB/s");
}

// ---- cores that are taken whatever happens ----

// Wire speed needs 4 cores: of 8, daemons may have 4. With 6, the bytes have 2.
TEST(Services, PinnedAndSharedCoresAreTakenFromTheBytes) {
  for (const std::string kind : {"reserved_cores", "shared_cores"}) {
    for (const std::string account : {"network", "security", "management", "application"}) {
      const auto cores = [&](double n) {
        return Sets{service(fmt::format(R"("account": "{}", "{}": {})", account, kind, n))};
      };
      expect_network(cores(2), kWire, kExact, kind + " 2");
      expect_network(cores(4), kWire, kExact, kind + " 4");
      expect_network(cores(6), kWire * 2 / 4, kHand, kind + " 6");
      expect_network(cores(7), kWire * 1 / 4, kHand, kind + " 7");
    }
  }
}

// 16 busy threads and one that moves bytes on 8 cores: a fair scheduler gives it 8/17 of a core.
TEST(Services, AnOvercommittedHostStillMovesBytes) {
  const Sets busy{service(R"("shared_cores": 16)")};
  expect_network(busy, kWire * (8.0 / 17) / 4, kHand, "16 shared");
}

TEST(Services, CoresLeftToTheNetworkAreTheLesserOfTheTwoLimits) {
  expect_network({set("server.host.network_cores", 4)}, kWire, kExact, "4 network cores");
  expect_network({set("server.host.network_cores", 2)}, kWire / 2, kHand, "2 network cores");
  expect_network({set("server.host.network_cores", 2), service(R"("reserved_cores": 7)")},
                 kWire / 4, kHand, "one core left");
}

TEST(Services, RdmaDoesNotNeedTheHostsCores) {
  const Sets rdma{R"(cluster.transport={"kind": "rdma"})", "cluster.gpudirect=true"};
  const Sets busy{service(R"("shared_cores": 16)")};
  expect_network(rdma + busy, kWire, kExact, "rdma");
  const Sets encrypting{service(R"("traffic": "network", "per_core": "1 MB/s")")};
  const Json result =
      testing::run_text_scenario(testing::host_scenario(kGptJob), rdma + encrypting);
  ASSERT_EQ(result.at("inactive").items().size(), 1U);
  EXPECT_NE(result.at("inactive").items()[0].as_string().find("service it"), std::string::npos);
  expect_ratio(result.at("metrics").at("allreduce_time_s").as_number(), 1e9 / kWire, kExact);
}

// Spinning threads yield to those with work: they cost cores, which the account shows, not time.
TEST(Services, PollingThreadsCostCoresAndNoTime) {
  for (const double threads : {2, 4, 8, 16, 128}) {
    const Sets polling{
        service(fmt::format(R"("account": "network", "polling_threads": {})", threads))};
    expect_network(polling, kWire, kExact, fmt::format("{} threads", threads));
    // All the time of the probe is open, and there are 8 cores.
    expect_ratio(host_metric(kGptJob, "host_cpu_network_fraction_peak_allreduce", polling),
                 std::max(4.0, std::min(threads, 8.0)) / 8, kExact);
  }
}

TEST(Services, OffMeansThatItIsNotThere) {
  const Sets off{service(R"("placement": "off", "reserved_cores": 100, "shared_cores": 100,
      "polling_threads": 100, "traffic": "all", "per_core": "1 B/s", "jitter": "1 s")")};
  EXPECT_EQ(host_metric(kGptJob, "step_time_s", off), host_metric(kGptJob, "step_time_s"));
}

// ---- what binds TCP ----

TEST(Services, TcpIsBoundByCoresMemoryAndWireInTurn) {
  const Sets cores{set("transport.per_core", 1, " GB/s")};              // 8 · 1 / 2 = 4 GB/s
  const Sets memory{set("server.host.memory_bandwidth", 40, " GB/s")};  // 40 / (4 + 4) = 5 GB/s
  expect_network(cores, 4e9, kHand, "cores");
  expect_network(memory, 5e9, kHand, "memory");
  expect_network({}, 10e9, kHand, "wire");
  expect_network(cores + memory, 4e9, kHand, "both");
  expect_network({set("transport.efficiency", 0.5)}, 5e9, kHand, "headers");
  // Staged in host memory, bytes cross PCIe twice on each side.
  expect_network({set("server.nic.pcie_bandwidth", 12, " GB/s")}, 6e9, kHand, "PCIe");
  expect_network(memory + Sets{set("transport.send_passes", 2), set("transport.receive_passes", 2)},
                 10e9, kExact, "fewer passes");
}

// A DPU of 8 cores at half the speed is 4 host cores: half of the 8 that the host has.
TEST(Services, TcpStackOnADpuIsSlowerByTheRatioOfCores) {
  const Sets slow{set("transport.per_core", 1, " GB/s"), "cluster.server.dpus=1"};
  const Sets dpu{R"(cluster.transport.placement="dpu")"};
  const double host_time = host_metric(kGptJob, "allreduce_time_s", slow),
               dpu_time = host_metric(kGptJob, "allreduce_time_s", slow + dpu);
  expect_ratio(host_time, 1e9 / (8 * 1e9 / 2), kHand);
  expect_ratio(dpu_time / host_time, 8 / (8 * 0.5), kHand);
  expect_network(slow + dpu + Sets{"cluster.server.dpus=2"}, 4e9, kHand, "two DPUs");
  // What runs on the DPU is slower there too: 2 of its own cores pinned, 1 host core's work.
  const Sets beside{service(R"("placement": "dpu", "reserved_cores": 2, "shared_cores": 1)")};
  expect_network(slow + dpu + beside, (4 - 2 * 0.5 - 1) * 1e9 / 2, kHand, "beside services");
  // And its memory: staging is the host's.
  const Sets memory{set("server.dpu.memory_bandwidth", 9, " GB/s")};
  expect_network(dpu + memory + Sets{"cluster.server.dpus=1"}, 9e9 / (3 + 3), kHand, "memory");
}

// ---- storage and data ----

/// 40 GB of checkpoint (20 GB per server), 0.15 s steps of 1,000 samples of 1 MB.
const char* const kFixedJob = R"({"workload": {"kind": "fixed-step", "step": "0.15 s",
    "parameters": 4e9, "samples": 1000},
  "training": {"steps": 1000, "seeds": 1,
    "checkpoint": {"bytes_per_parameter": 10, "interval": "15 s"}}})";

// The port's 10 GB/s need 4 cores at 2.5 GB/s, and all 8 at 1.25.
TEST(Services, StorageServicesSlowCheckpointsOnlyWhenTheirCoresRunOut) {
  const auto initiator = [](double per_core) {
    return service(fmt::format(R"("traffic": "storage", "account": "storage",
                                 "per_core": "{} GB/s")",
                               per_core));
  };
  const auto writer = [](double per_core) {
    return fmt::format(R"(cluster.services.writer={{"traffic": "storage", "per_core": "{} GB/s"}})",
                       per_core);
  };
  const auto expect = [&](const Sets& sets, double rate, double tolerance) {
    expect_ratio(host_metric(kFixedJob, "checkpoint_time_s", sets), 20e9 / rate, tolerance);
  };
  expect({initiator(2.5)}, kWire, kExact);
  expect({initiator(1.25)}, kWire, kExact);
  expect({initiator(0.625)}, 8 * 0.625e9, kHand);
  // Beside an initiator that takes 4 cores, serialization may take the other 4.
  expect({initiator(2.5), writer(5)}, kWire, kExact);
  expect({initiator(2.5), writer(2.5)}, kWire, kExact);
  expect({initiator(2.5), writer(1.25)}, 8 / (1 / 2.5e9 + 1 / 1.25e9), kHand);
  // Steps do not depend on it.
  EXPECT_EQ(host_metric(kFixedJob, "step_time_s", {initiator(0.1)}), 0.15);
  // Nor does the network, and the other way round.
  expect_network({initiator(0.1)}, kWire, kExact, "storage");
  expect({service(R"("traffic": "network", "per_core": "1 MB/s")")}, kWire, kExact);
}

// 500 samples a server at 1 ms are 0.0625 s of 8 cores, at 2 ms 0.125: less than a step of 0.15.
TEST(Services, PreprocessingSlowsTrainingOnlyWhenItsCoresRunOut) {
  const auto days = [](double ms, const Sets& sets = {}) {
    return host_metric(kFixedJob, "training_days",
                       sets + Sets{fmt::format(R"(jobs.0.training.data={{"sample": "1 MB",
                          "preprocess": "{} ms"}})",
                                               ms),
                                   "jobs.0.training.checkpoint.bytes_per_parameter=0"});
  };
  const auto steps = [](double seconds) { return 1000 * seconds / 86400; };
  expect_ratio(days(0), steps(0.15), kExact, "0 ms");
  expect_ratio(days(1), steps(0.15), kExact, "1 ms");
  expect_ratio(days(2), steps(0.15), kExact, "2 ms");
  expect_ratio(days(4), steps(500 * 4e-3 / 8), kHand, "4 ms");
  expect_ratio(days(2, {service(R"("reserved_cores": 6)")}), steps(500 * 2e-3 / 2), kHand,
               "2 cores left");
}

TEST(Services, PreprocessingOnAppliancesNeedsNoCores) {
  const Sets elsewhere{R"(jobs.0.training.data={"sample": "1 MB", "preprocess": "100 ms",
      "preprocessing": "appliance"})",
                       "jobs.0.training.checkpoint.bytes_per_parameter=0"};
  // Whose cores, then?
  EXPECT_EQ(host_fault(kFixedJob, elsewhere).second, "/jobs/0/training/data/preprocessing");
  const Sets there =
      elsewhere + Sets{R"(cluster.appliances={"p": {"load": "data", "rate": "1 GB/s"}})"};
  expect_ratio(host_metric(kFixedJob, "training_days", there), 150.0 / 86400, kExact);
}

// What services ask for beyond the host's cores is no share of them, but an overload.
TEST(Services, SharesOfTheHostStayBelowOne) {
  const Sets sets{R"(cluster.services={"busy": {"shared_cores": 20}})"};
  EXPECT_EQ(host_metric(kGptJob, "host_cpu_infrastructure_fraction", sets), 1);
  expect_ratio(host_metric(kGptJob, "host_stretch", sets), 20.0 / 8, kExact);
}

// ---- launches ----

/// One GPU, bound by launches: every kernel is over before the next is launched.
const Sets kLaunchBound{"cluster.servers=1",
                        "probes={}",
                        "jobs.0.workload.global_batch=1",
                        "jobs.0.workload.stage_forward=0 s",
                        "jobs.0.workload.stage_backward=0 s",
                        "cluster.server.gpu.kernel_launch=10 ms"};

TEST(Services, LaunchesStretchOnlyWhenMoreCoresAreWantedThanThereAre) {
  const auto step = [](const std::string& services, const Sets& more = {}) {
    return host_metric(kGptJob, "step_time_s",
                       kLaunchBound + more + Sets{"cluster.services={" + services + "}"});
  };
  const double alone = step("");
  // Twice the kernels' launch time is twice the step: it is bound by nothing else.
  expect_ratio(step("", {"cluster.server.gpu.kernel_launch=20 ms"}), 2 * alone, kExact);
  const std::string threads = R"("launch": {"account": "application", "reserved_cores": 4})";
  expect_ratio(step(threads), alone, kExact, "4 launch threads");
  const std::string more = R"("launch": {"account": "application", "reserved_cores": 8})";
  expect_ratio(step(more), alone, kExact, "8 launch threads");
  const std::string agents = R"(, "agents": {"shared_cores": 4})";
  expect_ratio(step(threads + agents), alone, kExact, "4 and 4");
  expect_ratio(step(more + agents), alone * 12 / 8, kHand, "8 and 4");
  const std::string many = R"(, "agents": {"shared_cores": 8})";
  expect_ratio(step(more + many), alone * 16 / 8, kHand, "8 and 8");
}

// The mean of the latest of 8 exponential delays of mean j is j·H_8. 1,024 micro-batches have 2,048
// passes; the mean of their latest delays deviates by 1.24 / 2.72 / sqrt(2048) = 1%.
TEST(Services, JitterDelaysEachPassByItsLatestLaunch) {
  const Sets eight{"cluster.servers=1",
                   "cluster.server.gpus=8",
                   "probes={}",
                   "jobs.0.workload.tensor=8",
                   "jobs.0.workload.model.heads=8",
                   "jobs.0.workload.global_batch=1024"};
  double h8 = 0, h1 = 1;
  for (int i = 1; i <= 8; ++i) h8 += 1.0 / i;
  const double passes = 2 * 1024, j = 0.2e-3;
  const double quiet = host_metric(kGptJob, "step_time_s", eight);
  expect_ratio(quiet, 1024 * testing::kPasses, kExact);
  const auto growth = [&](const std::string& fields, const Sets& more = {}) {
    return host_metric(kGptJob, "step_time_s", eight + more + Sets{service(fields)}) - quiet;
  };
  expect_ratio(growth(R"("jitter": "0.2 ms")"), passes * j * h8, 0.05, "8 ranks");
  expect_ratio(growth(R"("jitter": "0.4 ms")"), passes * 2 * j * h8, 0.05, "twice the jitter");
  // On twice as many threads as cores, launches are late by twice as much.
  expect_ratio(growth(R"("jitter": "0.2 ms", "shared_cores": 16)"), passes * 2 * j * h8, 0.05,
               "overcommitted");
  EXPECT_NEAR(growth(R"("jitter": "0.2 ms", "placement": "engine")"), 0, quiet * kExact);
  // Alone, a GPU waits for its own launch only.
  const Sets one{"cluster.server.gpus=1", "jobs.0.workload.tensor=1"};
  expect_ratio(growth(R"("jitter": "0.2 ms")", one), passes * j * h1, 0.07, "one rank");
}

// ---- designs that do not fit ----

using Fault = std::pair<int, std::string>;

TEST(Services, PinningMoreCoresThanThereAreNamesTheService) {
  const auto pinned = [](const std::string& where, double cores, const Sets& more = {}) {
    return host_fault(kGptJob,
                      more + Sets{service(fmt::format(R"("placement": "{}", "reserved_cores": {})",
                                                      where, cores))});
  };
  const Fault fault{4, "/cluster/services/it/reserved_cores"}, none{0, ""};
  const Sets dpu{"cluster.server.dpus=1"};
  EXPECT_EQ(pinned("host", 8), none);
  EXPECT_EQ(pinned("host", 8.5), fault);
  EXPECT_EQ(pinned("dpu", 8, dpu), none);
  EXPECT_EQ(pinned("dpu", 9, dpu), fault);
  EXPECT_EQ(pinned("off", 100), none);
  // The sum counts, and the service that no longer fits is named.
  const Sets before{R"(cluster.services.a={"reserved_cores": 5})"};
  EXPECT_EQ(pinned("host", 3, before), none);
  EXPECT_EQ(pinned("host", 4, before), fault);
}

TEST(Services, PlacedOnADpuThatIsNotThereIsAFaultOfTheScenario) {
  const Sets on_dpu{service(R"("placement": "dpu")")};
  EXPECT_EQ(host_fault(kGptJob, on_dpu), (Fault{3, "/cluster/services/it/placement"}));
  EXPECT_EQ(host_fault(kGptJob, on_dpu + Sets{"cluster.server.dpus=1"}), (Fault{0, ""}));
  EXPECT_EQ(host_fault(kGptJob, {R"(cluster.transport.placement="dpu")"}),
            (Fault{3, "/cluster/transport/placement"}));
}

// ---- what is reported ----

// Bytes keep 4 cores busy while the gradients are on their way; 6 threads spin meanwhile.
TEST(Services, HostCpuFractionsByHand) {
  const double transfer = kGradients / kWire, open = transfer / (testing::kPasses + transfer);
  const auto metric = [](const std::string& key, const Sets& sets) {
    return host_metric(kGptJob, key, sets);
  };
  const std::string all = "host_cpu_network_fraction";
  const Sets held{R"(cluster.services.daemons={"account": "network", "reserved_cores": 1,
      "shared_cores": 0.5})",
                  R"(cluster.services.isolation={"account": "security", "shared_cores": 2})",
                  R"(cluster.services.launch={"account": "application", "reserved_cores": 0.5})"};
  expect_ratio(metric(all, {}), 4 * open / 8, kExact);
  expect_ratio(metric(all + "_busy", {}), 4 * open / 8, kExact);
  expect_ratio(metric(all, held), (1.5 + 4 * open) / 8, kExact);
  expect_ratio(metric(all + "_reserved", held), 1.5 / 8, kExact);
  expect_ratio(metric("host_cpu_infrastructure_fraction", held), (3.5 + 4 * open) / 8, kExact);
  const auto polling = [&](double threads) {
    return held + Sets{fmt::format(
                      R"(cluster.services.proxies={{"account": "network", "polling_threads": {}}})",
                      threads)};
  };
  expect_ratio(metric(all, polling(3)), (1.5 + 4 * open) / 8, kExact, "bytes are more");
  expect_ratio(metric(all, polling(6)), (1.5 + 6 * open) / 8, kExact, "polling is more");
  // 1.5 of 8 cores are pinned: no more than the others can spin.
  expect_ratio(metric(all + "_polling", polling(100)), (8 - 1.5) * open / 8, kExact,
               "all the rest");
}

// 0.5 GB of data per server and step of 0.15 s at 2.5 GB/s a core: 1.33 cores, none of the network.
TEST(Services, CoresOfStorageAreInfrastructureAndNotNetwork) {
  const Sets sets{R"(cluster.services.initiator={"traffic": "storage", "account": "storage",
      "per_core": "2.5 GB/s"})",
                  R"(jobs.0.training.data={"sample": "1 MB"})",
                  "jobs.0.training.checkpoint.bytes_per_parameter=0"};
  EXPECT_EQ(host_metric(kFixedJob, "host_cpu_network_fraction", sets), 0);
  expect_ratio(host_metric(kFixedJob, "host_cpu_infrastructure_fraction", sets),
               0.5e9 / 2.5e9 / 0.15 / 8, kExact);
}

/// Two DGX A100 with power and prices, the store of the catalogue, and training of the small GPT.
const Sets kPriced{R"(cluster.server="dgx-a100")",
                   R"(cluster.network.switch="qm8700")",
                   R"(cluster.transport={"kind": "rdma"})",
                   "cluster.gpudirect=true",
                   R"(cluster.storage="nvmeof-flash")",
                   R"(cluster.site="colocation")",
                   "probes={}",
                   "jobs.0.workload.global_batch=16",
                   R"(jobs.0.training={"steps": 1000, "seeds": 1, "data": {"sample": "1 MB"},
                       "checkpoint": {"bytes_per_parameter": 14, "interval": "1 s"}})"};

std::string appliance(const std::string& name, const std::string& fields) {
  return fmt::format(R"(cluster.appliances.{}={{"power": "500 W", "price_usd": 1000, {}}})", name,
                     fields);
}

std::map<std::string, double> appliances(const Json& result) {
  std::map<std::string, double> counts;
  for (const Json& row : result.at("metrics").at("equipment").items())
    counts[row.at("equipment").as_string()] = row.at("count").as_number();
  return counts;
}

TEST(Services, AppliancesAreAsManyAsTheirLoadNeeds) {
  const Sets sets{appliance("one-each", R"("load": "servers", "servers": 1)"),
                  appliance("one-for-two", R"("load": "servers", "servers": 2)"),
                  appliance("two-for-three", R"("load": "servers", "servers": 1.5)"),
                  appliance("network", R"("load": "network", "rate": "4 GB/s")"),
                  appliance("tenth", R"("load": "network", "rate": "0.1 GB/s", "share": 0.1)"),
                  appliance("gateways", R"("load": "checkpoint", "rate": "40 GB/s")"),
                  appliance("none", R"("load": "checkpoint", "rate": "40 GB/s", "share": 0)"),
                  appliance("loaders", R"("load": "data", "rate": "0.25 GB/s")")};
  const Json result = testing::run_text_scenario(testing::host_scenario(kGptJob), kPriced + sets);
  std::map<std::string, double> count = appliances(result);
  EXPECT_EQ(count["one-each"], 2);
  EXPECT_EQ(count["one-for-two"], 1);
  EXPECT_EQ(count["two-for-three"], 2);
  // A ring over 16 ranks: each server sends 2 · 15/16 of the gradients, over 8 cards of 24 GB/s.
  const double sent = 2 * 15.0 / 16 * kGradients;
  const double step = testing::kPasses + sent / (8 * 24e9);
  expect_ratio(result.at("metrics").at("step_time_s").as_number(), step, kHand);
  EXPECT_EQ(count["network"], std::ceil(2 * sent / step / 4e9));
  EXPECT_EQ(count["tenth"], std::ceil(0.1 * 2 * sent / step / 0.1e9));
  // Two servers write 48 GB/s each.
  EXPECT_EQ(count["gateways"], std::ceil(96.0 / 40));
  EXPECT_EQ(count["none"], 0);
  EXPECT_EQ(count["loaders"], std::ceil(16 * 1e6 / step / 0.25e9));
}

}  // namespace
}  // namespace trainyard
