// Graphs of loops as plain data, which can be built with loops or with every iteration as an
// operation of its own; and random ones.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "sim/opgraph.hpp"
#include "tests/unit/flow_net.hpp"

namespace trainyard::testing {

struct PlanOp {
  OpKind kind = OpKind::kDelay;
  std::uint32_t count = 1;  ///< iterations
  std::size_t rank = 0;
  std::vector<double> work;  ///< of each iteration, or one for all
  FlowPath path;             ///< of flows
  double slowdown = 0;       ///< of rank 0 and its own rank, where > 0
  /// Where in the partial order that keeps random plans free of cycles: iteration k at place + k.
  int place = 0;
};
struct PlanEdge {
  std::size_t before, after;
  std::int32_t shift;
};
struct Plan {
  std::vector<double> capacities;
  std::vector<PlanOp> ops;
  std::vector<PlanEdge> edges;
  std::size_t ranks = 1;
};

inline OpId add_op(OpGraph& graph, const PlanOp& op, const std::vector<double>& work) {
  const Rank rank(op.rank);
  const std::uint32_t label = graph.label("op");
  OpId id;
  switch (op.kind) {
    case OpKind::kJoin:
      id = graph.add_join();
      break;
    case OpKind::kCompute:
      id = graph.add_compute(rank, Seconds::of(work[0]), OpRole::kCompute, label);
      break;
    case OpKind::kDelay:
      id = work.size() > 1 ? graph.add_delays(rank, work, OpRole::kHost, label)
                           : graph.add_delay(rank, Seconds::of(work[0]), OpRole::kHost, label);
      break;
    case OpKind::kFlow:
      id = graph.add_flow(rank, graph.add_path(op.path), Bytes::of(work[0]), OpRole::kDataComm,
                          label);
      break;
  }
  if (op.slowdown > 0) {
    std::vector<Rank> ranks = {Rank(0)};
    if (op.rank != 0) ranks.push_back(rank);
    graph.set_occupancy(id, graph.add_occupancy({ranks, op.slowdown}));
  }
  return id;
}

/// With loops; operation i of the plan is OpId(i).
inline void build_loops(const Plan& plan, OpGraph& graph) {
  for (const PlanOp& op : plan.ops) {
    graph.set_iterations(op.count);
    add_op(graph, op, op.work);
  }
  for (const PlanEdge& e : plan.edges) graph.add_edge(OpId(e.before), OpId(e.after), e.shift);
  graph.freeze();
}

/// Every iteration as an operation of its own: by operation and iteration of the plan. Before each
/// stands a gate, a join that waits for what the iteration waits for and for the gate of the
/// iteration before: iterations start in order.
inline std::vector<std::vector<OpId>> build_unrolled(const Plan& plan, OpGraph& graph) {
  std::vector<std::vector<OpId>> instances(plan.ops.size()), gates(plan.ops.size());
  for (std::size_t i = 0; i < plan.ops.size(); ++i) {
    const PlanOp& op = plan.ops[i];
    for (std::uint32_t k = 0; k < op.count; ++k) {
      gates[i].push_back(graph.add_join());
      instances[i].push_back(add_op(graph, op, {op.work.size() > 1 ? op.work[k] : op.work[0]}));
      graph.add_edge(gates[i][k], instances[i][k]);
      if (k > 0) graph.add_edge(gates[i][k - 1], gates[i][k]);
    }
  }
  for (const PlanEdge& e : plan.edges) {
    const auto& from = instances[e.before];
    const auto& to = gates[e.after];
    if (e.shift == OpEdge::kAfterLast) {
      graph.add_edge(from.back(), to.front());
    } else if (e.shift == OpEdge::kLastAfterLast) {
      graph.add_edge(from.back(), to.back());
    } else {
      for (std::int64_t k = 0; k < std::ssize(to); ++k) {
        const std::int64_t needed = k - e.shift;
        if (needed >= 0 && needed < std::ssize(from))
          graph.add_edge(from[static_cast<std::size_t>(needed)], to[static_cast<std::size_t>(k)]);
      }
    }
  }
  graph.freeze();
  return instances;
}

/// What random plans are made of.
struct PlanShape {
  std::vector<std::uint32_t> counts;  ///< of loops, drawn from these
  bool own_delays = true;
  bool round = false;  ///< few values of work, all multiples of 1/4: states recur, dates are exact
};

class PlanMaker {
 public:
  PlanMaker(std::uint64_t seed, PlanShape shape) : random_(seed), shape_(std::move(shape)) {}

