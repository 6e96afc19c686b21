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

// core/random.cpp's philox_block, one block a 64-bit lane. Of each lane of c0 .. c3 only the lower
// half counts: the widening product reads no more, and what the upper half holds is never used.
template <class D>
HWY_INLINE void philox_vector(D d, uint64_t seed, uint64_t stream, uint64_t block,
                              uint32_t* numbers) {
  const hn::Repartition<uint32_t, D> halves;
  const auto multiplier_0 = hn::Set(halves, 0xD2511F53);
  const auto multiplier_1 = hn::Set(halves, 0xCD9E8D57);
  auto c0 = hn::Iota(d, block);
  auto c1 = hn::ShiftRight<32>(c0);
  auto c2 = hn::Set(d, stream);
  auto c3 = hn::Set(d, stream >> 32);
  auto key_0 = static_cast<uint32_t>(seed);
  auto key_1 = static_cast<uint32_t>(seed >> 32);
  for (int round = 0; round < 10; ++round) {
    const auto product_0 = hn::MulEven(hn::BitCast(halves, c0), multiplier_0);
    const auto product_1 = hn::MulEven(hn::BitCast(halves, c2), multiplier_1);
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

void philox_blocks(uint64_t seed, uint64_t stream, uint64_t block, size_t blocks,
                   uint32_t* numbers) {
  const hn::ScalableTag<uint64_t> d;
  const hn::CappedTag<uint64_t, 1> one;
  const size_t lanes = hn::Lanes(d);
  size_t i = 0;
  for (; i + lanes <= blocks; i += lanes) {
    philox_vector(d, seed, stream, block + i, numbers + 4 * i);
  }
  for (; i < blocks; ++i) {
    philox_vector(one, seed, stream, block + i, numbers + 4 * i);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace heed::kernels::vector_math
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace heed::kernels::vector_math {

HWY_EXPORT(philox_blocks);

void philox_blocks(uint64_t seed, uint64_t stream, uint64_t block, int64_t blocks,
                   uint32_t* numbers) {
  HWY_DYNAMIC_DISPATCH(philox_blocks)
  (seed, stream, block, static_cast<size_t>(blocks), numbers);
}

}  // namespace heed::kernels::vector_math
#endif  // HWY_ONCE
