#pragma once

#include <limits>

#include "kernels/cuda/launch.h"

// Values of a warp or a block brought together, in an order that is the same in every run.
namespace heed::kernels::cuda {

struct Plus {
  template <typename T>
  __device__ T operator()(T a, T b) const {
    return a + b;
  }
};
// NaN when one of them is.
struct Larger {
  template <typename T>
  __device__ T operator()(T a, T b) const {
    return b > a || b != b ? b : a;
  }
};
struct Smaller {
  template <typename T>
  __device__ T operator()(T a, T b) const {
    return b < a ? b : a;
  }
};

// Over `lanes` neighbouring lanes, a power of two; each of them gets the result.
template <typename T, typename Op>
__device__ T reduce_lanes(T value, Op op, int lanes = warpSize) {
  for (int offset = lanes / 2; offset > 0; offset /= 2) {
    value = op(value, __shfl_xor_sync(0xffffffff, value, offset));
  }
  return value;
}

// Over a block of whole warps in one dimension; every thread takes part and gets the result.
template <typename T, typename Op>
__device__ T reduce_block(T value, Op op) {
  __shared__ T parts[32];
  value = reduce_lanes(value, op);
  const unsigned warps = blockDim.x / 32;
  if (warps == 1) {
    return value;
  }
  if (threadIdx.x % 32 == 0) {
    parts[threadIdx.x / 32] = value;
  }
  __syncthreads();
  value = parts[0];
  for (unsigned w = 1; w < warps; ++w) {
    value = op(value, parts[w]);
  }
  __syncthreads();
  return value;
}

// Op over f(i) for i in [0, count), shared by the block. `start` is what op leaves unchanged.
template <typename T, typename Op, typename F>
__device__ T reduce_items(int64_t count, T start, Op op, F f) {
  T value = start;
  for (int64_t i = threadIdx.x; i < count; i += blockDim.x) {
    value = op(value, static_cast<T>(f(i)));
  }
  return reduce_block(value, op);
}

template <typename T>
__device__ T lowest() {
  return -std::numeric_limits<T>::infinity();
}

}  // namespace heed::kernels::cuda
