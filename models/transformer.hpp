// A decoder transformer of the GPT kind, split over tensor-parallel ranks: parameters, FLOPs,
// kernels, activations. Sources: Narayanan et al. SC'21 (FLOPs), Korthikanti et al. 2022 (memory).
#pragma once

#include <string>

#include "sim/archive.hpp"
#include "sim/kernel_time.hpp"

namespace trainyard {

struct TransformerModel {
  static constexpr std::string_view kCatalog = "model";
  int layers = 0, hidden = 0, heads = 0, sequence = 0, vocabulary = 0;
  void fields(Archive& ar);
  /// Weights and biases of one layer: 12 h² + 13 h.
  double layer_parameters() const;
  /// Token and position embeddings: (V + s) h.
  double embedding_parameters() const;
  double parameters() const { return layers * layer_parameters() + embedding_parameters(); }
};

/// How one micro-batch of one stage is computed.
struct TransformerSplit {
  int tensor = 1;       ///< tensor-parallel ranks t
  int micro_batch = 1;  ///< sequences b
  bool sequence_parallel = false;
  std::string recompute = "none";  ///< none | selective | full
  bool fp8 = false;  ///< the layers' weight products in FP8; attention and logits stay in BF16
  /// One kernel for scores, softmax and context, which keeps the scores on the chip and computes
  /// them again in its backward pass (Dao et al. 2022, FlashAttention).
  bool fused_attention = false;
};

/// Model FLOPs of one iteration, forward and backward, no recomputation:
/// 72 B s l h² (1 + s/6h + V/12lh).
Flops model_flops(const TransformerModel& model, double batch);
/// FLOPs that the hardware does: with full recomputation 96 B s l h² (1 + s/6h + V/16lh); with
/// selective, the model's plus one more attention core, 4 B s² h l.
Flops hardware_flops(const TransformerModel& model, double batch, const std::string& recompute);

/// Time of the two halves of one layer on one of the t ranks, without communication.
struct LayerTime {
  Seconds attention, mlp;
  Seconds sum() const { return attention + mlp; }
};
LayerTime layer_forward(const TransformerModel&, const TransformerSplit&, const Gpu&,
                        const KernelTime&);
/// Backward of one layer, with what is recomputed for it.
LayerTime layer_backward(const TransformerModel&, const TransformerSplit&, const Gpu&,
                         const KernelTime&);
/// Logits and loss of the last stage: forward, or backward.
Seconds logits_time(const TransformerModel&, const TransformerSplit&, const Gpu&, const KernelTime&,
                    bool backward);

/// Bytes that one layer keeps for one micro-batch until its backward. Korthikanti table 2, 2-byte
/// activations: s b h (10 + 24/t + 5as/ht) without sequence parallelism, s b h/t (34 + 5as/h) with
/// it; selective and fused attention drop the 5as/h term; full keeps the 2 s b h of the layer's
/// input.
Bytes layer_activations(const TransformerModel&, const TransformerSplit&);

}  // namespace trainyard
