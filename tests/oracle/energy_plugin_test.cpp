// The GPUs' energy against SimGrid's own host energy plug-in.
#include <simgrid/plugins/energy.h>

#include <simgrid/s4u/Actor.hpp>

#include "sim/isolate.hpp"
#include "sim/simgrid_compat.hpp"
#include "sim/simgrid_platform.hpp"
#include "tests/fork_run.hpp"
#include "tests/oracle/support_energy.hpp"

namespace trainyard {
namespace {

namespace sg = simgrid::s4u;
using testing::number;

struct Kernel {
  double start, finish;
};
/// What runs on each GPU, in order, and when the iteration ends.
struct Kernels {
  std::vector<std::vector<Kernel>> of;
  double end = 0;
};

/// Kernels and the pauses that stand for NVLink collectives: on one GPU they never overlap.
Kernels kernels(const std::vector<std::string>& sets) {
  LoadedScenario loaded = testing::load_powered(sets);
  const auto task = [&] {
    const testing::Iteration it = testing::iterate(loaded);
    const OpGraph& graph = it.lowering->graph();
    Json gpus = Json::array();
    for (std::size_t r = 0; r < it.topology->ranks(); ++r) {
      Json all = Json::array();
      for (const auto& [op, start, finish] : testing::happenings(graph, it.timeline)) {
        const bool kernel = graph.kind(op) == OpKind::kCompute ||
                            (graph.kind(op) == OpKind::kDelay && graph.role(op) == OpRole::kNvLink);
        if (!kernel || graph.rank(op) != Rank(r)) continue;
        all.push_back(Json(start));
        all.push_back(Json(finish));
      }
      gpus.push_back(std::move(all));
    }
    Json out = Json::object();
    out["end"] = Json(it.end);
    out["gpus"] = std::move(gpus);
    return out;
  };
  const Json found = run_isolated({task}).front();
  Kernels result{{}, number(found, "end")};
  for (const Json& gpu : found.at("gpus").items()) {
    auto& all = result.of.emplace_back();
    for (std::size_t i = 0; i < gpu.items().size(); i += 2)
      all.push_back({gpu.items()[i].as_number(), gpu.items()[i + 1].as_number()});
    std::sort(all.begin(), all.end(),
              [](const Kernel& a, const Kernel& b) { return a.start < b.start; });
  }
  return result;
}

/// Joules of each host when it executes these kernels at these times, in an engine of its own.
std::vector<double> plugin_joules(const Kernels& kernels) {
  std::vector<std::string> arguments{"energy", "--log=root.thresh:error",
                                     "--cfg=contexts/factory:thread"};
  for (const auto& [name, value] : simgrid_options())
    arguments.push_back("--cfg=" + name + ":" + value);
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  int argc = static_cast<int>(argv.size());
  sg::Engine engine(&argc, argv.data());
  sg_host_energy_plugin_init();
  sg::NetZone* zone = sg::create_empty_zone("gpus");
  std::vector<sg::Host*> hosts;
  for (std::size_t r = 0; r < kernels.of.size(); ++r) {
    hosts.push_back(compat::add_host(*zone, "gpu" + std::to_string(r), 1e9));
    hosts.back()->set_property("wattage_per_state", "150:150:400");  // idle, epsilon, busy
    hosts.back()->seal();
  }
  zone->seal();
  for (std::size_t r = 0; r < hosts.size(); ++r) {
    sg::Actor::create("stream", hosts[r], [&kernels, r] {
      for (const Kernel& kernel : kernels.of[r]) {
        sg::this_actor::sleep_until(kernel.start);
        sg::this_actor::execute((kernel.finish - kernel.start) * 1e9);
      }
      sg::this_actor::sleep_until(kernels.end);
    });
  }
  engine.run();
  std::vector<double> joules;
  for (sg::Host* host : hosts) joules.push_back(sg_host_get_consumed_energy(host));
  return joules;
}

TEST(Energy, OfGpusIsThatOfSimgridsPlugin) {
  const std::string job(testing::kTensorJob);
  const std::vector<std::string> sets{job, "engine.executor=stock"};
  const Kernels found = kernels(sets);
  ASSERT_EQ(found.of.size(), 4U);
  ASSERT_GE(found.of.front().size(), 8U);
  const testing::ForkResult child = testing::fork_run([&] { return plugin_joules(found); });
  ASSERT_EQ(child.error, "");
  double plugin = 0;
  for (const double joules : child.values) plugin += joules;
  const Json metrics = testing::powered(sets);
  const double step = number(metrics, "step_time_s");
  EXPECT_NEAR(step / found.end, 1, 1e-12);
  EXPECT_NEAR(number(testing::row(metrics, "GPUs"), "average_power_w") * step / plugin, 1, 1e-9);
  // Neither all at work nor all at rest.
  EXPECT_GT(plugin, 4 * 150 * step * 1.1);
  EXPECT_LT(plugin, 4 * 400 * step * 0.99);
}

}  // namespace
}  // namespace trainyard
