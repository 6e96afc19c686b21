#include "kernels/cpu/vector_math.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/vector_math.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for each instruction set.
#include <hwy/contrib/math/math-inl.h>
#include <hwy/highway.h>

#include "kernels/cpu/vector_loops-inl.h"

HWY_BEFORE_NAMESPACE();
namespace heed::kernels::vector_math {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class D, class V>
HWY_INLINE V exp_of(D d, V x) {
  // Highway's Exp maps what underflows to 0, but is undefined for what overflows and for NaN.
  // x + inf is NaN or inf as x asks.
  const V largest = hn::Set(d, sizeof(hn::TFromD<D>) == 4 ? 88.72283 : 709.782712893384);
  return hn::IfThenElse(hn::Le(x, largest), hn::Exp(d, x), hn::Add(x, hn::Inf(d)));
}

template <class D, class V>
HWY_INLINE V tanh_of(D d, V x) {
  // tanh |x| = -e / (2 + e), e = expm1(-2 |x|): exact near 0, never overflows; then x's sign.
  const V magnitude = hn::Abs(x);
  const V e = hn::Expm1(d, hn::Mul(hn::Set(d, -2), magnitude));
  const V y = hn::Div(hn::Neg(e), hn::Add(e, hn::Set(d, 2)));
  return hn::IfThenElse(hn::IsNaN(x), x, hn::CopySign(y, x));
}

template <class D, class V>
HWY_INLINE V sigmoid_of(D d, V x) {
  // e / (1 + e) or 1 / (1 + e) with e = exp(-|x|): no overflow on either side.
  const V one = hn::Set(d, 1);
  const V e = exp_of(d, hn::Neg(hn::Abs(x)));
  const V numerator = hn::IfThenElse(hn::Lt(x, hn::Zero(d)), e, one);
  return hn::Div(numerator, hn::Add(one, e));
}

template <class D, class V>
HWY_INLINE V log_of(D d, V x) {
  const V inf = hn::Inf(d);
  V y = hn::Log(d, x);
  y = hn::IfThenElse(hn::Eq(x, hn::Zero(d)), hn::Neg(inf), y);
  y = hn::IfThenElse(hn::Eq(x, inf), inf, y);
  y = hn::IfThenElse(hn::Lt(x, hn::Zero(d)), hn::NaN(d), y);
  return hn::IfThenElse(hn::IsNaN(x), x, y);
}

// y = f(x) over an array; the tail is padded into a full vector.
template <typename T, class F>
HWY_INLINE void map(const T* x, T* y, size_t n, F f) {
  const hn::ScalableTag<T> d;
  const size_t lanes = hn::Lanes(d);
  size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    hn::StoreU(f(d, hn::LoadU(d, x + i)), d, y + i);
  }
  if (i < n) {
    HWY_ALIGN T tail[HWY_MAX_BYTES / sizeof(T)] = {};
    for (size_t k = i; k < n; ++k) {
      tail[k - i] = x[k];
    }
    hn::Store(f(d, hn::Load(d, tail)), d, tail);
    for (size_t k = i; k < n; ++k) {
      y[k] = tail[k - i];
    }
  }
}

#define HEED_MAP(name, function)                                          \
  void name##_f32(const float* x, float* y, size_t n) {                   \
    map(x, y, n, [](auto d, auto v) HWY_ATTR { return function(d, v); }); \
  }                                                                       \
  void name##_f64(const double* x, double* y, size_t n) {                 \
    map(x, y, n, [](auto d, auto v) HWY_ATTR { return function(d, v); }); \
  }
HEED_MAP(exp, exp_of)
HEED_MAP(log, log_of)
HEED_MAP(tanh, tanh_of)
HEED_MAP(sigmoid, sigmoid_of)
#undef HEED_MAP

template <typename T>
HWY_INLINE T largest_of(const T* x, size_t n) {
  const hn::ScalableTag<T> d;
  const size_t lanes = hn::Lanes(d);
  T largest = x[0];
  bool nan = false;
  size_t i = 0;
  if (lanes <= n) {
    auto most = hn::LoadU(d, x);
    auto unordered = hn::IsNaN(most);
    for (i = lanes; i + lanes <= n; i += lanes) {
      const auto v = hn::LoadU(d, x + i);
      unordered = hn::Or(unordered, hn::IsNaN(v));
      most = hn::Max(most, v);
    }
    nan = !hn::AllFalse(d, unordered);
    largest = hn::GetLane(hn::MaxOfLanes(d, most));
  }
  for (; i < n; ++i) {
    nan |= x[i] != x[i];
    largest = x[i] > largest ? x[i] : largest;
  }
  return nan || x[0] != x[0] ? hn::GetLane(hn::NaN(d)) : largest;
}
template <typename T>
HWY_INLINE int64_t first_above(const T* x, T bound, size_t n) {
  const hn::ScalableTag<T> d;
  const size_t lanes = hn::Lanes(d);
  size_t i = 0;
  while (i + lanes <= n && hn::AllTrue(d, hn::Le(hn::LoadU(d, x + i), hn::Set(d, bound)))) {
    i += lanes;
  }
  while (i < n && x[i] <= bound) {
    ++i;
  }
  return static_cast<int64_t>(i);
}
template <typename T>
HWY_INLINE T sum_below(const T* x, T top, size_t n) {
  return sum_of<T>(
      n, [&](auto d, size_t i) HWY_ATTR { return hn::Sub(hn::Set(d, top), hn::LoadU(d, x + i)); });
}
template <typename T>
HWY_INLINE T exp_minus(const T* x, T shift, T* y, size_t n) {
  return sum_of<T>(n, [&](auto d, size_t i) HWY_ATTR {
    const auto e = exp_of(d, hn::Sub(hn::LoadU(d, x + i), hn::Set(d, shift)));
    hn::StoreU(e, d, y + i);
    return e;
  });
}
template <typename T>
HWY_INLINE T sum_exp_minus(const T* x, T shift, size_t n) {
  return sum_of<T>(n, [&](auto d, size_t i) HWY_ATTR {
    return exp_of(d, hn::Sub(hn::LoadU(d, x + i), hn::Set(d, shift)));
  });
}
template <typename T>
HWY_INLINE T tanh_of_sum(const T* a, const T* b, T* y, size_t n) {
  return sum_of<T>(n, [&](auto d, size_t i) HWY_ATTR {
    const auto t = tanh_of(d, hn::Add(hn::LoadU(d, a + i), hn::LoadU(d, b + i)));
    hn::StoreU(t, d, y + i);
    return t;
  });
}
template <typename T>
HWY_INLINE T dot_tanh_of_sum(const T* w, const T* a, const T* b, size_t n) {
  return sum_of<T>(n, [&](auto d, size_t i) HWY_ATTR {
    const auto t = tanh_of(d, hn::Add(hn::LoadU(d, a + i), hn::LoadU(d, b + i)));
    return hn::Mul(hn::LoadU(d, w + i), t);
  });
}

