#include "autograd/functions/reductions.h"

#include "autograd/functions/elementwise.h"
#include "autograd/functions/support.h"

namespace heed {

using namespace support;

namespace {

struct Reduction {
  Shape kept;     // with size 1 in the reduced dimensions
  Shape dropped;  // without them
  int64_t count;  // elements that fall together
};

Reduction reduction(const char* op, const Tensor& x, const std::vector<int>& dims) {
  Reduction result{x.shape(), {}, 1};
  std::vector<bool> reduced(static_cast<size_t>(x.rank()), dims.empty());
  for (const int dim : dims) {
    const auto d = static_cast<size_t>(normalize_dim(op, dim, x.rank()));
    HEED_CHECK(!reduced[d], op, "dimension {} is named twice", dim);
    reduced[d] = true;
  }
  for (int d = 0; d < x.rank(); ++d) {
    if (reduced[static_cast<size_t>(d)]) {
      result.count *= x.shape()[d];
      result.kept[d] = 1;
    } else {
      result.dropped.push_back(x.shape()[d]);
    }
  }
  return result;
}

Tensor reduce_raw(kernels::ReduceOp kernel, const Tensor& x, const Shape& kept) {
  const Tensor y = empty_like(x, kept);
  kernels::backend(x).reduce(kernel, x, y);
  return y;
}

Tensor sum_scaled(const char* op, const Tensor& x, const Reduction& over, double scale,
                  bool keep_dims) {
  const Tensor y = reduce_raw(kernels::ReduceOp::sum, x, over.kept);
  if (scale != 1) {
    kernels::backend(x).affine(y, scale, 0, y);
  }
  return record(
      op, {x}, view(y, keep_dims ? over.kept : over.dropped),
      [scale, kept = over.kept, shape = x.shape()](const BackwardContext& context) -> Gradients {
        Tensor g = dense(context.cotangent());
        if (scale != 1) {
          const Tensor scaled = empty_like(g);
          kernels::backend(g).affine(g, scale, 0, scaled);
          g = scaled;
        }
        return {broadcast_to(view(g, kept), shape)};
      });
}

}  // namespace

Tensor sum(const Tensor& x, const std::vector<int>& dims, bool keep_dims) {
  check_floating("sum", x);
  return sum_scaled("sum", x, reduction("sum", x, dims), 1, keep_dims);
}

Tensor mean(const Tensor& x, const std::vector<int>& dims, bool keep_dims) {
  check_floating("mean", x);
  const Reduction over = reduction("mean", x, dims);
  HEED_CHECK(over.count > 0, "mean", "there is no mean of no elements: {}", describe("x", x));
  return sum_scaled("mean", x, over, 1.0 / static_cast<double>(over.count), keep_dims);
}

Tensor max(const Tensor& x, int dim, bool keep_dims) {
  check_floating("max", x);
  const Reduction over = reduction("max", x, {dim});
  HEED_CHECK(over.count > 0, "max", "there is no largest of no elements: {}", describe("x", x));
  const Tensor y = reduce_raw(kernels::ReduceOp::maximum, x, over.kept);
  return record(
      "max", {x}, view(y, keep_dims ? over.kept : over.dropped),
      [x_saved = Saved(x), y_saved = Saved(y)](const BackwardContext& context) -> Gradients {
        // g / (number of equal largest ones) where x is the largest, else 0
        const Tensor& kept_x = context.get(x_saved);
        const Tensor& kept_y = context.get(y_saved);
        const Tensor g = view(dense(context.cotangent()), kept_y.shape());
        const Tensor zero = Tensor::zeros({}, g.dtype(), g.device());
        const Tensor one = Tensor::full({}, 1.0, g.dtype(), g.device());
        const Tensor largest = where(equal(kept_x, kept_y), one, zero);
        const Tensor share = g / reduce_raw(kernels::ReduceOp::sum, largest, kept_y.shape());
        return {largest * share};
      });
}

Tensor arg_max(const Tensor& x) {
  check_floating("arg_max", x);
  HEED_CHECK(x.rank() > 0 && x.dim(-1) > 0, "arg_max", "there is no largest of no elements: {}",
             describe("x", x));
  Shape shape = x.shape();
  shape.erase(x.rank() - 1);
  const Tensor y = Tensor::empty(shape, DType::i32, x.device());
  const Tensor rows = as_rows(x);
  kernels::backend(x).arg_max(rows, view(y, {rows.dim(0)}));
  return y;
}

TopK top_k(const Tensor& x, int64_t k) {
  check_floating("top_k", x);
  HEED_CHECK(x.rank() > 0 && k > 0 && k <= x.dim(-1), "top_k",
             "k = {} is not between 1 and the size of the last dimension: {}", k, describe("x", x));
  Shape shape = x.shape();
  shape[x.rank() - 1] = k;
  const Tensor rows = as_rows(x);
  const TopK result{empty_like(x, shape), Tensor::empty(shape, DType::i32, x.device())};
  kernels::backend(x).top_k(rows, view(result.values, {rows.dim(0), k}),
                            view(result.indices, {rows.dim(0), k}));
  return result;
}

}  // namespace heed
