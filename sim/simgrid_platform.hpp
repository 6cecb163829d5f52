// SimGrid as trainyard uses it: one engine per process with every option that changes a result
// pinned, a platform made of a Topology, and events of our own on its clock.
//
// SimGrid's headers stay out of this one, so that who only asks for provenance need not read them.
#pragma once

#include <cstddef>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "sim/ids.hpp"
#include "sim/topology.hpp"

namespace simgrid::s4u {
class Disk;
class Host;
class Link;
}  // namespace simgrid::s4u

namespace trainyard {

/// The SimGrid options that the engine is started with, as (name, value): for provenance.
std::vector<std::pair<std::string, std::string>> simgrid_options();
/// Of the library that runs, not of the headers: "3.32".
std::string simgrid_version();

/// The engine of this process, when it is made, writes a Paje file of what its own models simulate.
void simgrid_writes_paje(const std::string& path);

/// Something that happens on SimGrid's clock besides SimGrid's own events.
class SimgridEvents {
 public:
  virtual ~SimgridEvents() = default;
  /// The date of the next event, at least `now`; infinity when none is to come. May be asked again.
  virtual double next_date(double now) = 0;
  /// The clock stands at the date that next_date() gave, to the bit.
  virtual void reached(double date) = 0;
};

/// The SimGrid engine of this process and what it runs on. At most one is ever made in a process:
/// SimGrid's clock is static, and its callbacks outlive an engine.
class SimgridPlatform {
 public:
  enum class Extent {
    kClock,  ///< one host: for an executor that models every resource itself
    kFull,   ///< a host per rank, a disk per drive, and links as they are asked for
  };
  /// `topology` must live as long as the platform. std::logic_error when the process had one
  /// already.
  SimgridPlatform(const Topology& topology, Extent extent);
  ~SimgridPlatform();
  SimgridPlatform(const SimgridPlatform&) = delete;
  SimgridPlatform& operator=(const SimgridPlatform&) = delete;

  std::size_t hosts() const { return hosts_.size(); }
  /// By rank. No work on a host ever waits for other work there.
  simgrid::s4u::Host* host(std::size_t rank) const { return hosts_[rank]; }
  /// Without latency; made when first asked for, also while the simulation runs.
  simgrid::s4u::Link* link(ResourceId resource);
  /// Null but for a drive. Bytes there count kDiskUnits each.
  simgrid::s4u::Disk* disk(ResourceId resource) const {
    const auto it = disks_.find(resource);
    return it == disks_.end() ? nullptr : it->second;
  }
  /// A new link of no resource, also while the simulation runs. Lives as long as the engine.
  simgrid::s4u::Link* add_private_link(double bandwidth);

  /// What the Comm started next takes, whatever its hosts; other Comms take Topology::route.
  void set_next_route(std::vector<simgrid::s4u::Link*> route);
  /// Whether the route set last has been taken.
  bool next_route_taken() const;

  double now() const;
  /// When SimGrid's own models and timers do something next, at least `now`; infinity if never.
  double next_simgrid_date(double now) const;
  /// Runs until neither `events` nor SimGrid have anything left. What `events` throws ends its part
  /// of the simulation and comes out of here, as an ordinary exception.
  void run(SimgridEvents& events);

  /// SimGrid's disks serve whole units in each step of the clock, so a byte is many of them.
  static constexpr double kDiskUnits = 1048576;

 private:
  void add_drives();
  simgrid::s4u::Link* add_link(const std::string& name, double bandwidth);

  const Topology& topology_;
  std::vector<simgrid::s4u::Host*> hosts_;
  std::unordered_map<ResourceId, simgrid::s4u::Link*> links_;
  std::unordered_map<ResourceId, simgrid::s4u::Disk*> disks_;
  std::size_t private_links_ = 0;
};

}  // namespace trainyard
