// Loops that the vectorised sources share; included once for each instruction set.
#if defined(HEED_VECTOR_LOOPS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef HEED_VECTOR_LOOPS_INL_H
#undef HEED_VECTOR_LOOPS_INL_H
#else
#define HEED_VECTOR_LOOPS_INL_H
#endif

#include <hwy/highway.h>

#include <cstddef>

HWY_BEFORE_NAMESPACE();
namespace heed::kernels::vector_math {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Calls f(d, i) for full vectors, then for single elements.
template <typename T, class F>
HWY_INLINE void for_each_vector(size_t n, F f) {
  const hn::ScalableTag<T> d;
  const hn::CappedTag<T, 1> one;
  const size_t lanes = hn::Lanes(d);
  size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    f(d, i);
  }
  for (; i < n; ++i) {
    f(one, i);
  }
}

// The sum of f(d, i), the terms from i on, as many as d has lanes: full vectors, for the tail
// single elements. f is called once for each, in order, and may write. Each block is added up in
// two vectors of partial sums and the blocks in double, so that many f32 cost no digits however
// short the vectors are.
template <typename T, class F>
HWY_INLINE T sum_of(size_t n, F f) {
  constexpr size_t block = 256;
  const hn::ScalableTag<T> d;
  const hn::CappedTag<T, 1> one;
  const size_t lanes = hn::Lanes(d);
  double sum = 0;
  size_t i = 0;
  while (i + lanes <= n) {
    const size_t end = HWY_MIN(n, i + block);
    auto even = hn::Zero(d);
    auto odd = hn::Zero(d);
    for (; i + 2 * lanes <= end; i += 2 * lanes) {
      even = hn::Add(even, f(d, i));
      odd = hn::Add(odd, f(d, i + lanes));
    }
    for (; i + lanes <= end; i += lanes) {
      even = hn::Add(even, f(d, i));
    }
    sum += static_cast<double>(hn::GetLane(hn::SumOfLanes(d, hn::Add(even, odd))));
  }
  for (; i < n; ++i) {
    sum += static_cast<double>(hn::GetLane(f(one, i)));
  }
  return static_cast<T>(sum);
}

}  // namespace HWY_NAMESPACE
}  // namespace heed::kernels::vector_math
HWY_AFTER_NAMESPACE();

#endif  // HEED_VECTOR_LOOPS_INL_H
