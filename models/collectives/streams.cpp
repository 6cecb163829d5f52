#include "models/collectives/streams.hpp"

#include <algorithm>

namespace trainyard {

PhaseFlow flow_of(const std::vector<Stream>& streams, Bytes buffer, Seconds latency) {
  PathBuilder all;
  for (const Stream& stream : streams) all.add(stream.path, stream.part);
  all.delay(latency);
  return {std::move(all).build(), buffer};
}

std::vector<OpId> lower_as_streams(const CollectiveCall& call, const CollectiveContext& context,
                                   const std::vector<Stream>& streams, const PhaseFlow& whole,
                                   double slowdown, std::span<const OpId> entry) {
  OpGraph& graph = context.graph;
  const double pace = idle_rate(whole.path, context.capacities());
  const Seconds latency = whole.path.latency;
  const OpId begin = join_of(graph, call.role, entry);
  const OpId end = graph.add_join(call.role);
  // The last byte of what set out first still has the whole way to go.
  const OpId last_byte =
      graph.add_delay(call.group->ranks.front(), latency, call.role, graph.label("last byte"));
  graph.add_edge(last_byte, end);
  for (const Stream& stream : streams) {
    FlowPath path = stream.path;
    path.latency = latency * stream.progress;
    path.bound = BytesPerSecond::of(pace * stream.part);
    const OpId op = graph.add_flow(stream.rank, graph.add_path(std::move(path)),
                                   call.bytes * stream.part, call.role, graph.label(stream.name));
    graph.add_edge(begin, op);
    graph.add_edge(op, stream.progress == 0 ? last_byte : end);
    occupy(graph, op, {stream.rank}, slowdown);
  }
  return std::vector<OpId>(call.group->size(), end);
}

void slow_links(FlowPath& path, const Topology& topology, double share) {
  for (Share& s : path.shares) {
    if (topology.kind_of(s.resource) == ResourceKind::kLink) s.weight /= share;
  }
}

Seconds fill_time(const CollectiveContext& context, Bytes buffer, double rate) {
  if (context.believed) return {};
  const PipelineFill& fill = context.protocol.tree_fill;
  return Seconds::of(std::min(fill.share * buffer.si(), fill.bytes.si()) / rate);
}

}  // namespace trainyard
