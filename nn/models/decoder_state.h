#pragma once

#include <cstdint>
#include <vector>

#include "core/export.h"

namespace heed::nn {

// Where a decoder stands for a batch of rows: everything step() reads and writes.
class HEED_EXPORT DecoderState {
 public:
  virtual ~DecoderState() = default;
  // Keeps these rows, in this order; a row may be named several times (hypotheses of a beam).
  virtual void select(const std::vector<int32_t>& rows) = 0;
};

}  // namespace heed::nn
