#include "autograd/functions/products.h"

#include "autograd/functions/support.h"

namespace heed {

using namespace support;

namespace {

Shape with_matrix(Shape batch, int64_t rows, int64_t columns) {
  batch.push_back(rows);
  batch.push_back(columns);
  return batch;
}

Shape batch_of(const Tensor& x) {
  return Shape(std::span<const int64_t>(x.shape().begin(), static_cast<size_t>(x.rank() - 2)));
}

// g^T x, or with `sum` that added to it.
Tensor weight_gradient(const Tensor& g, const Tensor& x, const Tensor& sum) {
  const Tensor dw = sum.defined() ? sum : empty_like(g, {g.dim(1), x.dim(1)});
  kernels::backend(g).matmul(transposed(g), x, dw, sum.defined() ? 1 : 0);
  return dw;
}

Tensor matmul_raw(const Tensor& a, const Tensor& b) {
  const Shape batch = broadcast_shapes("matmul", batch_of(a), batch_of(b));
  const Tensor y = empty_like(a, with_matrix(batch, a.dim(-2), b.dim(-1)));
  kernels::backend(a).matmul(broadcast_to(a, with_matrix(batch, a.dim(-2), a.dim(-1))),
                             broadcast_to(b, with_matrix(batch, b.dim(-2), b.dim(-1))), y, 0);
  return y;
}

}  // namespace

Tensor matmul(const Tensor& a, const Tensor& b) {
  check_alike("matmul", "a", a, "b", b);
  check_floating("matmul", a);
  HEED_CHECK(a.rank() >= 2 && b.rank() >= 2, "matmul",
             "matrices are expected (two dimensions or more): a {} x b {}", a.shape().to_string(),
             b.shape().to_string());
  HEED_CHECK(a.dim(-1) == b.dim(-2), "matmul", "inner dimensions differ: a {} x b {}",
             a.shape().to_string(), b.shape().to_string());
  // da = g b^T, db = a^T g
  return record("matmul", {a, b}, matmul_raw(a, b),
                [a_saved = requires_grad(b) ? Saved(a) : Saved(),
                 b_saved = requires_grad(a) ? Saved(b) : Saved(), a_shape = a.shape(),
                 b_shape = b.shape()](const BackwardContext& context) -> Gradients {
                  const Tensor& g = context.cotangent();
                  Tensor da;
                  Tensor db;
                  if (context.needs(0)) {
                    da = sum_to(matmul_raw(g, transposed(context.get(b_saved))), a_shape);
                  }
                  if (context.needs(1)) {
                    db = sum_to(matmul_raw(transposed(context.get(a_saved)), g), b_shape);
                  }
                  return {da, db};
                });
}

Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias) {
  check_alike("linear", "x", x, "weight", weight);
  check_floating("linear", x);
  HEED_CHECK(x.rank() >= 1 && weight.rank() == 2 && x.dim(-1) == weight.dim(1), "linear",
             "x (..., I) and weight (O, I) do not fit: {}, {}", describe("x", x),
             describe("weight", weight));
  if (bias.defined()) {
    check_alike("linear", "x", x, "bias", bias);
    HEED_CHECK(bias.shape() == Shape({weight.dim(0)}), "linear",
               "bias (O) does not fit weight (O, I): {}, {}", describe("bias", bias),
               describe("weight", weight));
  }
  const Tensor rows = as_rows(x);
  const Tensor w = dense(weight);
  Shape shape = x.shape();
  shape[shape.rank() - 1] = w.dim(0);
  const Tensor y = empty_like(x, shape);
  kernels::backend(x).linear(rows, w, bias.defined() ? dense(bias) : Tensor(),
                             view(y, {rows.dim(0), w.dim(0)}));
  // dx = g w, dw = g^T x, dbias = sum of g's rows
  return record("linear", {x, weight, bias}, y,
                [x_saved = requires_grad(weight) ? Saved(rows) : Saved(),
                 w_saved = requires_grad(x) ? Saved(w) : Saved(),
                 x_shape = x.shape()](const BackwardContext& context) -> Gradients {
                  const Tensor g = as_rows(context.cotangent());
                  Tensor dx;
                  Tensor dw;
                  Tensor dbias;
                  if (context.needs(0)) {
                    dx = view(matmul_raw(g, context.get(w_saved)), x_shape);
                  }
                  if (context.needs(1)) {
                    dw = weight_gradient(g, context.get(x_saved), context.take_gradient(1));
                  }
                  if (context.needs(2)) {
                    dbias = sum_to(g, {g.dim(1)});
                  }
                  return {dx, dw, dbias};
                });
}

}  // namespace heed
