#include <algorithm>

#include "kernels/cpu/cpu_backend.h"
#include "kernels/cpu/strided.h"
#include "kernels/cpu/vector_math.h"

namespace heed::kernels {

void CpuBackend::fill(const Tensor& y, double value) {
  dispatch_all(y.dtype(), [&]<typename T>(T) {
    T* py = y.data<T>();
    for_each_run<1>({&y}, [&](const auto& at, const auto& step, int64_t n) {
      for (int64_t i = 0; i < n; ++i) {
        py[at[0] + i * step[0]] = static_cast<T>(value);
      }
    });
  });
}

namespace {

// Where operand k's elements lie side by side: the dimension of stride 1, or -1.
int unit_dimension(const Loop<2>& loop, size_t k) {
  for (int d = loop.shape.rank() - 1; d >= 0; --d) {
    if (loop.strides[k][d] == 1) {
      return d;
    }
  }
  return -1;
}

// x runs along one dimension and y along another: tiles, read in rows of x and written in rows of
// y, so that each cache line is used whole while it is near. The loop's last two dimensions are
// x's and y's.
template <typename Y, typename X>
void copy_tiles(const Loop<2>& loop, const X* x, Y* y) {
  constexpr int64_t tile = sizeof(Y) == 8 ? 32 : 64;
  const int64_t height = loop.shape.dim(-2);
  const int64_t width = loop.shape.dim(-1);
  const int64_t y_step = loop.strides[0].dim(-2);
  const int64_t x_step = loop.strides[1].dim(-1);
  const int64_t down = (height + tile - 1) / tile;
  const int64_t across = (width + tile - 1) / tile;
  const int64_t grain = elementwise_grain / (std::min(tile, height) * std::min(tile, width));
  parallel_for(loop.outer() / height * down * across, grain, [&](int64_t begin, int64_t end) {
    Y turned[tile][tile];
    for (int64_t t = begin; t < end; ++t) {
      const int64_t left = t % across * tile;
      const int64_t top = t / across % down * tile;
      const int64_t row = t / across / down * height + top;
      const int64_t columns = std::min(tile, width - left);
      const int64_t rows = std::min(tile, height - top);
      const X* from = x + loop.offset(1, row) + left * x_step;
      Y* to = y + loop.offset(0, row) + left;
      for (int64_t j = 0; j < columns; ++j) {
        for (int64_t i = 0; i < rows; ++i) {
          turned[i][j] = static_cast<Y>(from[j * x_step + i]);
        }
      }
      for (int64_t i = 0; i < rows; ++i) {
        std::copy_n(turned[i], columns, to + i * y_step);
      }
    }
  });
}

}  // namespace

void CpuBackend::copy(const Tensor& x, const Tensor& y) {
  if (x.numel() == 0) {
    return;
  }
  Loop<2> loop({&y, &x});
  const int along_y = unit_dimension(loop, 0);
  const int along_x = unit_dimension(loop, 1);
  const bool turned = along_y >= 0 && along_x >= 0 && along_y != along_x;
  if (turned) {
    loop.move_to_end(along_x);
    loop.move_to_end(unit_dimension(loop, 0));
  }
  dispatch_all(x.dtype(), [&]<typename X>(X) {
    dispatch_all(y.dtype(), [&]<typename Y>(Y) {
      turned ? copy_tiles(loop, x.data<X>(), y.data<Y>())
             : map<Y, X>(x, y, [](X value) { return static_cast<Y>(value); });
    });
  });
}

namespace {

template <typename T, typename F>
void binary_of(const Tensor& a, const Tensor& b, const Tensor& y, F f) {
  map<T, T>(a, b, y, f);
}

template <typename T>
void binary_for(BinaryOp op, const Tensor& a, const Tensor& b, const Tensor& y) {
  switch (op) {
    case BinaryOp::add:
      return binary_of<T>(a, b, y, [](T l, T r) { return l + r; });
    case BinaryOp::subtract:
      return binary_of<T>(a, b, y, [](T l, T r) { return l - r; });
    case BinaryOp::multiply:
      return binary_of<T>(a, b, y, [](T l, T r) { return l * r; });
    case BinaryOp::divide:
      return binary_of<T>(a, b, y, [](T l, T r) { return l / r; });
    // Written so that NaN on either side gives NaN.
    case BinaryOp::maximum:
      return binary_of<T>(a, b, y, [](T l, T r) { return l > r || l != l ? l : r; });
    case BinaryOp::minimum:
      return binary_of<T>(a, b, y, [](T l, T r) { return l < r || l != l ? l : r; });
  }
}

template <typename T>
void compare_for(CompareOp op, const Tensor& a, const Tensor& b, const Tensor& y) {
  switch (op) {
    case CompareOp::equal:
      return map<bool, T>(a, b, y, [](T l, T r) { return l == r; });
    case CompareOp::not_equal:
      return map<bool, T>(a, b, y, [](T l, T r) { return l != r; });
    case CompareOp::less:
      return map<bool, T>(a, b, y, [](T l, T r) { return l < r; });
    case CompareOp::less_equal:
      return map<bool, T>(a, b, y, [](T l, T r) { return l <= r; });
  }
}

}  // namespace

void CpuBackend::binary(BinaryOp op, const Tensor& a, const Tensor& b, const Tensor& y) {
  if (y.dtype() == DType::i32) {
    binary_for<int32_t>(op, a, b, y);
    return;
  }
  dispatch_floating("binary", y.dtype(), [&]<typename T>(T) { binary_for<T>(op, a, b, y); });
}

void CpuBackend::compare(CompareOp op, const Tensor& a, const Tensor& b, const Tensor& y) {
  dispatch_all(a.dtype(), [&]<typename T>(T) { compare_for<T>(op, a, b, y); });
}

void CpuBackend::affine(const Tensor& x, double scale, double shift, const Tensor& y) {
  dispatch_floating("affine", x.dtype(), [&]<typename T>(T) {
    const auto s = static_cast<T>(scale);
    const auto t = static_cast<T>(shift);
    map<T, T>(x, y, [=](T value) { return s * value + t; });
  });
}

void CpuBackend::where(const Tensor& condition, const Tensor& a, const Tensor& b, const Tensor& y) {
  dispatch_all(y.dtype(), [&]<typename T>(T) {
    const bool* pc = condition.data<bool>();
    const T* pa = a.data<T>();
    const T* pb = b.data<T>();
    T* py = y.data<T>();
    for_each_run<4>({&y, &condition, &a, &b}, [=](const auto& at, const auto& step, int64_t n) {
      for (int64_t i = 0; i < n; ++i) {
        py[at[0] + i * step[0]] =
            pc[at[1] + i * step[1]] ? pa[at[2] + i * step[2]] : pb[at[3] + i * step[3]];
      }
    });
  });
}

void CpuBackend::dropout(const Tensor& x, double p, const RandomState& random, const Tensor& y) {
  if (!x.is_contiguous()) {
    copy(x, y);
    dropout(y, p, random, y);
    return;
  }
  dispatch_floating("dropout", x.dtype(), [&]<typename T>(T) {
    parallel_for(x.numel(), elementwise_grain, [&](int64_t begin, int64_t end) {
      RandomState from = random;
      from.offset += static_cast<uint64_t>(begin);
      vector_math::dropout(from, p, x.data<T>() + begin, y.data<T>() + begin, end - begin);
    });
  });
}

}  // namespace heed::kernels
