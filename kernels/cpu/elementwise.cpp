#include <algorithm>
#include <cstring>

#include "kernels/cpu/cpu_backend.h"
#include "kernels/cpu/strided.h"

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

void CpuBackend::copy(const Tensor& x, const Tensor& y) {
  dispatch_all(x.dtype(), [&]<typename X>(X) {
    dispatch_all(y.dtype(), [&]<typename Y>(Y) {
      map<Y, X>(x, y, [](X value) { return static_cast<Y>(value); });
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
    const T* px = x.data<T>();
    T* py = y.data<T>();
    const auto scale = static_cast<T>(1.0 / (1.0 - p));
    const auto threshold = static_cast<float>(p);
    parallel_for(x.numel(), elementwise_grain / 4, [&](int64_t begin, int64_t end) {
      int64_t i = begin;
      while (i < end) {
        const uint64_t position = random.offset + static_cast<uint64_t>(i);
        const auto numbers = philox_block(random.seed, random.stream, position / 4);
        for (uint64_t lane = position % 4; lane < 4 && i < end; ++lane, ++i) {
          const float uniform = static_cast<float>(numbers[lane] >> 8) * 0x1.0p-24F;
          py[i] = uniform >= threshold ? px[i] * scale : T{0};
        }
      }
    });
  });
}

}  // namespace heed::kernels
