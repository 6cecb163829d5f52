// One training iteration of a decoder transformer as operations: TP × PP × DP with 1F1B.
#pragma once

#include <span>
#include <vector>

#include "models/transformer.hpp"
#include "sim/lowering.hpp"
#include "sim/random.hpp"

namespace trainyard {

/// The layout of a job: rank i is tensor rank i mod t, data rank (i / t) mod d, stage i / (t·d), as
/// Megatron orders them.
struct GptLayout {
  int tensor = 1, pipeline = 1, data = 1;
  int micro_batches = 1;  ///< per data-parallel replica
};

struct GptPlan {
  TransformerModel model;
  TransformerSplit split;
  GptLayout layout;
  int layers_per_stage = 1;
  bool scatter_gather = false;  ///< pipeline messages are cut into t parts
  bool overlap_gradients = true;
  int buckets = 1;            ///< of the gradient all-reduce
  double gradient_bytes = 4;  ///< per parameter
  Fidelity tensor_fidelity = Fidelity::kAnalytic;
  std::uint64_t seed = 1;                 ///< of the launches' delays
  Seconds fixed_forward, fixed_backward;  ///< both 0: computed; else the time of a stage's pass

  /// Parameters that one rank of a stage holds: its layers / t, and the embedding on both ends.
  double parameters_per_rank(int stage) const;
};

/// Adds the step and remembers nothing: the caller keeps the range of operations.
class GptStep {
 public:
  GptStep(const GptPlan& plan, Lowering& lowering, std::span<const Rank> ranks);
  void lower();
  /// Ranks of each tensor-parallel group that are simulated: all of them, or the first for all.
  /// They move as one where their collectives are closed forms and their messages take like paths.
  int lanes() const { return lanes_; }

 private:
  /// What a tensor-parallel group does without interruption: kernels, then a collective.
  struct Piece {
    Seconds compute;
    CollectiveOp op = CollectiveOp::kAllReduce;
    Bytes bytes;    ///< of the collective; 0: none
    Seconds pause;  ///< instead of it: the closed form of many
  };
  /// Per lane: the first operation of a pass and the last.
  struct Span {
    std::vector<OpId> first, last;
  };
  struct Stage {
    std::vector<Span> forward, backward;  ///< by micro-batch
    std::vector<OpId> end;                ///< per lane: the last operation so far
  };

  std::vector<Piece> forward_layer() const;
  std::vector<Piece> backward_layer() const;
  void repeat(const std::vector<Piece>& layer, int count, const Group& group,
              std::vector<Piece>& out);
  std::vector<Piece> pass(int stage, const Group& group, bool backward, int first_layer,
                          int layers);
  void delay_launches(const Group& group, Span& span, std::uint32_t number);
  /// `delayed`: the host launches the pass anew here, late by its jitter.
  Span run(const std::vector<Piece>& pieces, const Group& group, const std::vector<OpId>& after,
           std::string_view label, int micro_batch, bool delayed = true);
  Stage schedule(int stage, int replica);
  Span last_backward(int stage, int replica, const Group& group, const std::vector<OpId>& after,
                     int micro_batch);
  void reduce_gradients();
  void connect(int stage, int replica);
  bool alike() const;
  OpId message(int stage, int other, int replica, int lane, Bytes bytes, std::string_view label,
               std::size_t micro_batch);
  void step_optimizer(int stage, int replica);

  Rank rank(int stage, int replica, int tensor) const;
  Stage& at(int stage, int replica) {
    return stages_[flat_index(stage, plan_.layout.data, replica)];
  }
  std::vector<Rank> tensor_ranks(int stage, int replica) const;
  const Group& tensor_group(int stage, int replica);

  const GptPlan& plan_;
  Lowering& lowering_;
  OpGraph& graph_;
  std::span<const Rank> ranks_;
  Gpu gpu_;         ///< as the host lets it run
  Seconds jitter_;  ///< mean delay of a pass's launches on one rank
  Random random_;
  std::vector<Stage> stages_;
  int lanes_ = 1;
  /// By stage, lane, bucket: per replica the operation after which its gradients are there.
  std::vector<std::vector<OpId>> buckets_;
  /// By stage, tensor rank: per replica the operation after which they are reduced.
  std::vector<std::vector<OpId>> reduced_;
  std::vector<OpId>& bucket(int stage, int lane, int index) {
    const auto ring = static_cast<int>(flat_index(stage, lanes_, lane));
    return buckets_[flat_index(ring, plan_.buckets, index)];
  }
};

}  // namespace trainyard
