#include "kernels/cuda/cuda_backend.h"

#include <mutex>

#include "core/error.h"
#include "kernels/cuda/context.h"
#include "kernels/cuda/error.h"
#include "kernels/cuda_device.h"

namespace heed::kernels {

CudaBackend::CudaBackend(int card) { cuda::open_card(card); }

std::string CudaBackend::description() const {
  const char* products[] = {"", ", products in tf32", ", products in bf16"};
  return cuda::describe(cuda::context().card) + products[static_cast<int>(precision_)];
}

void CudaBackend::set_precision(Precision precision) {
  cuda::check_precision(cuda::context().card.properties, precision);
  precision_ = precision;
}

namespace {

CudaBackend& opened_for(Device device) {
  static std::mutex mutex;
  static CudaBackend* made = nullptr;
  {
    const std::lock_guard lock(mutex);
    if (made == nullptr) {
      made = new CudaBackend(device.index);
    }
  }
  const int index = cuda::context().card.index;
  HEED_CHECK_INPUT(device.index == index, "device",
                   "{} was asked for, but this process uses {}: it can use one card",
                   device_name(device), device_name({DeviceKind::cuda, index}));
  // Each thread has a current card of its own, 0 at first.
  thread_local const bool chosen = [&] {
    HEED_CUDA_CALL(cudaSetDevice(index));
    return true;
  }();
  static_cast<void>(chosen);
  return *made;
}

}  // namespace

Backend& cuda_backend(Device device) { return opened_for(device); }

void set_cuda_precision(Device device, Precision precision) {
  opened_for(device).set_precision(precision);
}

}  // namespace heed::kernels
