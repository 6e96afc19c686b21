#pragma once

#include <cmath>
#include <cstdint>

#include "core/random.h"
#include "kernels/cuda/launch.h"

// core's Philox on the device: the same numbers.
namespace heed::kernels::cuda {

// What dropout keeps, and by how much it scales that.
struct Dropout {
  RandomState random;
  uint32_t threshold = 0;  // uniform >= p, in units of 2^-24
  double scale = 1;

  Dropout() = default;
  Dropout(double p, const RandomState& state)
      : random(state),
        threshold(static_cast<uint32_t>(std::ceil(std::ldexp(p, 24)))),
        scale(1 / (1 - p)) {}

  // Block `block` of Philox 4x32-10 (Salmon et al. 2011).
  struct Numbers {
    uint32_t words[4];
  };
  __device__ Numbers numbers(uint64_t block) const {
    Numbers c{{static_cast<uint32_t>(block), static_cast<uint32_t>(block >> 32),
               static_cast<uint32_t>(random.stream), static_cast<uint32_t>(random.stream >> 32)}};
    auto key_0 = static_cast<uint32_t>(random.seed);
    auto key_1 = static_cast<uint32_t>(random.seed >> 32);
    for (int round = 0; round < 10; ++round) {
      const uint64_t product_0 = uint64_t{0xD2511F53} * c.words[0];
      const uint64_t product_1 = uint64_t{0xCD9E8D57} * c.words[2];
      c.words[0] = static_cast<uint32_t>(product_1 >> 32) ^ c.words[1] ^ key_0;
      c.words[1] = static_cast<uint32_t>(product_1);
      c.words[2] = static_cast<uint32_t>(product_0 >> 32) ^ c.words[3] ^ key_1;
      c.words[3] = static_cast<uint32_t>(product_0);
      key_0 += 0x9E3779B9;
      key_1 += 0xBB67AE85;
    }
    return c;
  }

  // Of elements first .. first + count - 1, those that lie in the n-th of the blocks of four
  // numbers that they touch, n < blocks(count): calls f(element - first, whether it is kept).
  __host__ __device__ static int64_t blocks(int64_t count) { return (count + 6) / 4; }
  template <typename F>
  __device__ void each_of_block(uint64_t first, int64_t count, int64_t n, F f) const {
    const uint64_t position = random.offset + first;
    const Numbers drawn = numbers(position / 4 + static_cast<uint64_t>(n));
    const int64_t element = 4 * n - static_cast<int64_t>(position % 4);
    HEED_UNROLL
    for (int w = 0; w < 4; ++w) {
      if (element + w >= 0 && element + w < count) {
        f(element + w, drawn.words[w] >> 8 >= threshold);
      }
    }
  }
};

}  // namespace heed::kernels::cuda
