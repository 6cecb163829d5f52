// Collectives in rounds: in each, ranks exchange messages of one size with others, and go on when
// they have sent and received.
#pragma once

#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "models/collectives/phases.hpp"

namespace trainyard {

/// Messages of one round, by positions in the group, and the share of the buffer that each carries.
struct Round {
  std::vector<std::pair<std::size_t, std::size_t>> messages;  ///< from, to
  double share = 0;
};

/// An algorithm that is a list of rounds. Closed form: base + sum over rounds of latency +
/// bytes/bandwidth, or, when cut through, as a step of a ring.
class RoundsCollective : public Collective {
 public:
  /// `name` labels its operations.
  explicit RoundsCollective(std::string_view name) : name_(name) {}
  std::string refuses(const CollectiveCall&, const CollectiveContext&) const override { return {}; }
  Seconds estimate(const CollectiveCall&, const CollectiveContext&) const override;
  std::vector<OpId> lower(const CollectiveCall&, const CollectiveContext&,
                          std::span<const OpId> entry) const override;

 protected:
  virtual std::vector<Round> rounds(CollectiveOp op, std::size_t n) const = 0;

 private:
  const std::vector<PhaseFlow>& flows(const CollectiveCall&, const CollectiveContext&) const;
  std::vector<OpId> messages(const CollectiveCall&, const CollectiveContext&,
                             std::span<const OpId> entry) const;

  std::string_view name_;
  mutable std::map<PhaseKey, std::vector<PhaseFlow>>
      flows_;  ///< of one Lowering, which owns this object
};

}  // namespace trainyard
