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

// The whole program in one place: topology -> op graph -> engine and executor -> measurements.
Json simulate(Scenario& scenario, std::vector<Job>& jobs, Fidelity fidelity) {
  const Cluster& cluster = scenario.cluster;
  const std::unique_ptr<Topology> topology =
      cluster.network->build(cluster.server, cluster.servers);
  Lowering lowering(cluster, *topology, fidelity, fidelity_of(scenario.engine.tensor_fidelity));
  for (Job& job : jobs) {
    const int servers = job.servers > 0 ? job.servers : cluster.servers - job.first_server;
    job.workload->lower(lowering, ranks_of(cluster, job.first_server, servers));
  }
  lowering.graph().freeze();
  const std::unique_ptr<Executor> executor = make_executor(scenario.engine.executor, *topology);
  const Timeline timeline =
      Engine(lowering.graph(), *executor, topology->ranks(), progress_on_stderr()).run();
  check_invariants(*topology, lowering.graph(), timeline);
  return measure_run(jobs, lowering, timeline);
}

Job probe_job(const Probe& probe, const Cluster& cluster) {
  Job job;
  job.workload = Registry<Workload>::of().make("collective");
  job.workload->set_kind("collective");
  Json fields = Json::object();
  fields["operation"] = Json(probe.operation);
  fields["sizes"] =
      Json(Json::Array{Json(write_quantity(probe.bytes.si(), dimension_of(probe.bytes)))});
  fields["ranks"] = Json(probe.ranks);
  read_fields(*job.workload, fields);
  job.servers = cluster.servers;
  return job;
}

std::vector<std::function<Json()>> tasks_of(LoadedScenario& loaded) {
  Scenario& scenario = loaded.scenario;
  std::vector<std::function<Json()>> tasks;
  if (!scenario.jobs.empty()) {
    tasks.emplace_back(
        [&] { return simulate(scenario, scenario.jobs, fidelity_of(scenario.engine.fidelity)); });
  }
  for (const auto& [name, probe] : scenario.probes) {
    tasks.emplace_back([&scenario, &probe = probe] {
      std::vector<Job> jobs;
      jobs.push_back(probe_job(probe, scenario.cluster));
      return simulate(
          scenario, jobs,
          fidelity_of(probe.fidelity.empty() ? scenario.engine.fidelity : probe.fidelity));
    });
  }
  return tasks;
}

}  // namespace

std::vector<Json> run_scenarios(std::vector<LoadedScenario>& loaded) {
  std::vector<std::function<Json()>> tasks;
  std::vector<std::size_t> counts;
  for (LoadedScenario& one : loaded) {
    check_design(one);
    const std::size_t before = tasks.size();
    for (auto& task : tasks_of(one)) tasks.push_back(std::move(task));
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
