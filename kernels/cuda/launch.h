#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "core/tensor.h"
#include "kernels/cuda/error.h"

#ifdef HEED_CUDA_EMULATED
#define HEED_UNROLL
#else
#define HEED_UNROLL _Pragma("unroll")
#endif

// How kernels are started and get their shared memory: the one place that keeps the sources
// compilable by a plain C++ compiler.
namespace heed::kernels::cuda {

struct LaunchConfig {
  dim3 grid;
  dim3 block;
  size_t shared_bytes = 0;
};

// The stream that everything runs on, in order.
cudaStream_t stream();

// Does nothing for an empty grid.
template <typename... P, typename... A>
void launch(void (*kernel)(P...), const LaunchConfig& config, A&&... arguments) {
  if (config.grid.x == 0 || config.grid.y == 0 || config.grid.z == 0) {
    return;
  }
  constexpr size_t always_allowed = 48 << 10;
  if (config.shared_bytes > always_allowed) {
    HEED_CUDA_CALL(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                        static_cast<int>(config.shared_bytes)));
  }
  cudaLaunchConfig_t launched{};
  launched.gridDim = config.grid;
  launched.blockDim = config.block;
  launched.dynamicSmemBytes = config.shared_bytes;
  launched.stream = stream();
  HEED_CUDA_CALL(cudaLaunchKernelEx(&launched, kernel, std::forward<A>(arguments)...));
}

// The block's dynamic shared memory, as large as the launch said.
template <typename T>
__device__ T* dynamic_shared() {
#ifdef HEED_CUDA_EMULATED
  return static_cast<T*>(emulator::dynamic_shared());
#else
  extern __shared__ __align__(16) unsigned char memory[];
  return reinterpret_cast<T*>(memory);
#endif
}

// What a kernel is given for an operand that may be left out.
template <typename T>
T* data_or_null(const Tensor& x) {
  return x.defined() ? x.data<T>() : nullptr;
}

inline int64_t divide_up(int64_t n, int64_t step) { return (n + step - 1) / step; }

// Threads for `items` that a block shares: whole warps, no more than are of use.
inline unsigned block_size(int64_t items, int64_t most = 256) {
  return static_cast<unsigned>(std::clamp<int64_t>(divide_up(items, 32) * 32, 32, most));
}

// A thread an item, for kernels that loop over each_item().
inline LaunchConfig spread(int64_t items) {
  constexpr int64_t most_blocks = 1 << 20;
  const unsigned block = block_size(items);
  return {dim3(static_cast<unsigned>(std::min(divide_up(items, block), most_blocks))), dim3(block)};
}

// A block a row of `width` elements.
inline LaunchConfig block_a_row(int64_t rows, int64_t width) {
  return {dim3(static_cast<unsigned>(rows)), dim3(block_size(width))};
}

// Calls f(i) for this thread's share of [0, count).
template <typename F>
__device__ void each_item(int64_t count, F f) {
  const int64_t step = int64_t{gridDim.x} * blockDim.x;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += step) {
    f(i);
  }
}

}  // namespace heed::kernels::cuda
