// What is wrong with a sweep as a whole: columns, axes that clash, paths that lead nowhere.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "sim/reader.hpp"
#include "sim/resolve.hpp"
#include "sim/spelling.hpp"
#include "sim/writer.hpp"
#include "tools/sweep/sweep.hpp"

namespace trainyard {
namespace {

// Names that tables need for themselves. SQLite does not tell cases apart.
bool is_fixed_column(const std::string& name) {
  for (const char* fixed : {"variant", "id", "status", "reason"}) {
    if (lower_case(name) == fixed) return true;
  }
  return std::any_of(metrics().begin(), metrics().end(), [&](const Metric& metric) {
    return lower_case(std::string(metric.key)) == lower_case(name);
  });
}

// "a.b" and "/a/b" as a JSON pointer.
std::string pointer_of(const std::string& set) {
  return "/" + fmt::format("{}", fmt::join(split_pointer(split_set(set).first), "/"));
}

bool begins_with_path(const std::string& pointer, const std::string& path) {
  return pointer.starts_with(path) &&
         (pointer.size() == path.size() || pointer[path.size()] == '/');
}

void add_leaves(const Json& patch, const std::string& pointer, std::set<std::string>& paths) {
  if (!patch.is_object() || patch.members().empty()) {
    paths.insert(pointer);
    return;
  }
  for (const auto& [key, value] : patch.members())
    add_leaves(value, fmt::format("{}/{}", pointer, key), paths);
}

// What the choices of an axis write.
std::set<std::string> paths_of(const Axis& axis) {
  std::set<std::string> paths;
  for (const Choice& choice : axis.choices) {
    for (const std::string& set : choice.sets) paths.insert(pointer_of(set));
    if (choice.patch.is_object() && !choice.patch.members().empty())
      add_leaves(choice.patch, "", paths);
  }
  return paths;
}

// Whether a choice sets something inside what the pointer is: a fault there is of its making.
bool breaks_above(const Choice& choice, const std::string& pointer) {
  return !pointer.empty() &&
         std::any_of(choice.sets.begin(), choice.sets.end(), [&](const std::string& set) {
           const std::string path = pointer_of(set);
           return path != pointer && begins_with_path(path, pointer);
         });
}

// Whether a choice writes the field, or something around or inside it.
bool sets_field(const Choice& choice, const std::string& pointer) {
  for (const std::string& set : choice.sets) {
    const std::string path = pointer_of(set);
    if (begins_with_path(pointer, path) || begins_with_path(path, pointer)) return true;
  }
  return find_at(choice.patch, split_pointer(pointer)) != nullptr;
}

}  // namespace

void Sweep::check_columns(const std::string& file, std::vector<Diagnostic>& faults) const {
  std::set<std::string> names;
  for (const std::string& column : columns_) {
    if (is_fixed_column(column))
      faults.push_back({file, "/axes", fmt::format("\"{}\" is a column of every table", column),
                        "give the axis another \"name\""});
    if (!names.insert(lower_case(column)).second)
      faults.push_back({file, "/axes", fmt::format("\"{}\" is the name of two axes", column),
                        "names that differ in more than capitals"});
  }
  if (faults.empty()) check_overlaps(file, faults);
}

// A later axis would write over an earlier one, and rows would show what is not so.
void Sweep::check_overlaps(const std::string& file, std::vector<Diagnostic>& faults) const {
  std::vector<std::set<std::string>> all;
  for (std::size_t a = 0; a < axes_.size(); ++a) {
    all.push_back(paths_of(axes_[a]));
    for (std::size_t b = 0; b < a; ++b) {
      for (const std::string& path : all[a]) {
        const auto clash =
            std::find_if(all[b].begin(), all[b].end(), [&](const std::string& other) {
              return begins_with_path(path, other) || begins_with_path(other, path);
            });
        if (clash == all[b].end()) continue;
        faults.push_back(
            {file, fmt::format("/axes/{}", a),
             fmt::format("sets {}, and axis {} sets {}: one would write over the other", path, b,
                         *clash),
             "vary both in one axis: \"zip\", \"list\" or \"cases\""});
        return;
      }
    }
  }
}

// What is wrong with the scenario as it is and with its first variant is wrong with all.
void Sweep::check_base(const std::string& scenario) const {
  const auto faults_of = [&](const std::vector<std::string>& sets, const Json& root) {
    try {
      load_scenario_json(root, scenario, load_options(sets));
    } catch (const ScenarioError& e) {
      return e.diagnostics();
    } catch (const UsageError&) {  // an axis of a list that is not there
    }
    return std::vector<Diagnostic>();
  };
  const Variant first = variant(std::vector<std::size_t>(axes_.size(), 0));
  std::vector<Diagnostic> common;
  const std::vector<Diagnostic> before = faults_of(sets_, base_);
  if (before.empty()) return;
  for (const Diagnostic& d : faults_of(first.sets, first.root)) {
    if (std::any_of(before.begin(), before.end(), [&](const Diagnostic& b) {
          return b.pointer == d.pointer && b.message == d.message;
        }))
      common.push_back(d);
  }
  if (!common.empty()) throw ScenarioError(std::move(common));
}

// Loads one variant for each choice that may set fields of its own, and says which of what it sets
// is no field. What else is wrong with a variant is its row's affair.
void Sweep::check_paths(const std::string& file) const {
  constexpr std::uint64_t kLooked = 100'000;
  std::vector<Diagnostic> faults;
  std::set<std::pair<std::size_t, std::size_t>> checked;
  std::size_t all = 0;
  for (const Axis& axis : axes_) all += axis.own_paths ? axis.choices.size() : 1;
  each([&](std::uint64_t number, const std::vector<std::size_t>& digits) {
    const Variant one = variant(digits);
    for (std::size_t a = 0; a < axes_.size(); ++a) {
      if (!applies(a, one.values)) continue;
      if (!checked.insert({a, axes_[a].own_paths ? digits[a] : 0}).second) continue;
      for (Diagnostic& fault : unknown_fields(one, axes_[a].choices[digits[a]])) {
        fault.file = file;
        fault.pointer = fmt::format("/axes/{}", a);
        faults.push_back(std::move(fault));
      }
    }
    return number < kLooked && checked.size() < all && faults.empty();
  });
  if (faults.empty()) check_constraints(file, faults);
  if (!faults.empty()) throw ScenarioError(std::move(faults));
}

// Names in constraints that the first variant that can be loaded does not have.
void Sweep::check_constraints(const std::string& file, std::vector<Diagnostic>& faults) const {
  constexpr std::uint64_t kTried = 20;
  each([&](std::uint64_t number, const std::vector<std::size_t>& digits) {
    try {
      const Variant one = variant(digits);
      LoadedScenario loaded = load_scenario_json(one.root, scenario_file_, load_options(one.sets));
      const Json fields = Writer::write_moved(loaded.scenario);
      for (std::size_t i = 0; i < constraints_.size(); ++i) {
        if (constraints_[i].needs != Constraint::Needs::kScenario) continue;
        for (const std::string& name : constraints_[i].expression.names()) {
          const Json* value = find_at(fields, split_pointer(name));
          if (column_of(name) || (value != nullptr && number_of(*value))) continue;
          faults.push_back(
              {file, fmt::format("/constraints/{}", i),
               fmt::format("{} is no axis, no metric and no number of the scenario", name),
               "write it as a path, like cluster.servers"});
        }
      }
      return false;
    } catch (const std::exception&) {
      return number < kTried;
    }
  });
}

std::vector<Diagnostic> Sweep::unknown_fields(const Variant& variant, const Choice& choice) const {
  std::vector<Diagnostic> faults;
  try {
    load_scenario_json(variant.root, scenario_file_, load_options(variant.sets));
  } catch (const ScenarioError& e) {
    for (const Diagnostic& d : e.diagnostics()) {
      if ((d.message == Reader::kNoField && sets_field(choice, d.pointer)) ||
          breaks_above(choice, d.pointer))
        faults.push_back({{}, {}, fmt::format("{} {}", d.pointer, d.message), d.hint});
    }
  } catch (const UsageError& e) {  // an element that no list has
    faults.push_back({{}, {}, e.what(), "the path is one of the scenario's own fields"});
  }
  return faults;
}

}  // namespace trainyard