float largest_of_f32(const float* x, size_t n) { return largest_of(x, n); }
double largest_of_f64(const double* x, size_t n) { return largest_of(x, n); }
int64_t first_above_f32(const float* x, float bound, size_t n) { return first_above(x, bound, n); }
int64_t first_above_f64(const double* x, double bound, size_t n) {
  return first_above(x, bound, n);
}
float sum_below_f32(const float* x, float top, size_t n) { return sum_below(x, top, n); }
double sum_below_f64(const double* x, double top, size_t n) { return sum_below(x, top, n); }
float exp_minus_f32(const float* x, float shift, float* y, size_t n) {
  return exp_minus(x, shift, y, n);
}
double exp_minus_f64(const double* x, double shift, double* y, size_t n) {
  return exp_minus(x, shift, y, n);
}
float sum_exp_minus_f32(const float* x, float shift, size_t n) {
  return sum_exp_minus(x, shift, n);
}
double sum_exp_minus_f64(const double* x, double shift, size_t n) {
  return sum_exp_minus(x, shift, n);
}
void tanh_of_sum_f32(const float* a, const float* b, float* y, size_t n) {
  tanh_of_sum(a, b, y, n);
}
void tanh_of_sum_f64(const double* a, const double* b, double* y, size_t n) {
  tanh_of_sum(a, b, y, n);
}
float dot_tanh_of_sum_f32(const float* w, const float* a, const float* b, size_t n) {
  return dot_tanh_of_sum(w, a, b, n);
}
double dot_tanh_of_sum_f64(const double* w, const double* a, const double* b, size_t n) {
  return dot_tanh_of_sum(w, a, b, n);
}

}  // namespace HWY_NAMESPACE
}  // namespace heed::kernels::vector_math
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace heed::kernels::vector_math {

// The dispatch tables and the entry points, one a function and type.
#define HEED_DISPATCH(result, name, parameters, ...)                              \
  HWY_EXPORT(name##_f32);                                                         \
  HWY_EXPORT(name##_f64);                                                         \
  template <>                                                                     \
  result(float) name(parameters(float), int64_t n) {                              \
    return HWY_DYNAMIC_DISPATCH(name##_f32)(__VA_ARGS__, static_cast<size_t>(n)); \
  }                                                                               \
  template <>                                                                     \
  result(double) name(parameters(double), int64_t n) {                            \
    return HWY_DYNAMIC_DISPATCH(name##_f64)(__VA_ARGS__, static_cast<size_t>(n)); \
  }
#define HEED_VOID(T) void
#define HEED_VALUE(T) T
#define HEED_INDEX(T) int64_t
#define HEED_X(T) const T* x
#define HEED_X_Y(T) const T *x, T *y
#define HEED_X_SHIFT_Y(T) const T *x, T shift, T *y
#define HEED_X_SHIFT(T) const T *x, T shift
#define HEED_A_B_Y(T) const T *a, const T *b, T *y
#define HEED_W_A_B(T) const T *w, const T *a, const T *b
HEED_DISPATCH(HEED_VOID, exp, HEED_X_Y, x, y)
HEED_DISPATCH(HEED_VOID, log, HEED_X_Y, x, y)
HEED_DISPATCH(HEED_VOID, tanh, HEED_X_Y, x, y)
HEED_DISPATCH(HEED_VOID, sigmoid, HEED_X_Y, x, y)
HEED_DISPATCH(HEED_VALUE, largest_of, HEED_X, x)
HEED_DISPATCH(HEED_INDEX, first_above, HEED_X_SHIFT, x, shift)
HEED_DISPATCH(HEED_VALUE, sum_below, HEED_X_SHIFT, x, shift)
HEED_DISPATCH(HEED_VALUE, exp_minus, HEED_X_SHIFT_Y, x, shift, y)
HEED_DISPATCH(HEED_VALUE, sum_exp_minus, HEED_X_SHIFT, x, shift)
HEED_DISPATCH(HEED_VOID, tanh_of_sum, HEED_A_B_Y, a, b, y)
HEED_DISPATCH(HEED_VALUE, dot_tanh_of_sum, HEED_W_A_B, w, a, b)

std::string instruction_set() {
  for (const int64_t target : {HWY_AVX3_DL, HWY_AVX3, HWY_AVX2, HWY_SSE4, HWY_SSSE3, HWY_NEON}) {
    if ((hwy::SupportedTargets() & target) != 0) {
      return hwy::TargetName(target);
    }
  }
  return "scalar";
}

}  // namespace heed::kernels::vector_math
#endif  // HWY_ONCE
