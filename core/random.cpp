#include "core/random.h"

#include <cmath>
#include <numbers>

#include "core/error.h"

namespace heed {

std::array<uint32_t, 4> philox_block(uint64_t seed, uint64_t stream, uint64_t block) {
  // Constants of Salmon et al. 2011, section 3.3 and the Philox-4x32 reference.
  constexpr uint32_t multiplier_0 = 0xD2511F53;
  constexpr uint32_t multiplier_1 = 0xCD9E8D57;
  constexpr uint32_t weyl_0 = 0x9E3779B9;
  constexpr uint32_t weyl_1 = 0xBB67AE85;
  std::array<uint32_t, 4> c = {static_cast<uint32_t>(block), static_cast<uint32_t>(block >> 32),
                               static_cast<uint32_t>(stream), static_cast<uint32_t>(stream >> 32)};
  auto key_0 = static_cast<uint32_t>(seed);
  auto key_1 = static_cast<uint32_t>(seed >> 32);
  for (int round = 0; round < 10; ++round) {
    const uint64_t product_0 = uint64_t{multiplier_0} * c[0];
    const uint64_t product_1 = uint64_t{multiplier_1} * c[2];
    c = {static_cast<uint32_t>(product_1 >> 32) ^ c[1] ^ key_0, static_cast<uint32_t>(product_1),
         static_cast<uint32_t>(product_0 >> 32) ^ c[3] ^ key_1, static_cast<uint32_t>(product_0)};
    key_0 += weyl_0;
    key_1 += weyl_1;
  }
  return c;
}

float philox_uniform(const RandomState& state, uint64_t index) {
  const uint64_t position = state.offset + index;
  const auto block = philox_block(state.seed, state.stream, position / 4);
  return static_cast<float>(block[position % 4] >> 8) * 0x1.0p-24F;
}

RandomState Generator::reserve(uint64_t count) {
  const RandomState start = state_;
  state_.offset += count;
  return start;
}

uint32_t Generator::next_u32() {
  const uint64_t position = state_.offset++;
  return philox_block(state_.seed, state_.stream, position / 4)[position % 4];
}

uint64_t Generator::next_u64() {
  const uint64_t low = next_u32();
  return low | (uint64_t{next_u32()} << 32);
}

double Generator::uniform() { return static_cast<double>(next_u64() >> 11) * 0x1.0p-53; }

double Generator::normal() {
  const double radius = std::sqrt(-2.0 * std::log(1.0 - uniform()));
  return radius * std::cos(2.0 * std::numbers::pi * uniform());
}

uint64_t Generator::below(uint64_t bound) {
  HEED_ASSERT(bound > 0, "no number is below 0");
  // Rejects the tail that would make small results likelier.
  const uint64_t limit = ~uint64_t{0} - ~uint64_t{0} % bound;
  uint64_t number = next_u64();
  while (number >= limit) {
    number = next_u64();
  }
  return number % bound;
}

Generator& default_generator() {
  static Generator generator;
  return generator;
}

}  // namespace heed
