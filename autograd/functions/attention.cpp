#include "autograd/functions/attention.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <numeric>

#include "autograd/functions/elementwise.h"
#include "autograd/functions/network.h"
#include "autograd/functions/products.h"
#include "autograd/functions/reductions.h"
#include "autograd/functions/support.h"
#include "autograd/functions/views.h"
#include "core/logging.h"

namespace heed {

using namespace support;

namespace {

constexpr const char* op_name = "scaled_dot_product_attention";

// Checked arguments with their head dimension, (B, H, L, D) throughout.
struct Arguments {
  Tensor query, key, value;
  Tensor mask, bias;  // rank 4, sizes 1 where they repeat; undefined when there is none
  double scale;
  double dropout;
  bool causal;
  bool heads_given;
};

bool only_zeros_and_ones(const std::vector<double>& values) {
  return std::all_of(values.begin(), values.end(), [](double x) { return x == 0 || x == 1; });
}

// A bias of zeros and ones is most likely a mask: as a bias it keeps nothing out. One that does not
// begin like that, such as distances or 0 and -inf, is not read beyond its first row, and one that
// is learned, and may begin as zeros, not at all.
void warn_of_a_mask(const Tensor& bias) {
  static std::atomic<bool> warned{false};
  if (warned || requires_grad(bias) || bias.rank() == 0 || bias.numel() == 0) {
    return;
  }
  const Tensor first = bias.as_strided({bias.dim(-1)}, {bias.strides().dim(-1)}, bias.offset());
  if (!only_zeros_and_ones(first.to_doubles())) {
    return;
  }
  const std::vector<double> all = bias.to_doubles();
  const bool both = std::find(all.begin(), all.end(), 0) != all.end() &&
                    std::find(all.begin(), all.end(), 1) != all.end();
  if (both && only_zeros_and_ones(all) && !warned.exchange(true)) {
    log::warning(op_name,
                 "the bias {} holds only 0 and 1, which are added to the scores: to say who may be "
                 "attended, pass booleans as `mask` (true = may attend)",
                 bias.shape().to_string());
  }
}

void check_bias(const Tensor& query, const Tensor& bias, const Shape& scores) {
  check_alike(op_name, "query", query, "bias", bias);
  bool fits = bias.rank() <= scores.rank();
  for (int i = 1; fits && i <= bias.rank(); ++i) {
    fits = bias.dim(-i) == 1 || bias.dim(-i) == scores.dim(-i);
  }
  HEED_CHECK(fits, op_name, "the bias {} does not broadcast to {}", bias.shape().to_string(),
             scores.to_string());
  warn_of_a_mask(bias);
}

// x (B, L, S), or with dimensions missing at the left, as (B, H, L, S) with sizes of 1.
Tensor with_heads(Tensor x, bool heads_given) {
  if (!heads_given && x.rank() == 3) {
    x = unsqueeze(x, 1);
  }
  while (x.rank() < 4) {
    x = unsqueeze(x, 0);
  }
  return x;
}

Arguments checked(const Tensor& query, const Tensor& key, const Tensor& value,
                  const AttentionOptions& options) {
  check_floating(op_name, query);
  check_alike(op_name, "query", query, "key", key);
  check_alike(op_name, "query", query, "value", value);
  const int rank = query.rank();
  HEED_CHECK((rank == 3 || rank == 4) && key.rank() == rank && value.rank() == rank, op_name,
             "query, key and value are all (B, H, length, width) or all (B, length, width): {}, "
             "{}, {}",
             describe("query", query), describe("key", key), describe("value", value));
  bool same_batch = true;
  for (int i = 0; i + 2 < rank; ++i) {
    same_batch = same_batch && key.dim(i) == query.dim(i) && value.dim(i) == query.dim(i);
  }
  HEED_CHECK(same_batch, op_name, "batches or heads differ: {}, {}, {}", describe("query", query),
             describe("key", key), describe("value", value));
  HEED_CHECK(key.dim(-1) == query.dim(-1), op_name, "widths differ: {}, {}",
             describe("query", query), describe("key", key));
  HEED_CHECK(value.dim(-2) == key.dim(-2), op_name, "there is not one value for each key: {}, {}",
             describe("key", key), describe("value", value));
  Shape scores = query.shape();
  scores[rank - 1] = key.dim(-2);
  if (options.mask.defined()) {
    check_mask(op_name, options.mask, "may attend", query, scores);
  }
  if (options.bias.defined()) {
    check_bias(query, options.bias, scores);
  }
  HEED_CHECK(options.dropout >= 0 && options.dropout < 1, op_name,
             "the probability {} is not in [0, 1)", options.dropout);
  const auto width = static_cast<double>(std::max<int64_t>(1, query.dim(-1)));
  const double scale = options.scale.value_or(1 / std::sqrt(width));
  HEED_CHECK(std::isfinite(scale), op_name, "the scale {} is not finite", scale);
  const bool heads = rank == 4;
  return {heads ? query : unsqueeze(query, 1),
          heads ? key : unsqueeze(key, 1),
          heads ? value : unsqueeze(value, 1),
          options.mask.defined() ? with_heads(options.mask, heads) : Tensor(),
          options.bias.defined() ? with_heads(options.bias, heads) : Tensor(),
          scale,
          options.dropout,
          options.causal,
          heads};
}

// --- composed ----------------------------------------------------------------------------------

// Positions first, first + 1, ..., i32.
Tensor positions(int64_t first, int64_t count, const Shape& shape, Device device) {
  std::vector<int32_t> values(static_cast<size_t>(count));
  std::iota(values.begin(), values.end(), static_cast<int32_t>(first));
  return Tensor::from_vector(values, shape, device);
}

// mask and causal together; undefined when everything may attend to everything.
Tensor combined_mask(const Arguments& a) {
  if (!a.causal) {
    return a.mask;
  }
  const int64_t queries = a.query.dim(2);
  const int64_t keys = a.key.dim(2);
  const Device device = a.query.device();
  const Tensor causal = less_equal(positions(0, keys, {1, 1, 1, keys}, device),
                                   positions(keys - queries, queries, {1, 1, queries, 1}, device));
  return a.mask.defined() ? logical_and(a.mask, causal) : causal;
}

bool all_finite(const Tensor& x) {
  const Tensor finite = Tensor::empty({1}, DType::boolean, x.device());
  kernels::backend(x).all_finite(x, finite);
  return finite.to_vector<bool>().front();
}

// Products multiply what is masked by 0, which inf and NaN survive. Whether some would pass the
// mask to what is sound: a query that attends to nothing spoilt, a key that nothing spoilt attends
// to. In a network that has diverged nothing is.
bool leaks(const Arguments& a, const Tensor& mask) {
  if (all_finite(a.query) && all_finite(a.key) && all_finite(a.value)) {
    return false;
  }
  const NoGradScope no_grad;
  const Tensor zero = Tensor::zeros({}, a.query.dtype(), a.query.device());
  const Tensor one = zero + 1;
  // (B, H, length, 1), not 0 where a row holds inf or NaN.
  const auto spoilt_rows = [&](const Tensor& x) {
    return where(equal(sum(x * 0, {-1}, true), zero), zero, one);
  };
  const Shape scores = {a.query.dim(0), a.query.dim(1), a.query.dim(2), a.key.dim(2)};
  const Tensor seen = where(mask, broadcast_to(one, scores), zero);
  const Tensor hidden = one - seen;
  const Tensor keys = spoilt_rows(a.key) + spoilt_rows(a.value);
  const Tensor queries = spoilt_rows(a.query) + matmul(seen, keys);
  const Tensor attended = keys + matmul(transpose(seen), queries);
  const auto reaches = [&](const Tensor& from_hidden, const Tensor& spoilt) {
    const Tensor reached = logical_and(not_equal(from_hidden, zero), equal(spoilt, zero));
    return sum(where(reached, one, zero)).item() > 0;
  };
  return reaches(matmul(hidden, keys), queries) ||
         reaches(matmul(transpose(hidden), queries), attended);
}

// (B, H, L, 1) or broadcasting to it: whether a query may attend to any key.
Tensor attends(const Tensor& mask, DType dtype) {
  const Tensor zero = Tensor::zeros({}, dtype, mask.device());
  return not_equal(sum(where(mask, zero + 1, zero), {-1}, true), zero);
}

AttentionWithWeights compose(const Arguments& a) {
  const Tensor mask = combined_mask(a);
  const Tensor zero = Tensor::zeros({}, a.query.dtype(), a.query.device());
  // Each query gets copies of its own in which masked keys and values are 0.
  const bool by_row = mask.defined() && leaks(a, mask);
  const auto copies = [&](const Tensor& x) {
    return where(unsqueeze(mask, 4), unsqueeze(x, 2), zero);
  };
  const Tensor query = a.query * a.scale;
  Tensor scores =
      by_row ? sum(unsqueeze(query, 3) * copies(a.key), {4}) : matmul(query, transpose(a.key));
  if (a.bias.defined()) {
    scores = scores + a.bias;
  }
  const Tensor weights = dropout(softmax(scores, mask), a.dropout);
  Tensor output =
      by_row ? sum(unsqueeze(weights, 4) * copies(a.value), {3}) : matmul(weights, a.value);
  if (mask.defined()) {
    // So that the cotangent of a row that attends to nothing meets no product either.
    output = where(attends(mask, a.query.dtype()), output, zero);
  }
  return a.heads_given ? AttentionWithWeights{output, weights}
                       : AttentionWithWeights{squeeze(output, 1), squeeze(weights, 1)};
}

// --- fused -------------------------------------------------------------------------------------

// (B, H, length, width) in memory as (B, length, H, width), so that heads split from a projection
// or merged for one are views.
Tensor heads_like(const Tensor& x, int64_t length, int64_t width) {
  const Tensor memory = empty_like(x, {x.dim(0), length, x.dim(1), width});
  Shape shape = memory.shape();
  Shape strides = memory.strides();
  std::swap(shape[1], shape[2]);
  std::swap(strides[1], strides[2]);
  return memory.as_strided(shape, strides, 0);
}

Tensor fuse(const Arguments& a) {
  const Tensor& query = a.query;
  const Shape scores = {query.dim(0), query.dim(1), query.dim(2), a.key.dim(2)};
  const auto expanded = [&](const Tensor& x) {
    return x.defined() ? broadcast_to(x, scores) : Tensor();
  };
  const Tensor mask = expanded(a.mask);
  const Tensor bias = expanded(a.bias);
  kernels::AttentionRule rule = {a.scale, a.causal, a.dropout, {}};
  if (a.dropout > 0) {
    rule.random = default_generator().reserve(static_cast<uint64_t>(scores.numel()));
  }
  const Tensor y = heads_like(query, query.dim(2), a.value.dim(3));
  const Tensor log_sum = empty_like(query, {query.dim(0), query.dim(1), query.dim(2)});
  kernels::backend(query).attention(query, a.key, a.value, mask, bias, rule, y, log_sum);
  const auto backward = [q = Saved(query), k = Saved(a.key), v = Saved(a.value), mask = Saved(mask),
                         bias = Saved(bias), y = Saved(y), log_sum = Saved(log_sum), rule, scores,
                         bias_shape = a.bias.defined() ? a.bias.shape() : Shape()](
                            const BackwardContext& context) -> Gradients {
    const Tensor& queries = context.get(q);
    const Tensor& keys = context.get(k);
    const Tensor& values = context.get(v);
    const Tensor dquery = heads_like(queries, queries.dim(2), queries.dim(3));
    const Tensor dkey = heads_like(keys, keys.dim(2), keys.dim(3));
    const Tensor dvalue = heads_like(values, values.dim(2), values.dim(3));
    const Tensor dbias =
        context.needs(3) ? Tensor::zeros(scores, queries.dtype(), queries.device()) : Tensor();
    kernels::backend(queries).attention_backward(
        queries, keys, values, context.get(mask), context.get(bias), rule, context.get(y),
        context.get(log_sum), context.cotangent(), dquery, dkey, dvalue, dbias);
    return {dquery, dkey, dvalue, dbias.defined() ? sum_to(dbias, bias_shape) : Tensor()};
  };
  return record("scaled_dot_product_attention", {query, a.key, a.value, a.bias}, y, backward);
}

}  // namespace

AttentionWithWeights attention_with_weights(const Tensor& query, const Tensor& key,
                                            const Tensor& value, const AttentionOptions& options) {
  return compose(checked(query, key, value, options));
}

Tensor composed::scaled_dot_product_attention(const Tensor& query, const Tensor& key,
                                              const Tensor& value,
                                              const AttentionOptions& options) {
  return compose(checked(query, key, value, options)).output;
}

Tensor scaled_dot_product_attention(const Tensor& query, const Tensor& key, const Tensor& value,
                                    const AttentionOptions& options) {
  const Arguments arguments = checked(query, key, value, options);
  if (!kernels::fused_kernels()) {
    return compose(arguments).output;
  }
  const Tensor output = fuse(arguments);
  return arguments.heads_given ? output : squeeze(output, 1);
}

}  // namespace heed
