// Ring: bandwidth-optimal, 2(n-1) (all_reduce) or n-1 rounds of one message of S/n per rank.
//
// Closed form, additive law: rounds · (latency + S/n/bandwidth); cut-through law (LL, LL128):
// rounds · max(latency, S/n/bandwidth). Source of the laws: docs/models/collectives.md.
#include "models/collectives/phases.hpp"

namespace trainyard {
namespace {

class RingCollective : public Collective {
 public:
  std::string refuses(const CollectiveCall&, const CollectiveContext&) const override { return {}; }

  Seconds estimate(const CollectiveCall& call, const CollectiveContext& context) const override {
    return Ring(call, context).flow().time(context.capacities());
  }

  std::vector<OpId> lower(const CollectiveCall& call, const CollectiveContext& context,
                          std::span<const OpId> entry) const override {
    const Ring ring(call, context);
    const double slowdown = context.library->slowdown;
    switch (context.fidelity) {
      case Fidelity::kSteps:
        return ring.messages(entry);
      case Fidelity::kFlow:
        return lower_as_flow(call, context, ring.flow(), "ring", slowdown, entry);
      case Fidelity::kAnalytic:
        break;
    }
    return lower_as_pause(call, context, estimate(call, context), "ring", slowdown, entry);
  }
};

const Registration<Collective, RingCollective> registered{
    "ring", "bandwidth-optimal, 2(n-1) or n-1 rounds"};

}  // namespace
}  // namespace trainyard
