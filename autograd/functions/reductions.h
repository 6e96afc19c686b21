#pragma once

#include <vector>

#include "core/export.h"
#include "core/tensor.h"

namespace heed {

// Over the dimensions named (negative ones count from the end), over all when none is named; those
// are dropped from the shape unless keep_dims.
HEED_EXPORT Tensor sum(const Tensor& x, const std::vector<int>& dims = {}, bool keep_dims = false);
// Throws Error over no elements.
HEED_EXPORT Tensor mean(const Tensor& x, const std::vector<int>& dims = {}, bool keep_dims = false);
// The largest along one dimension; of equals each gets an equal share of the gradient.
// Throws Error over no elements.
HEED_EXPORT Tensor max(const Tensor& x, int dim, bool keep_dims = false);

// Not differentiable. The first index of the largest along the last dimension, i32: (..., V) ->
// (...). NaN is larger than any number.
HEED_EXPORT Tensor arg_max(const Tensor& x);
struct TopK {
  Tensor values;   // (..., k), largest first
  Tensor indices;  // (..., k) i32
};
// Not differentiable. 0 < k <= V over the last dimension; NaN comes first, equal values by index.
HEED_EXPORT TopK top_k(const Tensor& x, int64_t k);

}  // namespace heed
