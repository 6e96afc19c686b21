#pragma once

#include <cstdint>
#include <vector>

#include "core/export.h"
#include "core/tensor.h"

namespace heed::nn {

// Token ids padded to one width, and how many of each row are real.
struct PaddedIds {
  Tensor ids;                    // (B, T) i32
  std::vector<int64_t> lengths;  // B, each within 0 .. T

  int64_t batch() const { return ids.dim(0); }
  int64_t width() const { return ids.dim(1); }
};

// (B, T) boolean: true where t < lengths[b]. Undefined when every row is full: nothing is masked.
HEED_EXPORT Tensor padding_mask(const std::vector<int64_t>& lengths, int64_t width);

// x (B, T, C), 0 where mask (B, T) is false, whatever stood there; an undefined mask keeps all.
HEED_EXPORT Tensor clear_padding(const Tensor& x, const Tensor& mask);

// x (B, ...) floating -> (rows, ...): these rows, in this order; undefined stays undefined.
HEED_EXPORT Tensor select_rows(const Tensor& x, const std::vector<int32_t>& rows);

}  // namespace heed::nn
