#include "kernels/backend.h"

#include <atomic>

#include "kernels/cpu/cpu_backend.h"
#include "kernels/cuda_backend.h"

namespace heed::kernels {
namespace {

std::atomic<bool> fused_now{true};

}  // namespace

Backend& backend(Device device) {
  if (device.kind == DeviceKind::cuda) {
    return cuda_backend(device);
  }
  static auto* const cpu = new CpuBackend;
  return *cpu;
}

bool fused_kernels() { return fused_now.load(std::memory_order_relaxed); }
void set_fused_kernels(bool fused) { fused_now.store(fused, std::memory_order_relaxed); }

}  // namespace heed::kernels
