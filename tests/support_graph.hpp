// Op graphs of a test's own on an ideal cluster, run on SimGrid in a child process.
#pragma once

#include <functional>

#include "sim/engine.hpp"
#include "sim/isolate.hpp"
#include "sim/lowering.hpp"
#include "tests/support_scenario.hpp"
#include "tests/support_timeline.hpp"

namespace trainyard::testing {

/// What a test's graph came to: finish times by operation, and what each resource carried.
struct GraphRun {
  std::vector<double> start, finish, carried;
  double end = 0;
};

using Build = std::function<void(Lowering&)>;
using MakeTopology = std::function<std::unique_ptr<Topology>(const Cluster&)>;

inline std::vector<double> numbers(const Json& list) {
  std::vector<double> all;
  for (const Json& v : list.items()) all.push_back(v.as_number());
  return all;
}

inline Json to_json(const std::vector<double>& values) {
  Json list = Json::array();
  for (const double v : values) list.push_back(Json(v));
  return list;
}

/// Builds with `build` on the cluster of `ideal` (its fidelity too) and runs it to the end.
inline GraphRun run_graph(const Ideal& ideal, const Build& build, const MakeTopology& make = {}) {
  const std::string text =
      ideal_scenario(ideal, R"("probes": {"unused": {"bytes": "1 B", "ranks": 1}})");
  LoadedScenario loaded = load_scenario_text(text, "test.json", {});
  const auto task = [&] {
    const Cluster& cluster = loaded.scenario.cluster;
    const auto topology =
        make ? make(cluster) : cluster.network->build(cluster.server, cluster.servers);
    Lowering lowering(cluster, *topology, fidelity_of(ideal.fidelity), fidelity_of(ideal.fidelity));
    build(lowering);
    lowering.graph().freeze();
    const auto executor =
        ideal.executor == "stock" ? make_stock_executor(*topology) : make_flow_executor(*topology);
    const Timeline t = Engine(lowering.graph(), *executor, topology->ranks()).run();
    Json out = Json::object();
    const OpGraph& graph = lowering.graph();
    out["start"] = to_json(by_op(graph, [&](OpId op) { return t.start(op); }));
    out["finish"] = to_json(by_op(graph, [&](OpId op) { return t.finish(op); }));
    std::vector<double> carried(topology->resource_count());
    for (const auto& [resource, bytes] : t.carried()) carried[resource.index()] = bytes;
    out["carried"] = to_json(carried);
    out["end"] = Json(t.end());
    return out;
  };
  const Json out = run_isolated({task}).front();
  return {numbers(out.at("start")), numbers(out.at("finish")), numbers(out.at("carried")),
          out.at("end").as_number()};
}

/// The group of all ranks, and one collective over it that starts after `begin`; its join.
inline OpId whole_collective(Lowering& lowering, std::size_t ranks, CollectiveOp op, double bytes,
                             OpId begin = OpId()) {
  std::vector<Rank> all;
  for (std::size_t i = 0; i < ranks; ++i) all.emplace_back(i);
  const Group& group = lowering.group(std::move(all));
  const std::vector<OpId> entry(ranks, begin);
  const auto exits =
      lowering.collective({op, Bytes::of(bytes), &group, OpRole::kCollective, 0}, entry);
  const OpId end = lowering.graph().add_join();
  for (const OpId exit : exits) lowering.graph().add_edge(exit, end);
  return end;
}

}  // namespace trainyard::testing
