// Parallel aggregated trees (PAT): ceil(log2 n) rounds, each moving what the recursion has gathered
// so far, for any n.
//
// Every rank is the root of one tree over S/n of the buffer and all trees run at once (Bruck's
// pattern). all_gather: round r sends min(2^r, n - 2^r) blocks of S/n to the rank 2^r away;
// reduce_scatter runs it backwards; all_reduce is one after the other. Closed form: base +
// R · (latency) + (n-1)/n · S/bandwidth with R = ceil(log2 n), twice that for all_reduce: the
// ring's bytes in logarithmically many steps. NCCL has it for all_gather and reduce_scatter among
// groups of one rank per server.
#include <algorithm>

#include "models/collectives/rounds.hpp"

namespace trainyard {
namespace {

// Rank i sends `blocks` of S/n to the rank `distance` further on.
Round shift(std::size_t n, std::size_t distance, std::size_t blocks) {
  Round round{{}, static_cast<double>(blocks) / static_cast<double>(n)};
  for (std::size_t i = 0; i < n; ++i) round.messages.emplace_back(i, (i + distance) % n);
  return round;
}

class PatCollective : public RoundsCollective {
 public:
  PatCollective() : RoundsCollective("pat") {}
  bool in_nccl(const CollectiveCall& call) const override {
    return call.op != CollectiveOp::kAllReduce && call.group->one_rank_per_server();
  }
  bool speaks(std::string_view protocol) const override { return protocol == "simple"; }

 protected:
  std::vector<Round> rounds(CollectiveOp op, std::size_t n) const override {
    std::vector<Round> gather, scatter;
    for (std::size_t d = 1; d < n; d *= 2) {
      gather.push_back(shift(n, d, std::min(d, n - d)));
      scatter.insert(scatter.begin(), shift(n, n - d, std::min(d, n - d)));
    }
    if (op == CollectiveOp::kAllGather) return gather;
    if (op == CollectiveOp::kAllReduce) scatter.insert(scatter.end(), gather.begin(), gather.end());
    return scatter;
  }
};

const Registration<Collective, PatCollective> registered{
    "pat", "parallel aggregated trees (Bruck), ceil(log2 n) rounds"};

}  // namespace
}  // namespace trainyard
