#include <cstring>

#include "kernels/cuda/emulator/cuda_bf16.h"
#include "kernels/cuda/emulator/cuda_runtime.h"

namespace heed::emulator {
namespace {

// Two words of every lane of the warp, as four numbers.
struct Numbers {
  float of_lane[warpSize][4];

  Numbers(uint32_t first, uint32_t second) {
    const uint32_t own[2] = {first, second};
    LaneValue value;
    std::memcpy(value.bytes, own, sizeof(own));
    const LaneValue* all = exchange(0xffffffff, value);
    for (int lane = 0; lane < warpSize; ++lane) {
      __nv_bfloat16 halves[4];
      std::memcpy(halves, all[lane].bytes, sizeof(halves));
      for (int i = 0; i < 4; ++i) {
        of_lane[lane][i] = __bfloat162float(halves[i]);
      }
    }
  }
};

}  // namespace

// PTX ISA, "Matrix Fragments for mma.m16n8k16 with floating point type", for lane 4 group + place:
//   a_i: row group, + 8 unless i < 2 or 4 <= i < 6; column 2 place + i % 2, + 8 for i >= 4
//   b_i: row 2 place + i % 2, + 8 for i >= 2; column group
//   c_i: row group, + 8 for i >= 2; column 2 place + i % 2
void mma(float (&c)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
  const Numbers left[2] = {{a[0], a[1]}, {a[2], a[3]}};  // columns from 0, from 8
  const Numbers right(b[0], b[1]);
  const int group = lane() / 4;
  const int place = lane() % 4;
  for (int i = 0; i < 4; ++i) {
    for (int k = 0; k < 16; ++k) {
      const int holder = k % 8 / 2;  // the place of the lanes that have it
      c[i] += left[k / 8].of_lane[4 * group + holder][i / 2 * 2 + k % 2] *
              right.of_lane[4 * (2 * place + i % 2) + holder][k / 8 * 2 + k % 2];
    }
  }
}

}  // namespace heed::emulator
