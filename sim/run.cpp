#include "sim/run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <iterator>

#include "sim/background.hpp"
#include "sim/byte_source.hpp"
#include "sim/engine.hpp"
#include "sim/isolate.hpp"
#include "sim/lowering.hpp"
#include "sim/profile.hpp"
#include "sim/progress.hpp"
#include "sim/reader.hpp"
#include "sim/recording_text.hpp"
#include "sim/result.hpp"
#include "sim/simgrid_platform.hpp"
#include "sim/whole_file.hpp"
#include "sim/writer.hpp"

namespace trainyard {
namespace {

std::unique_ptr<Executor> make_executor(const std::string& name, const Topology& topology) {
  return name == "stock" ? make_stock_executor(topology) : make_flow_executor(topology);
}

Timeline run_graph(const Scenario& scenario, const Topology& topology, OpGraph& graph,
                   bool skips_repetition, Profile& profile) {
  profile.stage("freeze the op graph");
  graph.freeze();
  profile.stage("make the executor");
  const std::unique_ptr<Executor> executor = make_executor(scenario.engine.executor, topology);
  profile.stage("run");
  Engine engine(graph, *executor, topology.ranks(), progress_on_stderr());
  if (skips_repetition) engine.skip_repetition();
  Timeline timeline = engine.run();
  profile.stage("check");
  check_invariants(topology, graph, timeline);
  profile.count("operations", static_cast<double>(graph.size()));
  profile.count("iterations of operations", static_cast<double>(graph.instances()));
  profile.count("iterations left out because they recur", static_cast<double>(engine.skipped()));
  profile.count("dependencies", static_cast<double>(graph.edges()));
  profile.count("distinct paths", static_cast<double>(graph.paths()));
  for (const auto& [name, value] : executor->counters()) profile.count(name, value);
  profile.stage("measure");
  return timeline;
}

struct LoweredJobs {
  std::unique_ptr<Lowering> lowering;
  std::vector<JobOps> ops;
};

// With `draining`, each job's checkpoint is on its way to storage beside its step.
LoweredJobs lower_jobs(const Scenario& scenario, const Topology& topology, std::vector<Job>& jobs,
                       Fidelity fidelity, bool draining, bool folds) {
  const Cluster& cluster = scenario.cluster;
  LoweredJobs lowered;
  lowered.lowering = std::make_unique<Lowering>(cluster, topology, fidelity,
                                                fidelity_of(scenario.engine.tensor_fidelity));
  Lowering& lowering = *lowered.lowering;
  lowering.set_seed(static_cast<std::uint64_t>(scenario.engine.seed));
  lowering.set_folds(folds && scenario.engine.executor == "flow" && jobs.size() == 1);
  if (folds && jobs.size() > 1)
    lowering.folded().reasons.emplace_back(
        "tensor ranks and replicas one by one: several jobs run");
  std::vector<std::vector<BackgroundFlow>> loading, drains;
  for (const Job& job : jobs) {
    loading.push_back(announce_loading(lowering, job));
    drains.emplace_back();
    if (draining) drains.back() = announce_checkpoint(lowering, job, true);
  }
  std::vector<JobOps>& ops = lowered.ops;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    Job& job = jobs[i];
    const std::size_t first = lowering.graph().size();
    job.workload->lower(lowering, job.ranks(cluster));
    const std::size_t last = lowering.graph().size();
    ops.push_back({add_background(lowering, loading[i]), {}});
    if (job.training && job.training->data.prefetch == 0)
      wait_for_data(lowering.graph(), topology, ops.back().loading, first, last);
    ops.back().draining = add_background(lowering, drains[i]);
  }
  return lowered;
}

// The whole program in one place, after the topology: op graph -> engine and executor ->
// measurements.
Json simulate(const Scenario& scenario, const Topology& topology, std::vector<Job>& jobs,
              Fidelity fidelity, bool draining = false) {
  const bool folds = scenario.engine.fold == "auto";
  Profile profile;
  profile.stage("lower to operations");
  const auto [lowering, ops] = lower_jobs(scenario, topology, jobs, fidelity, draining, folds);
  const Timeline timeline = run_graph(scenario, topology, lowering->graph(), folds, profile);
  Json out = measure_run(jobs, ops, *lowering, timeline);
  out["profile"] = profile.finish();
  return out;
}

// The same once more for the recording: in full where that is cheap, whatever the run itself folds.
Json simulate_recording(const Scenario& scenario, const Topology& topology, std::vector<Job>& jobs,
                        const RecordingOptions& options) {
  const Fidelity fidelity = fidelity_of(scenario.engine.fidelity);
  const auto lower = [&](bool folds) {
    return lower_jobs(scenario, topology, jobs, fidelity, false, folds).lowering;
  };
  const auto many = [](const Lowering& lowering) {
    return lowering.graph().instances() > kMostIterationsRecorded;
  };
  Profile profile;
  profile.stage("lower to operations");
  const bool folds = topology.ranks() > kMostRanksRecorded;
  std::unique_ptr<Lowering> lowering = lower(folds);
  if (!folds && many(*lowering)) lowering = lower(true);
  const Timeline timeline =
      run_graph(scenario, topology, lowering->graph(), many(*lowering), profile);
  Json out = Json::object();
  out["recording"] = Json(record_run(jobs, *lowering, timeline, options));
  out["profile"] = profile.finish();
  return out;
}

// One checkpoint of one job into storage or back, alone.
Json simulate_checkpoint(const Scenario& scenario, const Topology& topology, const Job& job,
                         bool write) {
  Profile profile;
  profile.stage("lower to operations");
  Lowering lowering(scenario.cluster, topology, Fidelity::kFlow, Fidelity::kAnalytic);
  add_background(lowering, announce_checkpoint(lowering, job, write));
  const Timeline timeline =
      run_graph(scenario, topology, lowering.graph(), scenario.engine.fold == "auto", profile);
  Json out = Json::object();
  out["time_s"] = Json(timeline.end());
  out["operations"] = Json(lowering.graph().size());
  out["profile"] = profile.finish();
  return out;
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

/// The simulations that a result is put together from, and what each is.
struct Tasks {
  std::vector<std::function<Json()>> run;
  std::vector<ResultPart> parts;
  void add(ResultPart part, std::function<Json()> task) {
    parts.push_back(std::move(part));
    run.push_back(std::move(task));
  }
};

void add_jobs(Scenario& scenario, const Topology& topology, const RecordingOptions* recording,
              Tasks& tasks) {
  using Kind = ResultPart::Kind;
  const Fidelity fidelity = fidelity_of(scenario.engine.fidelity);
  const auto step = [&scenario, &topology, fidelity](bool draining) {
    return [&scenario, &topology, fidelity, draining] {
      return simulate(scenario, topology, scenario.jobs, fidelity, draining);
    };
  };
  tasks.add({Kind::kJobs, {}, 0}, step(false));
  if (recording != nullptr)
    tasks.add({Kind::kRecording, {}, 0}, [&scenario, &topology, recording] {
      return simulate_recording(scenario, topology, scenario.jobs, *recording);
    });
  bool drains = false;
  for (std::size_t i = 0; i < scenario.jobs.size(); ++i) {
    const Job& job = scenario.jobs[i];
    if (checkpoint_bytes(job) == Bytes()) continue;
    for (const bool write : {true, false}) {
      tasks.add({write ? Kind::kWrite : Kind::kRead, {}, i}, [&scenario, &topology, &job, write] {
        return simulate_checkpoint(scenario, topology, job, write);
      });
    }
    drains = drains || job.training->checkpoint.mode == "asynchronous";
  }
  if (drains) tasks.add({Kind::kDraining, {}, 0}, step(true));
}

Tasks tasks_of(LoadedScenario& loaded, const Topology& topology,
               const RecordingOptions* recording) {
  Scenario& scenario = loaded.scenario;
  Tasks tasks;
  if (!scenario.jobs.empty()) add_jobs(scenario, topology, recording, tasks);
  for (const auto& [name, probe] : scenario.probes) {
    tasks.add({ResultPart::Kind::kProbe, name, 0}, [&scenario, &topology, &probe = probe] {
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

std::vector<Json> run_scenarios(std::vector<LoadedScenario>& loaded,
                                std::vector<std::vector<ResultPart>>* all_parts,
                                const RecordingOptions* recording, int processes) {
  std::vector<std::function<Json()>> run;
  std::vector<std::vector<ResultPart>> parts;
  std::vector<std::unique_ptr<Topology>> topologies;  // built once; the children inherit them
  for (LoadedScenario& one : loaded) {
    topologies.push_back(build_design(one));
    Tasks tasks = tasks_of(one, *topologies.back(), recording);
    std::move(tasks.run.begin(), tasks.run.end(), std::back_inserter(run));
    parts.push_back(std::move(tasks.parts));
  }
  std::vector<Json> found = run_isolated(run, processes);
  std::vector<Json> results;
  std::size_t next = 0;
  for (std::size_t i = 0; i < loaded.size(); ++i) {
    for (ResultPart& part : parts[i]) part.found = std::move(found[next++]);
    results.push_back(assemble_result(loaded[i], *topologies[i], parts[i]));
  }
  if (all_parts != nullptr) *all_parts = std::move(parts);
  return results;
}

// SimGrid names the file in the file: that line is left out, so that the same run gives the same
// bytes.
void write_paje(LoadedScenario& loaded, const std::string& path) {
  Scenario& scenario = loaded.scenario;
  if (scenario.jobs.empty())
    throw ScenarioError(
        Diagnostic{loaded.file, "/jobs", "is empty: there is nothing to simulate", "add a job"});
  const std::unique_ptr<Topology> topology = build_design(loaded);
  WholeFile file(path);
  if (const std::string why = file.why(); !why.empty())
    throw UsageError(fmt::format("{}: cannot be written: {}", path, why));
  const std::string raw = path + ".simgrid";
  const auto remove = [](const std::string* name) { std::remove(name->c_str()); };
  const std::unique_ptr<const std::string, decltype(remove)> removed(&raw, remove);
  run_isolated({[&] {
    simgrid_writes_paje(raw);
    return simulate(scenario, *topology, scenario.jobs, fidelity_of(scenario.engine.fidelity));
  }});
  ByteSource source(raw);
  LineReader lines(source);
  for (std::string_view line; lines.next(line);) {
    if (!line.starts_with("#[")) file.add(std::string(line) + "\n");
  }
  if (const std::string why = file.keep(); !why.empty())
    throw UsageError(fmt::format("{}: cannot be written: {}", path, why));
}

Json take_recording(std::vector<ResultPart>& parts) {
  const auto it = std::find_if(parts.begin(), parts.end(), [](const ResultPart& part) {
    return part.kind == ResultPart::Kind::kRecording;
  });
  if (it == parts.end()) return {};
  Json recording = parse_recording(it->found.at("recording").as_string(), "the recording");
  it->found.erase("recording");
  return recording;
}

Json finish_scenario(LoadedScenario& loaded, const std::vector<ResultPart>& parts) {
  return assemble_result(loaded, *build_design(loaded), parts);
}

namespace {

void strip_accounts(Json& node) {
  if (node.is_array()) {
    for (Json& item : node.items()) strip_accounts(item);
  }
  if (!node.is_object()) return;
  for (const char* key : {"power", "price_usd", "base_power", "port_power", "port_price_usd"})
    node.erase(key);
  for (auto& [key, value] : node.members()) strip_accounts(value);
}

}  // namespace

std::string simulation_key(LoadedScenario& loaded) {
  Json root = Writer::write_moved(loaded.scenario);
  for (const char* key : {"name", "description", "claim", "baseline", "enable"}) root.erase(key);
  for (const char* key : {"site", "reliability", "appliances"}) root["cluster"].erase(key);
  if (root["cluster"].find("storage") != nullptr) root["cluster"]["storage"].erase("usable");
  for (Json& job : root["jobs"].items()) {
    if (job.find("training") == nullptr) continue;
    for (const char* key : {"tokens", "steps", "seeds"}) job["training"].erase(key);
    if (job["training"].find("checkpoint") != nullptr)
      job["training"]["checkpoint"].erase("interval");
  }
  strip_accounts(root);
  return dump_json(root, -1);
}

Json run_scenario(LoadedScenario& loaded, int processes) {
  std::vector<LoadedScenario> one;
  one.push_back(std::move(loaded));
  Json result = run_scenarios(one, nullptr, nullptr, processes).front();
  loaded = std::move(one.front());
  return result;
}

}  // namespace trainyard
