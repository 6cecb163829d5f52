#include "sim/record_graph.hpp"

#include <algorithm>
#include <array>

#include "sim/error.hpp"

namespace trainyard {
namespace {

bool orders_itself(const OpGraph& graph, OpId op) {
  const auto edges = graph.successors(op);
  return std::any_of(edges.begin(), edges.end(),
                     [op](const OpEdge& edge) { return edge.op == op && edge.shift == 1; });
}

/// The conditions of sim/opgraph.hpp between records, and the turns that queues took.
class Conditions {
 public:
  Conditions(const OpGraph& graph, const Timeline& timeline)
      : graph_(graph), own_order_(graph.size()) {
    for (std::size_t i = 0; i < graph.size(); ++i)
      own_order_[i] = graph.iterations(OpId(i)) > 1 && !orders_itself(graph, OpId(i)) ? 1 : 0;
    if (graph.queues() > 0) take_turns(timeline);
  }

  /// Calls body(op, iteration, from_start) for each that waits for iteration k.
  template <class Body>
  void each(OpId op, std::uint32_t k, Body&& body) const {
    const std::uint32_t count = graph_.iterations(op);
    if (own_order_[op.index()] != 0 && k + 1 < count) body(op, k + 1, true);
    if (!turns_.empty()) {
      for (const OpId next : turns_[op.index()]) {
        if (next.valid()) body(next, 0, false);
      }
    }
    for (const OpEdge& edge : graph_.successors(op)) {
      const std::int64_t others = graph_.iterations(edge.op);
      std::int64_t to = std::int64_t{k} + edge.shift;
      if (edge.shift <= OpEdge::kLastAfterLast) {
        if (k + 1 != count) continue;
        to = edge.shift == OpEdge::kAfterLast ? 0 : others - 1;
      }
      if (to >= 0 && to < others) body(edge.op, static_cast<std::uint32_t>(to), false);
    }
  }

 private:
  // Who follows whom in each queue. What took no time held nobody up.
  void take_turns(const Timeline& timeline) {
    std::vector<std::vector<OpId>> queues(graph_.queues());
    for (std::size_t i = 0; i < graph_.size(); ++i) {
      for (const std::uint32_t queue : graph_.queues(OpId(i))) {
        if (queue != OpGraph::kNoQueue && timeline.finish(OpId(i)) > timeline.start(OpId(i)))
          queues[queue].emplace_back(i);
      }
    }
    turns_.resize(graph_.size());
    for (std::vector<OpId>& queue : queues) {
      std::sort(queue.begin(), queue.end(), [&](OpId a, OpId b) {
        return std::pair(timeline.start(a), a) < std::pair(timeline.start(b), b);
      });
      for (std::size_t i = 0; i + 1 < queue.size(); ++i) {
        std::array<OpId, 2>& turns = turns_[queue[i].index()];
        turns[turns[0].valid() ? 1 : 0] = queue[i + 1];
      }
    }
  }

  const OpGraph& graph_;
  std::vector<std::array<OpId, 2>> turns_;  ///< by op: what comes after it in its queues
  std::vector<std::uint8_t> own_order_;     ///< only the engine keeps its iterations in order
};

}  // namespace

std::uint64_t RecordGraph::most_edges(const OpGraph& graph) {
  std::uint64_t edges = graph.instances();
  for (std::size_t i = 0; i < graph.size(); ++i)
    edges +=
        graph.successors(OpId(i)).size() * graph.iterations(OpId(i)) + (graph.queues() > 0 ? 2 : 0);
  return edges;
}

RecordGraph::RecordGraph(const OpGraph& graph, const Timeline& timeline) {
  require(timeline.repeats().empty(), "a graph of records of which some were not simulated");
  sort(graph, timeline);
  start_.resize(size());
  finish_.resize(size());
  for (std::size_t i = 0; i < size(); ++i) {
    const std::size_t record = timeline.record(order_[i].op, order_[i].number);
    start_[i] = timeline.start(record);
    finish_[i] = timeline.finish(record);
  }
  find_entries();
}

// Kahn's algorithm: what waits for nothing more comes next.
void RecordGraph::sort(const OpGraph& graph, const Timeline& timeline) {
  const Conditions conditions(graph, timeline);
  const auto records = static_cast<std::size_t>(graph.instances());
  constexpr std::size_t kMost = std::size_t{1} << 31;
  require(records < kMost, "too many records for a graph");
  std::vector<std::uint32_t> waits(records);
  const auto each_iteration = [&](auto&& body) {
    for (std::size_t i = 0; i < graph.size(); ++i) {
      for (std::uint32_t k = 0; k < graph.iterations(OpId(i)); ++k) body(OpId(i), k);
    }
  };
  std::size_t all_edges = 0;
  each_iteration([&](OpId op, std::uint32_t k) {
    conditions.each(op, k, [&](OpId next, std::uint32_t number, bool) {
      ++waits[timeline.record(next, number)];
      ++all_edges;
    });
  });
  edges_.reserve(all_edges);
  order_.reserve(records);
  each_iteration([&](OpId op, std::uint32_t k) {
    if (waits[timeline.record(op, k)] == 0) order_.push_back({op, k});
  });
  sources_ = order_.size();
  place_.resize(records);
  first_.reserve(records + 1);
  first_.push_back(0);
  for (std::size_t i = 0; i < order_.size(); ++i) {
    const auto [op, number] = order_[i];
    place_[timeline.record(op, number)] = static_cast<std::uint32_t>(i);
    conditions.each(op, number, [&](OpId next, std::uint32_t k, bool from_start) {
      const std::size_t record = timeline.record(next, k);
      edges_.push_back({static_cast<std::uint32_t>(record), from_start ? 1U : 0U});
      if (--waits[record] == 0) order_.push_back({next, k});
    });
    first_.push_back(static_cast<std::uint32_t>(edges_.size()));
  }
  require(order_.size() == records, "records of a finished run that wait for each other");
  for (Edge& edge : edges_) edge.to = place_[edge.to];
}

void RecordGraph::find_entries() {
  std::vector<double> ready(size());
  for (std::size_t i = 0; i < size(); ++i) {
    if (i < sources_ || start_[i] > ready[i])
      entries_.push_back({static_cast<std::uint32_t>(i), start_[i]});
    for (const Edge edge : edges(i))
      ready[edge.to] = std::max(ready[edge.to], edge.from_start != 0 ? start_[i] : finish_[i]);
  }
}

}  // namespace trainyard
