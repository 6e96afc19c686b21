#include <cmath>
#include <numbers>

#include "kernels/cpu/cpu_backend.h"
#include "kernels/cpu/strided.h"
#include "kernels/cpu/vector_math.h"

namespace heed::kernels {
namespace {

// f over dense runs; others pass through a small buffer.
template <typename T, typename F>
void map_dense(const Tensor& x, const Tensor& y, F f) {
  constexpr int64_t chunk = 512;
  const T* px = x.data<T>();
  T* py = y.data<T>();
  for_each_run<2>({&y, &x}, [=](const auto& at, const auto& step, int64_t n) {
    if (step[0] == 1 && step[1] == 1) {
      f(px + at[1], py + at[0], n);
      return;
    }
    T buffer[chunk];
    for (int64_t begin = 0; begin < n; begin += chunk) {
      const int64_t count = std::min(chunk, n - begin);
      for (int64_t i = 0; i < count; ++i) {
        buffer[i] = px[at[1] + (begin + i) * step[1]];
      }
      f(buffer, buffer, count);
      for (int64_t i = 0; i < count; ++i) {
        py[at[0] + (begin + i) * step[0]] = buffer[i];
      }
    }
  });
}

template <typename T>
T normal_cdf(T x) {
  return T{0.5} * std::erfc(-x * (std::numbers::sqrt2_v<T> / 2));
}

template <typename T>
T normal_pdf(T x) {
  return std::exp(T{-0.5} * x * x) * (std::numbers::inv_sqrtpi_v<T> / std::numbers::sqrt2_v<T>);
}

// sqrt(2 / pi) (x + 0.044715 x^3), Hendrycks & Gimpel 2016.
template <typename T>
T gelu_tanh_inner(T x) {
  constexpr T scale = std::numbers::sqrt2_v<T> * std::numbers::inv_sqrtpi_v<T>;
  return scale * (x + T{0.044715} * x * x * x);
}

template <typename T>
T logistic(T x) {
  const T e = std::exp(-std::abs(x));
  return (x < 0 ? e : T{1}) / (1 + e);
}

template <typename T>
void unary_for(UnaryOp op, const Tensor& x, const Tensor& y) {
  switch (op) {
    case UnaryOp::negate:
      return map<T, T>(x, y, [](T v) { return -v; });
    case UnaryOp::absolute:
      return map<T, T>(x, y, [](T v) { return std::abs(v); });
    case UnaryOp::square:
      return map<T, T>(x, y, [](T v) { return v * v; });
    case UnaryOp::square_root:
      return map<T, T>(x, y, [](T v) { return std::sqrt(v); });
    case UnaryOp::exponential:
      return map_dense<T>(x, y, vector_math::exp<T>);
    case UnaryOp::logarithm:
      return map_dense<T>(x, y, vector_math::log<T>);
    case UnaryOp::tanh:
      return map_dense<T>(x, y, vector_math::tanh<T>);
    case UnaryOp::sigmoid:
      return map_dense<T>(x, y, vector_math::sigmoid<T>);
    case UnaryOp::relu:
      // NaN stays NaN.
      return map<T, T>(x, y, [](T v) { return v < 0 ? T{0} : v; });
    case UnaryOp::gelu:
      return map<T, T>(x, y, [](T v) { return v * normal_cdf(v); });
    case UnaryOp::gelu_tanh:
      return map<T, T>(x, y, [](T v) { return T{0.5} * v * (1 + std::tanh(gelu_tanh_inner(v))); });
    case UnaryOp::silu:
      return map<T, T>(x, y, [](T v) { return v * logistic(v); });
  }
}

// dx = dy * slope(kept), kept being x or y as the op reads.
template <typename T>
void backward_for(UnaryOp op, const Tensor& x, const Tensor& y, const Tensor& dy,
                  const Tensor& dx) {
  const auto with = [&](const Tensor& kept, auto slope) {
    map<T, T>(kept, dy, dx, [slope](T v, T g) { return g * slope(v); });
  };
  switch (op) {
    case UnaryOp::negate:
      return map<T, T>(dy, dx, [](T g) { return -g; });
    case UnaryOp::absolute:
      return with(x, [](T v) { return static_cast<T>((v > 0) - (v < 0)); });
    case UnaryOp::square:
      return with(x, [](T v) { return 2 * v; });
    case UnaryOp::square_root:
      return with(y, [](T v) { return T{0.5} / v; });
    case UnaryOp::exponential:
      return with(y, [](T v) { return v; });
    case UnaryOp::logarithm:
      return with(x, [](T v) { return 1 / v; });
    case UnaryOp::tanh:
      return with(y, [](T v) { return 1 - v * v; });
    case UnaryOp::sigmoid:
      return with(y, [](T v) { return v * (1 - v); });
    case UnaryOp::relu:
      return map<T, T>(y, dy, dx, [](T v, T g) { return v > 0 || v != v ? g : T{0}; });
    case UnaryOp::gelu:
      return with(x, [](T v) { return normal_cdf(v) + v * normal_pdf(v); });
    case UnaryOp::gelu_tanh:
      return with(x, [](T v) {
        constexpr T scale = std::numbers::sqrt2_v<T> * std::numbers::inv_sqrtpi_v<T>;
        const T t = std::tanh(gelu_tanh_inner(v));
        const T inner_slope = scale * (1 + 3 * T{0.044715} * v * v);
        return T{0.5} * (1 + t) + T{0.5} * v * (1 - t * t) * inner_slope;
      });
    case UnaryOp::silu:
      return with(x, [](T v) {
        const T s = logistic(v);
        return s * (1 + v * (1 - s));
      });
  }
}

}  // namespace

void CpuBackend::unary(UnaryOp op, const Tensor& x, const Tensor& y) {
  dispatch_floating("unary", x.dtype(), [&]<typename T>(T) { unary_for<T>(op, x, y); });
}

void CpuBackend::unary_backward(UnaryOp op, const Tensor& x, const Tensor& y, const Tensor& dy,
                                const Tensor& dx) {
  dispatch_floating("unary_backward", dy.dtype(),
                    [&]<typename T>(T) { backward_for<T>(op, x, y, dy, dx); });
}

}  // namespace heed::kernels
