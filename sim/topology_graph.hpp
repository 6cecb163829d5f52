// The topology as a Boost graph, apart from sim/topology.hpp because its headers are heavy.
#pragma once

#include <boost/graph/adjacency_list.hpp>

#include "sim/topology.hpp"

namespace trainyard {

/// Vertex v is NodeId(v); an edge holds the resource that it is.
struct TopologyGraph
    : boost::adjacency_list<boost::vecS, boost::vecS, boost::directedS, NodeId, ResourceId> {};

}  // namespace trainyard
