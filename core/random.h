#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/export.h"

namespace heed {

// Philox 4x32-10, a counter-based generator (Salmon et al., "Parallel random numbers: as easy as
// 1, 2, 3", SC 2011). Number i of a stream is a pure function of (seed, stream, i), so results do
// not depend on thread count or device, and a state is three integers.
struct RandomState {
  uint64_t seed = 0;
  uint64_t stream =
      0;  // independent sequences of one seed: initialisation, dropout, shuffling, ...
  uint64_t offset = 0;  // how many 32-bit numbers have been drawn
  bool operator==(const RandomState&) const = default;
};

// The four 32-bit numbers of block `block` (numbers 4 * block .. 4 * block + 3 of the stream).
HEED_EXPORT std::array<uint32_t, 4> philox_block(uint64_t seed, uint64_t stream, uint64_t block);

// Number `index` past state.offset, uniform in [0, 1) with 24 bits.
HEED_EXPORT float philox_uniform(const RandomState& state, uint64_t index);

class HEED_EXPORT Generator {
 public:
  explicit Generator(uint64_t seed = 0, uint64_t stream = 0) : state_{seed, stream, 0} {}
  explicit Generator(const RandomState& state) : state_(state) {}

  const RandomState& state() const { return state_; }
  void set_state(const RandomState& state) { state_ = state; }

  // Sets `count` numbers aside for a kernel and returns the state it starts at.
  RandomState reserve(uint64_t count);

  uint32_t next_u32();
  uint64_t next_u64();
  double uniform();                // [0, 1), 53 bits
  double normal();                 // mean 0, standard deviation 1 (Box-Muller, two draws a number)
  uint64_t below(uint64_t bound);  // [0, bound), unbiased; bound > 0

  // Fisher-Yates.
  template <typename T>
  void shuffle(std::vector<T>& items) {
    for (std::size_t i = items.size(); i > 1; --i) {
      std::swap(items[i - 1], items[below(i)]);
    }
  }

 private:
  RandomState state_;
};

// The run's generator: dropout and everything else that is given none draws from it.
HEED_EXPORT Generator& default_generator();

}  // namespace heed
