#include "sim/simgrid_platform.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <csignal>
#include <exception>
#include <limits>
#include <memory>
#include <simgrid/kernel/Timer.hpp>
#include <simgrid/kernel/resource/Model.hpp>
#include <simgrid/kernel/routing/NetPoint.hpp>

#include "sim/error.hpp"
#include "sim/simgrid_compat.hpp"

namespace trainyard {
namespace {

namespace sg = simgrid::s4u;
using simgrid::kernel::routing::NetPoint;
using simgrid::kernel::routing::NetZoneImpl;

constexpr double kNever = std::numeric_limits<double>::infinity();
// A power of two, so that seconds × speed / speed gives the seconds back to the bit.
constexpr double kHostSpeed = 1073741824;
constexpr int kHostCores = 1 << 20;

/// The root zone. A host is a rank and its netpoint's id is the rank, so routes are computed when
/// asked for and never stored.
class TopologyZone : public NetZoneImpl {
 public:
  TopologyZone(const Topology& topology, SimgridPlatform& platform)
      : NetZoneImpl("trainyard"), topology_(topology), platform_(platform) {}

  void set_next_route(std::vector<sg::Link*> route) {
    next_route_ = std::move(route);
    taken_ = false;
  }
  bool next_route_taken() const { return taken_; }

  void get_local_route(const NetPoint* from, const NetPoint* to,
                       simgrid::kernel::routing::Route* into, double* /*latency*/) override {
    std::vector<sg::Link*> route = std::move(next_route_);
    next_route_.clear();
    if (taken_) route = route_between(Rank(from->id()), Rank(to->id()));
    taken_ = true;
    for (const sg::Link* link : route) into->link_list_.push_back(link->get_impl());
  }

 private:
  /// A rank reaches itself through its NVSwitch: SimGrid aborts on a route without links.
  std::vector<sg::Link*> route_between(Rank from, Rank to) const {
    std::vector<ResourceId> route;
    if (topology_.server_of(from) == topology_.server_of(to)) {
      route = {topology_.nvlink_out(from), topology_.nvlink_in(to)};
    } else {
      leave_server(from, route);
      for (const ResourceId link : topology_.route(nic_of(from), nic_of(to))) route.push_back(link);
      enter_server(to, route);
    }
    std::vector<sg::Link*> links;
    links.reserve(route.size());
    for (const ResourceId resource : route) links.push_back(platform_.link(resource));
    return links;
  }

  void leave_server(Rank rank, std::vector<ResourceId>& route) const {
    if (owner_of_nic(rank) != rank) {
      route.insert(route.end(),
                   {topology_.nvlink_out(rank), topology_.nvlink_in(owner_of_nic(rank))});
    }
    route.push_back(topology_.pcie_tx(topology_.server_of(rank), topology_.nic_of(rank)));
  }

  void enter_server(Rank rank, std::vector<ResourceId>& route) const {
    route.push_back(topology_.pcie_rx(topology_.server_of(rank), topology_.nic_of(rank)));
    if (owner_of_nic(rank) != rank) {
      route.insert(route.end(),
                   {topology_.nvlink_out(owner_of_nic(rank)), topology_.nvlink_in(rank)});
    }
  }

  NodeId nic_of(Rank rank) const {
    return topology_.nic_node(topology_.server_of(rank), topology_.nic_of(rank));
  }
  /// The GPU whose PCIe switch holds the NIC that the rank uses.
  Rank owner_of_nic(Rank rank) const {
    return topology_.owner_of(topology_.server_of(rank), topology_.nic_of(rank));
  }

  const Topology& topology_;
  SimgridPlatform& platform_;
  std::vector<sg::Link*> next_route_;
  bool taken_ = true;
};

/// A zone without parent and without hosts. The engine seals only its root when it starts, and a
/// sealed zone makes no links: those that are added during a run come from here.
class LinkZone : public NetZoneImpl {
 public:
  LinkZone() : NetZoneImpl("private") {}
  void get_local_route(const NetPoint*, const NetPoint*, simgrid::kernel::routing::Route*,
                       double*) override {}
};

/// Offers SimgridEvents to the engine as one more resource model.
class EventModel : public simgrid::kernel::resource::Model {
 public:
  EventModel() : Model("trainyard") {}

  void attach(SimgridEvents* events) {
    events_ = events;
    failure_ = nullptr;
  }
  std::exception_ptr failure() const { return failure_; }

