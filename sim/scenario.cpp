#include "sim/scenario.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "sim/background.hpp"
#include "sim/equipment.hpp"
#include "sim/error.hpp"
#include "sim/reader.hpp"
#include "sim/registry.hpp"
#include "sim/resolve.hpp"
#include "sim/spelling.hpp"

namespace trainyard {

void EngineSettings::fields(Archive& ar) {
  ar.choice("executor", executor, {"flow", "stock"},
            "flow: our max-min model inside SimGrid; stock: SimGrid activities");
  ar.choice("fidelity", fidelity, {"steps", "flow", "analytic"},
            "how finely collectives are simulated");
  ar.choice("tensor_fidelity", tensor_fidelity, {"steps", "flow", "analytic"},
            "the same for tensor-parallel collectives");
  ar.choice("fold", fold, {"auto", "off"},
            "simulate one for several that do exactly the same, or each");
  ar("seed", seed, "seed of everything random");
}

Fidelity fidelity_of(const std::string& name) {
  return name == "steps"  ? Fidelity::kSteps
         : name == "flow" ? Fidelity::kFlow
                          : Fidelity::kAnalytic;
}

void Job::fields(Archive& ar) {
  ar("name", name, "name of the job");
  ar("first_server", first_server, "first server of the job", non_negative());
  ar("servers", servers, "servers of the job (0: all from first_server on)", non_negative());
  ar.plugin("workload", workload, "what the job does");
  ar("training", training, "a whole training run of it: data, checkpoints, failures");
}

void Probe::fields(Archive& ar) {
  ar.choice("operation", operation, collective_names(), "the collective");
  ar.required("bytes", bytes, "buffer per rank, as nccl-tests counts it", positive());
  ar("ranks", ranks, "how many of the cluster's GPUs, from the first (0: all)", non_negative());
  ar("fidelity", fidelity, "steps, flow or analytic (empty: the engine's)");
  ar.check(fidelity.empty() || fidelity == "steps" || fidelity == "flow" || fidelity == "analytic",
           "fidelity", fmt::format("\"{}\" is not a choice here", fidelity),
           "one of: steps, flow, analytic");
}

std::vector<Rank> Job::ranks(const Cluster& cluster) const {
  const auto per_server = static_cast<std::size_t>(cluster.server.gpus);
  std::vector<Rank> all;
  for (std::size_t i = 0; i < static_cast<std::size_t>(server_count(cluster)) * per_server; ++i)
    all.emplace_back(static_cast<std::size_t>(first_server) * per_server + i);
  return all;
}

void Scenario::fields(Archive& ar) {
  ar("$schema", schema, "JSON Schema for editors");
  ar("name", name, "short name, used in tables");
  ar("description", description, "what it shows");
  ar("engine", engine, "how to simulate");
  ar.required("cluster", cluster, "the hardware");
  ar("jobs", jobs, "what runs on it");
  ar("probes", probes, "named collectives on the idle cluster");
  ar("enable", enable, "features switched on");
  ar("baseline", baseline,
     "name of the run that ratios in a comparison are taken to (empty: the first)");
  ar("claim", claim, "file of claimed values, relative to this one");
  const std::string& algorithm = cluster.collectives.algorithm;
  const auto names = Registry<Collective>::of().names();
  ar.check(algorithm == "auto" || std::find(names.begin(), names.end(), algorithm) != names.end(),
           "cluster/collectives/algorithm", fmt::format("\"{}\" is not an algorithm", algorithm),
           suggest(algorithm, names));
  for (const auto& [key, probe] : probes) {
    ar.check(probe.ranks <= cluster.gpus(), "probes/" + key + "/ranks",
             fmt::format("{} ranks, but the cluster has {} GPUs", probe.ranks, cluster.gpus()),
             "at most that many");
  }
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    ar.check(jobs[i].first_server + std::max(jobs[i].servers, 1) <= cluster.servers,
             fmt::format("jobs/{}/servers", i),
             fmt::format("ends at server {}, but the cluster has {}",
                         jobs[i].first_server + std::max(jobs[i].servers, 1), cluster.servers),
             "fewer servers, or a smaller first_server");
  }
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      const int begin = std::max(jobs[i].first_server, jobs[j].first_server);
      const int end = std::min(jobs[i].first_server + jobs[i].server_count(cluster),
                               jobs[j].first_server + jobs[j].server_count(cluster));
      ar.check(begin >= end, fmt::format("jobs/{}/servers", i),
               fmt::format("shares server {} with job {}", begin, j),
               "give the jobs servers of their own: first_server and servers");
    }
  }
  ar.check(!jobs.empty() || !probes.empty(), "", "has neither jobs nor probes: nothing to simulate",
           "add a job or a probe");
}

