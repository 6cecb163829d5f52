// Reading a sweep: from its file, the command line, or the manifest of its folder.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "sim/build_info.hpp"
#include "sim/metrics.hpp"
#include "sim/reader.hpp"
#include "sim/resolve.hpp"
#include "sim/sha256.hpp"
#include "sim/spelling.hpp"
#include "sim/trace_format.hpp"
#include "sim/writer.hpp"
#include "tools/sweep/sweep.hpp"

namespace trainyard {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kManifestVersion = 1;
constexpr std::string_view kMembers[] = {"$schema", "name",  "description", "scenario",
                                         "axes",    "seeds", "constraints", "objectives"};

void check_members(const Json& sweep, const std::string& file, std::vector<Diagnostic>& faults) {
  for (const auto& [key, value] : sweep.members()) {
    if (std::find(std::begin(kMembers), std::end(kMembers), key) == std::end(kMembers))
      faults.push_back({file, "/" + key, "is not a field of a sweep", suggest(key, kMembers)});
  }
  for (const char* key : {"name", "description"}) {
    const Json* text = sweep.find(key);
    if (text != nullptr && !text->is_string())
      faults.push_back({file, fmt::format("/{}", key),
                        fmt::format("is {}, not text", text->type_name()), "a short text"});
  }
}

// The axis that "seeds": n stands for.
void add_seeds(Json& sweep, const std::string& file) {
  const Json* seeds = sweep.find("seeds");
  if (seeds == nullptr) return;
  if (!seeds->is_integer() || seeds->as_integer() < 1) {
    throw ScenarioError(
        Diagnostic{file, "/seeds", "is not a whole number above 0", "how many seeds, like 10"});
  }
  Json axis = Json::object();
  axis["path"] = "engine.seed";
  axis["from"] = 1;
  axis["to"] = *seeds;
  axis["step"] = 1;
  sweep.erase("seeds");
  if (sweep.find("axes") == nullptr) sweep["axes"] = Json::array();
  if (sweep.at("axes").is_array()) sweep["axes"].push_back(std::move(axis));
}

void append(Json& sweep, const char* key, const std::vector<std::string>& texts) {
  if (texts.empty()) return;
  if (sweep.find(key) == nullptr) sweep[key] = Json::array();
  if (!sweep.at(key).is_array()) return;  // a fault, reported on reading
  for (const std::string& text : texts) sweep[key].push_back(Json(text));
}

void add_options(Json& sweep, const SweepAdditions& additions) {
  for (const std::string& set : additions.load.sets) split_set(set);  // says what is wrong with it
  for (const std::string& text : additions.axes) {
    Json axis = parse_axis_option(text);
    if (sweep.find("axes") == nullptr) sweep["axes"] = Json::array();
    if (sweep.at("axes").is_array()) sweep["axes"].push_back(std::move(axis));
  }
  append(sweep, "constraints", additions.constraints);
  if (!additions.objectives.empty()) sweep["objectives"] = Json::array();
  append(sweep, "objectives", additions.objectives);
  if (additions.seeds > 0) sweep["seeds"] = Json(additions.seeds);
}

// The entries of a folder as they are now, so that the sweep needs the folder no more.
Json catalog_texts(const std::string& directory) {
  Json all = Json::array();
  if (directory.empty()) return all;
  Catalog().add_directory(directory);  // says what is wrong with it
  std::set<fs::path> files;
  for (const auto& entry : fs::directory_iterator(directory)) {
    if (entry.path().extension() == ".json") files.insert(entry.path());
  }
  for (const fs::path& file : files) {
    Json one = Json::object();
    one["file"] = Json(file.filename().string());
    one["text"] = Json(read_text_file(file.string()));
    all.push_back(std::move(one));
  }
  return all;
}

// The scenario that a sweep file names, from beside it.
std::string scenario_of(const Json& sweep, const std::string& file) {
  const Json* name = sweep.find("scenario");
  if (!name->is_string()) {
    throw ScenarioError(Diagnostic{file, "/scenario",
                                   fmt::format("is {}, not a file name", name->type_name()),
                                   "name one scenario file"});
  }
  std::string path = (fs::path(file).parent_path() / name->as_string()).lexically_normal().string();
  std::error_code code;
  if (!fs::exists(path, code)) {
    throw ScenarioError(Diagnostic{file, "/scenario", fmt::format("there is no file {}", path),
                                   "the path is relative to this file"});
  }
  return path;
}

// The files of the traces that the scenario replays, or nothing.
std::vector<std::string> traces_of(const Json& base, const std::string& folder) {
  std::vector<std::string> all;
  const Json* jobs = base.find("jobs");
  if (jobs == nullptr || !jobs->is_array()) return all;
  for (const Json& job : jobs->items()) {
    const Json* workload = job.find("workload");
    const Json* trace = workload != nullptr ? workload->find("trace") : nullptr;
    if (trace == nullptr || !trace->is_string()) continue;
    all.push_back((fs::path(folder) / trace->as_string()).string());
  }
  return all;
}

// Of all bytes of the files, piece by piece. A file that is not there is told when it is read.
std::string digest_of(const std::vector<std::string>& traces) {
  std::string digest;
  for (const std::string& trace : traces) {
    try {
      for (const std::string& file : trace_files(trace)) {
        ByteSource source(file);
        for (std::string_view piece = source.next(); !piece.empty(); piece = source.next()) {
          digest += piece;
          digest = sha256_hex(digest);
        }
      }
    } catch (const ScenarioError&) {
      digest += "missing";
    }
  }
  return digest;
}

Json make_manifest(Json sweep, const std::string& scenario, const LoadOptions& load) {
  Json manifest = Json::object();
  manifest["schema_version"] = Json(kManifestVersion);
  manifest["program"] = "trainyard";
  manifest["version"] = Json(version_string());
  manifest["git"] = Json(git_id());
  sweep["scenario"] = Json(fs::path(scenario).filename().string());
  manifest["sweep"] = std::move(sweep);
  manifest["sets"] = Json::array();
  for (const std::string& set : load.sets) manifest["sets"].push_back(Json(set));
  manifest["catalog"] = catalog_texts(load.catalog_directory);
  // Where its files are is said only where it has some: a folder of rows names no paths else.
  const Json base = merge_extended(parse_json(read_text_file(scenario), scenario), scenario);
  const std::string folder = fs::absolute(fs::path(scenario)).parent_path().string();
  if (const std::vector<std::string> traces = traces_of(base, folder); !traces.empty()) {
    manifest["folder"] = Json(folder);
    manifest["traces"] = Json(digest_of(traces));
  }
  manifest["base"] = base;
  return manifest;
}

[[noreturn]] void refuse(const std::string& file, const std::string& pointer,
                         const std::string& what) {
  throw ScenarioError(Diagnostic{
      file, pointer, what,
      "go on with what made it, take another folder, or begin anew in this one with --restart"});
}

}  // namespace

