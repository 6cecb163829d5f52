#include "models/transformer.hpp"

#include <algorithm>

namespace trainyard {
namespace {

constexpr double kElement = 2;  // bytes of a BF16 value

struct LayerShape {
  double tokens, h, t, s, b, a;
};

LayerShape shape(const TransformerModel& m, const TransformerSplit& split) {
  return {static_cast<double>(m.sequence) * split.micro_batch,
          static_cast<double>(m.hidden),
          static_cast<double>(split.tensor),
          static_cast<double>(m.sequence),
          static_cast<double>(split.micro_batch),
          static_cast<double>(m.heads)};
}

Bytes gemm_traffic(double m, double n, double k, double batch) {
  return Bytes::of(kElement * batch * (m * n + m * k + k * n));
}

Seconds gemm(const Gpu& gpu, const KernelTime& kernels, double m, double n, double k,
             double batch = 1, bool fp8 = false) {
  return kernels.time(gpu, {m, n, k, batch, gemm_traffic(m, n, k, batch), 1, fp8});
}

Seconds elementwise(const Gpu& gpu, const KernelTime& kernels, double elements, int launches) {
  return kernels.time(gpu, {0, 0, 0, 1, Bytes::of(elements * kElement), launches});
}

// Scores, softmax, context: what selective recomputation does again.
Seconds attention_core(const LayerShape& l, const Gpu& gpu, const KernelTime& kernels) {
  const double batch = l.b * l.a / l.t, head = l.h / l.a;
  // Fused softmax reads and writes the scores; dropout reads, writes and keeps a mask of a byte.
  constexpr double kScorePasses = 4.5;
  return gemm(gpu, kernels, l.s, l.s, head, batch) + gemm(gpu, kernels, l.s, head, l.s, batch) +
         elementwise(gpu, kernels, kScorePasses * batch * l.s * l.s, 2);
}

// The same as one kernel: only queries, keys, values and context pass through memory.
Seconds fused_core(const LayerShape& l, const Gpu& gpu, const KernelTime& kernels) {
  const double batch = l.b * l.a / l.t, head = l.h / l.a;
  const Seconds products = kernels.time(gpu, {l.s, l.s, head, batch, Bytes(), 0}) +
                           kernels.time(gpu, {l.s, head, l.s, batch, Bytes(), 0});
  return std::max(products, elementwise(gpu, kernels, 4 * batch * l.s * head, 1));
}

// A layer norm and a dropout-add. Without sequence parallelism every rank of the tensor-parallel
// group does them whole.
Seconds norm_and_dropout(const LayerShape& l, bool sequence_parallel, const Gpu& gpu,
                         const KernelTime& kernels) {
  constexpr double kPasses = 2 + 3.5;
  return elementwise(gpu, kernels, kPasses * l.tokens * l.h / (sequence_parallel ? l.t : 1), 2);
}

Seconds gelu(const LayerShape& l, const Gpu& gpu, const KernelTime& kernels) {
  return elementwise(gpu, kernels, 2 * l.tokens * 4 * l.h / l.t, 1);
}

}  // namespace

void TransformerModel::fields(Archive& ar) {
  ar.required("layers", layers, "transformer layers", at_least(1));
  ar.required("hidden", hidden, "hidden size", at_least(1));
  ar.required("heads", heads, "attention heads", at_least(1));
  ar.required("sequence", sequence, "tokens per sequence", at_least(1));
  ar.required("vocabulary", vocabulary, "vocabulary, padded", at_least(1));
  ar.check(heads <= 0 || hidden % heads == 0, "heads", "do not divide the hidden size",
           "hidden must be a multiple of heads");
}

double TransformerModel::layer_parameters() const {
  const double h = hidden;
  return 12 * h * h + 13 * h;
}

double TransformerModel::embedding_parameters() const {
  return (static_cast<double>(vocabulary) + sequence) * hidden;
}

Flops model_flops(const TransformerModel& m, double batch) {
  const double s = m.sequence, l = m.layers, h = m.hidden, v = m.vocabulary;
  return Flops::of(72 * batch * s * l * h * h * (1 + s / (6 * h) + v / (12 * l * h)));
}

Flops hardware_flops(const TransformerModel& m, double batch, const std::string& recompute) {
  const double s = m.sequence, l = m.layers, h = m.hidden, v = m.vocabulary;
  if (recompute == "full")
    return Flops::of(96 * batch * s * l * h * h * (1 + s / (6 * h) + v / (16 * l * h)));
  if (recompute == "selective") return model_flops(m, batch) + Flops::of(4 * batch * s * s * h * l);
  return model_flops(m, batch);
}

LayerTime layer_forward(const TransformerModel& m, const TransformerSplit& split, const Gpu& gpu,
                        const KernelTime& kernels) {
  const LayerShape l = shape(m, split);
  const Seconds around = norm_and_dropout(l, split.sequence_parallel, gpu, kernels);
  const auto weights = [&](double n, double k) {
    return gemm(gpu, kernels, l.tokens, n, k, 1, split.fp8);
  };
  const Seconds core =
      split.fused_attention ? fused_core(l, gpu, kernels) : attention_core(l, gpu, kernels);
  return {
      weights(3 * l.h / l.t, l.h) + core + weights(l.h, l.h / l.t) + around,
      weights(4 * l.h / l.t, l.h) + gelu(l, gpu, kernels) + weights(l.h, 4 * l.h / l.t) + around};
}

// Every product has two backward products of its size, for its input and for its weight; the
// elementwise kernels read about twice what they did forward.
LayerTime layer_backward(const TransformerModel& m, const TransformerSplit& split, const Gpu& gpu,
                         const KernelTime& kernels) {
  const LayerTime forward = layer_forward(m, split, gpu, kernels);
  LayerTime time{2 * forward.attention, 2 * forward.mlp};
  if (split.recompute == "full") {
    time.attention += forward.attention;
    time.mlp += forward.mlp;
  }
  const LayerShape l = shape(m, split);
  if (split.fused_attention)
    time.attention += fused_core(l, gpu, kernels) / 2;  // its scores again
  else if (split.recompute == "selective")
    time.attention += attention_core(l, gpu, kernels);
  return time;
}

Seconds logits_time(const TransformerModel& m, const TransformerSplit& split, const Gpu& gpu,
                    const KernelTime& kernels, bool backward) {
  const LayerShape l = shape(m, split);
  const double columns = m.vocabulary / l.t;
  const Seconds once = gemm(gpu, kernels, l.tokens, columns, l.h) +
                       elementwise(gpu, kernels, 4 * l.tokens * columns, 2);
  return backward ? 2 * once : once;
}

Bytes layer_activations(const TransformerModel& m, const TransformerSplit& split) {
  const double t = split.tensor,
               sbh = static_cast<double>(m.sequence) * split.micro_batch * m.hidden;
  const double scores = 5.0 * m.heads * m.sequence / m.hidden;
  if (split.recompute == "full") return Bytes::of(2 * sbh / (split.sequence_parallel ? t : 1));
  const double kept = split.recompute == "selective" || split.fused_attention ? 0 : scores;
  return Bytes::of(split.sequence_parallel ? sbh / t * (34 + kept) : sbh * (10 + (24 + kept) / t));
}

}  // namespace trainyard
