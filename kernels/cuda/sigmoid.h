#pragma once

#include <cmath>

#include "kernels/cuda/launch.h"

namespace heed::kernels::cuda {

template <typename T>
__device__ T sigmoid(T x) {
  return 1 / (1 + std::exp(-x));
}

}  // namespace heed::kernels::cuda
