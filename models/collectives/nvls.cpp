// All_reduce in NVSwitch (NVLS) among the ranks of one server.
//
// Closed form: base + latency + fill + (n+1)/n · S/b, b NVLink's bandwidth · nvls_efficiency. The
// law is fitted by H200 rows with n of 4, 5, 6 and 8 within 2% (docs/models/collectives.md).
#include "models/collectives/nvls.hpp"

#include <algorithm>

namespace trainyard {

std::string nvls_refuses(const Group& group, const CollectiveContext& context) {
  if (context.routes.cluster().server.nvlink.nvls_efficiency <= 0)
    return "NVSwitch does not reduce here (nvlink.nvls_efficiency is 0)";
  for (std::size_t s = 0; s < group.servers(); ++s) {
    if (group.server_begin[s + 1] - group.server_begin[s] < 2)
      return "a server holds only one of its ranks";
  }
  return {};
}

std::vector<Stream> nvls_streams(const Group& group, const CollectiveContext& context,
                                 double reached) {
  const Topology& topology = context.routes.topology();
  // NVLink's capacity is what rings reach of its bandwidth.
  const double wire = context.routes.cluster().server.nvlink.efficiency / reached;
  std::vector<Stream> streams;
  for (std::size_t s = 0; s < group.servers(); ++s) {
    const std::size_t begin = group.server_begin[s], end = group.server_begin[s + 1];
    const double part = 1 + 1 / static_cast<double>(end - begin);
    for (std::size_t i = begin; i < end; ++i) {
      const Rank rank = group.ranks[i];
      PathBuilder out, in;
      out.use(topology.nvlink_out(rank), wire);
      in.use(topology.nvlink_in(rank), wire);
      streams.push_back({std::move(out).build(), part, 0, rank, "nvls out"});
      streams.push_back({std::move(in).build(), part, 1, rank, "nvls in"});
    }
  }
  return streams;
}

namespace {

class NvlsCollective : public Collective {
 public:
  bool does(CollectiveOp op) const override { return op == CollectiveOp::kAllReduce; }
  bool applies(const Group& group) const override { return group.servers() == 1; }
  bool speaks(std::string_view protocol) const override { return protocol == "simple"; }

  std::string refuses(const CollectiveCall& call, const CollectiveContext& context) const override {
    if (call.group->servers() > 1) return "its ranks are in several servers";
    return nvls_refuses(*call.group, context);
  }

  Seconds estimate(const CollectiveCall& call, const CollectiveContext& context) const override {
    return flow(call, context).time(context.capacities());
  }

  std::vector<OpId> lower(const CollectiveCall& call, const CollectiveContext& context,
                          std::span<const OpId> entry) const override {
    const double slowdown = context.library->sharp_slowdown;
    const PhaseFlow whole = flow(call, context);
    switch (context.fidelity) {
      case Fidelity::kSteps:
        return lower_as_streams(call, context, streams(call, context), whole, slowdown, entry);
      case Fidelity::kFlow:
        return lower_as_flow(call, context, whole, "nvls", slowdown, entry);
      case Fidelity::kAnalytic:
        break;
    }
    return lower_as_pause(call, context, whole.time(context.capacities()), "nvls", slowdown, entry);
  }

 private:
  static std::vector<Stream> streams(const CollectiveCall& call, const CollectiveContext& context) {
    return nvls_streams(*call.group, context,
                        context.routes.cluster().server.nvlink.nvls_efficiency);
  }
  static PhaseFlow flow(const CollectiveCall& call, const CollectiveContext& context) {
    PhaseFlow flow = flow_of(streams(call, context), call.bytes, Seconds());
    flow.path.latency = context.library->nvls_latency +
                        fill_time(context, call.bytes, idle_rate(flow.path, context.capacities()));
    return flow;
  }
};

const Registration<Collective, NvlsCollective> registered{
    "nvls", "reduction in NVSwitch among the ranks of one server; all_reduce"};

}  // namespace
}  // namespace trainyard
