#include "sim/run.hpp"

#include <fmt/format.h>

#include "sim/engine.hpp"
#include "sim/isolate.hpp"
#include "sim/lowering.hpp"
#include "sim/progress.hpp"
#include "sim/reader.hpp"
#include "sim/result.hpp"

namespace trainyard {
namespace {

std::unique_ptr<Executor> make_executor(const std::string& name, const Topology& topology) {
  return name == "stock" ? make_stock_executor(topology) : make_flow_executor(topology);
}

std::vector<Rank> ranks_of(const Cluster& cluster, int first_server, int servers) {
  const auto per_server = static_cast<std::size_t>(cluster.server.gpus);
  std::vector<Rank> ranks;
  for (std::size_t i = 0; i < static_cast<std::size_t>(servers) * per_server; ++i) {
    ranks.emplace_back(static_cast<std::size_t>(first_server) * per_server + i);
  }
  return ranks;
}

// The whole program in one place, after the topology: op graph -> engine and executor ->
// measurements.
Json simulate(const Scenario& scenario, const Topology& topology, std::vector<Job>& jobs,
              Fidelity fidelity) {
  const Cluster& cluster = scenario.cluster;
  Lowering lowering(cluster, topology, fidelity, fidelity_of(scenario.engine.tensor_fidelity));
  for (Job& job : jobs) {
    job.workload->lower(lowering, ranks_of(cluster, job.first_server, job.server_count(cluster)));
  }
  lowering.graph().freeze();
  const std::unique_ptr<Executor> executor = make_executor(scenario.engine.executor, topology);
  const Timeline timeline =
      Engine(lowering.graph(), *executor, topology.ranks(), progress_on_stderr()).run();
  check_invariants(topology, lowering.graph(), timeline);
  return measure_run(jobs, lowering, timeline);
}

Job probe_job(const Probe& probe) {
  Job job;
  job.workload = Registry<Workload>::of().make("collective");
  job.workload->set_kind("collective");
  Json fields = Json::object();
  fields["operation"] = Json(probe.operation);
  fields["sizes"] =
      Json(Json::Array{Json(write_quantity(probe.bytes.si(), dimension_of(probe.bytes)))});
  fields["ranks"] = Json(probe.ranks);
  read_fields(*job.workload, fields);
  return job;
}

std::vector<std::function<Json()>> tasks_of(LoadedScenario& loaded, const Topology& topology) {
  Scenario& scenario = loaded.scenario;
  std::vector<std::function<Json()>> tasks;
  if (!scenario.jobs.empty()) {
    tasks.emplace_back([&scenario, &topology] {
      return simulate(scenario, topology, scenario.jobs, fidelity_of(scenario.engine.fidelity));
    });
  }
  for (const auto& [name, probe] : scenario.probes) {
    tasks.emplace_back([&scenario, &topology, &probe = probe] {
      std::vector<Job> jobs;
      jobs.push_back(probe_job(probe));
      return simulate(
          scenario, topology, jobs,
          fidelity_of(probe.fidelity.empty() ? scenario.engine.fidelity : probe.fidelity));
    });
  }
  return tasks;
}

}  // namespace

std::vector<Json> run_scenarios(std::vector<LoadedScenario>& loaded) {
  std::vector<std::function<Json()>> tasks;
  std::vector<std::size_t> counts;
  std::vector<std::unique_ptr<Topology>> topologies;  // built once; the children inherit them
  for (LoadedScenario& one : loaded) {
    topologies.push_back(build_design(one));
    const std::size_t before = tasks.size();
    for (auto& task : tasks_of(one, *topologies.back())) tasks.push_back(std::move(task));
    counts.push_back(tasks.size() - before);
  }
  std::vector<Json> parts = run_isolated(tasks);
  std::vector<Json> results;
  auto next = parts.begin();
  for (std::size_t i = 0; i < loaded.size(); ++i) {
    const auto end = next + static_cast<std::ptrdiff_t>(counts[i]);
    results.push_back(assemble_result(loaded[i], {next, end}));
    next = end;
  }
  return results;
}

Json run_scenario(LoadedScenario& loaded) {
  std::vector<LoadedScenario> one;
  one.push_back(std::move(loaded));
  Json result = run_scenarios(one).front();
  loaded = std::move(one.front());
  return result;
}

}  // namespace trainyard
