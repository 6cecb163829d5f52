#include "sim/engine.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/error.hpp"

namespace trainyard {

Engine::Engine(const OpGraph& graph, Executor& executor, std::size_t ranks, Progress progress)
    : graph_(graph),
      executor_(executor),
      waits_(graph.waits()),
      computes_(ranks),
      progress_(std::move(progress)) {
  timeline_.start.assign(graph.size(), -1);
  timeline_.finish.assign(graph.size(), -1);
}

Timeline Engine::run() {
  for (std::size_t i = 0; i < graph_.size(); ++i) {
    if (waits_[i] == 0) ready_.emplace_back(i);
  }
  start_ready();
  executor_.run(*this);
  if (finished_ != graph_.size()) throw_stuck();
  timeline_.carried = executor_.carried();
  return std::move(timeline_);
}

void Engine::ended(const std::vector<OpId>& ops, double now) {
  // Kernels first: a communication that ends at the same date must not rescale one that is over.
  for (const OpId op : ops) {
    if (graph_.kind(op) == OpKind::kCompute) computes_[graph_.rank(op).index()].op = OpId();
  }
  for (const OpId op : ops) finish(op, now);
  start_ready();
}

// Joins finish at once and may make more ready, so this is a worklist and not a recursion.
void Engine::start_ready() {
  const double now = executor_.now();
  for (std::size_t i = 0; i < ready_.size(); ++i) start(ready_[i], now);
  ready_.clear();
}

void Engine::start(OpId op, double now) {
  timeline_.start[op.index()] = now;
  if (graph_.occupancy(op) != OpGraph::kNoOccupancy) {
    occupy(graph_.occupancy_at(graph_.occupancy(op)), true, now);
  }
  switch (graph_.kind(op)) {
    case OpKind::kJoin:
      finish(op, now);
      return;
    case OpKind::kDelay:
      executor_.start_delay(op, graph_.work(op));
      return;
    case OpKind::kFlow:
      executor_.start_flow(op, graph_.path(op), graph_.work(op));
      return;
    case OpKind::kCompute: {
      Compute& compute = computes_[graph_.rank(op).index()];
      require(!compute.op.valid(), "two kernels at once on one compute stream");
      const double worst = compute.slowdowns.empty() ? 0
                                                     : *std::max_element(compute.slowdowns.begin(),
                                                                         compute.slowdowns.end());
      compute.op = op;
      compute.left = graph_.work(op);
      compute.rate = 1 - worst;
      compute.since = now;
      executor_.start_delay(op, compute.left / compute.rate);
      return;
    }
  }
}

void Engine::finish(OpId op, double now) {
  require(timeline_.finish[op.index()] < 0, "an operation ended twice");
  require(now >= timeline_.start[op.index()], "an operation ended before it started");
  timeline_.finish[op.index()] = now;
  timeline_.end = now;
  ++finished_;
  constexpr std::size_t kReportEvery = 1 << 14;
  if (progress_ && finished_ % kReportEvery == 0) progress_(finished_, graph_.size());
  if (graph_.occupancy(op) != OpGraph::kNoOccupancy) {
    occupy(graph_.occupancy_at(graph_.occupancy(op)), false, now);
  }
  for (const OpId next : graph_.successors(op)) {
    if (--waits_[next.index()] == 0) ready_.push_back(next);
  }
}

void Engine::occupy(const Occupancy& occupancy, bool begins, double now) {
  for (const Rank rank : occupancy.ranks) {
    Compute& compute = computes_[rank.index()];
    auto& all = compute.slowdowns;
    if (begins) {
      all.push_back(occupancy.slowdown);
    } else {
      all.erase(std::find(all.begin(), all.end(), occupancy.slowdown));
    }
    rescale(compute, now);
  }
}

// A kernel runs at 1 minus the worst slowdown beside it: concurrent communication kernels share the
// SMs that the first one took.
void Engine::rescale(Compute& compute, double now) {
  const auto& all = compute.slowdowns;
  const double rate = 1 - (all.empty() ? 0 : *std::max_element(all.begin(), all.end()));
  if (!compute.op.valid() || rate == compute.rate) return;
  compute.left = std::max(0.0, compute.left - (now - compute.since) * compute.rate);
  compute.rate = rate;
  compute.since = now;
  executor_.restart_delay(compute.op, compute.left / rate);
}

void Engine::throw_stuck() const {
  std::vector<OpId> work, joins;
  for (std::size_t i = 0; i < graph_.size(); ++i) {
    if (timeline_.finish[i] >= 0) continue;
    (graph_.kind(OpId(i)) == OpKind::kJoin ? joins : work).emplace_back(i);
  }
  const std::size_t stuck = work.size() + joins.size();
  // Joins are nothing that a user knows: named only where there is nothing else.
  const std::vector<OpId>& named = work.empty() ? joins : work;
  constexpr std::size_t kShown = 5;
  std::string waiting;
  for (std::size_t i = 0; i < std::min(named.size(), kShown); ++i) {
    waiting += fmt::format("{}{} waits for {} more", i == 0 ? "" : ", ", graph_.describe(named[i]),
                           waits_[named[i].index()]);
  }
  throw StuckError(fmt::format(
      "the workload can never finish: {} of {} operations cannot start ({}); they wait for each "
      "other or for something that never ends",
      stuck, graph_.size(), waiting));
}

}  // namespace trainyard
