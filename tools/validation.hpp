// Published measurements of collectives beside what the simulator gives for the same machine.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/json.hpp"
#include "sim/scenario.hpp"

namespace trainyard {

/// One measured size of a table.
struct ValidatedRow {
  double bytes = 0, measured_s = 0, simulated_s = 0;
  double least_s = 0;  ///< simulated time of 8 B on the same machine: what is latency
  std::string algorithm, protocol;
  double error() const { return simulated_s / measured_s - 1; }
};

struct ValidatedTable {
  std::string id, source, where, what, note;
  std::vector<ValidatedRow> rows;
  /// Mean of the errors' absolutes over sizes of at least 1 MiB; none: no such size.
  std::optional<double> mean_error() const;
  /// Largest absolute error of sizes up to 64 KiB; none: no such size.
  std::optional<double> worst_small() const;
};

/// One published number and its simulated value: a bus bandwidth, or a ratio of two times.
struct ValidatedScalar {
  std::string id, source, where, what, note, algorithm;
  double measured = 0, simulated = 0;
  double least = 0, most = 0;  ///< of what is taken as right
  bool is_ratio = false;
  bool holds() const { return least <= simulated && simulated <= most; }
};

struct Validation {
  std::vector<ValidatedTable> tables;
  std::vector<ValidatedScalar> scalars;
  /// Mean of the errors' absolutes over the sizes of at least 1 MiB of all tables.
  double mean_error() const;
  /// Mean difference between the first two tables of one machine with the same settings, over the
  /// sizes of at least 1 MiB that they share: no model can be nearer to both than half of it.
  struct NoiseFloor {
    std::string first, second;
    double mean = 0, worst = 0, worst_bytes = 0;
  };
  std::optional<NoiseFloor> noise;

  static constexpr double kTableBar = 0.12, kAllBar = 0.07, kSmallBar = 0.3;
  /// Whether every bar is met.
  bool holds() const;
};

/// Simulates every table, number and ratio of `data` (models/validation/network.json, which this
/// documents by example). `load`: sets and catalogue of every simulation. Throws ScenarioError when
/// the data lack a figure or a simulation fails.
Validation validate_network(const Json& data, const LoadOptions& load);

}  // namespace trainyard
