#include "sim/compare.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/claim_check.hpp"
#include "sim/error.hpp"
#include "sim/metrics.hpp"

namespace trainyard {
namespace {

// The claimed value of each result, by its name; nullopt where nothing is claimed for any of them.
std::optional<std::vector<std::optional<double>>> claimed(const Json& claim,
                                                          std::string_view metric,
                                                          const std::vector<Json>& results) {
  const Json* rows = claim.find("rows");
  const Json* row = rows != nullptr ? rows->find(metric) : nullptr;
  if (row == nullptr) return std::nullopt;
  std::vector<std::optional<double>> values;
  bool any = false;
  for (const Json& result : results) {
    const Json* value = row->find(result.at("name").as_string());
    values.push_back(value != nullptr && value->is_number() ? std::optional(value->as_number())
                                                            : std::nullopt);
    any = any || values.back().has_value();
  }
  return any ? std::optional(values) : std::nullopt;
}

Json row_of(const Metric& metric, const std::vector<double>& values, const Json& claim,
            const std::vector<Json>& results) {
  Json row = Json::object();
  row["metric"] = Json(metric.key);
  row["title"] = Json(metric.title);
  row["unit"] = Json(metric.unit);
  Json simulated = Json::array();
  for (const double v : values) simulated.push_back(Json(v));
  row["values"] = std::move(simulated);
  row["claim"] = Json();
  row["deviation"] = Json();
  if (const auto claims = claimed(claim, metric.key, results)) {
    Json said = Json::array(), off = Json::array();
    for (std::size_t i = 0; i < values.size(); ++i) {
      const std::optional<double>& c = (*claims)[i];
      said.push_back(c ? Json(*c) : Json());
      off.push_back(c && *c != 0 ? Json(values[i] / *c - 1) : Json());
    }
    row["claim"] = std::move(said);
    row["deviation"] = std::move(off);
  }
  return row;
}

// The run that a result's ratios are taken to: the first of the name that its scenario gives, or
// the first of all.
std::size_t baseline_of(const Json& result, const std::vector<Json>& results) {
  const Json* scenario = result.find("scenario");
  const Json* name = scenario != nullptr ? scenario->find("baseline") : nullptr;
  if (name == nullptr || !name->is_string()) return 0;
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (results[i].at("name") == *name) return i;
  }
  return 0;
}

std::vector<double> values_of(const Metric& metric, const std::vector<Json>& results) {
  const std::string_view key = metric.ratio_of.empty() ? metric.key : metric.ratio_of;
  std::vector<double> values;
  for (const Json& result : results) {
    if (const auto v = metric_value(result.at("metrics"), key)) values.push_back(*v);
  }
  if (metric.ratio_of.empty() || values.size() != results.size()) return values;
  std::vector<double> ratios;
  for (std::size_t i = 0; i < values.size(); ++i)
    ratios.push_back(values[i] / values[baseline_of(results[i], results)]);
  return ratios;
}

// What a reader of the rows would not see: ratios to another run than asked for, rows left out
// since not every run has them, results that show one job of several.
std::vector<std::string> notes_on(const std::vector<Json>& results) {
  std::vector<std::string> notes;
  for (const Json& result : results) {
    const std::string& name = result.at("name").as_string();
    const Json* scenario = result.find("scenario");
    const Json* baseline = scenario != nullptr ? scenario->find("baseline") : nullptr;
    if (baseline != nullptr && baseline->is_string() && !baseline->as_string().empty() &&
        std::none_of(results.begin(), results.end(),
                     [&](const Json& other) { return other.at("name") == *baseline; })) {
      notes.push_back(
          fmt::format("{}: its baseline \"{}\" is not among the runs; ratios are to \"{}\"", name,
                      baseline->as_string(), results.front().at("name").as_string()));
    }
    const Json* jobs = result.find("jobs");
    if (jobs != nullptr && jobs->items().size() > 1) {
      notes.push_back(fmt::format("{}: the rows are of \"{}\", the first of its {} jobs", name,
                                  jobs->items().front().at("name").as_string(),
                                  jobs->items().size()));
    }
  }
  std::vector<std::string_view> partial;
  for (const Metric& metric : metrics()) {
    const std::size_t have = values_of(metric, results).size();
    if (metric.compared && metric.ratio_of.empty() && have > 0 && have < results.size())
      partial.push_back(metric.key);
  }
  if (!partial.empty())
    notes.push_back(fmt::format("not in every run, so not compared: {}", fmt::join(partial, ", ")));
  return notes;
}

}  // namespace

Json compare_rows(const std::vector<Json>& results, const Json& claim) {
  Json rows = Json::array();
  for (const Metric& metric : metrics()) {
    if (!metric.compared) continue;
    const std::vector<double> values = values_of(metric, results);
    if (values.size() == results.size()) rows.push_back(row_of(metric, values, claim, results));
  }
  return rows;
}

Json compare_results(std::vector<Json> results, const Json& claim) {
  Json rows = compare_rows(results, claim);
  std::vector<std::string> shown;
  for (const Json& row : rows.items()) shown.push_back(row.at("metric").as_string());
  Json only = Json::array();
  if (const Json* claims = claim.find("rows")) {
    for (const auto& [key, row] : claims->members()) {
      if (std::find(shown.begin(), shown.end(), key) == shown.end()) only.push_back(Json(key));
    }
  }
  Json out = Json::object();
  out["schema_version"] = results.front().at("schema_version");
  out["rows"] = std::move(rows);
  out["claimed_only"] = std::move(only);
  out["notes"] = Json::array();
  for (const std::string& note : notes_on(results)) out["notes"].push_back(Json(note));
  out["contradictions"] = Json::array();
  for (const std::string& sentence : claim_contradictions(results, claim))
    out["contradictions"].push_back(Json(sentence));
  out["claim_source"] = claim.find("source") != nullptr ? claim.at("source") : Json();
  out["results"] =
      Json(Json::Array(std::move_iterator(results.begin()), std::move_iterator(results.end())));
  return out;
}

Json load_claim(const std::string& path) {
  if (path.empty()) return {};
  Json loaded = parse_json(read_text_file(path), path);
  const Json* rows = loaded.find("rows");
  const auto fault = [&](const std::string& pointer, const std::string& message) {
    throw ScenarioError(Diagnostic{
        path, pointer, message,
        R"(a claim is {"source": "…", "rows": {"allreduce_time_s": {"scenario name": 0.12}}})"});
  };
  if (rows == nullptr || !rows->is_object()) fault("/rows", "is missing or not an object");
  for (const auto& [metric, row] : rows->members()) {
    if (!row.is_object()) fault("/rows/" + metric, "is not an object of values by scenario name");
    for (const auto& [name, value] : row.members()) {
      if (!value.is_number())
        fault(fmt::format("/rows/{}/{}", metric, name),
              fmt::format("is {}, not a number", value.type_name()));
    }
  }
  return loaded;
}

}  // namespace trainyard
