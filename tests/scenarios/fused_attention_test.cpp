// Attention as one kernel: FLOPs, memory traffic, launches and kept activations by hand.
#include <gtest/gtest.h>

#include "models/transformer.hpp"
#include "sim/registry.hpp"

namespace trainyard {
namespace {

constexpr double kS = 128, kB = 3, kH = 64, kA = 4, kT = 2;

/// 1 TFLOPS, whatever the shape; 1 TB/s; kernels of no time else. Each can be switched off.
Gpu ideal() {
  Gpu gpu;
  gpu.peak_bf16 = FlopsPerSecond::of(1e12);
  gpu.hbm_bandwidth = BytesPerSecond::of(1e12);
  return gpu;
}
TransformerModel model() {
  TransformerModel m;
  m.layers = 1, m.vocabulary = 256;
  m.sequence = static_cast<int>(kS), m.hidden = static_cast<int>(kH),
  m.heads = static_cast<int>(kA);
  return m;
}
TransformerSplit split(bool fused) {
  TransformerSplit s;
  s.tensor = static_cast<int>(kT), s.micro_batch = static_cast<int>(kB);
  s.sequence_parallel = true;
  s.fused_attention = fused;
  return s;
}
double forward(const Gpu& gpu, bool fused) {
  const auto kernels = Registry<KernelTime>::of().make("roofline");
  return layer_forward(model(), split(fused), gpu, *kernels).attention.si();
}
double backward(const Gpu& gpu, bool fused, const std::string& recompute) {
  const auto kernels = Registry<KernelTime>::of().make("roofline");
  TransformerSplit s = split(fused);
  s.recompute = recompute;
  return layer_backward(model(), s, gpu, *kernels).attention.si();
}

// Two weight products of 8·s·b·h²/t, scores and context of 2·b·s²·h/t each; backward twice as much,
// and the scores once more.
TEST(FusedAttention, Flops) {
  Gpu gpu = ideal();
  gpu.hbm_bandwidth = BytesPerSecond::of(1e30);
  const double weights = 8 * kS * kB * kH * kH / kT, product = 2 * kB * kS * kS * kH / kT;
  EXPECT_NEAR(forward(gpu, true) * 1e12, weights + 2 * product, 1e-3);
  EXPECT_NEAR(forward(gpu, false) * 1e12, weights + 2 * product, 1e-3);
  for (const std::string recompute : {"none", "selective"})
    EXPECT_NEAR(backward(gpu, true, recompute) * 1e12, 2 * weights + 5 * product, 1e-3);
}

// Both products write or read the scores, and softmax and dropout pass over them 4.5 times more, at
// 2 bytes: 13 bytes a score, which the one kernel does not move.
TEST(FusedAttention, Traffic) {
  Gpu gpu = ideal();
  gpu.peak_bf16 = FlopsPerSecond::of(1e30);
  const double scores = kB * kA / kT * kS * kS;
  EXPECT_NEAR((forward(gpu, false) - forward(gpu, true)) * 1e12, 13 * scores, 1e-3);
}

// Two products, softmax and dropout against one; and half of it again in the backward pass.
TEST(FusedAttention, Launches) {
  Gpu gpu = ideal();
  gpu.kernel_launch = Seconds::of(1);
  const double others = 2 + 2;  // weight products, norm and dropout
  EXPECT_NEAR(forward(gpu, false), others + 4, 1e-9);
  EXPECT_NEAR(forward(gpu, true), others + 1, 1e-9);
  EXPECT_NEAR(backward(gpu, true, "none"), 2 * (others + 1) + 0.5, 1e-9);
  EXPECT_NEAR(backward(gpu, false, "selective"), 2 * (others + 4) + 4, 1e-9);
}

TEST(FusedAttention, KeepsNoScores) {
  const double sbh = kS * kB * kH;
  EXPECT_NEAR(layer_activations(model(), split(true)).si(), sbh / kT * 34, 1e-6);
  EXPECT_NEAR(layer_activations(model(), split(false)).si(), sbh / kT * (34 + 5 * kA * kS / kH),
              1e-6);
}

}  // namespace
}  // namespace trainyard