  /// Seconds until the next event; negative for none. A tiny negative value would end the run
  /// silently, so lateness by rounding counts as zero.
  double next_occurring_event(double now) override {
    step_ = kNever;
    if (!active()) return -1;
    date_ = kNever;
    guard([&] { date_ = events_->next_date(now); });
    if (!std::isfinite(date_)) return -1;
    step_ = std::max(0.0, date_ - now);
    // now + (date - now) is the date to the bit when the clock at most doubles. It would else pass
    // by one ulp an event of a model that takes what is over for never. A run has few doublings.
    lands_ = now <= 0 || step_ <= now;
    if (!lands_) step_ = now;
    return step_;
  }

  void update_actions_state(double /*now*/, double delta) override {
    reached_ = active() && lands_ && delta >= step_;
  }

  /// The clock has moved: called after all models have been told.
  void dispatch() {
    if (reached_ && active()) guard([&] { events_->reached(date_); });
    reached_ = false;
  }

 private:
  bool active() const { return events_ != nullptr && failure_ == nullptr; }

  template <class Function>
  void guard(Function function) {
    try {
      function();
    } catch (...) {
      failure_ = std::current_exception();
    }
  }

  SimgridEvents* events_ = nullptr;
  std::exception_ptr failure_;
  double date_ = kNever;
  double step_ = kNever;
  bool lands_ = false;
  bool reached_ = false;
};

/// What lives from the first platform to the end of the process.
struct Process {
  std::unique_ptr<sg::Engine> engine;
  TopologyZone* root = nullptr;  // the engine's
  LinkZone* links = nullptr;     // nobody's: it holds links that the engine may still look at
  std::shared_ptr<EventModel> model;
};

// Never destroyed: SimGrid's own statics may be gone by then, and a simulator that ends has nothing
// to tidy up.
Process& process() {
  static Process& instance = *new Process;
  return instance;
}

/// Keeps the handlers of ours that the engine's constructor takes away: SimGrid's exits with 1 and
/// loses what was computed.
class SignalKeeper {
 public:
  SignalKeeper() {
    for (std::size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], nullptr, &before_[i]);
  }
  ~SignalKeeper() {
    for (std::size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], &before_[i], nullptr);
  }
  SignalKeeper(const SignalKeeper&) = delete;
  SignalKeeper& operator=(const SignalKeeper&) = delete;

 private:
  static constexpr std::array<int, 2> kSignals{SIGINT, SIGTERM};
  std::array<struct sigaction, 2> before_{};
};

std::string& paje_file() {
  static std::string path;
  return path;
}

std::unique_ptr<sg::Engine> make_engine() {
  std::vector<std::string> arguments{"trainyard", "--log=root.thresh:error"};
  for (const auto& [name, value] : simgrid_options()) {
    arguments.push_back(fmt::format("--cfg={}:{}", name, value));
  }
  // These change no result. Threads as contexts because only they are clean under the sanitizers,
  // and no clean-up because exit() may be called from a signal handler in the middle of a run.
  arguments.emplace_back("--cfg=contexts/factory:thread");
  arguments.emplace_back("--cfg=debug/clean-atexit:no");
  if (!paje_file().empty()) {
    for (const char* option : {"tracing:yes", "tracing/uncategorized:yes", "tracing/platform:yes",
                               "tracing/precision:12"})
      arguments.push_back(std::string("--cfg=") + option);
    arguments.push_back("--cfg=tracing/filename:" + paje_file());
  }
  std::vector<char*> argv;
  argv.reserve(arguments.size() + 1);
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  int argc = static_cast<int>(arguments.size());
  const SignalKeeper keeper;
  return std::make_unique<sg::Engine>(&argc, argv.data());
}

}  // namespace

void simgrid_writes_paje(const std::string& path) { paje_file() = path; }

std::vector<std::pair<std::string, std::string>> simgrid_options() {
  return {
      {"network/model", "CM02"},  // t = bytes / rate, no factors of TCP over Ethernet
      {"network/crosstraffic", "no"},
      {"network/TCP-gamma", "0"},  // no cap at window / round trip
      {"network/weight-S", "0"},   // links share by max-min alone
      {"network/latency-factor", "1"},
      {"network/bandwidth-factor", "1"},
      {"network/optim", "Lazy"},
      {"cpu/model", "Cas01"},
      {"cpu/optim", "Lazy"},
      {"maxmin/concurrency-limit", "-1"},
      // The defaults merge what is under a nanosecond apart.
      {compat::kTimingPrecision, "1e-15"},
      {compat::kWorkPrecision, "1e-12"},
      {"tracing", "no"},
  };
}

