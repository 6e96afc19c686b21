#pragma once

#include <string_view>

#include "autograd/autograd.h"
#include "core/error.h"
#include "core/tensor.h"
#include "kernels/backend.h"

// What the definitions of differentiable functions share. Nothing here records.
namespace heed::support {

// An uninitialised tensor like x, of another shape when one is given.
inline Tensor empty_like(const Tensor& x) {
  return Tensor::empty(x.shape(), x.dtype(), x.device());
}
inline Tensor empty_like(const Tensor& x, const Shape& shape) {
  return Tensor::empty(shape, x.dtype(), x.device());
}

// "name f32 (2, 3)", for messages.
std::string describe(std::string_view name, const Tensor& tensor);

void check_floating(std::string_view op, const Tensor& x);
void check_device(std::string_view op, std::string_view a_name, const Tensor& a,
                  std::string_view b_name, const Tensor& b);
// Equal dtypes and devices, named when they differ.
void check_alike(std::string_view op, std::string_view a_name, const Tensor& a,
                 std::string_view b_name, const Tensor& b);
// A boolean mask on x's device that broadcasts to target; `meaning` is what true says.
void check_mask(std::string_view op, const Tensor& mask, std::string_view meaning, const Tensor& x,
                const Shape& target);

// x itself when contiguous, else a copy.
Tensor dense(const Tensor& x);
// x with dimensions of size 1 (or missing at the left) repeated by stride 0; the shapes fit.
Tensor broadcast_to(const Tensor& x, const Shape& shape);
// The gradient of broadcast_to: sums x over what was repeated to give `shape`.
Tensor sum_to(const Tensor& x, const Shape& shape);
// (..., C) as (N, C), contiguous; a rank-1 tensor gives N = 1.
Tensor as_rows(const Tensor& x);
// x with two dimensions swapped, in place.
Tensor transposed(const Tensor& x, int dim_a = -2, int dim_b = -1);
// Contiguous memory under another shape of the same size.
Tensor view(const Tensor& x, const Shape& shape);

}  // namespace heed::support
