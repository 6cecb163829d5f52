#include "models/collectives/rounds.hpp"

#include <algorithm>

namespace trainyard {
namespace {

FlowPath message(const CollectiveCall& call, const CollectiveContext& context, std::size_t from,
                 std::size_t to, Seconds& latency) {
  const Rank a = call.group->ranks[from], b = call.group->ranks[to];
  FlowPath path = context.routes.message(a, b, context.protocol.efficiency);
  latency = path.latency + context.step_latency(context.routes.same_server(a, b));
  return path;
}

/// All messages of a round as one variable, and its rate alone without latencies.
struct RoundFlow {
  PhaseFlow flow;
  double pace = 0;
};

RoundFlow flow_of(const CollectiveCall& call, const CollectiveContext& context,
                  const Round& round) {
  PathBuilder all;
  Seconds slowest;
  for (const auto& [from, to] : round.messages) {
    Seconds latency;
    all.add(message(call, context, from, to, latency), 1);
    slowest = std::max(slowest, latency);
  }
  RoundFlow whole{{std::move(all).build(), call.bytes * round.share}, 0};
  whole.pace = idle_rate(whole.flow.path, context.capacities());
  pay_latency(whole.flow.path, slowest, whole.flow.bytes, context.protocol, whole.pace);
  return whole;
}

}  // namespace

Seconds RoundsCollective::estimate(const CollectiveCall& call,
                                   const CollectiveContext& context) const {
  Seconds total;
  for (const PhaseFlow& flow : flows(call, context)) total += flow.time(context.capacities());
  return total;
}

std::vector<OpId> RoundsCollective::lower(const CollectiveCall& call,
                                          const CollectiveContext& context,
                                          std::span<const OpId> entry) const {
  const double slowdown = context.library->slowdown;
  if (context.fidelity == Fidelity::kAnalytic)
    return lower_as_pause(call, context, estimate(call, context), name_, slowdown, entry);
  if (context.fidelity == Fidelity::kSteps) return messages(call, context, entry);
  std::vector<OpId> exits(entry.begin(), entry.end());
  for (const PhaseFlow& flow : flows(call, context))
    exits = lower_as_flow(call, context, flow, name_, slowdown, exits);
  return exits;
}

const std::vector<PhaseFlow>& RoundsCollective::flows(const CollectiveCall& call,
                                                      const CollectiveContext& context) const {
  const auto [it, is_new] = flows_.try_emplace(phase_key(call, context));
  if (is_new) {
    for (const Round& round : rounds(call.op, call.group->size()))
      it->second.push_back(flow_of(call, context, round).flow);
    it->second.front().path.latency += context.protocol.base_latency;
  }
  return it->second;
}

std::vector<OpId> RoundsCollective::messages(const CollectiveCall& call,
                                             const CollectiveContext& context,
                                             std::span<const OpId> entry) const {
  OpGraph& graph = context.graph;
  const std::size_t n = call.group->size();
  const std::uint32_t label = graph.label(name_);
  std::vector<OpId> done = begin(call, context, entry);
  std::uint32_t number = 0;
  for (const Round& round : rounds(call.op, n)) {
    const double pace = flow_of(call, context, round).pace;
    const Bytes bytes = call.bytes * round.share;
    std::vector<OpId> next = done;
    for (std::size_t i = 0; i < n; ++i) next[i] = graph.add_join(call.role);
    for (std::size_t i = 0; i < n; ++i) graph.add_edge(done[i], next[i]);
    for (const auto& [from, to] : round.messages) {
      Seconds latency;
      FlowPath path = message(call, context, from, to, latency);
      pay_latency(path, latency, bytes, context.protocol, pace);
      const OpId op = graph.add_flow(call.group->ranks[from], graph.add_path(std::move(path)),
                                     bytes, call.role, label, number);
      occupy(graph, op, {call.group->ranks[from], call.group->ranks[to]},
             context.library->slowdown);
      for (const std::size_t end : {from, to}) {
        graph.add_edge(done[end], op);
        graph.add_edge(op, next[end]);
      }
    }
    done = std::move(next);
    ++number;
  }
  return done;
}

}  // namespace trainyard
