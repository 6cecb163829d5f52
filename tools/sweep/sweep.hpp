// A sweep: a scenario, the axes over which it is varied, and what a variant must hold.
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "sim/metrics.hpp"
#include "sim/scenario.hpp"
#include "tools/sweep/axes.hpp"

namespace trainyard {

/// What the command line adds to a sweep file, or to a scenario to make it a sweep.
struct SweepAdditions {
  std::vector<std::string> axes;         ///< "path=values"
  std::vector<std::string> constraints;  ///< conditions
  std::vector<std::string> objectives;   ///< metrics
  std::int64_t seeds = 0;                ///< 0: as the file says
  LoadOptions load;
};

/// One point of the sweep.
struct Variant {
  std::vector<Json> values;  ///< by column; null where an axis does not apply
  Json root;                 ///< the scenario before `sets`
  std::vector<std::string> sets;
  std::string excluded_by;  ///< the constraint that its axes alone break; or empty
};

class Sweep {
 public:
  /// From a sweep file, or from a scenario file and axes of `additions`. Throws ScenarioError with
  /// every fault, a path that is no field of the scenario among them; UsageError for an option that
  /// is none.
  static Sweep from_file(const std::string& path, const SweepAdditions& additions);
  /// From what manifest() gave; `file` is where it stands. Throws ScenarioError when it is none.
  static Sweep from_manifest(const Json& manifest, const std::string& file);
  /// Throws ScenarioError when a manifest was made by another version of the program: rows of both
  /// would not be comparable.
  static void check_same_program(const Json& manifest, const std::string& file);

  /// All there is to know to run it and to read its rows, on any machine.
  const Json& manifest() const { return manifest_; }
  const std::string& name() const { return name_; }
  const std::vector<std::string>& columns() const { return columns_; }
  const std::vector<Axis>& axes() const { return axes_; }
  const std::vector<std::string>& objectives() const { return objectives_; }

  /// The product of all axes; those that do not always apply make it an upper bound.
  std::uint64_t points() const;
  /// Calls body(number, digits) for each variant in order, the last axis fastest; digits are the
  /// choices by axis. Ends early when body returns false.
  void each(const std::function<bool(std::uint64_t number, const std::vector<std::size_t>& digits)>&
                body) const;
  /// How many variants there are; counts to `most` only.
  std::uint64_t count(std::uint64_t most) const;

  /// The digits as one number, less than points(), and back.
  std::uint64_t point_of(const std::vector<std::size_t>& digits) const;
  std::vector<std::size_t> digits_of(std::uint64_t point) const;

  Variant variant(const std::vector<std::size_t>& digits) const;
  /// 32 hexadecimal digits: a hash of the resolved scenario and of all else that its row depends
  /// on. Variants with the same id are the same.
  std::string id(const Variant& variant) const;
  /// The row of a variant, simulated in this process's children, one at a time: {"id", "axes",
  /// "status", "reason", "metrics"}. Throws nothing that a scenario can cause.
  Json row(const Variant& variant, const std::string& id) const;
  /// The row of a variant whose simulation ended by an exception.
  Json failed_row(const Variant& variant, const std::string& id,
                  const std::exception_ptr& error) const;
  /// Why a row with metrics is excluded: the first constraint that does not hold, or that cannot be
  /// told because a metric is missing; or empty.
  std::string broken_constraint(const std::vector<Json>& values, const Json& row) const;

 private:
  struct Constraint {
    Expression expression;
    enum class Needs { kAxes, kScenario, kMetrics } needs = Needs::kAxes;
  };
  Sweep() = default;
  void read(const Json& sweep, const std::string& file);
  void read_constraints(const Json* constraints, const std::string& file,
                        std::vector<Diagnostic>& faults);
  void read_objectives(const Json* objectives, const std::string& file,
                       std::vector<Diagnostic>& faults);
  void check_columns(const std::string& file, std::vector<Diagnostic>& faults) const;
  void check_overlaps(const std::string& file, std::vector<Diagnostic>& faults) const;
  Constraint::Needs needs_of(const std::string& name, const Expression& expression) const;
  std::optional<MetricName> measure_named(const std::string& name) const;
  LoadOptions load_options(const std::vector<std::string>& sets) const;
  void check_base(const std::string& scenario) const;
  void check_paths(const std::string& file) const;
  void check_constraints(const std::string& file, std::vector<Diagnostic>& faults) const;
  std::vector<Diagnostic> unknown_fields(const Variant& variant, const Choice& choice) const;
  bool applies(std::size_t axis, const std::vector<Json>& values) const;
  std::optional<std::size_t> column_of(const std::string& name) const;
  std::optional<double> column_value(const std::string& name,
                                     const std::vector<Json>& values) const;
  Json empty_row(const Variant& variant, const std::string& id) const;
  Json measured_row(const Variant& variant) const;

  Json manifest_;
  std::string name_, scenario_file_;
  Json base_;
  std::vector<std::string> sets_;
  LoadOptions load_;  ///< of every variant
  std::string identity_;
  std::vector<Axis> axes_;
  std::vector<std::string> columns_;
  std::vector<std::size_t> first_column_;  ///< by axis
  std::vector<Constraint> constraints_;
  std::vector<std::string> objectives_;
};

}  // namespace trainyard