namespace {

LoadedScenario read_resolved(const ResolvedScenario& resolved, const std::string& file,
                             const Catalog& catalog, const std::string& folder) {
  LoadedScenario loaded;
  loaded.file = file;
  Reader reader(resolved.root, file, catalog, &resolved.origins);
  reader.read(loaded.scenario);
  reader.throw_faults();
  loaded.parameters = reader.parameters();
  if (!loaded.scenario.claim.empty()) {
    const std::filesystem::path named_in(resolved.origins.file_of("/claim"));
    loaded.claim_file =
        (named_in.parent_path() / loaded.scenario.claim).lexically_normal().string();
  }
  for (std::size_t i = 0; i < loaded.scenario.jobs.size(); ++i) {
    const std::filesystem::path named_in(
        resolved.origins.file_of(fmt::format("/jobs/{}/workload", i)));
    loaded.scenario.jobs[i].workload->set_folder(folder.empty() ? named_in.parent_path().string()
                                                                : folder);
  }
  if (!loaded.scenario.cluster.kernels) {
    loaded.scenario.cluster.kernels = Registry<KernelTime>::of().make("roofline");
    loaded.scenario.cluster.kernels->set_kind("roofline");
  }
  return loaded;
}

}  // namespace

LoadedScenario load_scenario_json(Json root, const std::string& file, const LoadOptions& options) {
  Catalog catalog = Catalog::embedded();
  if (!options.catalog_directory.empty()) catalog.add_directory(options.catalog_directory);
  for (const auto& [name, text] : options.catalog_texts)
    catalog.add(std::filesystem::path(name).stem().string(), text, name);
  return read_resolved(resolve_scenario(std::move(root), file, options.sets, options.sets_origin),
                       file, catalog, options.folder);
}

LoadedScenario load_scenario(const std::string& path, const LoadOptions& options) {
  return load_scenario_json(parse_json(read_text_file(path), path), path, options);
}

LoadedScenario load_scenario_text(const std::string& text, const std::string& file,
                                  const LoadOptions& options) {
  return load_scenario_json(parse_json(text, file), file, options);
}

std::unique_ptr<Topology> build_design(const LoadedScenario& loaded) {
  const Scenario& s = loaded.scenario;
  std::vector<Diagnostic> faults;
  ExitCode exit_code =
      ExitCode::kInfeasible;  // kScenario as soon as one fault is no mere lack of room
  const auto attempt = [&](const std::string& pointer, const std::function<void()>& body) {
    try {
      body();
    } catch (const DesignError& e) {
      faults.push_back({loaded.file, pointer + e.pointer(), e.what(), e.hint()});
      if (e.exit_code() != ExitCode::kInfeasible) exit_code = ExitCode::kScenario;
    }
  };
  std::unique_ptr<Topology> topology;
  attempt("/cluster", [&] { check_services(s.cluster.server, s.cluster.services); });
  attempt("/cluster", [&] { check_storage(s.cluster); });
  attempt("/cluster/network",
          [&] { topology = s.cluster.network->build(s.cluster.server, s.cluster.servers); });
  if (topology && faults.empty()) {
    topology->add_services(s.cluster.load(), s.cluster.services);
    if (s.cluster.storage) topology->add_storage(*s.cluster.storage);
    attempt("/cluster", [&] { check_equipment(s.cluster, *topology); });
  }
  if (topology && topology->ranks() > 1 && s.cluster.servers > 1) {
    attempt("/cluster", [&] {
      const auto next = static_cast<std::size_t>(s.cluster.server.gpus);
      Routes(s.cluster, *topology).message(Rank(0), Rank(next));
    });
  }
  for (std::size_t i = 0; i < s.jobs.size(); ++i) {
    const Job& job = s.jobs[i];
    attempt(fmt::format("/jobs/{}/workload", i), [&] {
      job.workload->check(s.cluster, static_cast<std::size_t>(job.server_count(s.cluster)) *
                                         static_cast<std::size_t>(s.cluster.server.gpus));
    });
    attempt(fmt::format("/jobs/{}/training", i), [&] { check_training(s.cluster, job); });
  }
  if (!faults.empty()) throw ScenarioError(std::move(faults), exit_code);
  return topology;
}

}  // namespace trainyard
