#pragma once

#include <cstdint>
#include <vector>

#include "core/export.h"
#include "core/tensor.h"

namespace heed::nn {

// Projected keys (B, H, S, D) and values (B, H, S, E) of one attention.
struct KeysValues {
  Tensor keys;
  Tensor values;
};

// Keys and values of the positions a decoder has passed, appended in place in memory that grows by
// doubling. It keeps no graph.
class HEED_EXPORT KeyValueCache {
 public:
  int64_t length() const { return length_; }
  // Further positions (B, H, n, .), any strides; returns views of all positions so far, good until
  // the next call.
  // Throws Error when shapes do not fit those before, or when a graph would be lost.
  KeysValues append(const KeysValues& further);
  // Keeps these rows of the batch, in this order; a row may be named several times. Copies what is
  // filled into the memory that the selection before left.
  void select(const std::vector<int32_t>& rows);

 private:
  KeysValues memory_;  // (B, H, capacity, .)
  KeysValues spare_;   // of a batch no smaller, or none yet
  int64_t length_ = 0;
};

}  // namespace heed::nn
