#include "tools/validation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/run.hpp"

namespace trainyard {
namespace {

constexpr double kLarge = 1048576, kSmall = 65536;
const std::string kFile = "validation data";

const Json& part(const Json& object, const std::string& name) {
  const Json* found = object.find(name);
  if (found == nullptr) {
    const Json* id = object.find("id");
    throw ScenarioError({Diagnostic{kFile, "/" + (id != nullptr ? id->as_string() : std::string()),
                                    fmt::format("has no \"{}\"", name),
                                    "give it: a published figure must not be missing"}});
  }
  return *found;
}
std::string text_of(const Json& object, const std::string& name) {
  const Json* found = object.find(name);
  return found == nullptr ? std::string() : found->as_string();
}

/// A published case as a scenario of one collective.
class Case {
 public:
  Case(const Json& data, const Json& entry) : scenario_(Json::object()) {
    scenario_["name"] = Json("validation");
    scenario_["cluster"] = part(part(data, "machines"), part(entry, "machine").as_string());
    sets_.push_back(fmt::format("cluster.servers={}", part(entry, "servers").as_integer()));
    if (const Json* settings = entry.find("collectives")) force(*settings);
    if (const Json* sharp = entry.find("sharp"); sharp != nullptr && sharp->as_bool())
      sets_.emplace_back("cluster.network.switch.sharp.enabled=true");
    operation_ = entry.find("operation") != nullptr ? entry.find("operation")->as_string()
                                                    : std::string("all_reduce");
    ranks_ = entry.find("ranks") != nullptr ? entry.find("ranks")->as_integer() : 0;
  }

  void force(const Json& settings) {
    for (const auto& [name, value] : settings.members())
      sets_.push_back(fmt::format("cluster.collectives.{}={}", name, dump_json(value, -1)));
    const Json* algorithm = settings.find("algorithm");
    if (algorithm != nullptr && algorithm->as_string() == "sharp")
      sets_.emplace_back("cluster.network.switch.sharp.enabled=true");
  }

  /// The rows of a `collective` job.
  Json::Array run(const std::vector<double>& sizes, const LoadOptions& load) const {
    Json workload = Json::object(), list = Json::array(), job = Json::object();
    for (const double bytes : sizes) list.push_back(Json(fmt::format("{} B", bytes)));
    workload["kind"] = Json("collective");
    workload["operation"] = Json(operation_);
    workload["sizes"] = std::move(list);
    workload["ranks"] = Json(ranks_);
    job["workload"] = std::move(workload);
    Json scenario = scenario_;
    scenario["jobs"] = Json(Json::Array{std::move(job)});
    LoadOptions options = load;
    options.sets.insert(options.sets.begin(), sets_.begin(), sets_.end());
    LoadedScenario loaded = load_scenario_text(dump_json(scenario), kFile, options);
    const Json result = run_scenario(loaded);
    return result.at("jobs").items().front().at("metrics").at("rows").items();
  }

