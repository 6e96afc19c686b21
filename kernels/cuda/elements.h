#pragma once

#include <array>

#include "core/tensor.h"
#include "kernels/cuda/launch.h"
#include "kernels/loop.h"

// Elementwise kernels over operands of equal shape and any strides.
namespace heed::kernels::cuda {

// Where element i (row-major) of each operand lies.
template <int N>
struct Elements {
  int64_t count = 0;
  int rank = 0;
  int64_t sizes[Shape::max_rank] = {};
  int64_t strides[N][Shape::max_rank] = {};

  Elements() = default;
  explicit Elements(const Loop<N>& loop) : count(loop.shape.numel()), rank(loop.shape.rank()) {
    for (int d = 0; d < rank; ++d) {
      sizes[d] = loop.shape[d];
      for (int k = 0; k < N; ++k) {
        strides[k][d] = loop.strides[static_cast<size_t>(k)][d];
      }
    }
  }

  __device__ void offsets(int64_t i, int64_t (&at)[N]) const {
    for (int k = 0; k < N; ++k) {
      at[k] = 0;
    }
    for (int d = rank - 1; d > 0; --d) {
      const int64_t index = i % sizes[d];
      i /= sizes[d];
      for (int k = 0; k < N; ++k) {
        at[k] += index * strides[k][d];
      }
    }
    for (int k = 0; k < N && rank > 0; ++k) {
      at[k] += i * strides[k][0];
    }
  }
};

template <int N, typename F>
__global__ void element_kernel(Elements<N> elements, F f) {
  each_item(elements.count, [&](int64_t i) {
    int64_t at[N];
    elements.offsets(i, at);
    f(i, at);
  });
}

// Calls f(i, at) for every element: its row-major number, and its offset in each operand.
template <size_t N, typename F>
void for_each_element(const std::array<const Tensor*, N>& operands, F f) {
  const int64_t count = operands[0]->numel();
  if (count > 0) {
    launch(element_kernel<static_cast<int>(N), F>, spread(count),
           Elements<static_cast<int>(N)>(Loop<N>(operands)), f);
  }
}

}  // namespace heed::kernels::cuda
