// What a cluster costs to build, to power and to keep running, beside the devices themselves.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "sim/archive.hpp"
#include "sim/devices.hpp"

namespace trainyard {

/// Infrastructure servers of one kind (storage gateways, security appliances, management,
/// preprocessing): as many as their load needs.
struct Appliance {
  static constexpr std::string_view kCatalog = "appliance";
  /// What it has to carry: "servers" (one appliance for `servers` of them), or traffic of all
  /// servers: "network" (their mean rate into the fabric over a step), "checkpoint" (the rate at
  /// which checkpoints are written), "data" (the mean rate of training data).
  std::string load = "servers";
  double share = 1;            ///< of that load that passes through it
  double servers = 1;          ///< servers that one appliance serves
  BytesPerSecond rate;         ///< traffic that one appliance carries
  std::optional<Watts> power;  ///< of one
  std::optional<double> price_usd;
  void fields(Archive& ar);
};

/// Power and money of the place.
struct Site {
  static constexpr std::string_view kCatalog = "site";
  double pue = 1;  ///< power at the meter / power of the equipment
  double usd_per_kwh = 0;
  double years = 4;                ///< over which capital is written off, linearly
  double utilization = 1;          ///< share of those years in which jobs run
  double operations_per_year = 0;  ///< staff, space and maintenance a year, as a share of capital
  void fields(Archive& ar);
};

/// What breaks, and how long until training goes on.
struct Reliability {
  static constexpr std::string_view kCatalog = "reliability";
  double failures_per_gpu_day = 0;  ///< that stop the job
  Seconds detection;                ///< until it is noticed
  Seconds repair;                   ///< until spare servers run the job again, without loading
  double stalls_per_day = 0;        ///< times a day that storage brings nothing
  Seconds stall;                    ///< how long each time
  void fields(Archive& ar);
};

}  // namespace trainyard
