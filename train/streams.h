#pragma once

#include <cstdint>

#include "core/random.h"

namespace heed::train {

// The independent random sequences of a run's seed.
enum class Stream : uint64_t { initialization = 1, shuffling = 2, dropout = 3, sampling = 4 };

inline Generator generator_of(int64_t seed, Stream stream) {
  return Generator(static_cast<uint64_t>(seed), static_cast<uint64_t>(stream));
}

}  // namespace heed::train
