#include "models/collectives/phases.hpp"

#include <algorithm>
#include <cmath>

namespace trainyard {
namespace {

// How many rings run at once: one per NIC where a group has several ranks in each of several
// servers, else one (a single ring already uses every NVLink, or the only NIC, in full).
std::size_t channel_count(const Group& group, const CollectiveContext& context) {
  if (group.servers() == 1 || group.one_rank_per_server()) return 1;
  const int wanted = context.library->channels > 0 ? context.library->channels
                                                   : context.routes.cluster().server.nics;
  return static_cast<std::size_t>(std::max(1, wanted));
}

// The group's positions in the order of one channel: each server's ranks rotated alike, and every
// second one's backwards where servers are even in number, so that a ring enters a server by the
// number of NIC by which it left the last one (NCCL's alternating rings).
std::vector<std::size_t> ring_order(const Group& group, std::size_t channel, std::size_t channels) {
  const bool alternate = group.servers() % 2 == 0 && group.even();
  std::vector<std::size_t> order;
  for (std::size_t s = 0; s < group.servers(); ++s) {
    const std::size_t begin = group.server_begin[s], count = group.server_begin[s + 1] - begin;
    const std::size_t turn = channel * count / channels;
    const bool backwards = alternate && s % 2 == 1;
    for (std::size_t i = 0; i < count; ++i)
      order.push_back(begin + (turn + (backwards ? count - 1 - i : i)) % count);
  }
  return order;
}

}  // namespace

Ring::Ring(const CollectiveCall& call, const CollectiveContext& context)
    : call_(call), context_(context) {
  const Group& group = *call.group;
  const std::size_t count = channel_count(group, context);
  const bool whole = call.op == CollectiveOp::kBroadcast || call.op == CollectiveOp::kReduce;
  const std::size_t parts = whole ? group.size() - 1 : group.size();
  chunk_ = call.bytes.si() / static_cast<double>(parts) / static_cast<double>(count);
  Seconds latencies;
  for (std::size_t channel = 0; channel < count; ++channel) {
    const std::vector<std::size_t> order = ring_order(group, channel, count);
    std::vector<Edge> edges;
    for (std::size_t i = 0; i < order.size(); ++i) {
      const std::size_t from = order[i], to = order[(i + 1) % order.size()];
      const Rank a = group.ranks[from], b = group.ranks[to];
      const bool local = context.routes.same_server(a, b);
      // Between servers all channels' NICs must differ: the NIC of the rank that the ring enters
      // by.
      const int nic = local || count == 1 ? -1 : context.routes.nic_of(b);
      Edge edge{from, to,
                context.routes.message(a, b, context.protocol.efficiency, nic,
                                       Bytes::of(chunk_ / blocks()))};
      latencies += edge.path.latency + context.step_latency(local) + proxy_latency(local);
      edge.path.latency = Seconds();
      any_network_ = any_network_ || !local;
      edges.push_back(std::move(edge));
    }
    channels_.push_back(std::move(edges));
  }
  latency_ = latencies / static_cast<double>(count * group.size());
}

// A proxy thread posts the sends and completes the receives of all thread blocks that use its NIC,
// one after the other.
Seconds Ring::proxy_latency(bool local) const {
  return local ? Seconds() : 2 * (blocks() - 1) * context_.proxy_latency;
}

// Thread blocks that have something to send over a NIC.
double Ring::blocks() const {
  constexpr double kLeast = 2048;  // bytes that are worth one
  return std::clamp(std::ceil(chunk_ / kLeast), 1.0, std::max(1.0, context_.ctas_per_nic()));
}

// All edges carry the same bytes at once, so one variable over all of them, in proportion to how
// often each resource is used, moves as the ring does. Its bound is the ring's pace with latencies.
PhaseFlow Ring::flow() const {
  const double share = 1 / static_cast<double>(channels_.size());
  PhaseFlow flow{merged(), Bytes()};
  flow.path.latency = context_.protocol.base_latency;
  const auto steps = static_cast<double>(rounds(call_.op, call_.group->size()));
  flow.bytes = Bytes::of(steps * chunk_ / share);

  const double alone = idle_rate(flow.path, context_.capacities());
  const Seconds slowest = step(alone * share);
  if (slowest > Seconds())
    flow.path.bound = BytesPerSecond::of(std::min(alone, flow.bytes.si() / (steps * slowest.si())));
  // Additive: a ring that waits on latencies leaves its links idle for a part of each step, in
  // which others run at full rate, so against a competitor it weighs as much as the share of time
  // it transmits: pace and competitor are then c / (a + 2w) and (a + w) / (a + 2w), as in steps.
  // Cut through, it sends all the time at the pace of its bound and takes its fair share up to
  // there.
  flow.path.fairness = (cut_through() ? 1 : flow.path.bound.si() / alone) / share;
  return flow;
}

const FlowPath& Ring::merged() const {
  if (!merged_.shares.empty()) return merged_;
  PathBuilder all;
  for (const auto& edges : channels_) {
    for (const Edge& edge : edges) all.add(edge.path, 1 / static_cast<double>(channels_.size()));
  }
  return merged_ = std::move(all).build();
}

// Of one step, with `pace` bytes a second over the slowest edge. What is passed on in step k came
// in step k-1, so a chain of dependencies goes round the ring, and a step takes its mean latency.
Seconds Ring::step(double pace) const {
  const Protocol& protocol = context_.protocol;
  const Seconds wire = Seconds::of(chunk_ / std::min(pace, most_pace()));
  if (!cut_through()) return wire + latency_;
  return std::max(wire, protocol.slices > 0 ? latency_ + wire / protocol.slices : latency_);
}

double Ring::most_pace() const {
  const double bus = context_.protocol_rate(!any_network_) / static_cast<double>(channels_.size());
  const double blocks = context_.ctas_per_nic() * context_.cta_rate.si();
  return any_network_ && blocks > 0 ? std::min(bus, blocks) : bus;
}

bool Ring::cut_through() const { return context_.protocol.law == "cut-through"; }

// Within a loop the rounds are operations of their own, for each round has as many iterations as
// the loop. Else each edge is one operation of as many iterations as there are rounds.
std::vector<OpId> Ring::messages(std::span<const OpId> entry) const {
  OpGraph& graph = context_.graph;
  const auto all = static_cast<std::uint32_t>(rounds(call_.op, call_.group->size()));
  const std::uint32_t outside = graph.iterations();
  const std::vector<OpId> begun = begin(call_, context_, entry);
  entry = begun;
  std::vector<OpId> exits;
  for (std::size_t i = 0; i < call_.group->size(); ++i) exits.push_back(graph.add_join(call_.role));
  for (const auto& edges : channels_) {
    if (outside > 1) {
      std::vector<OpId> before;
      for (std::uint32_t round = 0; round < all; ++round)
        before = add_round(edges, round, entry, before);
      leave(edges, before, exits);
      continue;
    }
    graph.set_iterations(all);
    const std::vector<OpId> sends = add_round(edges, 0, entry, {});
    graph.set_iterations(outside);
    const std::vector<std::size_t> into = entering(edges);
    for (std::size_t e = 0; e < edges.size(); ++e) {
      graph.add_edge(sends[e], sends[e], 1);
      graph.add_edge(sends[into[edges[e].from]], sends[e], 1);
    }
    leave(edges, sends, exits);
  }
  return exits;
}

// By position in the group: the edge that enters it.
std::vector<std::size_t> Ring::entering(const std::vector<Edge>& edges) {
  std::vector<std::size_t> into(edges.size());
  for (std::size_t e = 0; e < edges.size(); ++e) into[edges[e].to] = e;
  return into;
}

// A rank sends in order, and passes on what it received in the round before.
std::vector<OpId> Ring::add_round(const std::vector<Edge>& edges, std::uint32_t round,
                                  std::span<const OpId> entry,
                                  const std::vector<OpId>& before) const {
  OpGraph& graph = context_.graph;
  const std::uint32_t label = graph.label("ring send");
  const std::vector<std::size_t> into = entering(edges);
  const FlowPath& whole = merged();
  const double pace =
      idle_rate(whole, context_.capacities()) / static_cast<double>(channels_.size());
  std::vector<OpId> sends;
  for (std::size_t e = 0; e < edges.size(); ++e) {
    const Edge& edge = edges[e];
    const Rank from = call_.group->ranks[edge.from], to = call_.group->ranks[edge.to];
    FlowPath path = edge.path;
    if (cut_through()) {
      if (step(pace) > Seconds()) path.bound = Bytes::of(chunk_) / step(pace);
    } else {
      path.latency = latency_;
      path.bound = BytesPerSecond::of(most_pace());
    }
    const OpId op = graph.add_flow(from, graph.add_path(std::move(path)), Bytes::of(chunk_),
                                   call_.role, label, round);
    graph.add_edge(before.empty() ? entry[edge.from] : before[e], op);
    graph.add_edge(before.empty() ? entry[edge.to] : before[into[edge.from]], op);
    occupy(graph, op, {from, to}, context_.library->slowdown);
    sends.push_back(op);
  }
  return sends;
}

// A rank has its result when it has sent and received for the last time.
void Ring::leave(const std::vector<Edge>& edges, const std::vector<OpId>& sends,
                 const std::vector<OpId>& exits) const {
  for (std::size_t e = 0; e < edges.size(); ++e) {
    for (const std::size_t at : {edges[e].to, edges[e].from}) {
      if (context_.graph.iterations() > 1) {
        context_.graph.add_edge(sends[e], exits[at]);
      } else {
        context_.graph.add_edge_after_all(sends[e], exits[at]);
      }
    }
  }
}

PhaseKey phase_key(const CollectiveCall& call, const CollectiveContext& context) {
  const Protocol& p = context.protocol;
  return {call.group->id,  call.op,           call.bytes,      context.siblings,
          p.law,           p.efficiency,      p.slices,        p.base_latency,
          p.intra_latency, p.network_latency, context.believed};
}

std::vector<OpId> begin(const CollectiveCall& call, const CollectiveContext& context,
                        std::span<const OpId> entry) {
  if (context.protocol.base_latency == Seconds()) return {entry.begin(), entry.end()};
  OpGraph& graph = context.graph;
  const OpId launch = graph.add_delay(call.group->ranks.front(), context.protocol.base_latency,
                                      call.role, graph.label("collective launch"), call.number);
  graph.set_members(launch, call.group->ranks);
  for (const OpId before : entry) graph.add_edge(before, launch);
  return std::vector<OpId>(entry.size(), launch);
}

void pay_latency(FlowPath& path, Seconds latency, Bytes bytes, const Protocol& protocol,
                 double pace) {
  path.latency = latency;
  if (protocol.law != "cut-through" || latency == Seconds() || bytes == Bytes()) return;
  const Seconds wire = Seconds::of(bytes.si() / pace);
  path.bound =
      bytes / std::max(wire, protocol.slices > 0 ? latency + wire / protocol.slices : latency);
  path.latency = Seconds();
}

OpId join_of(OpGraph& graph, OpRole role, std::span<const OpId> entry) {
  const OpId join = graph.add_join(role);
  for (const OpId op : entry) graph.add_edge(op, join);
  return join;
}

void occupy(OpGraph& graph, OpId op, std::vector<Rank> ranks, double slowdown) {
  if (slowdown > 0) graph.set_occupancy(op, graph.add_occupancy({std::move(ranks), slowdown}));
}

std::vector<OpId> lower_as_flow(const CollectiveCall& call, const CollectiveContext& context,
                                const PhaseFlow& flow, std::string_view name, double slowdown,
                                std::span<const OpId> entry) {
  OpGraph& graph = context.graph;
  const OpId op = graph.add_flow(call.group->ranks.front(), graph.add_path(flow.path), flow.bytes,
                                 call.role, graph.label(name), call.number);
  for (const OpId before : entry) graph.add_edge(before, op);
  graph.set_members(op, call.group->ranks);
  occupy(graph, op, call.group->ranks, slowdown);
  return std::vector<OpId>(call.group->size(), op);
}

std::vector<OpId> lower_as_pause(const CollectiveCall& call, const CollectiveContext& context,
                                 Seconds time, std::string_view name, double slowdown,
                                 std::span<const OpId> entry) {
  OpGraph& graph = context.graph;
  const OpId op =
      graph.add_delay(call.group->ranks.front(), time, call.role, graph.label(name), call.number);
  for (const OpId before : entry) graph.add_edge(before, op);
  graph.set_members(op, call.group->ranks);
  occupy(graph, op, call.group->ranks, slowdown);
  return std::vector<OpId>(call.group->size(), op);
}

}  // namespace trainyard
