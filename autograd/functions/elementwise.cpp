#include "autograd/functions/elementwise.h"

#include "autograd/functions/support.h"

namespace heed {

using kernels::BinaryOp;
using kernels::CompareOp;
using kernels::UnaryOp;
using namespace support;

namespace {

// Both operands, repeated to the shape of the result.
struct Broadcast {
  Shape shape;
  Tensor a;
  Tensor b;
};

Broadcast broadcast(const char* op, const Tensor& a, const Tensor& b) {
  check_alike(op, "a", a, "b", b);
  const Shape shape = broadcast_shapes(op, a.shape(), b.shape());
  return {shape, broadcast_to(a, shape), broadcast_to(b, shape)};
}

Tensor binary_forward(BinaryOp kernel, const Broadcast& pair) {
  const Tensor y = empty_like(pair.a, pair.shape);
  kernels::backend(y).binary(kernel, pair.a, pair.b, y);
  return y;
}

Tensor binary_raw(BinaryOp kernel, const Tensor& a, const Tensor& b) {
  return binary_forward(kernel, broadcast("binary", a, b));
}

Tensor affine_raw(const Tensor& x, double scale, double shift = 0) {
  const Tensor y = empty_like(x);
  kernels::backend(x).affine(x, scale, shift, y);
  return y;
}

Tensor where_raw(const Tensor& condition, const Tensor& a, const Tensor& b) {
  const Tensor y = empty_like(a);
  kernels::backend(a).where(condition, a, b, y);
  return y;
}

Tensor compare_raw(CompareOp kernel, const Tensor& a, const Tensor& b) {
  const Tensor y = Tensor::empty(a.shape(), DType::boolean, a.device());
  kernels::backend(a).compare(kernel, a, b, y);
  return y;
}

Tensor compare(const char* op, CompareOp kernel, const Tensor& a, const Tensor& b) {
  const Broadcast pair = broadcast(op, a, b);
  return compare_raw(kernel, pair.a, pair.b);
}

Tensor zero_like(const Tensor& x) {
  return broadcast_to(Tensor::zeros({}, x.dtype(), x.device()), x.shape());
}

// maximum and minimum: the gradient follows the operand that was chosen.
Tensor choose(const char* op, BinaryOp kernel, const Tensor& a, const Tensor& b) {
  check_floating(op, a);
  const Broadcast pair = broadcast(op, a, b);
  const Tensor y = binary_forward(kernel, pair);
  // a is chosen where not (a < b), or not (b < a).
  const Tensor b_chosen = kernel == BinaryOp::maximum
                              ? compare_raw(CompareOp::less, pair.a, pair.b)
                              : compare_raw(CompareOp::less, pair.b, pair.a);
  return record(op, {a, b}, y,
                [chosen = Saved(b_chosen), a_shape = a.shape(),
                 b_shape = b.shape()](const BackwardContext& context) -> Gradients {
                  const Tensor& g = context.cotangent();
                  const Tensor& b_mask = context.get(chosen);
                  const Tensor zero = zero_like(g);
                  return {
                      context.needs(0) ? sum_to(where_raw(b_mask, zero, g), a_shape) : Tensor(),
                      context.needs(1) ? sum_to(where_raw(b_mask, g, zero), b_shape) : Tensor()};
                });
}

enum class Reads { input, output };

Tensor unary(const char* op, UnaryOp kernel, Reads reads, const Tensor& x) {
  check_floating(op, x);
  const Tensor y = empty_like(x);
  kernels::backend(x).unary(kernel, x, y);
  return record(
      op, {x}, y,
      [kernel, reads,
       saved = Saved(reads == Reads::input ? x : y)](const BackwardContext& context) -> Gradients {
        const Tensor& g = context.cotangent();
        const Tensor& kept = context.get(saved);
        const Tensor dx = empty_like(g);
        kernels::backend(g).unary_backward(kernel, reads == Reads::input ? kept : Tensor(),
                                           reads == Reads::output ? kept : Tensor(), g, dx);
        return {dx};
      });
}

}  // namespace

Tensor add(const Tensor& a, const Tensor& b) {
  const Broadcast pair = broadcast("add", a, b);
  return record(
      "add", {a, b}, binary_forward(BinaryOp::add, pair),
      [a_shape = a.shape(), b_shape = b.shape()](const BackwardContext& context) -> Gradients {
        const Tensor& g = context.cotangent();
        return {context.needs(0) ? sum_to(g, a_shape) : Tensor(),
                context.needs(1) ? sum_to(g, b_shape) : Tensor()};
      });
}

Tensor subtract(const Tensor& a, const Tensor& b) {
  const Broadcast pair = broadcast("subtract", a, b);
  return record(
      "subtract", {a, b}, binary_forward(BinaryOp::subtract, pair),
      [a_shape = a.shape(), b_shape = b.shape()](const BackwardContext& context) -> Gradients {
        const Tensor& g = context.cotangent();
        return {context.needs(0) ? sum_to(g, a_shape) : Tensor(),
                context.needs(1) ? affine_raw(sum_to(g, b_shape), -1) : Tensor()};
      });
}

Tensor multiply(const Tensor& a, const Tensor& b) {
  const Broadcast pair = broadcast("multiply", a, b);
  // Each operand is kept only for the other's sake.
  return record("multiply", {a, b}, binary_forward(BinaryOp::multiply, pair),
                [a_saved = requires_grad(b) ? Saved(a) : Saved(),
                 b_saved = requires_grad(a) ? Saved(b) : Saved(), a_shape = a.shape(),
                 b_shape = b.shape()](const BackwardContext& context) -> Gradients {
                  const Tensor& g = context.cotangent();
                  const auto times = [&](const Saved& other, const Shape& shape) {
                    return sum_to(binary_raw(BinaryOp::multiply, g, context.get(other)), shape);
                  };
                  return {context.needs(0) ? times(b_saved, a_shape) : Tensor(),
                          context.needs(1) ? times(a_saved, b_shape) : Tensor()};
                });
}

Tensor divide(const Tensor& a, const Tensor& b) {
  check_floating("divide", a);
  const Broadcast pair = broadcast("divide", a, b);
  const Tensor y = binary_forward(BinaryOp::divide, pair);
  // da = g / b, db = -g y / b
  return record(
      "divide", {a, b}, y,
      [b_saved = Saved(b), y_saved = requires_grad(b) ? Saved(y) : Saved(), a_shape = a.shape(),
       b_shape = b.shape()](const BackwardContext& context) -> Gradients {
        const Tensor da = binary_raw(BinaryOp::divide, context.cotangent(), context.get(b_saved));
        Tensor db;
        if (context.needs(1)) {
          const Tensor product = binary_raw(BinaryOp::multiply, da, context.get(y_saved));
          db = affine_raw(sum_to(product, b_shape), -1);
        }
        return {context.needs(0) ? sum_to(da, a_shape) : Tensor(), db};
      });
}

Tensor maximum(const Tensor& a, const Tensor& b) {
  return choose("maximum", BinaryOp::maximum, a, b);
}
Tensor minimum(const Tensor& a, const Tensor& b) {
  return choose("minimum", BinaryOp::minimum, a, b);
}

Tensor affine(const Tensor& x, double scale, double shift) {
  check_floating("affine", x);
  return record("affine", {x}, affine_raw(x, scale, shift),
                [scale](const BackwardContext& context) -> Gradients {
                  return {affine_raw(context.cotangent(), scale)};
                });
}

Tensor where(const Tensor& condition, const Tensor& a, const Tensor& b) {
  check_alike("where", "a", a, "b", b);
  HEED_CHECK(condition.dtype() == DType::boolean, "where", "the condition is not boolean: {}",
             describe("condition", condition));
  const Shape shape =
      broadcast_shapes("where", condition.shape(), broadcast_shapes("where", a.shape(), b.shape()));
  const Tensor chosen = broadcast_to(condition, shape);
  const Tensor y = empty_like(a, shape);
  kernels::backend(a).where(chosen, broadcast_to(a, shape), broadcast_to(b, shape), y);
  return record("where", {a, b}, y,
                [saved = Saved(chosen), a_shape = a.shape(),
                 b_shape = b.shape()](const BackwardContext& context) -> Gradients {
                  const Tensor& g = context.cotangent();
                  const Tensor& a_mask = context.get(saved);
                  const Tensor zero = zero_like(g);
                  return {
                      context.needs(0) ? sum_to(where_raw(a_mask, g, zero), a_shape) : Tensor(),
                      context.needs(1) ? sum_to(where_raw(a_mask, zero, g), b_shape) : Tensor()};
                });
}

Tensor negate(const Tensor& x) { return unary("negate", UnaryOp::negate, Reads::input, x); }
Tensor absolute(const Tensor& x) { return unary("absolute", UnaryOp::absolute, Reads::input, x); }
Tensor square(const Tensor& x) { return unary("square", UnaryOp::square, Reads::input, x); }
Tensor square_root(const Tensor& x) {
  return unary("square_root", UnaryOp::square_root, Reads::output, x);
}
Tensor exponential(const Tensor& x) {
  return unary("exponential", UnaryOp::exponential, Reads::output, x);
}
Tensor logarithm(const Tensor& x) {
  return unary("logarithm", UnaryOp::logarithm, Reads::input, x);
}
Tensor tanh(const Tensor& x) { return unary("tanh", UnaryOp::tanh, Reads::output, x); }
Tensor sigmoid(const Tensor& x) { return unary("sigmoid", UnaryOp::sigmoid, Reads::output, x); }
Tensor relu(const Tensor& x) { return unary("relu", UnaryOp::relu, Reads::output, x); }
Tensor gelu(const Tensor& x) { return unary("gelu", UnaryOp::gelu, Reads::input, x); }
Tensor gelu_tanh(const Tensor& x) {
  return unary("gelu_tanh", UnaryOp::gelu_tanh, Reads::input, x);
}
Tensor silu(const Tensor& x) { return unary("silu", UnaryOp::silu, Reads::input, x); }

Tensor dropout(const Tensor& x, double p, Generator& generator) {
  check_floating("dropout", x);
  HEED_CHECK(p >= 0 && p < 1, "dropout", "the probability {} is not in [0, 1)", p);
  if (p == 0) {
    return x;
  }
  const RandomState random = generator.reserve(static_cast<uint64_t>(x.numel()));
  const Tensor y = empty_like(x);
  kernels::backend(x).dropout(x, p, random, y);
  // No mask is kept: the same numbers are drawn again.
  return record("dropout", {x}, y, [p, random](const BackwardContext& context) -> Gradients {
    const Tensor& g = context.cotangent();
    const Tensor dx = empty_like(g);
    kernels::backend(g).dropout(g, p, random, dx);
    return {dx};
  });
}

Tensor equal(const Tensor& a, const Tensor& b) { return compare("equal", CompareOp::equal, a, b); }
Tensor not_equal(const Tensor& a, const Tensor& b) {
  return compare("not_equal", CompareOp::not_equal, a, b);
}
Tensor less(const Tensor& a, const Tensor& b) { return compare("less", CompareOp::less, a, b); }
Tensor less_equal(const Tensor& a, const Tensor& b) {
  return compare("less_equal", CompareOp::less_equal, a, b);
}

Tensor logical_and(const Tensor& a, const Tensor& b) {
  const Broadcast pair = broadcast("logical_and", a, b);
  HEED_CHECK(a.dtype() == DType::boolean, "logical_and", "booleans are expected: {}, {}",
             describe("a", a), describe("b", b));
  return where_raw(pair.a, pair.b, zero_like(pair.b));
}

}  // namespace heed
