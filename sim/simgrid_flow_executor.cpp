// The "flow" executor: our weighted max-min model, run by SimGrid as one of its resource models.
#include <algorithm>
#include <unordered_map>

#include "sim/executor.hpp"
#include "sim/flow_core.hpp"
#include "sim/simgrid_platform.hpp"

namespace trainyard {
namespace {

class FlowExecutor final : public Executor, private SimgridEvents {
 public:
  explicit FlowExecutor(const Topology& topology)
      : topology_(topology),
        platform_(topology, SimgridPlatform::Extent::kClock),
        core_({}),
        number_(topology.resource_count()) {}

  void start_flow(OpId op, const FlowPath& path, double bytes) override {
    core_.pass_to(now());
    core_.start_flow(op, numbered(path), bytes);
  }
  void start_delay(OpId op, double seconds) override {
    core_.pass_to(now());
    core_.start_pause(op, seconds);
  }
  void restart_delay(OpId op, double seconds) override {
    core_.pass_to(now());
    core_.restart_pause(op, seconds);
  }

  void run(Listener& listener) override {
    if (core_.idle()) return;
    listener_ = &listener;
    platform_.run(*this);
  }

  // SimGrid's clock is ahead where an actor starts something between two of our events.
  double now() const override { return std::max(core_.now(), platform_.now()); }
  std::vector<double> carried() const override {
    const std::vector<double> in_use = core_.carried();
    std::vector<double> all(number_.size());
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (number_[i].valid()) all[i] = in_use[number_[i].index()];
    }
    return all;
  }
  bool in_progress(std::vector<InProgress>& out) override {
    core_.next_date();  // settles the rates
    for (const FlowCore::Running& one : core_.running())
      out.push_back({one.op, one.phase == FlowCore::Phase::kFlowing, one.left});
    return true;
  }
  std::vector<std::pair<std::string, double>> counters() const override {
    const FlowSolver::Counters& c = core_.solver().counters();
    const auto number = [](std::uint64_t n) { return static_cast<double>(n); };
    return {{"events", number(events_)},
            {"solver calls", number(c.solves)},
            {"solver calls that re-levelled whole components", number(c.component_solves)},
            {"flows levelled again", number(c.flows_visited)},
            {"flows whose rate changed", number(c.flows_changed)},
            {"saturation levels computed", number(c.evaluations)},
            {"most flows levelled again at once", number(c.largest_component)}};
  }

 private:
  double next_date(double /*now*/) override { return core_.next_date(); }

  // What takes no time ends at the same date, in further rounds of this loop.
  void reached(double date) override {
    do {
      ++events_;
      core_.advance(date);
      if (!core_.ended().empty()) listener_->ended(core_.ended(), date);
    } while (core_.next_date() <= date);
  }

  /// The path with resources as the core knows them: only those that some flow has used.
  const FlowPath& numbered(const FlowPath& path) {
    const auto [it, is_new] = paths_.try_emplace(&path);
    if (!is_new) return it->second;
    it->second = path;
    for (Share& share : it->second.shares) {
      ResourceId& number = number_[share.resource.index()];
      if (!number.valid()) number = core_.add_resource(topology_.capacity_of(share.resource));
      share.resource = number;
    }
    return it->second;
  }

  const Topology& topology_;
  SimgridPlatform platform_;
  FlowCore core_;
  std::vector<ResourceId> number_;  ///< in the core, by resource
  std::unordered_map<const FlowPath*, FlowPath> paths_;
  Listener* listener_ = nullptr;
  std::uint64_t events_ = 0;
};

}  // namespace

std::unique_ptr<Executor> make_flow_executor(const Topology& topology) {
  return std::make_unique<FlowExecutor>(topology);
}

}  // namespace trainyard
