// Ring: bandwidth-optimal, 2(n-1) (all_reduce) or n-1 rounds of one message of S/n per rank. A
// broadcast or reduce is a chain in which pieces follow each other; it is taken for a ring of n-1
// rounds that passes the whole buffer over every edge, S/(n-1) at a time.
//
// Closed form, additive law: rounds · (latency + S/n/bandwidth); cut-through law (LL, LL128):
// rounds · max(latency, S/n/bandwidth). Source of the laws: docs/models/collectives.md.
#include <map>

#include "models/collectives/phases.hpp"

namespace trainyard {
namespace {

class RingCollective : public Collective {
 public:
  bool does(CollectiveOp op) const override { return op != CollectiveOp::kAllToAll; }

  std::string refuses(const CollectiveCall&, const CollectiveContext&) const override { return {}; }

  Seconds estimate(const CollectiveCall& call, const CollectiveContext& context) const override {
    return flow(call, context).time(context.capacities());
  }

  std::vector<OpId> lower(const CollectiveCall& call, const CollectiveContext& context,
                          std::span<const OpId> entry) const override {
    const double slowdown = context.library->slowdown;
    switch (context.fidelity) {
      case Fidelity::kSteps:
        return Ring(call, context).messages(entry);
      case Fidelity::kFlow:
        return lower_as_flow(call, context, flow(call, context), "ring", slowdown, entry);
      case Fidelity::kAnalytic:
        break;
    }
    return lower_as_pause(call, context, estimate(call, context), "ring", slowdown, entry);
  }

 private:
  const PhaseFlow& flow(const CollectiveCall& call, const CollectiveContext& context) const {
    const auto [it, is_new] = flows_.try_emplace(phase_key(call, context));
    if (is_new) it->second = Ring(call, context).flow();
    return it->second;
  }

  mutable std::map<PhaseKey, PhaseFlow> flows_;  ///< of one Lowering, which owns this object
};

const Registration<Collective, RingCollective> registered{
    "ring", "bandwidth-optimal, 2(n-1) or n-1 rounds"};

}  // namespace
}  // namespace trainyard
