#pragma once

#include <cmath>
#include <string>
#include <vector>

#include "tests/kernels/support.h"

// What the tests of attention's kernels give them.
namespace heed::kernels::test {

struct AttentionSizes {
  int64_t batch, heads, queries, keys, width, value_width;

  std::string text() const {
    return Shape{batch, heads, queries, keys, width, value_width}.to_string();
  }
};

// Inputs, on one device. mask and bias may be undefined.
struct AttentionProblem {
  Tensor query, key, value, mask, bias, dy;
  AttentionRule rule;

  Shape scores() const { return {query.dim(0), query.dim(1), query.dim(2), key.dim(2)}; }
};

struct AttentionResults {
  Tensor y, log_sum, dquery, dkey, dvalue, dbias;
};

// Random inputs; neither mask, bias nor dropout.
inline AttentionProblem attention_problem(const AttentionSizes& n, DType dtype) {
  const auto random = [&](int64_t length, int64_t width, uint64_t stream) {
    return random_tensor({n.batch, n.heads, length, width}, dtype, stream);
  };
  return {random(n.queries, n.width, 1),
          random(n.keys, n.width, 2),
          random(n.keys, n.value_width, 3),
          {},
          {},
          random(n.queries, n.value_width, 4),
          {1 / std::sqrt(static_cast<double>(n.width)), false, 0, {9, 2, 7}}};
}

// By the backend of the tensors' own device, inputs and outputs in a layout.
inline AttentionResults attend(const AttentionProblem& p, Layout layout = Layout::dense) {
  const DType dtype = p.query.dtype();
  const Device device = p.query.device();
  const auto out = [&](const Shape& shape) {
    return laid_out(Tensor::full(shape, NAN, dtype, device), layout);
  };
  const auto in = [&](const Tensor& x) { return laid_out(x, layout); };
  const Shape rows = {p.query.dim(0), p.query.dim(1), p.query.dim(2)};
  const Shape y_shape = {rows[0], rows[1], rows[2], p.value.dim(3)};
  const AttentionResults r = {out(y_shape),         Tensor::full(rows, NAN, dtype, device),
                              out(p.query.shape()), out(p.key.shape()),
                              out(p.value.shape()), Tensor::zeros(p.scores(), dtype, device)};
  const Tensor query = in(p.query), key = in(p.key), value = in(p.value), dy = in(p.dy);
  backend(device).attention(query, key, value, p.mask, p.bias, p.rule, r.y, r.log_sum);
  backend(device).attention_backward(query, key, value, p.mask, p.bias, p.rule, r.y, r.log_sum, dy,
                                     r.dquery, r.dkey, r.dvalue, r.dbias);
  return r;
}

// False for a quarter of the places.
inline Tensor random_mask(const Shape& shape) {
  Generator generator(3);
  std::vector<bool> values(static_cast<size_t>(shape.numel()));
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = generator.below(4) != 0;
  }
  return Tensor::from_vector(values, shape);
}

// By strides of 0 along the dimensions of size 1.
inline Tensor repeated(const Tensor& x, const Shape& scores) {
  Shape strides = x.strides();
  for (int d = 0; d < scores.rank(); ++d) {
    strides[d] = x.dim(d) == 1 ? 0 : strides[d];
  }
  return x.as_strided(scores, strides, 0);
}

}  // namespace heed::kernels::test
