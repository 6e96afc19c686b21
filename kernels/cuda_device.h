#pragma once

#include "core/device.h"
#include "kernels/backend.h"
#include "kernels/precision.h"

namespace heed::kernels {

// Defined by kernels/cuda, or by kernels/no_cuda in a build without it, which throws InputError.
Backend& cuda_backend(Device device);
void set_cuda_precision(Device device, Precision precision);

}  // namespace heed::kernels
