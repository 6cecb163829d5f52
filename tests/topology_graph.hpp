// A topology as a Boost graph, made from what anyone can ask it: so that algorithms which are not
// ours check what it says about itself.
#pragma once

#include <algorithm>
#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/breadth_first_search.hpp>
#include <boost/graph/push_relabel_max_flow.hpp>
#include <limits>
#include <vector>

#include "sim/topology.hpp"

namespace trainyard::testing {

using Traits = boost::adjacency_list_traits<boost::vecS, boost::vecS, boost::directedS>;
/// Vertex v is NodeId(v). Every edge has one back, as maximum flow wants it.
using TopologyGraph = boost::adjacency_list<
    boost::vecS, boost::vecS, boost::directedS, boost::no_property,
    boost::property<
        boost::edge_capacity_t, double,
        boost::property<boost::edge_residual_capacity_t, double,
                        boost::property<boost::edge_reverse_t, Traits::edge_descriptor>>>>;

inline void add_edge(TopologyGraph& graph, std::size_t from, std::size_t to, double capacity) {
  const auto there = boost::add_edge(from, to, graph).first;
  const auto back = boost::add_edge(to, from, graph).first;
  boost::put(boost::edge_capacity, graph, there, capacity);
  boost::put(boost::edge_capacity, graph, back, 0.0);
  boost::put(boost::edge_reverse, graph, there, back);
  boost::put(boost::edge_reverse, graph, back, there);
}

inline TopologyGraph graph_of(const Topology& topology) {
  TopologyGraph graph(topology.nodes());
  for (std::size_t i = 0; i < topology.resource_count(); ++i) {
    const Resource r = topology.resource(ResourceId(i));
    if (r.from.valid()) add_edge(graph, r.from.index(), r.to.index(), r.capacity);
  }
  return graph;
}

/// Edges on the shortest way from a node to every other; a large number where there is none.
inline std::vector<int> distances(const TopologyGraph& graph, NodeId from) {
  std::vector<int> hops(boost::num_vertices(graph), 1 << 30);
  hops[from.index()] = 0;
  boost::breadth_first_search(graph, from.index(),
                              boost::visitor(boost::make_bfs_visitor(
                                  boost::record_distances(hops.data(), boost::on_tree_edge()))));
  return hops;
}

/// The most that the GPUs of the first half of the servers can send to those of the other, bytes/s.
inline double bisection(const Topology& topology) {
  TopologyGraph graph = graph_of(topology);
  const std::size_t source = boost::add_vertex(graph), sink = boost::add_vertex(graph);
  const std::size_t half = topology.ranks() / 2;
  for (std::size_t i = 0; i < topology.nodes(); ++i) {
    const TopologyNode node = topology.node(NodeId(i));
    if (node.kind != NodeKind::kGpu) continue;
    constexpr double kMuch = 1e15;
    if (node.index < half) {
      add_edge(graph, source, i, kMuch);
    } else {
      add_edge(graph, i, sink, kMuch);
    }
  }
  return boost::push_relabel_max_flow(graph, source, sink);
}

}  // namespace trainyard::testing
