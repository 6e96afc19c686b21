#include <type_traits>

#include "kernels/cpu/vector_math.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/vector_gates.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for each instruction set.
#include <hwy/contrib/math/math-inl.h>
#include <hwy/highway.h>

#include "kernels/cpu/vector_loops-inl.h"

HWY_BEFORE_NAMESPACE();
namespace heed::kernels::vector_math {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// gelu, gelu_tanh and silu are x G(x) with a gate G for which G(-t) = 1 - G(t). So t = |x| is
// enough: with q = G(-t) and s = G'(t) the function is max(x, 0) - t q and its derivative q - t s
// for x < 0, else 1 - (q - t s). A gate that is nearly shut keeps its digits.
template <class V>
struct ShutGate {
  V q;
  V s;
};

// Phi(-t) exp(t^2 / 2) (t + middle), t >= 0, is close to a polynomial in (t - middle) /
// (t + middle): interpolated at Chebyshev nodes, relative error 1.3e-8 and 3.5e-17 as far as the
// exponential does not vanish. Highest power first.
template <typename T>
struct NormalTail;
template <>
struct NormalTail<float> {
  static constexpr float middle = 4;
  static constexpr float coefficients[] = {
      -0.000122983157F, 0.000194801851F, 0.00156931365F, -0.00352357406F, -0.00752721291F,
      0.0604064697F,    -0.186523006F,   0.38713668F,    -0.607896606F,   0.755285139F};
};
template <>
struct NormalTail<double> {
  static constexpr double middle = 5;
  static constexpr double coefficients[] = {
      2.2304911837475154e-9,  7.6474438823067537e-9,   -1.0615818017825730e-8,
      -6.6715049659306704e-8, 4.3729097145162108e-8,   4.3447513853283171e-7,
      -3.3745543123857965e-7, -2.7703359213845883e-6,  3.9811552599990381e-6,
      1.6681705436903142e-5,  -4.9762842744794916e-5,  -5.9375865414441353e-5,
      0.00054489906036254704, -0.00079786937521699111, -0.0029933767687916884,
      0.020795066797619541,   -0.069118638706500927,   0.16502036617049741,
      -0.31353315667129644,   0.49530561596997421,     -0.66538250289005679,
      0.76919304975006297};
};

template <class D, class V>
HWY_INLINE ShutGate<V> normal_gate(D d, V t) {
  using Tail = NormalTail<hn::TFromD<D>>;
  const V inverse = hn::Div(hn::Set(d, 1), hn::Add(t, hn::Set(d, Tail::middle)));
  const V u = hn::Mul(hn::Sub(t, hn::Set(d, Tail::middle)), inverse);
  V p = hn::Zero(d);
  for (const auto coefficient : Tail::coefficients) {
    p = hn::MulAdd(p, u, hn::Set(d, coefficient));
  }
  const V e = hn::Exp(d, hn::Mul(hn::Set(d, -0.5), hn::Mul(t, t)));
  constexpr double inverse_root_two_pi = 0.39894228040143268;
  return {hn::Mul(hn::Mul(p, inverse), e), hn::Mul(hn::Set(d, inverse_root_two_pi), e)};
}

// G = sigmoid(a(x)), a >= 0 given with its derivative.
template <class D, class V>
HWY_INLINE ShutGate<V> logistic_gate(D d, V a, V slope) {
  const V e = hn::Exp(d, hn::Neg(a));
  const V q = hn::Div(e, hn::Add(hn::Set(d, 1), e));
  return {q, hn::Mul(hn::NegMulAdd(q, q, q), slope)};
}

// (1 + tanh(z)) / 2 = sigmoid(2 z); Hendrycks & Gimpel 2016: z = sqrt(2 / pi) (x + 0.044715 x^3).
template <class D, class V>
HWY_INLINE ShutGate<V> tanh_gate(D d, V t) {
  constexpr double scale = 1.5957691216057308;  // 2 sqrt(2 / pi)
  const V linear = hn::Set(d, scale);
  const V square = hn::Mul(t, t);
  const V a = hn::Mul(t, hn::MulAdd(hn::Set(d, scale * 0.044715), square, linear));
  return logistic_gate(d, a, hn::MulAdd(hn::Set(d, scale * 3 * 0.044715), square, linear));
}

template <Gate gate, class D, class V>
HWY_INLINE ShutGate<V> gate_at(D d, V t) {
  if constexpr (gate == Gate::gelu) {
    return normal_gate(d, t);
  } else if constexpr (gate == Gate::gelu_tanh) {
    return tanh_gate(d, t);
  } else {
    return logistic_gate(d, t, hn::Set(d, 1));
  }
}

// |x|, but no farther than where every gate is shut to the last bit: nothing overflows, and
// t q = 0 even for an infinite x.
template <class D, class V>
HWY_INLINE V distance(D d, V x) {
  return hn::Min(hn::Abs(x), hn::Set(d, sizeof(hn::TFromD<D>) == 4 ? 110 : 1010));
}

template <Gate gate, class D, class V>
HWY_INLINE V gated_of(D d, V x) {
  const V t = distance(d, x);
  const V open = hn::IfThenZeroElse(hn::Lt(x, hn::Zero(d)), x);  // NaN stays NaN
  return hn::NegMulAdd(t, gate_at<gate>(d, t).q, open);
}

template <Gate gate, class D, class V>
HWY_INLINE V slope_of(D d, V x) {
  const V t = distance(d, x);
  const ShutGate<V> shut = gate_at<gate>(d, t);
  const V slope = hn::NegMulAdd(t, shut.s, shut.q);
  const V either = hn::IfThenElse(hn::Lt(x, hn::Zero(d)), slope, hn::Sub(hn::Set(d, 1), slope));
  return hn::IfThenElse(hn::IsNaN(x), x, either);
}

template <Gate gate, typename T>
void gated_for(const T* x, T* y, size_t n) {
  for_each_vector<T>(n, [&](auto d, size_t i) HWY_ATTR {
    hn::StoreU(gated_of<gate>(d, hn::LoadU(d, x + i)), d, y + i);
  });
}
template <Gate gate, typename T>
void gated_backward_for(const T* x, const T* dy, T* dx, size_t n) {
  for_each_vector<T>(n, [&](auto d, size_t i) HWY_ATTR {
    const auto slope = slope_of<gate>(d, hn::LoadU(d, x + i));
    hn::StoreU(hn::Mul(slope, hn::LoadU(d, dy + i)), d, dx + i);
  });
}

// Calls f with the gate as a type's value.
template <class F>
HWY_INLINE void with_gate(Gate gate, F f) {
  switch (gate) {
    case Gate::gelu:
      return f(std::integral_constant<Gate, Gate::gelu>());
    case Gate::gelu_tanh:
      return f(std::integral_constant<Gate, Gate::gelu_tanh>());
    case Gate::silu:
      return f(std::integral_constant<Gate, Gate::silu>());
  }
}

void gated_f32(Gate gate, const float* x, float* y, size_t n) {
  with_gate(gate, [=](auto g) { gated_for<g.value>(x, y, n); });
}
void gated_f64(Gate gate, const double* x, double* y, size_t n) {
  with_gate(gate, [=](auto g) { gated_for<g.value>(x, y, n); });
}
void gated_backward_f32(Gate gate, const float* x, const float* dy, float* dx, size_t n) {
  with_gate(gate, [=](auto g) { gated_backward_for<g.value>(x, dy, dx, n); });
}
void gated_backward_f64(Gate gate, const double* x, const double* dy, double* dx, size_t n) {
  with_gate(gate, [=](auto g) { gated_backward_for<g.value>(x, dy, dx, n); });
}

}  // namespace HWY_NAMESPACE
}  // namespace heed::kernels::vector_math
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace heed::kernels::vector_math {

HWY_EXPORT(gated_f32);
HWY_EXPORT(gated_f64);
HWY_EXPORT(gated_backward_f32);
HWY_EXPORT(gated_backward_f64);

template <>
void gated(Gate gate, const float* x, float* y, int64_t n) {
  HWY_DYNAMIC_DISPATCH(gated_f32)(gate, x, y, static_cast<size_t>(n));
}
template <>
void gated(Gate gate, const double* x, double* y, int64_t n) {
  HWY_DYNAMIC_DISPATCH(gated_f64)(gate, x, y, static_cast<size_t>(n));
}
template <>
void gated_backward(Gate gate, const float* x, const float* dy, float* dx, int64_t n) {
  HWY_DYNAMIC_DISPATCH(gated_backward_f32)(gate, x, dy, dx, static_cast<size_t>(n));
}
template <>
void gated_backward(Gate gate, const double* x, const double* dy, double* dx, int64_t n) {
  HWY_DYNAMIC_DISPATCH(gated_backward_f64)(gate, x, dy, dx, static_cast<size_t>(n));
}

}  // namespace heed::kernels::vector_math
#endif  // HWY_ONCE
