#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "core/tensor.h"
#include "core/threads.h"

// Loops over operands of equal shape and any strides: adjacent dimensions that lie the same way in
// every operand are merged, so that most calls come down to one long inner loop.
namespace heed::kernels {

inline constexpr int64_t elementwise_grain = 1 << 14;

template <size_t N>
struct Loop {
  Shape shape;
  std::array<Shape, N> strides;

  explicit Loop(const std::array<const Tensor*, N>& operands) : shape(operands[0]->shape()) {
    for (size_t k = 0; k < N; ++k) {
      HEED_ASSERT(operands[k]->shape() == shape, "{} and {}", operands[k]->shape().to_string(),
                  shape.to_string());
      strides[k] = operands[k]->strides();
    }
    merge();
  }

  int64_t inner() const { return shape.rank() == 0 ? 1 : shape.dim(-1); }
  int64_t outer() const {
    int64_t count = 1;
    for (int d = 0; d + 1 < shape.rank(); ++d) {
      count *= shape[d];
    }
    return count;
  }
  int64_t inner_stride(size_t k) const { return shape.rank() == 0 ? 0 : strides[k].dim(-1); }

  // Makes dimension d the last. The order of the dimensions is a matter of speed alone.
  void move_to_end(int d) {
    const auto move = [d](Shape& s) {
      const int64_t size = s[d];
      s.erase(d);
      s.push_back(size);
    };
    move(shape);
    std::for_each(strides.begin(), strides.end(), move);
  }

  // Element offset of inner row `row` in operand k.
  int64_t offset(size_t k, int64_t row) const {
    int64_t result = 0;
    for (int d = shape.rank() - 2; d >= 0; --d) {
      result += row % shape[d] * strides[k][d];
      row /= shape[d];
    }
    return result;
  }

 private:
  void merge() {
    for (int d = shape.rank() - 1; d >= 0; --d) {
      if (shape[d] == 1) {
        erase(d);
      }
    }
    for (int d = shape.rank() - 2; d >= 0; --d) {
      bool adjacent = true;
      for (size_t k = 0; k < N; ++k) {
        adjacent = adjacent && strides[k][d] == strides[k][d + 1] * shape[d + 1];
      }
      if (adjacent) {
        shape[d + 1] *= shape[d];
        erase(d);
      }
    }
  }
  void erase(int d) {
    shape.erase(d);
    for (Shape& s : strides) {
      s.erase(d);
    }
  }
};

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
