#include <algorithm>
#include <array>
#include <cmath>

#include "kernels/cpu/cpu_backend.h"
#include "kernels/cpu/strided.h"
#include "kernels/cpu/vector_math.h"

namespace heed::kernels {
namespace {

using vector_math::Gate;

// f(from, to, n) over dense runs, from[k] being of inputs[k]; others pass through small buffers.
template <typename T, size_t N, typename F>
void map_dense(const std::array<const Tensor*, N>& inputs, const Tensor& y, F f) {
  std::array<const Tensor*, N + 1> operands{};
  std::copy(inputs.begin(), inputs.end(), operands.begin());
  operands[N] = &y;
  for_each_run<N + 1>(operands, [&](const auto& at, const auto& step, int64_t n) {
    constexpr int64_t chunk = 512;
    const bool dense = std::all_of(step.begin(), step.end(), [](int64_t s) { return s == 1; });
    T* to = y.data<T>() + at[N];
    std::array<const T*, N> from{};
    for (size_t k = 0; k < N; ++k) {
      from[k] = inputs[k]->template data<T>() + at[k];
    }
    if (dense) {
      f(from, to, n);
      return;
    }
    T buffers[N][chunk];
    std::array<const T*, N> buffered{};
    for (int64_t begin = 0; begin < n; begin += chunk) {
      const int64_t count = std::min(chunk, n - begin);
      for (size_t k = 0; k < N; ++k) {
        for (int64_t i = 0; i < count; ++i) {
          buffers[k][i] = from[k][(begin + i) * step[k]];
        }
        buffered[k] = buffers[k];
      }
      f(buffered, buffers[0], count);
      for (int64_t i = 0; i < count; ++i) {
        to[(begin + i) * step[N]] = buffers[0][i];
      }
    }
  });
}

template <typename T>
void unary_for(UnaryOp op, const Tensor& x, const Tensor& y) {
  const auto dense = [&](auto f) {
    map_dense<T, 1>({&x}, y, [f](const auto& from, T* to, int64_t n) { f(from[0], to, n); });
  };
  const auto gated = [&](Gate gate) {
    dense([gate](const T* from, T* to, int64_t n) { vector_math::gated(gate, from, to, n); });
  };
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
      return dense(vector_math::exp<T>);
    case UnaryOp::logarithm:
      return dense(vector_math::log<T>);
    case UnaryOp::tanh:
      return dense(vector_math::tanh<T>);
    case UnaryOp::sigmoid:
      return dense(vector_math::sigmoid<T>);
    case UnaryOp::relu:
      // NaN stays NaN.
      return map<T, T>(x, y, [](T v) { return v < 0 ? T{0} : v; });
    case UnaryOp::gelu:
      return gated(Gate::gelu);
    case UnaryOp::gelu_tanh:
      return gated(Gate::gelu_tanh);
    case UnaryOp::silu:
      return gated(Gate::silu);
  }
}

// dx = dy * slope(kept), kept being x or y as the op reads.
template <typename T>
void backward_for(UnaryOp op, const Tensor& x, const Tensor& y, const Tensor& dy,
                  const Tensor& dx) {
  const auto with = [&](const Tensor& kept, auto slope) {
    map<T, T>(kept, dy, dx, [slope](T v, T g) { return g * slope(v); });
  };
  const auto gated = [&](Gate gate) {
    map_dense<T, 2>({&x, &dy}, dx, [gate](const auto& from, T* to, int64_t n) {
      vector_math::gated_backward(gate, from[0], from[1], to, n);
    });
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
      return gated(Gate::gelu);
    case UnaryOp::gelu_tanh:
      return gated(Gate::gelu_tanh);
    case UnaryOp::silu:
      return gated(Gate::silu);
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
