#pragma once

#include "core/export.h"
#include "core/tensor.h"

namespace heed {

// a (..., M, K) b (..., K, N) -> (..., M, N); the dimensions in front broadcast. Strided operands
// (transposes, heads sliced from a projection) are read in place.
HEED_EXPORT Tensor matmul(const Tensor& a, const Tensor& b);

// y = x w^T + bias: x (..., I), weight (O, I), bias (O) or undefined -> (..., O)
HEED_EXPORT Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias = {});

}  // namespace heed
