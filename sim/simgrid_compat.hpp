// Every SimGrid name that differs between 3.32, which Debian ships, and 4.1: nothing else in
// trainyard looks at SIMGRID_VERSION. Built and run with 3.32; the other branches follow the
// headers of 3.36 and 4.1.
#pragma once

#include <simgrid/version.h>
#include <xbt/base.h>  // version.h needs it first

#include <simgrid/kernel/routing/NetZoneImpl.hpp>
#include <simgrid/s4u/Activity.hpp>
#include <simgrid/s4u/Comm.hpp>
#include <simgrid/s4u/Disk.hpp>
#include <simgrid/s4u/Engine.hpp>
#include <simgrid/s4u/Exec.hpp>
#include <simgrid/s4u/Host.hpp>
#include <simgrid/s4u/Io.hpp>
#include <simgrid/s4u/Link.hpp>
#include <simgrid/s4u/NetZone.hpp>
#include <string>

namespace trainyard::compat {

#if SIMGRID_VERSION >= 33400
inline constexpr const char* kTimingPrecision = "precision/timing";
inline constexpr const char* kWorkPrecision = "precision/work-amount";
#else
inline constexpr const char* kTimingPrecision = "surf/precision";
inline constexpr const char* kWorkPrecision = "maxmin/precision";
#endif

inline simgrid::s4u::Host* add_host(simgrid::s4u::NetZone& zone, const std::string& name,
                                    double speed) {
#if SIMGRID_VERSION >= 40100
  return zone.add_host(name, speed);
#else
  return zone.create_host(name, speed);
#endif
}

inline simgrid::s4u::Link* add_link(simgrid::s4u::NetZone& zone, const std::string& name,
                                    double bandwidth) {
#if SIMGRID_VERSION >= 40100
  return zone.add_link(name, bandwidth);
#else
  return zone.create_link(name, bandwidth);
#endif
}

inline simgrid::s4u::Disk* add_disk(simgrid::s4u::Host& host, const std::string& name,
                                    double bandwidth) {
#if SIMGRID_VERSION >= 40100
  return host.add_disk(name, bandwidth, bandwidth);
#else
  return host.create_disk(name, bandwidth, bandwidth);
#endif
}

/// Makes `zone`, the first of the process, the one that answers for routes. The engine of 3.x takes
/// the first zone as its root by itself; that of 4.x makes its own, and ours goes below.
inline void attach_zone([[maybe_unused]] simgrid::s4u::Engine& engine,
                        [[maybe_unused]] simgrid::kernel::routing::NetZoneImpl& zone) {
#if SIMGRID_VERSION >= 40000
  zone.set_parent(engine.get_netzone_root()->get_impl());
#endif
}

/// Calls `callback(const simgrid::s4u::Activity&)` whenever a Comm, an Exec or an Io ends.
/// Callbacks cannot be taken back.
template <class Callback>
void on_activity_completion(Callback callback) {
#if SIMGRID_VERSION >= 33400
  simgrid::s4u::Comm::on_completion_cb([callback](simgrid::s4u::Comm const& a) { callback(a); });
  simgrid::s4u::Exec::on_completion_cb([callback](simgrid::s4u::Exec const& a) { callback(a); });
  simgrid::s4u::Io::on_completion_cb([callback](simgrid::s4u::Io const& a) { callback(a); });
#else
  simgrid::s4u::Activity::on_completion_cb(callback);
#endif
}

inline void start(simgrid::s4u::Activity& activity) {
#if SIMGRID_VERSION >= 33400
  activity.start();
#else
  activity.vetoable_start();
#endif
}

}  // namespace trainyard::compat
