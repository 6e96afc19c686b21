#include "autograd/functions/support.h"

namespace heed::support {

std::string describe(std::string_view name, const Tensor& tensor) {
  return fmt::format("{} {} {}", name, dtype_name(tensor.dtype()), tensor.shape().to_string());
}

void check_floating(std::string_view op, const Tensor& x) {
  HEED_CHECK(x.defined(), op, "the input is undefined");
  HEED_CHECK(is_floating(x.dtype()), op, "f32 or f64 is expected: {}", describe("input", x));
}

void check_device(std::string_view op, std::string_view a_name, const Tensor& a,
                  std::string_view b_name, const Tensor& b) {
  HEED_CHECK(a.device() == b.device(), op, "devices differ: {} on {}, {} on {}", a_name,
             device_name(a.device()), b_name, device_name(b.device()));
}

void check_alike(std::string_view op, std::string_view a_name, const Tensor& a,
                 std::string_view b_name, const Tensor& b) {
  HEED_CHECK(a.defined(), op, "{} is undefined", a_name);
  HEED_CHECK(b.defined(), op, "{} is undefined", b_name);
  HEED_CHECK(a.dtype() == b.dtype(), op, "dtypes differ: {}, {}", describe(a_name, a),
             describe(b_name, b));
  check_device(op, a_name, a, b_name, b);
}

void check_mask(std::string_view op, const Tensor& mask, std::string_view meaning, const Tensor& x,
                const Shape& target) {
  HEED_CHECK(mask.dtype() == DType::boolean, op, "a mask is boolean (true = {}), this one is {}",
             meaning, describe("mask", mask));
  check_device(op, "the input", x, "the mask", mask);
  bool fits = mask.rank() <= target.rank();
  for (int i = 1; fits && i <= mask.rank(); ++i) {
    fits = mask.dim(-i) == 1 || mask.dim(-i) == target.dim(-i);
  }
  HEED_CHECK(fits, op, "the mask {} does not broadcast to {}", mask.shape().to_string(),
             target.to_string());
}

Tensor dense(const Tensor& x) {
  if (x.is_contiguous()) {
    return x;
  }
  const Tensor y = empty_like(x);
  kernels::backend(x).copy(x, y);
  return y;
}

Tensor broadcast_to(const Tensor& x, const Shape& shape) {
  if (x.shape() == shape) {
    return x;
  }
  Shape strides = Shape::filled(shape.rank(), 0);
  for (int i = 1; i <= x.rank(); ++i) {
    strides[shape.rank() - i] = x.dim(-i) == 1 ? 0 : x.strides().dim(-i);
  }
  return x.as_strided(shape, strides, x.offset());
}

Tensor sum_to(const Tensor& x, const Shape& shape) {
  if (x.shape() == shape) {
    return x;
  }
  // shape with ones in front has x's rank; reduce wants exactly that.
  Shape aligned = Shape::filled(x.rank(), 1);
  for (int i = 1; i <= shape.rank(); ++i) {
    aligned[x.rank() - i] = shape.dim(-i);
  }
  const Tensor y = empty_like(x, aligned);
  kernels::backend(x).reduce(kernels::ReduceOp::sum, x, y);
  return view(y, shape);
}

Tensor as_rows(const Tensor& x) {
  const int64_t width = x.dim(-1);
  int64_t rows = 1;
  for (int i = 0; i + 1 < x.rank(); ++i) {
    rows *= x.dim(i);
  }
  return view(dense(x), {rows, width});
}

Tensor transposed(const Tensor& x, int dim_a, int dim_b) {
  const int a = normalize_dim("transpose", dim_a, x.rank());
  const int b = normalize_dim("transpose", dim_b, x.rank());
  Shape shape = x.shape();
  Shape strides = x.strides();
  std::swap(shape[a], shape[b]);
  std::swap(strides[a], strides[b]);
  return x.as_strided(shape, strides, x.offset());
}

Tensor view(const Tensor& x, const Shape& shape) {
  HEED_ASSERT(x.is_contiguous() && x.numel() == shape.numel(), "{} as {}", x.shape().to_string(),
              shape.to_string());
  return x.as_strided(shape, shape.strides(), x.offset());
}

}  // namespace heed::support
