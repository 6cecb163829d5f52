// The "stock" executor: the reference, on SimGrid's own activities. A flow is a Comm over the links
// of its path, a transfer on a drive an Io, a pause an Exec that shares its host with nothing.
//
// Operations may be started before run() and from ended(), not by SimGrid actors: SimGrid 3.32
// reports only the completion of what its maestro started.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <simgrid/kernel/Timer.hpp>
#include <unordered_map>

#include "sim/error.hpp"
#include "sim/executor.hpp"
#include "sim/simgrid_compat.hpp"
#include "sim/simgrid_platform.hpp"

namespace trainyard {
namespace {

namespace sg = simgrid::s4u;

// So that a drive's units still fit into 64 bits.
constexpr double kMostBytes = 0x1p43;
constexpr double kNever = std::numeric_limits<double>::infinity();

[[noreturn]] void refuse(OpId op, const std::string& feature) {
  throw DesignError(
      "", fmt::format("op {} needs {}, which stock SimGrid cannot express", op.index(), feature),
      "use \"engine.executor\": \"flow\"");
}

class StockExecutor final : public Executor, private SimgridEvents {
 public:
  explicit StockExecutor(const Topology& topology)
      : topology_(topology),
        platform_(topology, SimgridPlatform::Extent::kFull),
        carried_(topology.resource_count(), 0.0) {
    // Cannot be disconnected: hence the pointer, which the destructor resets.
    current_ = this;
    compat::on_activity_completion([](const sg::Activity& activity) {
      if (current_ != nullptr) current_->completed(activity);
    });
  }
  // A start that is refused leaves others in flight, and SimGrid prints a backtrace for each that
  // is destroyed: they stay.
  ~StockExecutor() override {
    static auto& abandoned =
        *std::make_unique<std::unordered_map<const sg::Activity*, Running>>().release();
    abandoned.swap(running_);
    current_ = nullptr;
  }

  void start_flow(OpId op, const FlowPath& path, double bytes) override {
    check(op, path, bytes);
    if (path.latency.si() <= 0) return transfer(op, path, bytes);
    ++waiting_;
    simgrid::kernel::timer::Timer::set(now() + path.latency.si(), [this, op, &path, bytes] {
      --waiting_;
      transfer(op, path, bytes);
    });
  }

  void start_delay(OpId op, double seconds) override {
    if (seconds <= 0) return end(op);
    // An invented rank: hosts never share, but the solver looks at all work of a host at once.
    sg::Host* host = platform_.host(op.index() % platform_.hosts());
    sg::ExecPtr exec = sg::Exec::init();  // Host::exec_init() forgets the host
    exec->set_flops_amount(seconds * host->get_speed());
    exec->set_host(host);
    launch(exec, {.op = op});
  }

  void restart_delay(OpId op, double /*seconds*/) override {
    refuse(op, "a pause whose length changes while it runs (compute beside communication)");
  }

  void run(Listener& listener) override {
    if (idle()) return;
    listener_ = &listener;
    platform_.run(*this);
  }

  double now() const override { return platform_.now(); }
  std::vector<double> carried() const override { return carried_; }

 private:
  struct Running {
    OpId op;
    const FlowPath* path = nullptr;  ///< for flows
    double bytes = 0;
    sg::Link* bound = nullptr;   ///< the private link that holds the rate down
    sg::ActivityPtr activity{};  ///< SimGrid crashes when the last one is lost in flight
  };

  void check(OpId op, const FlowPath& path, double bytes) const {
    if (path.fairness != 1) refuse(op, fmt::format("fairness {}", path.fairness));
    if (bytes != std::floor(bytes)) refuse(op, fmt::format("{} bytes, not a whole number", bytes));
    if (bytes > kMostBytes) refuse(op, fmt::format("{} bytes in one flow", bytes));
    for (const Share& share : path.shares) {
      const std::string name = topology_.resource_name(share.resource);
      if (share.weight != 1) refuse(op, fmt::format("weight {} on {}", share.weight, name));
      if (platform_.disk(share.resource) == nullptr) continue;
      if (path.shares.size() > 1) refuse(op, fmt::format("{} and other resources at once", name));
      if (path.bound.si() < topology_.resource(share.resource).capacity) {
        refuse(op, fmt::format("a rate bound on {}", name));
      }
    }
  }

