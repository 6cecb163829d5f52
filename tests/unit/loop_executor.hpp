// The Engine's surroundings in unit tests: an executor without SimGrid, and graphs in fewer words.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "sim/engine.hpp"
#include "sim/error.hpp"
#include "sim/flow_core.hpp"

namespace trainyard::testing {

/// FlowCore in a loop of its own: what the SimGrid executor does, without SimGrid.
class LoopExecutor : public Executor {
 public:
  explicit LoopExecutor(std::vector<double> capacities) : core_(std::move(capacities)) {}
  void start_flow(OpId op, const FlowPath& path, double bytes) override {
    core_.start_flow(op, path, bytes);
  }
  void start_delay(OpId op, double seconds) override { core_.start_pause(op, seconds); }
  void restart_delay(OpId op, double seconds) override {
    ++restarts;
    core_.restart_pause(op, seconds);
  }
  void run(Listener& listener) override {
    while (!core_.idle()) {
      core_.advance(core_.next_date());
      if (!core_.ended().empty()) listener.ended(core_.ended(), core_.now());
    }
  }
  double now() const override { return core_.now(); }
  bool in_progress(std::vector<InProgress>& out) override {
    core_.next_date();  // settles the rates
    for (const FlowCore::Running& one : core_.running())
      out.push_back({one.op, one.phase == FlowCore::Phase::kFlowing, one.left});
    return true;
  }
  std::vector<double> carried() const override { return core_.carried(); }

  int restarts = 0;

 private:
  FlowCore core_;
};

/// An OpGraph in fewer words. Edges given with an operation concern the same iteration.
struct Graph : OpGraph {
  OpId delay(double seconds, std::vector<OpId> after = {}) {
    return link(add_delay(Rank(0), Seconds::of(seconds), OpRole::kOther, label("wait")), after);
  }
  OpId compute(std::size_t rank, double seconds, std::vector<OpId> after = {}) {
    return link(add_compute(Rank(rank), Seconds::of(seconds), OpRole::kCompute, label("gemm")),
                after);
  }
  OpId join(std::vector<OpId> after) { return link(add_join(), after); }
  OpId flow(std::size_t resource, double bytes, std::vector<OpId> after = {}, double latency = 0) {
    FlowPath path;
    path.shares = {{ResourceId(resource), 1}};
    path.latency = Seconds::of(latency);
    return link(
        add_flow(Rank(0), add_path(path), Bytes::of(bytes), OpRole::kDataComm, label("send")),
        after);
  }
  void slows(OpId op, double slowdown, std::vector<Rank> ranks) {
    set_occupancy(op, add_occupancy({std::move(ranks), slowdown}));
  }
  OpId link(OpId op, const std::vector<OpId>& after) {
    for (const OpId before : after) add_edge(before, op);
    return op;
  }
  /// Each iteration of the operation waits for the one before.
  OpId one_by_one(OpId op) {
    add_edge(op, op, 1);
    return op;
  }
};

/// What a graph of no flows that cannot end says.
inline std::string stuck_message(Graph& graph) {
  graph.freeze();
  LoopExecutor executor({1});
  try {
    Engine(graph, executor, 1).run();
  } catch (const StuckError& error) {
    return error.what();
  }
  return "no StuckError";
}

}  // namespace trainyard::testing