Sweep Sweep::from_file(const std::string& path, const SweepAdditions& additions) {
  Json root = parse_json(read_text_file(path), path);
  Json sweep = Json::object();
  std::string scenario = path;
  if (root.find("scenario") != nullptr || root.find("axes") != nullptr) {
    sweep = std::move(root);
    if (sweep.find("scenario") == nullptr) {
      throw ScenarioError(Diagnostic{path, "/scenario", "is missing",
                                     "a sweep names the scenario file that it varies"});
    }
    scenario = scenario_of(sweep, path);
  } else if (const Json* name = root.find("name"); name != nullptr && name->is_string()) {
    sweep["name"] = *name;
  }
  add_options(sweep, additions);
  add_seeds(sweep, path);
  Sweep all;
  all.manifest_ = make_manifest(std::move(sweep), scenario, additions.load);
  all.scenario_file_ = fs::path(scenario).filename().string();
  all.read(all.manifest_.at("sweep"), path);
  all.check_base(scenario);
  all.check_paths(path);
  return all;
}

Sweep Sweep::from_manifest(const Json& manifest, const std::string& file) {
  const Json* version = manifest.find("schema_version");
  if (version == nullptr || *version != Json(kManifestVersion))
    refuse(file, "/schema_version", "is missing or of another version of trainyard");
  for (const char* key : {"version", "git", "sweep", "sets", "base", "catalog"}) {
    if (manifest.find(key) == nullptr) refuse(file, fmt::format("/{}", key), "is missing");
  }
  Sweep sweep;
  sweep.manifest_ = manifest;
  const Json* scenario = manifest.at("sweep").find("scenario");
  if (scenario == nullptr || !scenario->is_string()) refuse(file, "/sweep/scenario", "is missing");
  sweep.scenario_file_ = scenario->as_string();
  sweep.read(manifest.at("sweep"), file);
  return sweep;
}

void Sweep::check_same_program(const Json& manifest, const std::string& file) {
  const auto text = [&](const char* key) {
    const Json* value = manifest.find(key);
    return value != nullptr && value->is_string() ? value->as_string() : std::string("unknown");
  };
  if (text("version") != version_string() || text("git") != git_id()) {
    refuse(file, "/version",
           fmt::format("was begun by trainyard {} ({}), this is {} ({}): their results may differ",
                       text("version"), text("git"), version_string(), git_id()));
  }
}

