// libFuzzer's entry: one executable per target, which a definition names.
#include "tests/fuzz/fuzz_trace.hpp"

#include <cstdint>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  trainyard::fuzz_trace(TRAINYARD_FUZZ_TARGET,
                        std::string_view(reinterpret_cast<const char*>(data), size));
  return 0;
}
