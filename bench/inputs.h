#pragma once

#include "core/tensor.h"
#include "kernels/backend.h"

namespace heed::bench {

// Uniform in [-1, 1), f32, the same on every run.
Tensor random(const Shape& shape);

inline kernels::Backend& cpu() { return kernels::backend(Device{}); }

}  // namespace heed::bench
