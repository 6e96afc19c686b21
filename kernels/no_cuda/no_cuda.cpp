#include "core/error.h"
#include "kernels/cuda_device.h"

namespace heed::kernels {

Backend& cuda_backend(Device device) {
  throw InputError(
      "device",
      fmt::format("{} was asked for, but this build has no CUDA (configure with -DHEED_CUDA=ON)",
                  device_name(device)));
}

void set_cuda_precision(Device device, Precision) { static_cast<void>(cuda_backend(device)); }

}  // namespace heed::kernels
