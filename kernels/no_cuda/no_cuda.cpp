#include "core/error.h"
#include "kernels/cuda_backend.h"

namespace heed::kernels {

Backend& cuda_backend(Device device) {
  throw InputError(
      "device",
      fmt::format("{} was asked for, but this build has no CUDA (configure with -DHEED_CUDA=ON)",
                  device_name(device)));
}

}  // namespace heed::kernels
