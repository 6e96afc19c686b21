#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "core/tensor.h"
#include "core/threads.h"
#include "kernels/loop.h"

// Elementwise loops over operands of equal shape and any strides, on the threads of the host.
namespace heed::kernels {

inline constexpr int64_t elementwise_grain = 1 << 14;

// Calls f(offsets, strides, count) for runs of elements: offsets[k] is where operand k starts and
// strides[k] how far apart its elements lie. Runs are spread over the threads.
template <size_t N, typename F>
void for_each_run(const std::array<const Tensor*, N>& operands, F&& f) {
  if (operands[0]->numel() == 0) {
    return;
  }
  const Loop<N> loop(operands);
  const int64_t inner = loop.inner();
  const int64_t outer = loop.outer();
  std::array<int64_t, N> strides{};
  for (size_t k = 0; k < N; ++k) {
    strides[k] = loop.inner_stride(k);
  }
  if (outer == 1) {
    parallel_for(inner, elementwise_grain, [&](int64_t begin, int64_t end) {
      std::array<int64_t, N> offsets{};
      for (size_t k = 0; k < N; ++k) {
        offsets[k] = begin * strides[k];
      }
      f(offsets, strides, end - begin);
    });
    return;
  }
  const int64_t grain = std::max<int64_t>(1, elementwise_grain / std::max<int64_t>(inner, 1));
  parallel_for(outer, grain, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      std::array<int64_t, N> offsets{};
      for (size_t k = 0; k < N; ++k) {
        offsets[k] = loop.offset(k, row);
      }
      f(offsets, strides, inner);
    }
  });
}

// y = f(x...), element by element; a dense run is a plain loop that the compiler vectorises.
template <typename Y, typename X, typename F>
void map(const Tensor& x, const Tensor& y, F f) {
  const X* px = x.data<X>();
  Y* py = y.data<Y>();
  for_each_run<2>({&y, &x}, [=](const auto& at, const auto& step, int64_t n) {
    const X* from = px + at[1];
    Y* to = py + at[0];
    if (step[0] == 1 && step[1] == 1) {
      for (int64_t i = 0; i < n; ++i) {
        to[i] = f(from[i]);
      }
      return;
    }
    for (int64_t i = 0; i < n; ++i) {
      to[i * step[0]] = f(from[i * step[1]]);
    }
  });
}

template <typename Y, typename X, typename F>
void map(const Tensor& a, const Tensor& b, const Tensor& y, F f) {
  const X* pa = a.data<X>();
  const X* pb = b.data<X>();
  Y* py = y.data<Y>();
  for_each_run<3>({&y, &a, &b}, [=](const auto& at, const auto& step, int64_t n) {
    Y* to = py + at[0];
    const X* left = pa + at[1];
    const X* right = pb + at[2];
    if (step[0] == 1 && step[1] == 1 && step[2] == 1) {
      for (int64_t i = 0; i < n; ++i) {
        to[i] = f(left[i], right[i]);
      }
    } else if (step[0] == 1 && step[1] == 1 && step[2] == 0) {
      const X value = *right;
      for (int64_t i = 0; i < n; ++i) {
        to[i] = f(left[i], value);
      }
    } else {
      for (int64_t i = 0; i < n; ++i) {
        to[i * step[0]] = f(left[i * step[1]], right[i * step[2]]);
      }
    }
  });
}

}  // namespace heed::kernels
