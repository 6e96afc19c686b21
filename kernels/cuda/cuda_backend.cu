#include "kernels/cuda/cuda_backend.h"

#include <mutex>

#include "core/error.h"
#include "kernels/cuda/context.h"
#include "kernels/cuda_backend.h"

namespace heed::kernels {

CudaBackend::CudaBackend(int card) { cuda::open_card(card); }

std::string CudaBackend::description() const { return cuda::describe(cuda::context()); }

Backend& cuda_backend(Device device) {
  static std::mutex mutex;
  static CudaBackend* made = nullptr;
  const std::lock_guard lock(mutex);
  if (made == nullptr) {
    made = new CudaBackend(device.index);
  }
  HEED_CHECK_INPUT(device.index == cuda::context().index, "device",
                   "{} was asked for, but this process uses {}: it can use one card",
                   device_name(device), device_name({DeviceKind::cuda, cuda::context().index}));
  return *made;
}

}  // namespace heed::kernels
