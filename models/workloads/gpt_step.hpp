// One training iteration of a decoder transformer as operations: TP × PP × DP with 1F1B.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "models/transformer.hpp"
#include "sim/folding.hpp"
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
///
/// What all micro-batches do is one operation of as many iterations. Where ranks do exactly the
/// same at the same time, one is simulated for all of them (sim/folding.hpp): the tensor ranks of a
/// stage, or those of all its replicas.
class GptStep {
 public:
  GptStep(const GptPlan& plan, Lowering& lowering, std::span<const Rank> ranks);
  void lower();
  /// The ranks that are simulated, and for how many replicas each stands.
  std::vector<std::pair<Rank, double>> simulated() const;

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
    Span forward;        ///< of every micro-batch
    Span backward;       ///< of every one but the last; empty when there is one
    Span last_backward;  ///< cut into buckets
  };
  /// How long the host is late to launch each pass; empty without jitter.
  struct Delays {
    std::vector<double> forward, backward;
  };
  std::vector<Piece> forward_layer() const;
  std::vector<Piece> backward_layer() const;
  void repeat(const std::vector<Piece>& layer, int count, const Group& group,
              std::vector<Piece>& out);
  std::vector<Piece> pass(int stage, const Group& group, bool backward, int first_layer,
                          int layers);
  Delays launch_delays(const Group& group, int ahead);
  void delay_launches(const Group& group, const std::vector<double>& seconds, std::uint32_t number,
                      Span& span);
  Span run(const std::vector<Piece>& pieces, int stage, int replica,
           const std::vector<double>& delays, std::string_view label, std::uint32_t number,
           std::vector<OpId> after = {});
  Stage schedule(int stage, int replica);
  void order(const Stage& stage, int ahead);
  Span last_backward(int stage, int replica, const std::vector<double>& delays);
  void reduce_gradients();
  void reduce_gradients(int stage, int lane);
  void connect(int stage, int replica);
  OpId message(int stage, int other, int replica, int lane, std::string_view label);
  void step_optimizer(int stage, int replica);

  std::vector<OpId> collective(const CollectiveCall& call, const std::vector<OpId>& entry,
                               Fidelity fidelity, FlowCollection::Kind first,
                               FlowCollection::Member member);

  // Folding: gpt_fold.cpp.
  void fold();
  std::string try_fold(int lanes, bool replicas);
  void note_folding(Folding found);
  bool servers_hold_one_class(const std::vector<std::uint32_t>& classes) const;
  std::string unlike_replicas() const;
  std::string unlike_lanes() const;
  bool in_steps() const;
  bool lanes_share_servers() const;
  bool rails_alike();
  Lowering::Tried try_tensor(const CollectiveCall& call);
  bool add_flows(bool replicas, FlowCollection& flows);
  bool add_tensor_collectives(FlowCollection& flows);
  void add_messages(FlowCollection& flows) const;
  static bool all_alike(const Lowering::Tried& tried, std::size_t& count);
  static void add_collective(const Lowering::Tried& tried, FlowCollection::Kind first,
                             FlowCollection::Member member, int rails, FlowCollection& flows);
  void fold_path(OpId op, FlowCollection::Kind kind, FlowCollection::Member member);
  // Kinds of flows, numbered in this order: background, messages, tensor collectives, gradients.
  FlowCollection::Kind message_kind(int stage, int other, int lane) const;
  FlowCollection::Kind gradient_kind(int stage, int lane) const;
  FlowCollection::Kind tensor_kind(int stage, CollectiveOp op) const;

  Rank rank(int stage, int replica, int tensor) const;
  // Simulated replicas are numbered from 0; every class of replicas has one.
  int simulated_replicas() const { return static_cast<int>(replicas_.size()); }
  /// Which replica of the job it is.
  int replica_at(int simulated) const { return replicas_[static_cast<std::size_t>(simulated)]; }
  /// How many replicas it stands for, itself included.
  int stands_for(int simulated) const {
    return replicas_of_class_[static_cast<std::size_t>(simulated)];
  }
  Stage& at(int stage, int replica) {
    return stages_[flat_index(stage, simulated_replicas(), replica)];
  }
  std::vector<Rank> tensor_ranks(int stage, int replica) const;
  const Group& tensor_group(int stage, int replica);
  const Group& data_group(int stage, int tensor);
  Bytes message_bytes() const;
  CollectiveCall gradient_call(int stage, int tensor, int bucket);

  const GptPlan& plan_;
  Lowering& lowering_;
  OpGraph& graph_;
  std::span<const Rank> ranks_;
  Gpu gpu_;         ///< as the host lets it run
  Seconds jitter_;  ///< mean delay of a pass's launches on one rank
  Random random_;
  std::vector<Stage> stages_;
  std::map<std::pair<FlowCollection::Kind, FlowCollection::Member>, PathId> folded_paths_;
  int lanes_ = 1;
  int rails_ = 1;  ///< that are alike: of a group's tensor ranks only the first is looked at
  std::vector<int> replicas_;           ///< the simulated ones
  std::vector<int> class_of_replica_;   ///< of every replica: which simulated one stands for it
  std::vector<int> replicas_of_class_;  ///< how many, by simulated one
  std::size_t gradient_flows_ = 0, tensor_flows_ = 0;  ///< of one collective; known when folding
  /// By stage, lane, bucket: per simulated replica the operation after which its gradients are
  /// there.
  std::vector<std::vector<OpId>> buckets_;
  /// By stage, lane: per simulated replica the operation after which they are reduced.
  std::vector<std::vector<OpId>> reduced_;
  std::vector<OpId>& bucket(int stage, int lane, int index) {
    const auto ring = static_cast<int>(flat_index(stage, lanes_, lane));
    return buckets_[flat_index(ring, plan_.buckets, index)];
  }
};

}  // namespace trainyard