void Sweep::read(const Json& sweep, const std::string& file) {
  std::vector<Diagnostic> faults;
  if (const Json* folder = manifest_.find("folder"); folder != nullptr && folder->is_string())
    load_.folder = folder->as_string();
  check_members(sweep, file, faults);
  const Json* axes = sweep.find("axes");
  if (axes == nullptr || (axes->is_array() && axes->items().empty())) {
    throw ScenarioError(Diagnostic{file, "/axes", "nothing is varied",
                                   "give --axis cluster.servers=64,128 or a sweep file with axes"});
  }
  axes_ = read_axes(*axes, file, faults);
  for (const Axis& axis : axes_) {
    first_column_.push_back(columns_.size());
    columns_.insert(columns_.end(), axis.columns.begin(), axis.columns.end());
  }
  if (faults.empty()) check_columns(file, faults);
  base_ = manifest_.at("base");
  for (const Json& set : manifest_.at("sets").items()) sets_.push_back(set.as_string());
  load_.sets_origin = "axes";
  for (const Json& file : manifest_.at("catalog").items())
    load_.catalog_texts.push_back({file.at("file").as_string(), file.at("text").as_string()});
  read_constraints(sweep.find("constraints"), file, faults);
  read_objectives(sweep.find("objectives"), file, faults);
  if (!faults.empty()) throw ScenarioError(std::move(faults));
  const Json* name = sweep.find("name");
  name_ = name != nullptr ? name->as_string() : fs::path(scenario_file_).stem().string();
  for (const char* key : {"version", "git"}) identity_ += manifest_.at(key).as_string() + "\n";
  identity_ += dump_json(manifest_.at("catalog"), -1) + "\n";
  if (const Json* traces = manifest_.find("traces")) identity_ += dump_json(*traces, -1) + "\n";
  for (const Constraint& constraint : constraints_) {
    if (constraint.needs == Constraint::Needs::kScenario)
      identity_ += constraint.expression.text() + "\n";
  }
}

void Sweep::read_constraints(const Json* constraints, const std::string& file,
                             std::vector<Diagnostic>& faults) {
  if (constraints == nullptr) return;
  if (!constraints->is_array()) {
    faults.push_back({file, "/constraints",
                      fmt::format("is {}, not a list", constraints->type_name()),
                      R"(like ["gpu_memory_peak_bytes < 70 GiB"])"});
    return;
  }
  for (std::size_t i = 0; i < constraints->items().size(); ++i) {
    const Json& text = constraints->items()[i];
    try {
      if (!text.is_string()) throw UsageError(fmt::format("is {}, not text", text.type_name()));
      Constraint one{Expression(text.as_string())};
      for (const std::string& name : one.expression.names()) {
        const auto needs = needs_of(name, one.expression);
        if (one.needs != Constraint::Needs::kAxes && needs != Constraint::Needs::kAxes &&
            needs != one.needs)
          throw UsageError("asks for metrics and for fields of the scenario: write two conditions");
        one.needs = std::max(one.needs, needs);
      }
      constraints_.push_back(std::move(one));
    } catch (const UsageError& e) {
      faults.push_back({file, fmt::format("/constraints/{}", i), e.what(), ""});
    }
  }
}

// Throws UsageError for what could never be told.
Sweep::Constraint::Needs Sweep::needs_of(const std::string& name,
                                         const Expression& expression) const {
  const std::optional<MetricName> metric = measure_named(name);
  if (!column_of(name)) {
    if (!metric) return Constraint::Needs::kScenario;
    const bool si = metric->unit == "s" || metric->unit == "B" || metric->unit == "B/s" ||
                    metric->unit == "W" || metric->unit == "1";
    if (!si && expression.has_units()) {
      throw UsageError(
          fmt::format("\"{}\" has a unit, and {} is a plain number of {}: leave the unit out",
                      expression.text(), name, metric->unit));
    }
    return Constraint::Needs::kMetrics;
  }
  const std::vector<Json> values = values_of(axes_, name);
  if (const auto text = first_text(values)) {
    throw UsageError(
        fmt::format("\"{}\" computes with {}, which may be {}: text is compared by \"when\" only",
                    expression.text(), name, *text));
  }
  const Condition& when =
      std::find_if(axes_.begin(), axes_.end(), [&](const Axis& axis) {
        return std::find(axis.columns.begin(), axis.columns.end(), name) != axis.columns.end();
      })->when;
  const bool always = !when.expression && when.matches.empty() &&
                      std::find(values.begin(), values.end(), Json()) == values.end();
  // Where the axis does not apply, the scenario's own value counts.
  return always ? Constraint::Needs::kAxes : Constraint::Needs::kScenario;
}

std::optional<MetricName> Sweep::measure_named(const std::string& name) const {
  if (const Metric* metric = find_metric(name); metric != nullptr && metric->ratio_of.empty())
    return MetricName{name, std::string(metric->title), std::string(metric->unit)};
  const Json* probes = base_.find("probes");
  if (probes == nullptr || !probes->is_object()) return {};
  for (const auto& [probe, value] : probes->members()) {
    for (const MetricName& one : probe_metrics(probe)) {
      if (one.key == name) return one;
    }
  }
  return {};
}

void Sweep::read_objectives(const Json* objectives, const std::string& file,
                            std::vector<Diagnostic>& faults) {
  if (objectives == nullptr) return;
  const std::vector<Json> none;
  for (const Json& name : objectives->is_array() ? objectives->items() : none) {
    if (name.is_string() && measure_named(name.as_string())) {
      objectives_.push_back(name.as_string());
      continue;
    }
    std::vector<std::string_view> known;
    for (const Metric& metric : metrics()) {
      if (metric.ratio_of.empty()) known.push_back(metric.key);
    }
    const std::string written = shown_text(name);
    faults.push_back({file, "/objectives", fmt::format("\"{}\" is not a metric", written),
                      suggest(written, known)});
  }
  if (!objectives->is_array())
    faults.push_back({file, "/objectives", "is not a list", R"(like ["step_time_s"])"});
}

}  // namespace trainyard