  Plan make() {
    for (int r = 0; r < 3; ++r) plan_.capacities.push_back(work(0.5, 4));
    plan_.ranks = 3;
    for (std::size_t rank = 0; rank < plan_.ranks; ++rank) add_kernels(rank);
    for (std::size_t others = 3 + random_.below(6); others > 0; --others) add_other();
    for (int edges = 0; edges < 40; ++edges) try_edge();
    return std::move(plan_);
  }

 private:
  double work(double low, double high) {
    return shape_.round ? 0.25 * static_cast<double>(1 + random_.below(6))
                        : random_.uniform(low, high);
  }
  std::uint32_t count() { return shape_.counts[random_.below(shape_.counts.size())]; }
  /// Early, among each other, or late.
  int place(std::uint32_t count) {
    const int near = static_cast<int>(random_.below(7)) - 3;
    return near + (random_.one_in(4) ? static_cast<int>(count) + 6 : 0);
  }

  // A rank's stream: kernels that take turns, and single ones before and after them.
  void add_kernels(std::size_t rank) {
    const std::uint32_t n = count();
    const int at = place(n);
    const std::size_t first = plan_.ops.size() + 1;
    const auto add = [&](std::uint32_t iterations, int where) {
      plan_.ops.push_back({OpKind::kCompute, iterations, rank, {work(0.1, 2)}, {}, 0, where});
    };
    add(1, at - 10);
    const std::size_t kernels = 1 + random_.below(3);
    for (std::size_t i = 0; i < kernels; ++i) add(n, at);
    const std::size_t last = first + kernels - 1;
    add(1, at + static_cast<int>(n) + 10);
    plan_.edges.push_back({first - 1, first, 0});
    for (std::size_t i = first; i < last; ++i) plan_.edges.push_back({i, i + 1, 0});
    plan_.edges.push_back({last, first, 1});
    plan_.edges.push_back({last, last + 1, OpEdge::kAfterLast});
  }

  void add_other() {
    constexpr OpKind kKinds[] = {OpKind::kFlow, OpKind::kFlow, OpKind::kDelay, OpKind::kJoin};
    PlanOp op;
    op.kind = kKinds[random_.below(4)];
    op.count = random_.one_in(4) ? 1 : count();
    op.rank = random_.below(plan_.ranks);
    op.work = {random_.one_in(8) ? 0 : work(0.1, 2)};
    op.place = place(op.count);
    if (op.kind == OpKind::kFlow) op.path = path();
    if (op.kind != OpKind::kJoin && random_.one_in(2)) op.slowdown = random_.one_in(2) ? 0.5 : 0.25;
    const std::size_t self = plan_.ops.size();
    const bool own =
        shape_.own_delays && op.kind == OpKind::kDelay && op.count > 1 && random_.one_in(2);
    if (own) {
      for (std::uint32_t k = 1; k < op.count; ++k) op.work.push_back(work(0.1, 2));
    }
    // Pauses of unequal lengths that overlap would end in another order than they start in.
    if (own || random_.one_in(2)) plan_.edges.push_back({self, self, 1});
    plan_.ops.push_back(std::move(op));
  }

  FlowPath path() {
    FlowPath path;
    for (std::size_t r = 0; r < plan_.capacities.size(); ++r) {
      if (!random_.one_in(3)) path.shares.push_back({ResourceId(r), work(0.5, 2)});
    }
    if (random_.one_in(2)) path.latency = Seconds::of(work(0.1, 1));
    if (path.shares.empty() || random_.one_in(4)) path.bound = BytesPerSecond::of(work(0.5, 2));
    if (random_.one_in(4)) path.fairness = work(0.5, 2);
    return path;
  }

  // Any condition that no iteration has to wait for a later one by, in the order of places.
  void try_edge() {
    const std::size_t b = random_.below(plan_.ops.size()), a = random_.below(plan_.ops.size());
    const PlanOp &before = plan_.ops[b], &after = plan_.ops[a];
    const auto place_of = [](const PlanOp& op, std::int64_t k) { return op.place + k; };
    std::int32_t shift = static_cast<std::int32_t>(random_.below(11)) - 4;
    std::int64_t from = place_of(before, -shift), to = place_of(after, 0);
    if (random_.one_in(5)) {
      const bool first = random_.one_in(2);
      shift = first ? OpEdge::kAfterLast : OpEdge::kLastAfterLast;
      from = place_of(before, before.count - 1);
      to = place_of(after, first ? 0 : after.count - 1);
    }
    if (from < to || (from == to && b < a)) plan_.edges.push_back({b, a, shift});
  }

  testing_flows::Random random_;
  PlanShape shape_;
  Plan plan_;
};

}  // namespace trainyard::testing
