#pragma once

#include <span>
#include <vector>

#include "core/export.h"
#include "core/tensor.h"

// Other layouts of the same numbers. All but contiguous, concat, stack and to_dtype share storage
// with x (reshape copies where strides forbid a view).
namespace heed {

// One size may be -1: it is worked out. Row-major order is kept.
HEED_EXPORT Tensor reshape(const Tensor& x, const Shape& shape);
// Swaps two dimensions.
HEED_EXPORT Tensor transpose(const Tensor& x, int dim_a = -2, int dim_b = -1);
// Elements begin .. end - 1 of a dimension; 0 <= begin <= end <= size.
HEED_EXPORT Tensor slice(const Tensor& x, int dim, int64_t begin, int64_t end);
// Repeats dimensions of size 1 without copying; the gradient is summed back.
HEED_EXPORT Tensor expand(const Tensor& x, const Shape& shape);
HEED_EXPORT Tensor unsqueeze(const Tensor& x, int dim);
HEED_EXPORT Tensor squeeze(const Tensor& x, int dim);
// The slices along a dimension, which is dropped: one node, so that unrolling over time stays
// linear.
HEED_EXPORT std::vector<Tensor> unstack(const Tensor& x, int dim);

HEED_EXPORT Tensor contiguous(const Tensor& x);
// Equal shapes but for `dim`.
HEED_EXPORT Tensor concat(std::span<const Tensor> parts, int dim);
HEED_EXPORT Tensor concat(std::initializer_list<Tensor> parts, int dim);
// Equal shapes; a new dimension `dim` counts the parts.
HEED_EXPORT Tensor stack(std::span<const Tensor> parts, int dim);
// Floating to floating; the gradient is converted back.
HEED_EXPORT Tensor to_dtype(const Tensor& x, DType dtype);

}  // namespace heed
