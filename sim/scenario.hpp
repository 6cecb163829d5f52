// A scenario: what to simulate. Read from a JSON file; see docs/scenario.md.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/catalog.hpp"
#include "sim/cluster.hpp"
#include "sim/parameter.hpp"
#include "sim/workload.hpp"

namespace trainyard {

struct EngineSettings {
  std::string executor = "flow";  ///< flow | stock
  std::string fidelity =
      "flow";  ///< steps | flow | analytic: every collective but tensor-parallel ones
  std::string tensor_fidelity = "analytic";  ///< the same for tensor-parallel collectives
  std::string fold = "auto";  ///< auto | off: simulate one of those that do exactly the same
  std::int64_t seed = 1;
  void fields(Archive& ar);
};
/// The fidelity of that (checked) name.
Fidelity fidelity_of(const std::string& name);

struct Job {
  std::string name;
  int first_server = 0;
  int servers = 0;  ///< 0: all from first_server on
  std::unique_ptr<Workload> workload;
  std::optional<TrainingPlan> training;  ///< a whole run of it
  int server_count(const Cluster& cluster) const {
    return servers > 0 ? servers : cluster.servers - first_server;
  }
  /// Its GPUs.
  std::vector<Rank> ranks(const Cluster& cluster) const;
  void fields(Archive& ar);
};

/// A named measurement on the idle cluster: one collective.
struct Probe {
  std::string operation = "all_reduce";
  Bytes bytes;
  int ranks = 0;         ///< 0: all
  std::string fidelity;  ///< empty: the engine's
  void fields(Archive& ar);
};

struct Scenario {
  std::string schema;  ///< "$schema", for editors; ignored
  std::string name, description;
  EngineSettings engine;
  Cluster cluster;
  std::vector<Job> jobs;
  std::map<std::string, Probe> probes;
  std::vector<std::string> enable;  ///< features that were switched on
  std::string baseline;             ///< the run that ratios in a comparison are taken to
  std::string claim;                ///< a file of claimed values, relative to the scenario's folder
  void fields(Archive& ar);
};

/// A file of catalogue entries.
struct CatalogText {
  std::string file, text;
};

struct LoadOptions {
  std::vector<std::string> sets;                ///< "path=value" in the order given
  std::string catalog_directory;                ///< more entries; empty: none
  std::vector<CatalogText> catalog_texts = {};  ///< and more, read already
  std::string sets_origin = "--set";            ///< what messages call the sets
  /// What file names of a workload are relative to; empty: the file that names them.
  std::string folder = {};
};

struct LoadedScenario {
  std::string file;
  Scenario scenario;
  std::vector<Parameter> parameters;  ///< tagged leaves, in document order
  std::string claim_file;             ///< the claim's path, beside the file that names it; or empty
};

/// Reads, resolves (extends, --set, features, catalogue) and checks a scenario file.
/// Throws ScenarioError with every fault, UsageError for a --set that is none.
LoadedScenario load_scenario(const std::string& path, const LoadOptions& options);
/// The same for text that stands in no file; `file` is only a name for messages.
LoadedScenario load_scenario_text(const std::string& text, const std::string& file,
                                  const LoadOptions& options);
/// The same for a value that was read already.
LoadedScenario load_scenario_json(Json root, const std::string& file, const LoadOptions& options);
/// Builds the topology. Faults that only building shows (too few ports, layouts that do not divide)
/// are thrown as one ScenarioError.
std::unique_ptr<Topology> build_design(const LoadedScenario& loaded);

}  // namespace trainyard
