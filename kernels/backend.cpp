#include "kernels/backend.h"

#include <atomic>

#include "core/error.h"
#include "kernels/cpu/cpu_backend.h"
#include "kernels/cuda_device.h"

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

void set_precision(Device device, Precision precision) {
  if (device.kind == DeviceKind::cuda) {
    set_cuda_precision(device, precision);
    return;
  }
  HEED_CHECK_INPUT(precision == Precision::float32, "device",
                   "the cpu computes in float32 alone: tf32 and bf16 are for graphics cards");
}

bool fused_kernels() { return fused_now.load(std::memory_order_relaxed); }
void set_fused_kernels(bool fused) { fused_now.store(fused, std::memory_order_relaxed); }

}  // namespace heed::kernels
