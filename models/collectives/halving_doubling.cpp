// Recursive halving and doubling: the buffer is halved in each of log2 p rounds between ranks at
// halving distances (reduce_scatter), and put together again by doubling (all_gather).
//
// p: the largest power of two that is at most n. The n - p ranks beyond first give their buffer to
// a partner and get the result from it at the end (Rabenseifner 2004; Thakur, Rabenseifner, Gropp
// 2005). Closed form, all_reduce: base + 2 log2(p) · latency + 2 (p-1)/p · S/bandwidth, and where
// n > p two more rounds of latency + S/bandwidth. It does only all_reduce where n is no power of
// two: the shares of the ranks beyond would not be S/n.
#include <algorithm>
#include <bit>

#include "models/collectives/rounds.hpp"

namespace trainyard {
namespace {

class HalvingDoubling : public RoundsCollective {
 public:
  HalvingDoubling() : RoundsCollective("halving-doubling") {}
  bool in_nccl(const CollectiveCall&) const override { return false; }
  std::string refuses(const CollectiveCall& call, const CollectiveContext&) const override {
    if (call.op == CollectiveOp::kAllReduce || std::has_single_bit(call.group->size())) return {};
    return "the group's size is no power of two, and only all_reduce can fold ranks away";
  }

 protected:
  std::vector<Round> rounds(CollectiveOp op, std::size_t n) const override {
    const std::size_t p = std::bit_floor(n);
    std::vector<Round> halving, doubling;
    double share = 0.5;
    for (std::size_t distance = p / 2; distance > 0; distance /= 2, share /= 2) {
      Round round{{}, share};
      for (std::size_t i = 0; i < p; ++i) round.messages.emplace_back(i, i ^ distance);
      halving.push_back(round);
      doubling.insert(doubling.begin(), round);
    }
    if (op == CollectiveOp::kReduceScatter) return halving;
    if (op == CollectiveOp::kAllGather) return doubling;
    std::vector<Round> all = std::move(halving);
    all.insert(all.end(), doubling.begin(), doubling.end());
    if (n > p) {
      Round fold{{}, 1}, unfold{{}, 1};
      for (std::size_t i = p; i < n; ++i) {
        fold.messages.emplace_back(i, i - p);
        unfold.messages.emplace_back(i - p, i);
      }
      all.insert(all.begin(), fold);
      all.push_back(unfold);
    }
    return all;
  }
};

const Registration<Collective, HalvingDoubling> registered{
    "halving_doubling", "recursive halving and doubling, any number of ranks in all_reduce"};

}  // namespace
}  // namespace trainyard
