// Roofline kernel time: the largest of compute, memory traffic and launches.
//
// compute = 2·batch·M·N·K / (peak · e(M, N, K)), e = max·M/(M+m)·N/(N+n)·K/(K+k);
// memory = traffic / (bandwidth · efficiency); launch floor = launches · launch time.
// Leaves out: wave quantization, clock throttling, cache reuse beyond the traffic given.
#include <algorithm>

#include "sim/kernel_time.hpp"

namespace trainyard {
namespace {

double saturation(double size, double half) { return size / (size + half); }

class Roofline : public KernelTime {
 public:
  void fields(Archive&) override {}

  Seconds time(const Gpu& gpu, const Kernel& kernel) const override {
    Seconds longest = kernel.launches * gpu.kernel_launch;
    longest = std::max(longest, kernel.traffic / (gpu.hbm_bandwidth * gpu.hbm_efficiency));
    if (kernel.m > 0) {
      const GemmEfficiency& e = kernel.fp8 ? gpu.gemm_fp8 : gpu.gemm;
      const double reached = e.max * saturation(kernel.m, e.m_half) *
                             saturation(kernel.n, e.n_half) * saturation(kernel.k, e.k_half);
      const Flops work = Flops::of(2 * kernel.batch * kernel.m * kernel.n * kernel.k);
      longest = std::max(longest, work / ((kernel.fp8 ? gpu.peak_fp8 : gpu.peak_bf16) * reached));
    }
    return longest;
  }
};

const Registration<KernelTime, Roofline> registered{
    "roofline", "the largest of compute, memory traffic and launches"};

}  // namespace
}  // namespace trainyard
