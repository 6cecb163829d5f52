#include "tools/sweep/sweep.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "sim/isolate.hpp"
#include "sim/metrics.hpp"
#include "sim/progress.hpp"
#include "sim/resolve.hpp"
#include "sim/run.hpp"
#include "sim/sha256.hpp"
#include "sim/writer.hpp"

namespace trainyard {
namespace {

std::string reason_of(const ScenarioError& e) {
  const std::size_t more = e.diagnostics().size() - 1;
  return to_string(e.diagnostics().front()) +
         (more > 0 ? fmt::format(" and {} more", more) : std::string());
}

void fail(Json& row, const char* status, std::string reason) {
  row["status"] = status;
  row["reason"] = Json(std::move(reason));
}

const char* status_of(ExitCode code) {
  return code == ExitCode::kInfeasible ? "infeasible" : "invalid";
}

}  // namespace

std::uint64_t Sweep::points() const {
  std::uint64_t product = 1;
  for (const Axis& axis : axes_) {
    if (product > std::numeric_limits<std::uint64_t>::max() / axis.choices.size())
      return std::numeric_limits<std::uint64_t>::max();
    product *= axis.choices.size();
  }
  return product;
}

bool Sweep::applies(std::size_t axis, const std::vector<Json>& values) const {
  const Condition& when = axes_[axis].when;
  for (const Condition::Match& match : when.matches) {
    const Json& value = values[column_of(match.column).value()];
    if (std::find(match.values.begin(), match.values.end(), value) == match.values.end())
      return false;
  }
  if (!when.expression) return true;
  const auto result = when.expression->evaluate(
      [&](const std::string& name) { return column_value(name, values); });
  return result.value_or(0) != 0;
}

std::optional<double> Sweep::column_value(const std::string& name,
                                          const std::vector<Json>& values) const {
  const std::optional<std::size_t> column = column_of(name);
  return column ? number_of(values[*column]) : std::nullopt;
}

std::optional<std::size_t> Sweep::column_of(const std::string& name) const {
  const auto column = std::find(columns_.begin(), columns_.end(), name);
  if (column == columns_.end()) return {};
  return static_cast<std::size_t>(column - columns_.begin());
}

void Sweep::each(
    const std::function<bool(std::uint64_t, const std::vector<std::size_t>&)>& body) const {
  std::vector<std::size_t> digits(axes_.size(), 0);
  std::vector<Json> values(columns_.size());
  std::vector<bool> applied(axes_.size());
  // Shows the choices of the axes from `first` on.
  const auto show = [&](std::size_t first) {
    for (std::size_t a = first; a < axes_.size(); ++a) {
      applied[a] = applies(a, values);
      for (std::size_t i = 0; i < axes_[a].columns.size(); ++i)
        values[first_column_[a] + i] = applied[a] ? axes_[a].choices[digits[a]].shown[i] : Json();
    }
  };
  show(0);
  for (std::uint64_t number = 1; body(number, digits); ++number) {
    std::size_t a = axes_.size();
    // An axis that does not apply here has one choice only.
    while (a > 0 && (!applied[a - 1] || digits[a - 1] + 1 == axes_[a - 1].choices.size()))
      digits[--a] = 0;
    if (a == 0) return;
    ++digits[a - 1];
    show(a - 1);
  }
}

std::uint64_t Sweep::count(std::uint64_t most) const {
  std::uint64_t all = 0;
  each([&](std::uint64_t number, const std::vector<std::size_t>&) {
    all = number;
    return number < most;
  });
  return all;
}

std::uint64_t Sweep::point_of(const std::vector<std::size_t>& digits) const {
  std::uint64_t point = 0;
  for (std::size_t a = 0; a < axes_.size(); ++a)
    point = point * axes_[a].choices.size() + digits[a];
  return point;
}

std::vector<std::size_t> Sweep::digits_of(std::uint64_t point) const {
  std::vector<std::size_t> digits(axes_.size());
  for (std::size_t a = axes_.size(); a-- > 0; point /= axes_[a].choices.size())
    digits[a] = point % axes_[a].choices.size();
  return digits;
}

Variant Sweep::variant(const std::vector<std::size_t>& digits) const {
  Variant one;
  one.root = base_;
  one.sets = sets_;
  one.values.resize(columns_.size());
  for (std::size_t a = 0; a < axes_.size(); ++a) {
    if (!applies(a, one.values)) continue;
    const Choice& choice = axes_[a].choices[digits[a]];
    std::copy(choice.shown.begin(), choice.shown.end(),
              one.values.begin() + static_cast<std::ptrdiff_t>(first_column_[a]));
    if (!choice.patch.is_null()) merge_patch(one.root, choice.patch);
    one.sets.insert(one.sets.end(), choice.sets.begin(), choice.sets.end());
  }
  for (const Constraint& constraint : constraints_) {
    if (constraint.needs != Constraint::Needs::kAxes || !one.excluded_by.empty()) continue;
    const auto holds = constraint.expression.evaluate(
        [&](const std::string& name) { return column_value(name, one.values); });
    if (holds && *holds == 0) one.excluded_by = constraint.expression.text();
  }
  return one;
}

LoadOptions Sweep::load_options(const std::vector<std::string>& sets) const {
  LoadOptions options = load_;
  options.sets = sets;
  return options;
}

std::string Sweep::id(const Variant& variant) const {
  constexpr std::size_t kDigits = 32;
  std::string content;
  try {
    content = dump_json(resolve_scenario(variant.root, scenario_file_, variant.sets).root, -1);
  } catch (const std::exception&) {  // its row will say what is wrong
    content = dump_json(variant.root, -1) + fmt::format("{}", fmt::join(variant.sets, "\n"));
  }
  return sha256_hex(identity_ + content).substr(0, kDigits);
}

Json Sweep::row(const Variant& variant, const std::string& id) const {
  try {
    Json row = empty_row(variant, id);
    Json found = measured_row(variant);
    for (auto& [key, value] : found.members()) row[key] = std::move(value);
    return row;
  } catch (...) {
    return failed_row(variant, id, std::current_exception());
  }
}

Json Sweep::empty_row(const Variant& variant, const std::string& id) const {
  Json row = Json::object();
  row["id"] = Json(id);
  row["axes"] = Json::object();
  for (std::size_t i = 0; i < columns_.size(); ++i) row["axes"][columns_[i]] = variant.values[i];
  for (const char* key : {"status", "reason"}) row[key] = Json("");
  row["metrics"] = Json::object();
  return row;
}

Json Sweep::failed_row(const Variant& variant, const std::string& id,
                       const std::exception_ptr& error) const {
  Json row = empty_row(variant, id);
  try {
    std::rethrow_exception(error);
  } catch (const ScenarioError& e) {
    fail(row, status_of(e.exit_code()), reason_of(e));
  } catch (const DesignError& e) {
    fail(row, status_of(e.exit_code()),
         fmt::format("{}: {} ({})", e.pointer(), e.what(), e.hint()));
  } catch (const StuckError& e) {
    fail(row, "invalid", e.what());
  } catch (const UsageError& e) {
    fail(row, "invalid", e.what());
  } catch (const std::bad_alloc&) {
    fail(row, "failed", "out of memory");
  } catch (const std::exception& e) {
    fail(row, "failed", e.what());
  }
  return row;
}

Json Sweep::measured_row(const Variant& variant) const {
  mute_progress();
  LoadedScenario loaded =
      load_scenario_json(variant.root, scenario_file_, load_options(variant.sets));
  Json row = Json::object();
  Json fields;
  for (const Constraint& constraint : constraints_) {
    if (constraint.needs != Constraint::Needs::kScenario) continue;
    if (fields.is_null()) fields = Writer::write_moved(loaded.scenario);
    const auto holds =
        constraint.expression.evaluate([&](const std::string& name) -> std::optional<double> {
          if (const auto value = column_value(name, variant.values)) return value;
          const Json* value = find_at(fields, split_pointer(name));
          const auto number = value != nullptr ? number_of(*value) : std::nullopt;
          // An axis with a name of its own, where it does not apply, says nothing.
          if (number || column_of(name)) return number;
          throw ScenarioError(Diagnostic{
              scenario_file_, "/constraints",
              fmt::format("\"{}\" asks for {}, which is neither an axis, a metric, nor a number of "
                          "the scenario",
                          constraint.expression.text(), name),
              "names are those of axes, of metrics, or paths like cluster.servers"});
        });
    if (holds && *holds == 0) {
      fail(row, "excluded", constraint.expression.text() + " does not hold");
      return row;
    }
  }
  const Json result = run_scenario(loaded, 1);
  row["status"] = "ok";
  row["reason"] = "";
  row["metrics"] = Json::object();
  const Json& measured = result.at("metrics");
  for (const Metric& metric : metrics()) {
    if (const auto value = metric_value(measured, metric.key))
      row["metrics"][metric.key] = Json(*value);
  }
  for (const auto& [name, probe] : loaded.scenario.probes) {
    for (const MetricName& one : probe_metrics(name)) {
      if (const Json* value = measured.find(one.key); value != nullptr && value->is_number())
        row["metrics"][one.key] = *value;
    }
  }
  return row;
}

std::string Sweep::broken_constraint(const std::vector<Json>& values, const Json& row) const {
  for (const Constraint& constraint : constraints_) {
    if (constraint.needs != Constraint::Needs::kMetrics) continue;
    std::string missing;
    const auto holds =
        constraint.expression.evaluate([&](const std::string& name) -> std::optional<double> {
          if (const auto value = column_value(name, values)) return value;
          const Json* value = row.at("metrics").find(name);
          if (value != nullptr) return number_of(*value);
          missing = name;
          return {};
        });
    if (!holds) {
      return fmt::format("{} cannot be told: {}", constraint.expression.text(),
                         missing.empty() ? "it is no number" : "there is no " + missing);
    }
    if (*holds == 0) return constraint.expression.text() + " does not hold";
  }
  return {};
}

}  // namespace trainyard