std::string simgrid_version() {
  int major = 0, minor = 0, patch = 0;
  sg_version_get(&major, &minor, &patch);
  return patch == 0 ? fmt::format("{}.{}", major, minor)
                    : fmt::format("{}.{}.{}", major, minor, patch);
}

SimgridPlatform::SimgridPlatform(const Topology& topology, Extent extent) : topology_(topology) {
  Process& p = process();
  require(p.engine == nullptr, "a second SimGrid engine in one process");
  p.engine = make_engine();
  p.root = new TopologyZone(topology, *this);
  compat::attach_zone(*p.engine, *p.root);
  const std::size_t hosts =
      extent == Extent::kClock ? 1 : std::max<std::size_t>(1, topology.ranks());
  for (std::size_t rank = 0; rank < hosts; ++rank) {
    sg::Host* host =
        compat::add_host(*p.root->get_iface(), fmt::format("rank{}", rank), kHostSpeed);
    host->set_core_count(kHostCores);
    hosts_.push_back(host);
  }
  if (extent == Extent::kFull) add_drives();
  for (sg::Host* host : hosts_) host->seal();
  p.root->get_iface()->seal();
  p.model = std::make_shared<EventModel>();
  p.engine->add_model(p.model);
  // Cannot be disconnected, so it is connected once and looks up who is to be told.
  sg::Engine::on_time_advance_cb([](double) { process().model->dispatch(); });
}

SimgridPlatform::~SimgridPlatform() { process().model->attach(nullptr); }

void SimgridPlatform::add_drives() {
  Process& p = process();
  p.links = new LinkZone;
  p.links->set_network_model(p.root->get_network_model());
  topology_.each_resource([&](ResourceId id, const ResourceTraits& traits) {
    if (traits.kind != ResourceKind::kDrive) return;
    const ServerId owner = topology_.server_of_resource(id);
    const std::size_t server = owner.valid() ? owner.index() : 0;
    const std::size_t rank = server * static_cast<std::size_t>(topology_.gpus_per_server());
    sg::Disk* disk =
        compat::add_disk(*hosts_[std::min(rank, hosts_.size() - 1)],
                         fmt::format("drive{}", id.index()), traits.capacity * kDiskUnits);
    disk->seal();
    disks_.emplace(id, disk);
  });
}

sg::Link* SimgridPlatform::add_link(const std::string& name, double bandwidth) {
  sg::Link* link = compat::add_link(*process().links->get_iface(), name, bandwidth);
  link->set_latency(0.0);
  link->seal();
  return link;
}

sg::Link* SimgridPlatform::link(ResourceId resource) {
  sg::Link*& link = links_[resource];
  if (link == nullptr)
    link = add_link(fmt::format("link{}", resource.index()), topology_.capacity_of(resource));
  return link;
}

sg::Link* SimgridPlatform::add_private_link(double bandwidth) {
  return add_link(fmt::format("private{}", private_links_++), bandwidth);
}

void SimgridPlatform::set_next_route(std::vector<sg::Link*> route) {
  process().root->set_next_route(std::move(route));
}

bool SimgridPlatform::next_route_taken() const { return process().root->next_route_taken(); }

double SimgridPlatform::now() const { return sg::Engine::get_clock(); }

double SimgridPlatform::next_simgrid_date(double now) const {
  double step = kNever;
  for (auto* model : process().engine->get_all_models()) {
    if (model == process().model.get()) continue;
    const double next = model->next_occurring_event(now);
    if (next >= 0) step = std::min(step, next);
  }
  const double timer = simgrid::kernel::timer::Timer::next();
  return std::max(now, timer < 0 ? now + step : std::min(now + step, timer));
}

void SimgridPlatform::run(SimgridEvents& events) {
  Process& p = process();
  p.model->attach(&events);
  p.engine->run();
  const std::exception_ptr failure = p.model->failure();
  p.model->attach(nullptr);
  if (failure) std::rethrow_exception(failure);
}

}  // namespace trainyard