 private:
  Json scenario_;
  std::vector<std::string> sets_;
  std::string operation_;
  std::int64_t ranks_ = 0;
};

ValidatedTable table_of(const Json& data, const Json& entry, const LoadOptions& load) {
  ValidatedTable table{part(entry, "id").as_string(), part(entry, "source").as_string(),
                       text_of(entry, "where"),       text_of(entry, "what"),
                       text_of(entry, "note"),        {}};
  const auto& figures = part(entry, "rows").items();
  const Json* warm_up = entry.find("warm_up_rows");
  const auto skipped = static_cast<std::size_t>(warm_up == nullptr ? 0 : warm_up->as_integer());
  std::vector<double> sizes{8};
  for (std::size_t i = skipped; i < figures.size(); ++i) {
    sizes.push_back(figures[i].items().at(0).as_number());
    table.rows.push_back({sizes.back(), figures[i].items().at(1).as_number() / 1e6, 0, 0, {}, {}});
  }
  const Json::Array simulated = Case(data, entry).run(sizes, load);
  for (std::size_t i = 0; i < table.rows.size(); ++i) {
    ValidatedRow& row = table.rows[i];
    row.simulated_s = simulated[i + 1].at("time_s").as_number();
    row.least_s = simulated[0].at("time_s").as_number();
    row.algorithm = simulated[i + 1].at("algorithm").as_string();
    row.protocol = simulated[i + 1].at("protocol").as_string();
  }
  return table;
}

ValidatedScalar named(const Json& entry) {
  ValidatedScalar scalar;
  scalar.id = part(entry, "id").as_string();
  scalar.source = part(entry, "source").as_string();
  scalar.where = text_of(entry, "where");
  scalar.what = text_of(entry, "what");
  scalar.note = text_of(entry, "note");
  return scalar;
}

ValidatedScalar bandwidth_of(const Json& data, const Json& entry, const LoadOptions& load) {
  ValidatedScalar scalar = named(entry);
  const double bar = part(entry, "bar").as_number();
  scalar.measured = part(entry, "busbw_GBps").as_number() * 1e9;
  scalar.least = scalar.measured * (1 - bar);
  scalar.most = scalar.measured * (1 + bar);
  const Json row = Case(data, entry).run({part(entry, "bytes").as_number()}, load).front();
  scalar.simulated = row.at("busbw_bytes_per_s").as_number();
  scalar.algorithm = row.at("algorithm").as_string();
  return scalar;
}

// How much less time the second setting takes.
ValidatedScalar ratio_of(const Json& data, const Json& entry, const LoadOptions& load) {
  ValidatedScalar scalar = named(entry);
  scalar.is_ratio = true;
  scalar.measured = part(entry, "measured").as_number();
  scalar.least = part(entry, "ratio").items().at(0).as_number();
  scalar.most = part(entry, "ratio").items().at(1).as_number();
  const std::vector<double> sizes{part(entry, "bytes").as_number()};
  const Case before(data, entry);
  Case after = before;
  after.force(part(entry, "faster"));
  const Json faster = after.run(sizes, load).front();
  scalar.simulated =
      before.run(sizes, load).front().at("time_s").as_number() / faster.at("time_s").as_number();
  scalar.algorithm = faster.at("algorithm").as_string();
  return scalar;
}

// Of two tables that were measured on the same kind of machine with nothing forced.
std::optional<Validation::NoiseFloor> noise_of(const Json& data,
                                               const std::vector<ValidatedTable>& tables) {
  const auto& entries = part(data, "tables").items();
  for (std::size_t i = 0; i < entries.size(); ++i) {
    for (std::size_t j = i + 1; j < entries.size(); ++j) {
      const auto same = [&](const std::string& name) {
        return dump_json(part(entries[i], name)) == dump_json(part(entries[j], name));
      };
      if (!same("machine") || !same("servers") || entries[i].find("collectives") != nullptr ||
          entries[j].find("collectives") != nullptr)
        continue;
      Validation::NoiseFloor floor{tables[i].id, tables[j].id, 0, 0, 0};
      double shared = 0;
      for (const ValidatedRow& a : tables[i].rows) {
        for (const ValidatedRow& b : tables[j].rows) {
          if (a.bytes != b.bytes || a.bytes < kLarge) continue;
          const double apart = std::abs(b.measured_s / a.measured_s - 1);
          floor.mean += apart;
          ++shared;
          if (apart <= floor.worst) continue;
          floor.worst = apart;
          floor.worst_bytes = a.bytes;
        }
      }
      if (shared == 0) continue;
      floor.mean /= shared;
      return floor;
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<double> ValidatedTable::mean_error() const {
  double sum = 0, count = 0;
  for (const ValidatedRow& row : rows) {
    if (row.bytes < kLarge) continue;
    sum += std::abs(row.error());
    ++count;
  }
  return count > 0 ? std::optional(sum / count) : std::nullopt;
}

std::optional<double> ValidatedTable::worst_small() const {
  std::optional<double> worst;
  for (const ValidatedRow& row : rows) {
    if (row.bytes <= kSmall) worst = std::max(worst.value_or(0), std::abs(row.error()));
  }
  return worst;
}

double Validation::mean_error() const {
  double sum = 0, count = 0;
  for (const ValidatedTable& table : tables) {
    for (const ValidatedRow& row : table.rows) {
      if (row.bytes < kLarge) continue;
      sum += std::abs(row.error());
      ++count;
    }
  }
  return count > 0 ? sum / count : 0;
}

bool Validation::holds() const {
  return mean_error() <= kAllBar &&
         std::all_of(tables.begin(), tables.end(),
                     [](const ValidatedTable& t) {
                       return t.mean_error().value_or(0) <= kTableBar &&
                              t.worst_small().value_or(0) <= kSmallBar;
                     }) &&
         std::all_of(scalars.begin(), scalars.end(),
                     [](const ValidatedScalar& s) { return s.holds(); });
}

Validation validate_network(const Json& data, const LoadOptions& load) {
  Validation all;
  for (const Json& entry : part(data, "tables").items())
    all.tables.push_back(table_of(data, entry, load));
  for (const Json& entry : part(data, "scalars").items())
    all.scalars.push_back(bandwidth_of(data, entry, load));
  for (const Json& entry : part(data, "ratios").items())
    all.scalars.push_back(ratio_of(data, entry, load));
  all.noise = noise_of(data, all.tables);
  return all;
}

}  // namespace trainyard
