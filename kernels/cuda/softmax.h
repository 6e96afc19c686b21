#pragma once

#include <cmath>

#include "kernels/cuda/elements.h"
#include "kernels/cuda/reduction.h"

namespace heed::kernels::cuda {

// The mask of a row-major tensor, or none: everything takes part.
struct Mask {
  const bool* data = nullptr;
  Elements<1> elements;

  explicit Mask(const Tensor& mask) {
    if (mask.defined()) {
      data = mask.data<bool>();
      elements = Elements<1>(Loop<1>({&mask}));
    }
  }
  __device__ bool at(int64_t i) const {
    if (data == nullptr) {
      return true;
    }
    int64_t offset[1];
    elements.offsets(i, offset);
    return data[offset[0]];
  }
};

// The softmax of a row, or its logarithm, by the threads of a block: put(i, result) of value(i),
// which is -inf where an entry takes no part. Thread t reads and puts t, t + blockDim.x, ...
template <typename T, typename Value, typename Put>
__device__ void softmax_row(int64_t width, bool logarithm, Value value, Put put) {
  const T largest = reduce_items(width, lowest<T>(), Larger(), value);
  const bool nothing = largest == lowest<T>();
  T sum = 1;
  if (!nothing) {
    sum =
        reduce_items(width, T{0}, Plus(), [&](int64_t i) { return std::exp(value(i) - largest); });
  }
  const T log_sum = std::log(sum);
  for (int64_t i = threadIdx.x; i < width; i += blockDim.x) {
    if (nothing) {
      put(i, logarithm ? lowest<T>() : T{0});
    } else if (logarithm) {
      // In two steps: the difference keeps the digits that a large logit would cost the sum.
      put(i, (value(i) - largest) - log_sum);
    } else {
      put(i, std::exp(value(i) - largest) / sum);
    }
  }
}

}  // namespace heed::kernels::cuda
