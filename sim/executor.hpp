// Who runs operations: the Engine decides what may start, an Executor says when it ends.
#pragma once

#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "sim/ids.hpp"
#include "sim/path.hpp"
#include "sim/topology.hpp"

namespace trainyard {

/// How far apart two dates may be that differ by rounding alone: they are one event. Equal flows
/// whose rates were computed in a different order would otherwise end in events of their own.
inline double rounding_of(double date) { return 4 * std::numeric_limits<double>::epsilon() * date; }

class Executor {
 public:
  /// Told of everything that ended at one date, in ascending op order.
  class Listener {
   public:
    virtual ~Listener() = default;
    virtual void ended(const std::vector<OpId>& ops, double now) = 0;
  };
  virtual ~Executor() = default;

  /// Starts `bytes` over a path, after its latency. `path` must live until the run ends.
  virtual void start_flow(OpId op, const FlowPath& path, double bytes) = 0;
  /// Starts a pause of `seconds`.
  virtual void start_delay(OpId op, double seconds) = 0;
  /// Makes a running pause end `seconds` from now instead.
  virtual void restart_delay(OpId op, double seconds) = 0;
  /// Runs until nothing is left running. Operations may be started before and from ended().
  virtual void run(Listener& listener) = 0;
  virtual double now() const = 0;
  /// Something in progress, in a form that compares with the same at another date.
  struct InProgress {
    OpId op;
    bool flowing = false;  ///< bytes move: no pause, and no latency before them
    double left = 0;       ///< bytes where flowing, else seconds
  };
  /// Everything in progress, by operation, of one the first to end first. False, and nothing, where
  /// the executor cannot tell.
  virtual bool in_progress(std::vector<InProgress>& /*out*/) { return false; }
  /// Bytes times weight that each resource has carried, by resource index; empty if not counted.
  virtual std::vector<double> carried() const { return {}; }
  /// What it did, for --profile: names and numbers; empty if not counted.
  virtual std::vector<std::pair<std::string, double>> counters() const { return {}; }
};

/// Our weighted max-min model as a SimGrid resource model ("flow"), or stock SimGrid activities
/// ("stock"). One per process: it owns the SimGrid engine.
/// The flow executor keeps an account only of resources that flows use, numbered as they come.
std::unique_ptr<Executor> make_flow_executor(const Topology& topology);
std::unique_ptr<Executor> make_stock_executor(const Topology& topology);

}  // namespace trainyard
