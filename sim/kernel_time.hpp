// How long a kernel takes on a GPU: the plug-in interface.
#pragma once

#include "sim/archive.hpp"
#include "sim/devices.hpp"

namespace trainyard {

/// One kernel (or a fused group of them) as the hardware sees it.
struct Kernel {
  double m = 0, n = 0, k = 0;  ///< a matrix product M × N × K; 0 for an elementwise kernel
  double batch = 1;            ///< how many such products the kernel does
  Bytes traffic;               ///< HBM bytes read and written
  int launches = 1;            ///< kernels launched by the host
  bool fp8 = false;            ///< the product runs at the FP8 peak
};

class KernelTime : public Plugin {
 public:
  static constexpr std::string_view kInterface = "kernel_time";
  /// Time on an idle GPU whose host keeps up or not (launch-bound floor included).
  virtual Seconds time(const Gpu& gpu, const Kernel& kernel) const = 0;
};

}  // namespace trainyard
