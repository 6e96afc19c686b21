#include <cmath>

#include "kernels/cuda/cuda_backend.h"
#include "kernels/cuda/elements.h"
#include "kernels/cuda/sigmoid.h"

namespace heed::kernels {
namespace cuda {

// 1 - G(t) for a gate G and t >= 0, and G'(t).
template <typename T>
struct ShutGate {
  T q;
  T s;
};

// G = sigmoid(a), a >= 0 given with its derivative.
template <typename T>
__device__ ShutGate<T> logistic_gate(T a, T slope) {
  const T e = std::exp(-a);
  const T q = e / (1 + e);
  return {q, (q - q * q) * slope};
}

template <typename T>
__device__ ShutGate<T> gate_at(UnaryOp op, T t) {
  if (op == UnaryOp::gelu) {
    constexpr T root_half = static_cast<T>(0.70710678118654752);
    constexpr T inverse_root_two_pi = static_cast<T>(0.39894228040143268);
    return {T{0.5} * std::erfc(t * root_half), inverse_root_two_pi * std::exp(T{-0.5} * t * t)};
  }
  if (op == UnaryOp::gelu_tanh) {
    // (1 + tanh(z)) / 2 = sigmoid(2 z)
    constexpr T scale = static_cast<T>(1.5957691216057308);  // 2 sqrt(2 / pi)
    constexpr T cubic = static_cast<T>(1.5957691216057308 * 0.044715);
    const T square = t * t;
    return logistic_gate(t * (cubic * square + scale), 3 * cubic * square + scale);
  }
  return logistic_gate(t, T{1});
}

// |x|, but no farther than where every gate is shut to the last bit: t q = 0 even for an infinite
// x.
template <typename T>
__device__ T distance(T x) {
  const T most = sizeof(T) == 4 ? T{110} : T{1010};
  const T t = std::abs(x);
  return t > most ? most : t;
}

template <typename T>
__device__ T gated(UnaryOp op, T x) {
  const T t = distance(x);
  return (x < 0 ? T{0} : x) - t * gate_at(op, t).q;
}

template <typename T>
__device__ T gated_slope(UnaryOp op, T x) {
  const T t = distance(x);
  const ShutGate<T> shut = gate_at(op, t);
  const T slope = shut.q - t * shut.s;
  return x < 0 ? slope : 1 - slope;
}

template <typename T>
__device__ T unary_value(UnaryOp op, T x) {
  switch (op) {
    case UnaryOp::negate:
      return -x;
    case UnaryOp::absolute:
      return std::abs(x);
    case UnaryOp::square:
      return x * x;
    case UnaryOp::square_root:
      return std::sqrt(x);
    case UnaryOp::exponential:
      return std::exp(x);
    case UnaryOp::logarithm:
      return std::log(x);
    case UnaryOp::tanh:
      return std::tanh(x);
    case UnaryOp::sigmoid:
      return sigmoid(x);
    case UnaryOp::relu:
      return x < 0 ? T{0} : x;  // NaN stays NaN
    default:
      return gated(op, x);
  }
}

// Whether the derivative is a function of y.
bool reads_output(UnaryOp op) {
  return op == UnaryOp::square_root || op == UnaryOp::exponential || op == UnaryOp::tanh ||
         op == UnaryOp::sigmoid || op == UnaryOp::relu;
}

// dy times the derivative; kept is x or y, as the op reads.
template <typename T>
__device__ T unary_gradient(UnaryOp op, T kept, T dy) {
  switch (op) {
    case UnaryOp::negate:
      return -dy;
    case UnaryOp::absolute:
      return dy * static_cast<T>((kept > 0) - (kept < 0));
    case UnaryOp::square:
      return dy * (2 * kept);
    case UnaryOp::square_root:
      return dy * (T{0.5} / kept);
    case UnaryOp::exponential:
      return dy * kept;
    case UnaryOp::logarithm:
      return dy * (1 / kept);
    case UnaryOp::tanh:
      return dy * (1 - kept * kept);
    case UnaryOp::sigmoid:
      return dy * (kept * (1 - kept));
    case UnaryOp::relu:
      return kept > 0 || kept != kept ? dy : T{0};
    default:
      return dy * gated_slope(op, kept);
  }
}

template <typename T>
void unary_for(UnaryOp op, const Tensor& x, const Tensor& y) {
  const T* px = x.data<T>();
  T* py = y.data<T>();
  for_each_element<2>({&y, &x}, [=] __device__(int64_t, const int64_t* at) {
    py[at[0]] = unary_value(op, px[at[1]]);
  });
}

template <typename T>
void unary_backward_for(UnaryOp op, const Tensor& kept, const Tensor& dy, const Tensor& dx) {
  const T* pk = kept.data<T>();
  const T* pg = dy.data<T>();
  T* out = dx.data<T>();
  for_each_element<3>({&dx, &kept, &dy}, [=] __device__(int64_t, const int64_t* at) {
    out[at[0]] = unary_gradient(op, pk[at[1]], pg[at[2]]);
  });
}

}  // namespace cuda

void CudaBackend::unary(UnaryOp op, const Tensor& x, const Tensor& y) {
  dispatch_floating("unary", x.dtype(), [&]<typename T>(T) { cuda::unary_for<T>(op, x, y); });
}

void CudaBackend::unary_backward(UnaryOp op, const Tensor& x, const Tensor& y, const Tensor& dy,
                                 const Tensor& dx) {
  // Negation reads neither.
  const Tensor& kept = op == UnaryOp::negate ? dy : cuda::reads_output(op) ? y : x;
  dispatch_floating("unary_backward", dy.dtype(),
                    [&]<typename T>(T) { cuda::unary_backward_for<T>(op, kept, dy, dx); });
}

}  // namespace heed::kernels
