#pragma once

#include <cuda_bf16.h>

#include <cstdint>
#include <cstring>

#include "kernels/cuda/launch.h"

// Tensor cores: products of bf16 that are added up in f32.
namespace heed::kernels::cuda {

// Two numbers rounded to bf16; the first takes the lower half.
__device__ inline uint32_t bf16_pair(float first, float second) {
  const __nv_bfloat162 pair = __floats2bfloat162_rn(first, second);
  uint32_t word;
  std::memcpy(&word, &pair, sizeof(word));
  return word;
}

// Neither half is inf or NaN.
__device__ inline bool is_finite_pair(uint32_t word) {
  return (word & 0x7f80) != 0x7f80 && (word & 0x7f800000) != 0x7f800000;
}

// c += a b for a (16, 16), b (16, 8), c (16, 8), which the lanes of a warp hold together. Lane
// 4 group + place has of a the rows group and group + 8, of b the column group, in pairs that begin
// at 2 place and 2 place + 8; of c the same rows, in columns 2 place and 2 place + 1 (PTX ISA,
// "Matrix Fragments for mma.m16n8k16").
__device__ inline void mma(float (&c)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
#ifdef HEED_CUDA_EMULATED
  emulator::mma(c, a, b);
#elif __CUDA_ARCH__ >= 800
  asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
      "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#else
  __trap();  // set_precision() refuses bf16 on such a card
#endif
}

}  // namespace heed::kernels::cuda
