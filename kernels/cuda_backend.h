#pragma once

#include "core/device.h"
#include "kernels/backend.h"

namespace heed::kernels {

// Defined by kernels/cuda, or by kernels/no_cuda in a build without it, which throws InputError.
Backend& cuda_backend(Device device);

}  // namespace heed::kernels
