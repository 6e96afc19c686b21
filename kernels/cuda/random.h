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

  // Number `index` of Philox 4x32-10 (Salmon et al. 2011) past the state's offset.
  __device__ uint32_t number(uint64_t index) const {
    const uint64_t position = random.offset + index;
    const uint64_t block = position / 4;
    uint32_t c[4] = {static_cast<uint32_t>(block), static_cast<uint32_t>(block >> 32),
                     static_cast<uint32_t>(random.stream),
                     static_cast<uint32_t>(random.stream >> 32)};
    auto key_0 = static_cast<uint32_t>(random.seed);
    auto key_1 = static_cast<uint32_t>(random.seed >> 32);
    for (int round = 0; round < 10; ++round) {
      const uint64_t product_0 = uint64_t{0xD2511F53} * c[0];
      const uint64_t product_1 = uint64_t{0xCD9E8D57} * c[2];
      c[0] = static_cast<uint32_t>(product_1 >> 32) ^ c[1] ^ key_0;
      c[1] = static_cast<uint32_t>(product_1);
      c[2] = static_cast<uint32_t>(product_0 >> 32) ^ c[3] ^ key_1;
      c[3] = static_cast<uint32_t>(product_0);
      key_0 += 0x9E3779B9;
      key_1 += 0xBB67AE85;
    }
    return c[position % 4];
  }
  __device__ bool keeps(uint64_t index) const { return number(index) >> 8 >= threshold; }
};

}  // namespace heed::kernels::cuda
