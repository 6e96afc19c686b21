#include <algorithm>
#include <cmath>
#include <cstring>

#include "kernels/cpu/vector_math.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/vector_random.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for each instruction set.
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace heed::kernels::vector_math {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// The 64-bit product of each lane's lower half and the multiplier.
template <class D, class V>
HWY_INLINE V lower_product(D d, V c, uint32_t multiplier) {
#if HWY_TARGET == HWY_SCALAR
  return hn::Mul(hn::And(c, hn::Set(d, 0xFFFFFFFF)), hn::Set(d, multiplier));
#else
  const hn::Repartition<uint32_t, D> halves;
  return hn::MulEven(hn::BitCast(halves, c), hn::BitCast(halves, hn::Set(d, multiplier)));
#endif
}

// core/random.cpp's philox_block, one block a 64-bit lane. Of each lane of c0 .. c3 only the lower
// half counts: the widening product reads no more, and what the upper half holds is never used.
template <class D>
HWY_INLINE void philox_vector(D d, uint64_t seed, uint64_t stream, uint64_t block,
                              uint32_t* numbers) {
  auto c0 = hn::Add(hn::Iota(d, 0), hn::Set(d, block));
  auto c1 = hn::ShiftRight<32>(c0);
  auto c2 = hn::Set(d, stream);
  auto c3 = hn::Set(d, stream >> 32);
  auto key_0 = static_cast<uint32_t>(seed);
  auto key_1 = static_cast<uint32_t>(seed >> 32);
  for (int round = 0; round < 10; ++round) {
    const auto product_0 = lower_product(d, c0, 0xD2511F53);
    const auto product_1 = lower_product(d, c2, 0xCD9E8D57);
    c0 = hn::Xor(hn::Xor(hn::ShiftRight<32>(product_1), c1), hn::Set(d, key_0));
    c1 = product_1;
    c2 = hn::Xor(hn::Xor(hn::ShiftRight<32>(product_0), c3), hn::Set(d, key_1));
    c3 = product_0;
    key_0 += 0x9E3779B9;
    key_1 += 0xBB67AE85;
  }
  const auto lower = hn::Set(d, 0xFFFFFFFF);
  const auto c01 = hn::Or(hn::And(c0, lower), hn::ShiftLeft<32>(c1));
  const auto c23 = hn::Or(hn::And(c2, lower), hn::ShiftLeft<32>(c3));
  HWY_ALIGN uint64_t pairs[2 * HWY_MAX_BYTES / sizeof(uint64_t)];
  hn::StoreInterleaved2(c01, c23, d, pairs);
  std::memcpy(numbers, pairs, hn::Lanes(d) * 4 * sizeof(uint32_t));
}

// The numbers of `blocks` blocks from `block` on.
HWY_INLINE void philox_blocks(const RandomState& random, uint64_t block, size_t blocks,
                              uint32_t* numbers) {
  const hn::ScalableTag<uint64_t> d;
  const hn::CappedTag<uint64_t, 1> one;
  const size_t lanes = hn::Lanes(d);
  size_t i = 0;
  for (; i + lanes <= blocks; i += lanes) {
    philox_vector(d, random.seed, random.stream, block + i, numbers + 4 * i);
  }
  for (; i < blocks; ++i) {
    philox_vector(one, random.seed, random.stream, block + i, numbers + 4 * i);
  }
}

// The upper 24 bits of the numbers, each converted exactly.
template <class D>
HWY_INLINE hn::Vec<D> upper_bits(D d, const uint32_t* numbers) {
  const hn::Rebind<uint32_t, D> u32;
  const hn::Rebind<int32_t, D> i32;
  const auto bits = hn::BitCast(i32, hn::ShiftRight<8>(hn::LoadU(u32, numbers)));
  if constexpr (sizeof(hn::TFromD<D>) == 4) {
    return hn::ConvertTo(d, bits);
  } else {
    return hn::PromoteTo(d, bits);
  }
}

// A uniform is k 2^-24, so k >= p 2^24, rounded up, is the same as uniform >= p for a p of f64.
template <typename T>
HWY_INLINE void dropout(const RandomState& random, double p, const T* x, T* y, size_t n) {
  const hn::ScalableTag<T> d;
  const hn::CappedTag<T, 1> one;
  const auto threshold = static_cast<T>(std::ceil(p * 0x1.0p24));
  const auto scale = static_cast<T>(1 / (1 - p));
  const auto keep = [&](auto tag, const uint32_t* numbers, size_t i) HWY_ATTR {
    const auto kept = hn::Ge(upper_bits(tag, numbers), hn::Set(tag, threshold));
    const auto scaled = hn::Mul(hn::LoadU(tag, x + i), hn::Set(tag, scale));
    hn::StoreU(hn::IfThenElseZero(kept, scaled), tag, y + i);
  };
  constexpr size_t chunk = 1024;
  uint32_t numbers[chunk];
  for (size_t begin = 0; begin < n;) {
    const uint64_t position = random.offset + begin;
    const size_t skipped = position % 4;
    const size_t end = std::min(n, begin + chunk - skipped);
    philox_blocks(random, position / 4, (skipped + end - begin + 3) / 4, numbers);
    const uint32_t* number = numbers + skipped;
    const size_t lanes = hn::Lanes(d);
    for (; begin + lanes <= end; begin += lanes, number += lanes) {
      keep(d, number, begin);
    }
    for (; begin < end; ++begin, ++number) {
      keep(one, number, begin);
    }
  }
}

void dropout_f32(const RandomState& random, double p, const float* x, float* y, size_t n) {
  dropout(random, p, x, y, n);
}
void dropout_f64(const RandomState& random, double p, const double* x, double* y, size_t n) {
  dropout(random, p, x, y, n);
}

}  // namespace HWY_NAMESPACE
}  // namespace heed::kernels::vector_math
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace heed::kernels::vector_math {

HWY_EXPORT(dropout_f32);
HWY_EXPORT(dropout_f64);

template <>
void dropout(const RandomState& random, double p, const float* x, float* y, int64_t n) {
  HWY_DYNAMIC_DISPATCH(dropout_f32)(random, p, x, y, static_cast<size_t>(n));
}
template <>
void dropout(const RandomState& random, double p, const double* x, double* y, int64_t n) {
  HWY_DYNAMIC_DISPATCH(dropout_f64)(random, p, x, y, static_cast<size_t>(n));
}

}  // namespace heed::kernels::vector_math
#endif  // HWY_ONCE
