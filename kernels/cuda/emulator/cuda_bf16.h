#pragma once

#include <bit>
#include <cstdint>

#include "core/export.h"

// The upper half of an f32, and the tensor cores' product of such numbers: what heed uses of them.

struct __nv_bfloat16 {
  uint16_t bits;
};
struct __nv_bfloat162 {
  __nv_bfloat16 x, y;
};

// To the nearest, to even from the middle; NaN stays NaN.
inline __nv_bfloat16 __float2bfloat16_rn(float x) {
  const auto bits = std::bit_cast<uint32_t>(x);
  if (x != x) {
    return {0x7fff};
  }
  return {static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16)};
}
inline __nv_bfloat162 __floats2bfloat162_rn(float x, float y) {
  return {__float2bfloat16_rn(x), __float2bfloat16_rn(y)};
}
inline float __bfloat162float(__nv_bfloat16 x) {
  return std::bit_cast<float>(uint32_t{x.bits} << 16);
}

namespace heed::emulator {

// mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32, c += a b, for all lanes of a warp.
HEED_EXPORT void mma(float (&c)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]);

}  // namespace heed::emulator
