#include "autograd/functions/views.h"

#include "autograd/functions/support.h"

namespace heed {

using namespace support;

namespace {

void check_defined(const char* op, const Tensor& x) {
  HEED_CHECK(x.defined(), op, "the input is undefined");
}

Tensor slice_raw(const Tensor& x, int dim, int64_t begin, int64_t end) {
  Shape shape = x.shape();
  shape[dim] = end - begin;
  return x.as_strided(shape, x.strides(), x.offset() + begin * x.strides()[dim]);
}

// The slice at `index`, without the dimension.
Tensor select_raw(const Tensor& x, int dim, int64_t index) {
  Shape shape = x.shape();
  Shape strides = x.strides();
  const int64_t offset = x.offset() + index * strides[dim];
  shape.erase(dim);
  strides.erase(dim);
  return x.as_strided(shape, strides, offset);
}

Shape infer(const Tensor& x, Shape shape) {
  int unknown = -1;
  int64_t known = 1;
  for (int i = 0; i < shape.rank(); ++i) {
    if (shape[i] == -1) {
      HEED_CHECK(unknown < 0, "reshape", "more than one size is -1: {}", shape.to_string());
      unknown = i;
    } else {
      HEED_CHECK(shape[i] >= 0 && !__builtin_mul_overflow(known, shape[i], &known), "reshape",
                 "the sizes do not fit: x {} to {}", x.shape().to_string(), shape.to_string());
    }
  }
  if (unknown >= 0 && known > 0) {
    shape[unknown] = x.numel() / known;
    known *= shape[unknown];
  }
  HEED_CHECK(known == x.numel() && (unknown < 0 || shape[unknown] >= 0), "reshape",
             "the sizes do not fit: x {} to {}", x.shape().to_string(), shape.to_string());
  return shape;
}

Tensor stack_raw(std::span<const Tensor> parts, int dim) {
  Shape shape = parts.front().shape();
  shape.insert(dim, static_cast<int64_t>(parts.size()));
  const Tensor y = empty_like(parts.front(), shape);
  for (size_t i = 0; i < parts.size(); ++i) {
    kernels::backend(y).copy(parts[i], select_raw(y, dim, static_cast<int64_t>(i)));
  }
  return y;
}

}  // namespace

Tensor reshape(const Tensor& x, const Shape& shape) {
  check_defined("reshape", x);
  const Shape target = infer(x, shape);
  return record("reshape", {x}, view(dense(x), target),
                [x_shape = x.shape()](const BackwardContext& context) -> Gradients {
                  return {view(dense(context.cotangent()), x_shape)};
                });
}

Tensor transpose(const Tensor& x, int dim_a, int dim_b) {
  check_defined("transpose", x);
  return record("transpose", {x}, transposed(x, dim_a, dim_b),
                [dim_a, dim_b](const BackwardContext& context) -> Gradients {
                  return {transposed(context.cotangent(), dim_a, dim_b)};
                });
}

Tensor slice(const Tensor& x, int dim, int64_t begin, int64_t end) {
  check_defined("slice", x);
  const int d = normalize_dim("slice", dim, x.rank());
  HEED_CHECK(begin >= 0 && begin <= end && end <= x.shape()[d], "slice",
             "{} .. {} is not within dimension {} of x {}", begin, end, dim, x.shape().to_string());
  return record("slice", {x}, slice_raw(x, d, begin, end),
                [d, begin, end, shape = x.shape()](const BackwardContext& context) -> Gradients {
                  const Tensor& g = context.cotangent();
                  const Tensor dx = Tensor::zeros(shape, g.dtype(), g.device());
                  kernels::backend(g).copy(g, slice_raw(dx, d, begin, end));
                  return {dx};
                });
}

Tensor expand(const Tensor& x, const Shape& shape) {
  check_defined("expand", x);
  HEED_CHECK(x.rank() <= shape.rank() && broadcast_shapes("expand", x.shape(), shape) == shape,
             "expand", "x {} does not repeat to {}", x.shape().to_string(), shape.to_string());
  return record("expand", {x}, broadcast_to(x, shape).detach(),
                [x_shape = x.shape()](const BackwardContext& context) -> Gradients {
                  return {sum_to(context.cotangent(), x_shape)};
                });
}

Tensor unsqueeze(const Tensor& x, int dim) {
  check_defined("unsqueeze", x);
  Shape shape = x.shape();
  Shape strides = x.strides();
  const int d = normalize_dim("unsqueeze", dim, x.rank() + 1);
  shape.insert(d, 1);
  strides.insert(d, 1);
  return record("unsqueeze", {x}, x.as_strided(shape, strides, x.offset()),
                [d](const BackwardContext& context) -> Gradients {
                  return {select_raw(context.cotangent(), d, 0)};
                });
}

Tensor squeeze(const Tensor& x, int dim) {
  check_defined("squeeze", x);
  const int d = normalize_dim("squeeze", dim, x.rank());
  HEED_CHECK(x.shape()[d] == 1, "squeeze", "dimension {} of x {} is not 1", dim,
             x.shape().to_string());
  return record("squeeze", {x}, select_raw(x, d, 0),
                [x_shape = x.shape()](const BackwardContext& context) -> Gradients {
                  return {view(dense(context.cotangent()), x_shape)};
                });
}

std::vector<Tensor> unstack(const Tensor& x, int dim) {
  check_defined("unstack", x);
  const int d = normalize_dim("unstack", dim, x.rank());
  std::vector<Tensor> parts;
  for (int64_t i = 0; i < x.shape()[d]; ++i) {
    parts.push_back(select_raw(x, d, i));
  }
  if (!parts.empty()) {
    record("unstack", std::span<const Tensor>(&x, 1), parts,
           [d, count = parts.size()](const BackwardContext& context) -> Gradients {
             std::vector<Tensor> cotangents;
             for (size_t i = 0; i < count; ++i) {
               cotangents.push_back(context.cotangent(static_cast<int>(i)));
             }
             return {stack_raw(cotangents, d)};
           });
  }
  return parts;
}

Tensor contiguous(const Tensor& x) {
  check_defined("contiguous", x);
  if (x.is_contiguous()) {
    return x;
  }
  return record("contiguous", {x}, dense(x),
                [](const BackwardContext& context) -> Gradients { return {context.cotangent()}; });
}

Tensor concat(std::span<const Tensor> parts, int dim) {
  HEED_CHECK(!parts.empty(), "concat", "there is nothing to join");
  const Tensor& first = parts.front();
  check_defined("concat", first);
  const int d = normalize_dim("concat", dim, first.rank());
  Shape shape = first.shape();
  shape[d] = 0;
  std::vector<int64_t> sizes;
  for (const Tensor& part : parts) {
    check_alike("concat", "the first part", first, "another part", part);
    Shape aligned = part.shape();
    if (part.rank() == first.rank()) {
      aligned[d] = first.shape()[d];
    }
    HEED_CHECK(aligned == first.shape(), "concat", "shapes differ outside dimension {}: {} and {}",
               dim, first.shape().to_string(), part.shape().to_string());
    sizes.push_back(part.shape()[d]);
    shape[d] += sizes.back();
  }
  const Tensor y = empty_like(first, shape);
  int64_t begin = 0;
  for (const Tensor& part : parts) {
    const int64_t end = begin + part.shape()[d];
    kernels::backend(y).copy(part, slice_raw(y, d, begin, end));
    begin = end;
  }
  record("concat", parts, std::span<const Tensor>(&y, 1),
         [d, sizes](const BackwardContext& context) -> Gradients {
           Gradients gradients;
           int64_t start = 0;
           for (const int64_t size : sizes) {
             gradients.push_back(slice_raw(context.cotangent(), d, start, start + size));
             start += size;
           }
           return gradients;
         });
  return y;
}

Tensor concat(std::initializer_list<Tensor> parts, int dim) {
  return concat(std::span<const Tensor>(parts.begin(), parts.size()), dim);
}

Tensor stack(std::span<const Tensor> parts, int dim) {
  HEED_CHECK(!parts.empty(), "stack", "there is nothing to stack");
  const Tensor& first = parts.front();
  for (const Tensor& part : parts) {
    check_alike("stack", "the first part", first, "another part", part);
    HEED_CHECK(part.shape() == first.shape(), "stack", "shapes differ: {} and {}",
               first.shape().to_string(), part.shape().to_string());
  }
  const int d = normalize_dim("stack", dim, first.rank() + 1);
  const Tensor y = stack_raw(parts, d);
  record("stack", parts, std::span<const Tensor>(&y, 1),
         [d, count = parts.size()](const BackwardContext& context) -> Gradients {
           Gradients gradients;
           for (size_t i = 0; i < count; ++i) {
             gradients.push_back(select_raw(context.cotangent(), d, static_cast<int64_t>(i)));
           }
           return gradients;
         });
  return y;
}

Tensor to_dtype(const Tensor& x, DType dtype) {
  check_floating("to_dtype", x);
  HEED_CHECK(is_floating(dtype), "to_dtype", "{} is no floating dtype", dtype_name(dtype));
  if (x.dtype() == dtype) {
    return x;
  }
  const auto convert = [](const Tensor& from, DType to) {
    const Tensor y = Tensor::empty(from.shape(), to, from.device());
    kernels::backend(from).copy(from, y);
    return y;
  };
  return record("to_dtype", {x}, convert(x, dtype),
                [convert, from = x.dtype()](const BackwardContext& context) -> Gradients {
                  return {convert(context.cotangent(), from)};
                });
}

}  // namespace heed
