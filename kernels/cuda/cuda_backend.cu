#include "kernels/cuda/cuda_backend.h"

#include <mutex>

#include "core/error.h"
#include "kernels/cuda/context.h"
#include "kernels/cuda_backend.h"

namespace heed::kernels {

CudaBackend::CudaBackend(int card) { cuda::open_card(card); }

std::string CudaBackend::description() const {
  const char* products[] = {"", ", products in tf32", ", products in bf16"};
  return cuda::describe(cuda::context()) + products[static_cast<int>(precision_)];
}

void CudaBackend::set_precision(Precision precision) {
  const cudaDeviceProp& card = cuda::context().properties;
  HEED_CHECK_INPUT(precision == Precision::float32 || card.major >= 8, "device",
                   "{} has capability {}.{}, tf32 and bf16 begin at 8.0: compute in float32 "
                   "(run.precision = \"float32\")",
                   card.name, card.major, card.minor);
  precision_ = precision;
}

namespace {

CudaBackend& opened_for(Device device) {
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

}  // namespace

Backend& cuda_backend(Device device) { return opened_for(device); }

void set_cuda_precision(Device device, Precision precision) {
  opened_for(device).set_precision(precision);
}

}  // namespace heed::kernels
