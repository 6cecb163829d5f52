#include "sim/audit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/claim_check.hpp"
#include "sim/compare.hpp"
#include "sim/isolate.hpp"
#include "sim/progress.hpp"

namespace trainyard {
namespace {

constexpr double kMoves = 0.01;  // relative change of a value that makes a row hang on a parameter
constexpr double kHolds = 0.05;  // deviation within which a claim holds

/// One parameter, in every run that has it with the same value and range, and what is tried.
struct Trial {
  const Parameter* parameter;
  std::string tried;
  std::vector<std::size_t> runs;
  std::vector<Json> metrics;  ///< by run; null: as simulated
};

bool is_zero(const Json* value) {
  return value == nullptr || *value == Json(0) || *value == Json(0.0);
}

// Parameters of what the design has not got move nothing.
bool unused(const Parameter& p, const Json& scenario) {
  const Json& cluster = scenario.at("cluster");
  const Json& server = cluster.at("server");
  const auto below = [&](std::string_view prefix) { return p.pointer.starts_with(prefix); };
  if (below("/cluster/server/dpu/")) return is_zero(server.find("dpus"));
  if (below("/cluster/server/storage_nic/")) return is_zero(server.find("storage_nics"));
  const auto sharp = [&] {
    const Json* device = cluster.at("network").find("switch");
    const Json* found = device != nullptr ? device->find("sharp") : nullptr;
    return found != nullptr && found->at("enabled").as_bool();
  };
  if (below("/cluster/network/switch/sharp/") || below("/cluster/collectives/sharp_"))
    return !sharp();
  const std::vector<std::string> keys = split_pointer(p.pointer);
  if (below("/cluster/services/")) {
    const std::string& placement = cluster.at("services").at(keys[2]).at("placement").as_string();
    if (placement == "off") return true;
    if (placement == "engine") return keys[3] != "engine_rate";
    return placement == "dpu" && (keys[3] == "jitter" || keys[3] == "polling_threads");
  }
  if (below("/cluster/appliances/") && keys[3] != "share")
    return is_zero(cluster.at("appliances").at(keys[2]).find("share"));
  return false;
}

std::string far_end(const Parameter& p) {
  if (p.outside()) return *p.si > *p.high_si ? p.high : p.low;
  return *p.high_si - *p.si > *p.si - *p.low_si ? p.high : p.low;
}

std::vector<Trial> trials_of(const std::vector<AuditedRun>& runs) {
  std::vector<Trial> trials;
  for (std::size_t r = 0; r < runs.size(); ++r) {
    for (const Parameter& p : runs[r].parameters) {
      if (p.kind != "assumed" || !p.si || !p.low_si || !p.high_si) continue;
      if (unused(p, runs[r].result.at("scenario"))) continue;
      const auto same = std::find_if(trials.begin(), trials.end(), [&](const Trial& t) {
        return t.parameter->pointer == p.pointer && t.parameter->value == p.value &&
               t.parameter->low == p.low && t.parameter->high == p.high;
      });
      if (same != trials.end()) {
        same->runs.push_back(r);
      } else {
        trials.push_back({&p, far_end(p), {r}, std::vector<Json>(runs.size())});
      }
    }
  }
  return trials;
}

LoadedScenario load_trial(const AuditedRun& run, const Trial& trial) {
  LoadOptions options = run.options;
  options.sets.push_back(trial.parameter->pointer + "=" + trial.tried);
  return load_scenario(run.file, options);
}

// What differs only in the accounts is worked out from the run's own simulations.
Json metrics_of(const AuditedRun& run, const Trial& trial) {
  LoadedScenario loaded = load_trial(run, trial);
  if (simulation_key(loaded) == run.key) return finish_scenario(loaded, run.parts).at("metrics");
  return run_scenario(loaded).at("metrics");
}

void try_all(const std::vector<AuditedRun>& runs, std::vector<Trial>& trials) {
  std::vector<std::function<Json()>> tasks;
  std::vector<Json*> found;
  for (Trial& trial : trials) {
    for (const std::size_t r : trial.runs) {
      tasks.emplace_back([&runs, &trial, r] {
        mute_progress();
        return metrics_of(runs[r], trial);
      });
      found.push_back(&trial.metrics[r]);
    }
  }
  const Engine::Progress progress = progress_on_stderr("auditing", "runs");
  std::vector<Json> all =
      run_isolated(tasks, 0, [&](std::size_t done) { progress(done, tasks.size()); });
  for (std::size_t i = 0; i < all.size(); ++i) *found[i] = std::move(all[i]);
}

/// What compare_rows() looks at.
std::vector<Json> slim_results(const std::vector<AuditedRun>& runs, const Trial* trial) {
  std::vector<Json> slim;
  for (std::size_t r = 0; r < runs.size(); ++r) {
    Json one = Json::object();
    one["name"] = runs[r].result.at("name");
    one["metrics"] = trial != nullptr && !trial->metrics[r].is_null()
                         ? trial->metrics[r]
                         : runs[r].result.at("metrics");
    one["scenario"] = Json::object();
    if (const Json* baseline = runs[r].result.at("scenario").find("baseline"))
      one["scenario"]["baseline"] = *baseline;
    slim.push_back(std::move(one));
  }
  return slim;
}

bool holds(const Json& row) {
  for (const Json& deviation : row.at("deviation").items()) {
    if (!deviation.is_null() && std::abs(deviation.as_number()) > kHolds) return false;
  }
  return true;
}

/// How a row answers to a trial.
struct Effect {
  const Trial* trial;
  std::vector<double> change;
  bool breaks = false;
  double most() const {
    double most = 0;
    for (const double c : change) most = std::max(most, std::abs(c));
    return most;
  }
};

Json effect_to_json(const Effect& effect, const std::vector<AuditedRun>& runs) {
  const Parameter& p = *effect.trial->parameter;
  Json out = Json::object();
  out["pointer"] = Json(p.pointer);
  Json names = Json::array();
  for (const std::size_t r : effect.trial->runs) names.push_back(runs[r].result.at("name"));
  out["runs"] = std::move(names);
  out["value"] = p.value;
  out["tried"] = Json(effect.trial->tried);
  out["range"] = Json(Json::Array{Json(p.low), Json(p.high)});
  out["outside"] = Json(p.outside());
  Json change = Json::array();
  for (const double c : effect.change) change.push_back(Json(c));
  out["change"] = std::move(change);
  out["breaks"] = Json(effect.breaks);
  return out;
}

Effect effect_on(const Json& row, const Json& changed, const Trial& trial) {
  Effect effect{&trial, {}, holds(row) && !holds(changed)};
  const auto& before = row.at("values").items();
  for (std::size_t i = 0; i < before.size(); ++i) {
    const double was = before[i].as_number(), is = changed.at("values").items()[i].as_number();
    effect.change.push_back(was != 0 ? is / was - 1 : 0);
  }
  return effect;
}

Json audited_rows(const std::vector<AuditedRun>& runs, const std::vector<Trial>& trials,
                  const Json& claim) {
  const Json base = compare_rows(slim_results(runs, nullptr), claim);
  std::vector<Json> tried;
  tried.reserve(trials.size());
  for (const Trial& trial : trials)
    tried.push_back(compare_rows(slim_results(runs, &trial), claim));
  Json rows = Json::array();
  for (std::size_t i = 0; i < base.items().size(); ++i) {
    const Json& row = base.items()[i];
    if (row.at("claim").is_null()) continue;
    std::vector<Effect> effects;
    for (std::size_t t = 0; t < trials.size(); ++t) {
      Effect effect = effect_on(row, tried[t].items().at(i), trials[t]);
      if (effect.most() >= kMoves) effects.push_back(std::move(effect));
    }
    std::stable_sort(effects.begin(), effects.end(),
                     [](const Effect& a, const Effect& b) { return a.most() > b.most(); });
    Json out = Json::object();
    for (const char* key : {"metric", "title"}) out[key] = row.at(key);
    out["holds"] = Json(holds(row));
    out["hangs_on"] = Json::array();
    for (const Effect& effect : effects) out["hangs_on"].push_back(effect_to_json(effect, runs));
    rows.push_back(std::move(out));
  }
  return rows;
}

}  // namespace

Json audit_claim(const std::vector<AuditedRun>& all, const Json& claim) {
  std::vector<AuditedRun> runs;
  for (const AuditedRun& run : all) {
    if (is_claimed(run.result.at("name").as_string(), claim)) runs.push_back(run);
  }
  std::vector<Trial> trials = trials_of(runs);
  try_all(runs, trials);
  Json out = Json::object();
  out["tried"] = Json(trials.size());
  out["rows"] = audited_rows(runs, trials, claim);
  out["runs"] = Json::array();
  for (const AuditedRun& run : runs) out["runs"].push_back(run.result.at("name"));
  return out;
}

}  // namespace trainyard