  /// The latency is over. Nothing holds back a flow without resources and bound.
  void transfer(OpId op, const FlowPath& path, double bytes) {
    const bool bounded = std::isfinite(path.bound.si());
    if (bytes <= 0 || (path.shares.empty() && !bounded)) return end(op);
    Running running{.op = op, .path = &path, .bytes = bytes};
    if (!path.shares.empty() && platform_.disk(path.shares[0].resource) != nullptr) {
      const auto units = static_cast<sg_size_t>(bytes * SimgridPlatform::kDiskUnits);
      launch(platform_.disk(path.shares[0].resource)->io_init(units, sg::Io::OpType::READ),
             running);
      return;
    }
    std::vector<sg::Link*> route;
    for (const Share& share : path.shares) route.push_back(platform_.link(share.resource));
    if (bounded) route.push_back(running.bound = take_private_link(path.bound.si()));
    platform_.set_next_route(std::move(route));
    sg::CommPtr comm = sg::Comm::sendto_init(platform_.host(op.index() % platform_.hosts()),
                                             platform_.host((op.index() + 1) % platform_.hosts()));
    comm->set_payload_size(static_cast<std::uint64_t>(bytes));
    launch(comm, running);
    require(platform_.next_route_taken(), "SimGrid did not ask for the route of a Comm it started");
  }

  void launch(const sg::ActivityPtr& activity, Running running) {
    running.activity = activity;
    running_.emplace(activity.get(), std::move(running));
    compat::start(*activity);
  }

  /// SimGrid still uses the activity while it tells us, so the reference to it waits in over_.
  void completed(const sg::Activity& activity) {
    const auto it = running_.find(&activity);
    if (it == running_.end()) return;
    over_.push_back(std::move(it->second));
    running_.erase(it);
    const Running& ended = over_.back();
    if (ended.path != nullptr) {
      for (const Share& share : ended.path->shares) carried_[share.resource.index()] += ended.bytes;
    }
    end(ended.op);
  }

  /// To be told to the listener together with everything else that ends at this date.
  void end(OpId op) {
    if (ended_.empty()) last_date_ = now() + rounding_of(now());
    ended_.push_back(op);
  }

  /// SimGrid's own next date, so that the clock meets it to the bit; what has ended is told to the
  /// listener before, unless that date differs from its own by rounding alone.
  double next_date(double now) override {
    if (idle()) return kNever;
    const double next = platform_.next_simgrid_date(now);
    telling_ = !ended_.empty() && next > last_date_;
    if (telling_) return now;
    // What is left of a disk's work may take less than an ulp of the clock: the step must be its
    // own.
    return next > now ? next : kNever;
  }

  void reached(double date) override {
    if (!telling_) return;
    for (const Running& running : over_) {
      if (running.bound != nullptr) free_links_.push_back(running.bound);
    }
    over_.clear();
    std::vector<OpId> ended = std::move(ended_);
    ended_.clear();
    std::sort(ended.begin(), ended.end());
    listener_->ended(ended, date);
  }

  bool idle() const { return running_.empty() && waiting_ == 0 && ended_.empty(); }

  sg::Link* take_private_link(double bandwidth) {
    if (free_links_.empty()) return platform_.add_private_link(bandwidth);
    sg::Link* link = free_links_.back();
    free_links_.pop_back();
    link->set_bandwidth(bandwidth);
    return link;
  }

  const Topology& topology_;
  SimgridPlatform platform_;
  std::vector<double> carried_;
  std::unordered_map<const sg::Activity*, Running> running_;  ///< never iterated
  std::vector<Running> over_;
  std::vector<sg::Link*> free_links_;
  std::vector<OpId> ended_;
  double last_date_ = 0;     ///< until when completions count as being at one date
  bool telling_ = false;     ///< the next date is that of ended_
  std::size_t waiting_ = 0;  ///< flows that pay their latency
  Listener* listener_ = nullptr;
  static inline StockExecutor* current_ = nullptr;
};

}  // namespace

std::unique_ptr<Executor> make_stock_executor(const Topology& topology) {
  return std::make_unique<StockExecutor>(topology);
}

}  // namespace trainyard
