#include "kernels/cpu/vector_math.h"

// Arrays of vectors need vectors of a known size.
#define HWY_DISABLED_TARGETS (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/vector_products.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for each instruction set.
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace heed::kernels::vector_math {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// y[r] = row r of x . w, for a few rows at once so that w is read once for all of them. Each sum is
// the same whatever rows come with it.
template <int rows, typename T>
HWY_INLINE void dot_rows(const T* HWY_RESTRICT x, const T* HWY_RESTRICT w, int64_t n, T* y,
                         int64_t y_leading) {
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  hn::Vec<decltype(d)> even[rows];
  hn::Vec<decltype(d)> odd[rows];
#pragma GCC unroll 4
  for (int r = 0; r < rows; ++r) {
    even[r] = odd[r] = hn::Zero(d);
  }
  int64_t i = 0;
  for (; i + 2 * lanes <= n; i += 2 * lanes) {
    const auto w_even = hn::LoadU(d, w + i);
    const auto w_odd = hn::LoadU(d, w + i + lanes);
#pragma GCC unroll 4
    for (int r = 0; r < rows; ++r) {
      even[r] = hn::MulAdd(w_even, hn::LoadU(d, x + r * n + i), even[r]);
      odd[r] = hn::MulAdd(w_odd, hn::LoadU(d, x + r * n + i + lanes), odd[r]);
    }
  }
  for (int r = 0; r < rows; ++r) {
    T sum = hn::GetLane(hn::SumOfLanes(d, hn::Add(even[r], odd[r])));
    for (int64_t j = i; j < n; ++j) {
      sum += x[r * n + j] * w[j];
    }
    y[r * y_leading] = sum;
  }
}

template <typename T>
void few_rows_for(const T* x, int64_t rows, int64_t n, const T* w, int64_t outputs, T* y,
                  int64_t y_leading) {
  for (int64_t o = 0; o < outputs; ++o, w += n, ++y) {
    int64_t r = 0;
    for (; r + 4 <= rows; r += 4) {
      dot_rows<4>(x + r * n, w, n, y + r * y_leading, y_leading);
    }
    for (; r < rows; ++r) {
      dot_rows<1>(x + r * n, w, n, y + r * y_leading, y_leading);
    }
  }
}
void few_rows_f32(const float* x, int64_t rows, int64_t n, const float* w, int64_t outputs,
                  float* y, int64_t y_leading) {
  few_rows_for(x, rows, n, w, outputs, y, y_leading);
}
void few_rows_f64(const double* x, int64_t rows, int64_t n, const double* w, int64_t outputs,
                  double* y, int64_t y_leading) {
  few_rows_for(x, rows, n, w, outputs, y, y_leading);
}

}  // namespace HWY_NAMESPACE
}  // namespace heed::kernels::vector_math
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace heed::kernels::vector_math {

HWY_EXPORT(few_rows_f32);
HWY_EXPORT(few_rows_f64);

template <>
void few_rows(const float* x, int64_t rows, int64_t n, const float* w, int64_t outputs, float* y,
              int64_t y_leading) {
  HWY_DYNAMIC_DISPATCH(few_rows_f32)(x, rows, n, w, outputs, y, y_leading);
}
template <>
void few_rows(const double* x, int64_t rows, int64_t n, const double* w, int64_t outputs, double* y,
              int64_t y_leading) {
  HWY_DYNAMIC_DISPATCH(few_rows_f64)(x, rows, n, w, outputs, y, y_leading);
}

}  // namespace heed::kernels::vector_math
#endif  // HWY_ONCE
