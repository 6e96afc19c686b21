#include <cmath>

#include "kernels/cpu/vector_math.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/vector_norms.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for each instruction set.
#include <hwy/highway.h>

#include "kernels/cpu/vector_loops-inl.h"

HWY_BEFORE_NAMESPACE();
namespace heed::kernels::vector_math {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// The normalised x[i] before its weight.
template <class D, typename T>
HWY_INLINE hn::Vec<D> standard(D d, const T* x, const RowNorm<T>& norm, size_t i) {
  return hn::Mul(hn::Sub(hn::LoadU(d, x + i), hn::Set(d, norm.mean)), hn::Set(d, norm.rstd));
}

template <typename T>
HWY_INLINE RowNorm<T> normalize(Centring centring, T epsilon, const T* x, const T* w, const T* b,
                                T* y, size_t n) {
  const auto width = static_cast<T>(n);
  RowNorm<T> norm{0, 1};
  if (centring == Centring::mean) {
    norm.mean =
        sum_of<T>(n, [&](auto d, size_t i) HWY_ATTR { return hn::LoadU(d, x + i); }) / width;
  }
  const T squares = sum_of<T>(n, [&](auto d, size_t i) HWY_ATTR {
    const auto v = hn::Sub(hn::LoadU(d, x + i), hn::Set(d, norm.mean));
    return hn::Mul(v, v);
  });
  norm.rstd = 1 / std::sqrt(squares / width + epsilon);
  for_each_vector<T>(n, [&](auto d, size_t i) HWY_ATTR {
    const auto v = hn::Mul(standard(d, x, norm, i), hn::LoadU(d, w + i));
    hn::StoreU(b == nullptr ? v : hn::Add(v, hn::LoadU(d, b + i)), d, y + i);
  });
  return norm;
}

// With xhat = (x - mean) rstd and h = dy w: dx = rstd (h - mean(h) - xhat mean(h xhat)), without
// mean(h) where no mean was taken off.
template <typename T>
HWY_INLINE void normalize_backward(Centring centring, const RowNorm<T>& norm, const T* x,
                                   const T* w, const T* dy, T* dx, T* dw, T* db, size_t n) {
  const auto width = static_cast<T>(n);
  const T slope = sum_of<T>(n,
                            [&](auto d, size_t i) HWY_ATTR {
                              const auto term =
                                  hn::Mul(hn::LoadU(d, dy + i), standard(d, x, norm, i));
                              hn::StoreU(hn::Add(hn::LoadU(d, dw + i), term), d, dw + i);
                              return hn::Mul(term, hn::LoadU(d, w + i));
                            }) /
                  width;
  T shift = 0;
  if (centring == Centring::mean) {
    shift =
        sum_of<T>(n, [&](auto d, size_t i)
                         HWY_ATTR { return hn::Mul(hn::LoadU(d, dy + i), hn::LoadU(d, w + i)); }) /
        width;
  }
  for_each_vector<T>(n, [&](auto d, size_t i) HWY_ATTR {
    const auto g = hn::LoadU(d, dy + i);
    const auto h = hn::MulSub(g, hn::LoadU(d, w + i), hn::Set(d, shift));
    const auto v = hn::NegMulAdd(standard(d, x, norm, i), hn::Set(d, slope), h);
    if (db != nullptr) {
      hn::StoreU(hn::Add(hn::LoadU(d, db + i), g), d, db + i);
    }
    hn::StoreU(hn::Mul(hn::Set(d, norm.rstd), v), d, dx + i);
  });
}

RowNorm<float> normalize_f32(Centring centring, float epsilon, const float* x, const float* w,
                             const float* b, float* y, size_t n) {
  return normalize(centring, epsilon, x, w, b, y, n);
}
RowNorm<double> normalize_f64(Centring centring, double epsilon, const double* x, const double* w,
                              const double* b, double* y, size_t n) {
  return normalize(centring, epsilon, x, w, b, y, n);
}
void normalize_backward_f32(Centring centring, const RowNorm<float>& norm, const float* x,
                            const float* w, const float* dy, float* dx, float* dw, float* db,
                            size_t n) {
  normalize_backward(centring, norm, x, w, dy, dx, dw, db, n);
}
void normalize_backward_f64(Centring centring, const RowNorm<double>& norm, const double* x,
                            const double* w, const double* dy, double* dx, double* dw, double* db,
                            size_t n) {
  normalize_backward(centring, norm, x, w, dy, dx, dw, db, n);
}

}  // namespace HWY_NAMESPACE
}  // namespace heed::kernels::vector_math
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace heed::kernels::vector_math {

HWY_EXPORT(normalize_f32);
HWY_EXPORT(normalize_f64);
HWY_EXPORT(normalize_backward_f32);
HWY_EXPORT(normalize_backward_f64);

template <>
RowNorm<float> normalize(Centring centring, float epsilon, const float* x, const float* w,
                         const float* b, float* y, int64_t n) {
  return HWY_DYNAMIC_DISPATCH(normalize_f32)(centring, epsilon, x, w, b, y, static_cast<size_t>(n));
}
template <>
RowNorm<double> normalize(Centring centring, double epsilon, const double* x, const double* w,
                          const double* b, double* y, int64_t n) {
  return HWY_DYNAMIC_DISPATCH(normalize_f64)(centring, epsilon, x, w, b, y, static_cast<size_t>(n));
}
template <>
void normalize_backward(Centring centring, const RowNorm<float>& norm, const float* x,
                        const float* w, const float* dy, float* dx, float* dw, float* db,
                        int64_t n) {
  HWY_DYNAMIC_DISPATCH(normalize_backward_f32)
  (centring, norm, x, w, dy, dx, dw, db, static_cast<size_t>(n));
}
template <>
void normalize_backward(Centring centring, const RowNorm<double>& norm, const double* x,
                        const double* w, const double* dy, double* dx, double* dw, double* db,
                        int64_t n) {
  HWY_DYNAMIC_DISPATCH(normalize_backward_f64)
  (centring, norm, x, w, dy, dx, dw, db, static_cast<size_t>(n));
}

}  // namespace heed::kernels::vector_math
#endif  // HWY_ONCE
