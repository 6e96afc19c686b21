#include "autograd/functions/network.h"

#include <cmath>
#include <numeric>

#include "autograd/functions/support.h"

namespace heed {

using kernels::backend;
using namespace support;

Tensor embedding(const Tensor& ids, const Tensor& table, int64_t padding) {
  HEED_CHECK(ids.dtype() == DType::i32, "embedding", "ids are i32: {}", describe("ids", ids));
  HEED_CHECK(table.rank() == 2, "embedding", "a table (V, C) is expected: {}",
             describe("table", table));
  check_floating("embedding", table);
  check_device("embedding", "ids", ids, "table", table);
  const int64_t rows = table.dim(0);
  if (ids.device().kind == DeviceKind::cpu) {
    for_each_offset(ids.shape(), ids.strides(), [&](int64_t offset) {
      const int32_t id = ids.data<int32_t>()[offset];
      HEED_CHECK(id >= 0 && id < rows, "embedding", "id {} is out of range: {}", id,
                 describe("table", table));
    });
  }
  Shape shape = ids.shape();
  shape.push_back(table.dim(1));
  const Tensor flat_ids = view(dense(ids), {ids.numel()});
  const Tensor y = empty_like(table, shape);
  backend(y).gather_rows(dense(table), flat_ids, view(y, {ids.numel(), table.dim(1)}));
  return record("embedding", {table}, y,
                [flat_ids = Saved(flat_ids), padding,
                 table_shape = table.shape()](const BackwardContext& context) -> Gradients {
                  const Tensor g = as_rows(context.cotangent());
                  const Tensor dtable = Tensor::zeros(table_shape, g.dtype(), g.device());
                  backend(g).scatter_add_rows(g, context.get(flat_ids), padding, dtable);
                  return {dtable};
                });
}

namespace {

struct SoftmaxKernels {
  void (kernels::Backend::*forward)(const Tensor&, const Tensor&, const Tensor&);
  void (kernels::Backend::*backward)(const Tensor&, const Tensor&, const Tensor&);
};

Tensor softmax_like(const char* op, const SoftmaxKernels& kernel, const Tensor& x,
                    const Tensor& mask) {
  check_floating(op, x);
  HEED_CHECK(x.rank() > 0, op, "there is no last dimension: {}", describe("x", x));
  Tensor full_mask;
  if (mask.defined()) {
    check_mask(op, mask, "takes part", x, x.shape());
    full_mask = broadcast_to(mask, x.shape());
  }
  const Tensor y = empty_like(x);
  (backend(x).*kernel.forward)(dense(x), full_mask, y);
  return record(op, {x}, y,
                [kernel, y_saved = Saved(y)](const BackwardContext& context) -> Gradients {
                  const Tensor g = dense(context.cotangent());
                  const Tensor dx = empty_like(g);
                  (backend(g).*kernel.backward)(context.get(y_saved), g, dx);
                  return {dx};
                });
}

void check_rows_vector(const char* op, std::string_view name, const Tensor& vector,
                       const Tensor& x) {
  check_alike(op, "x", x, name, vector);
  HEED_CHECK(x.rank() > 0 && vector.shape() == Shape({x.dim(-1)}), op,
             "{} (C) does not fit x (..., C): {}, {}", name, describe(name, vector),
             describe("x", x));
}

}  // namespace

Tensor softmax(const Tensor& x, const Tensor& mask) {
  return softmax_like("softmax", {&kernels::Backend::softmax, &kernels::Backend::softmax_backward},
                      x, mask);
}

Tensor log_softmax(const Tensor& x, const Tensor& mask) {
  return softmax_like("log_softmax",
                      {&kernels::Backend::log_softmax, &kernels::Backend::log_softmax_backward}, x,
                      mask);
}

namespace {

void check_cross_entropy(const Tensor& logits, const Tensor& targets,
                         const CrossEntropyOptions& options) {
  check_floating("cross_entropy", logits);
  HEED_CHECK(targets.dtype() == DType::i32, "cross_entropy", "targets are i32: {}",
             describe("targets", targets));
  check_device("cross_entropy", "targets", targets, "logits", logits);
  Shape expected = logits.shape();
  HEED_CHECK(expected.rank() > 0, "cross_entropy", "there is no class dimension: {}",
             describe("logits", logits));
  expected.erase(logits.rank() - 1);
  HEED_CHECK(targets.shape() == expected, "cross_entropy",
             "targets (...) do not fit logits (..., V): {}, {}", describe("targets", targets),
             describe("logits", logits));
  HEED_CHECK(options.ignore_index == static_cast<int32_t>(options.ignore_index), "cross_entropy",
             "ignore_index {} is no i32", options.ignore_index);
  HEED_CHECK(options.label_smoothing >= 0 && options.label_smoothing < 1, "cross_entropy",
             "label smoothing {} is not in [0, 1)", options.label_smoothing);
  if (targets.device().kind != DeviceKind::cpu) {
    return;
  }
  for_each_offset(targets.shape(), targets.strides(), [&](int64_t offset) {
    const int32_t target = targets.data<int32_t>()[offset];
    HEED_CHECK(target == options.ignore_index || (target >= 0 && target < logits.dim(-1)),
               "cross_entropy", "target {} is no class: {}", target, describe("logits", logits));
  });
}

Tensor total(const Tensor& rows) { return view(sum_to(rows, {1}), {}); }

}  // namespace

CrossEntropy cross_entropy(const Tensor& logits, const Tensor& targets,
                           const CrossEntropyOptions& options) {
  check_cross_entropy(logits, targets, options);
  if (!kernels::fused_kernels()) {
    return composed::cross_entropy(logits, targets, options);
  }
  const Tensor rows = as_rows(logits);
  const int64_t count = rows.dim(0);
  const Tensor flat_targets = view(dense(targets), {count});
  const Tensor loss = empty_like(logits, {count});
  const Tensor nll = empty_like(logits, {count});
  const Tensor largest = empty_like(logits, {count});
  const Tensor sum = empty_like(logits, {count});
  const auto [smoothing, ignore] = options;
  backend(logits).cross_entropy(rows, flat_targets, smoothing, ignore, loss, nll, largest, sum);
  const Tensor loss_sum = record(
      "cross_entropy", {logits}, total(loss),
      [rows = Saved(rows), targets_saved = Saved(flat_targets), largest = Saved(largest),
       sum = Saved(sum), count, smoothing = smoothing, ignore = ignore,
       shape = logits.shape()](const BackwardContext& context) -> Gradients {
        const Tensor& x = context.get(rows);
        const Tensor dlogits = context.reuse(rows);  // the largest tensor of a step, once
        const Tensor g = broadcast_to(context.cotangent(), {count});
        backend(x).cross_entropy_backward(x, context.get(targets_saved), smoothing, ignore,
                                          context.get(largest), context.get(sum), g, dlogits);
        return {view(dlogits, shape)};
      });
  return {loss_sum, total(nll)};
}

Tensor layer_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, double epsilon) {
  check_floating("layer_norm", x);
  check_rows_vector("layer_norm", "weight", weight, x);
  if (bias.defined()) {
    check_rows_vector("layer_norm", "bias", bias, x);
  }
  if (!kernels::fused_kernels()) {
    return composed::layer_norm(x, weight, bias, epsilon);
  }
  const Tensor rows = as_rows(x);
  const Tensor w = dense(weight);
  const Tensor mean = empty_like(x, {rows.dim(0)});
  const Tensor rstd = empty_like(x, {rows.dim(0)});
  const Tensor y = empty_like(x);
  backend(x).layer_norm(rows, w, bias.defined() ? dense(bias) : Tensor(), epsilon,
                        view(y, rows.shape()), mean, rstd);
  return record("layer_norm", {x, weight, bias}, y,
                [rows = Saved(rows), w = Saved(w), mean = Saved(mean), rstd = Saved(rstd),
                 shape = x.shape()](const BackwardContext& context) -> Gradients {
                  const Tensor& x_rows = context.get(rows);
                  const Tensor& gain = context.get(w);
                  const Tensor g = as_rows(context.cotangent());
                  const Tensor dx = empty_like(g);
                  const Tensor dweight = empty_like(gain);
                  const Tensor dbias = context.needs(2) ? empty_like(gain) : Tensor();
                  backend(g).layer_norm_backward(x_rows, gain, context.get(mean), context.get(rstd),
                                                 g, dx, dweight, dbias);
                  return {view(dx, shape), dweight, dbias};
                });
}

Tensor rms_norm(const Tensor& x, const Tensor& weight, double epsilon) {
  check_floating("rms_norm", x);
  check_rows_vector("rms_norm", "weight", weight, x);
  if (!kernels::fused_kernels()) {
    return composed::rms_norm(x, weight, epsilon);
  }
  const Tensor rows = as_rows(x);
  const Tensor w = dense(weight);
  const Tensor rstd = empty_like(x, {rows.dim(0)});
  const Tensor y = empty_like(x);
  backend(x).rms_norm(rows, w, epsilon, view(y, rows.shape()), rstd);
  return record("rms_norm", {x, weight}, y,
                [rows = Saved(rows), w = Saved(w), rstd = Saved(rstd),
                 shape = x.shape()](const BackwardContext& context) -> Gradients {
                  const Tensor& gain = context.get(w);
                  const Tensor g = as_rows(context.cotangent());
                  const Tensor dx = empty_like(g);
                  const Tensor dweight = empty_like(gain);
                  backend(g).rms_norm_backward(context.get(rows), gain, context.get(rstd), g, dx,
                                               dweight);
                  return {view(dx, shape), dweight};
                });
}

namespace {

void check_vectors(const Tensor& x) {
  check_floating("rotary", x);
  HEED_CHECK(x.rank() >= 2, "rotary", "there is no dimension of positions, x is (..., T, D): {}",
             describe("x", x));
}

}  // namespace

Tensor rotary(const Tensor& x, const Tensor& positions, double base, RotaryPairing pairing) {
  check_vectors(x);
  HEED_CHECK(x.dim(-1) % 2 == 0, "rotary", "the last dimension does not split into pairs: {}",
             describe("x", x));
  HEED_CHECK(positions.defined() && positions.dtype() == DType::i32, "rotary",
             "positions are i32: {}",
             positions.defined() ? describe("positions", positions) : "undefined");
  bool fits = positions.rank() < x.rank();
  for (int i = 1; fits && i <= positions.rank(); ++i) {
    fits = positions.dim(-i) == 1 || positions.dim(-i) == x.dim(-i - 1);
  }
  HEED_CHECK(fits, "rotary", "positions (..., T) do not fit x (..., T, D): {}, {}",
             describe("positions", positions), describe("x", x));
  HEED_CHECK(base > 0 && std::isfinite(base), "rotary", "the base {} is not a positive number",
             base);
  if (!kernels::fused_kernels()) {
    return composed::rotary(x, positions, base, pairing);
  }
  Shape rows = x.shape();
  rows.erase(x.rank() - 1);
  const Tensor at = broadcast_to(positions, rows);
  const bool half = pairing == RotaryPairing::half;
  const Tensor y = empty_like(x);
  backend(x).rotary(x, at, base, half, false, y);
  // What was turned is turned back.
  return record("rotary", {x}, y,
                [at = Saved(at), base, half](const BackwardContext& context) -> Gradients {
                  const Tensor& g = context.cotangent();
                  const Tensor dx = empty_like(g);
                  backend(g).rotary(g, context.get(at), base, half, true, dx);
                  return {dx};
                });
}

Tensor rotary(const Tensor& x, int64_t offset, double base, RotaryPairing pairing) {
  check_vectors(x);
  std::vector<int32_t> positions(static_cast<size_t>(x.dim(-2)));
  std::iota(positions.begin(), positions.end(), static_cast<int32_t>(offset));
  return rotary(x, Tensor::from_vector(positions, {x.dim(-2)}, x.device()), base, pairing);
}

Tensor gru_cell(const Tensor& gates_x, const Tensor& gates_h, const Tensor& h, const Tensor& mask) {
  check_floating("gru_cell", h);
  check_alike("gru_cell", "gates_x", gates_x, "h", h);
  check_alike("gru_cell", "gates_h", gates_h, "h", h);
  HEED_CHECK(h.rank() == 2 && gates_x.shape() == Shape({h.dim(0), 3 * h.dim(1)}) &&
                 gates_h.shape() == gates_x.shape(),
             "gru_cell", "gates (B, 3H) do not fit h (B, H): {}, {}, {}",
             describe("gates_x", gates_x), describe("gates_h", gates_h), describe("h", h));
  if (mask.defined()) {
    check_mask("gru_cell", mask, "updates h", h, {h.dim(0)});
  }
  if (!kernels::fused_kernels()) {
    return composed::gru_cell(gates_x, gates_h, h, mask);
  }
  const Tensor state = dense(h);
  const Tensor recurrent = dense(gates_h);
  // A slice of all steps' gates is read in place.
  const Tensor input = gates_x.strides().dim(-1) == 1 ? gates_x : dense(gates_x);
  const Tensor keep = mask.defined() ? dense(broadcast_to(mask, {h.dim(0)})) : Tensor();
  const Tensor gates = empty_like(recurrent);
  const Tensor y = empty_like(state);
  backend(h).gru_cell(input, recurrent, state, keep, y, gates);
  return record("gru_cell", {gates_x, gates_h, h}, y,
                [gates = Saved(gates), recurrent = Saved(recurrent), state = Saved(state),
                 keep = Saved(keep)](const BackwardContext& context) -> Gradients {
                  const Tensor g = dense(context.cotangent());
                  const Tensor& rzn = context.get(gates);
                  const Tensor dgates_x = empty_like(rzn);
                  const Tensor dgates_h = empty_like(rzn);
                  const Tensor dh = empty_like(g);
                  backend(g).gru_cell_backward(rzn, context.get(recurrent), context.get(state),
                                               context.get(keep), g, dgates_x, dgates_h, dh);
                  return {dgates_x, dgates_h, dh};
                });
}

namespace {

void check_additive(const char* op, const Tensor& query, const Tensor& keys, const Tensor& weight) {
  check_floating(op, query);
  check_alike(op, "query", query, "keys", keys);
  check_alike(op, "query", query, "weight", weight);
  HEED_CHECK(query.rank() == 2 && keys.rank() == 3 && weight.rank() == 1 &&
                 keys.dim(0) == query.dim(0) && keys.dim(2) == query.dim(1) &&
                 weight.dim(0) == query.dim(1),
             op, "query (B, A), keys (B, S, A) and weight (A) do not fit: {}, {}, {}",
             describe("query", query), describe("keys", keys), describe("weight", weight));
}

}  // namespace

Tensor additive_score(const Tensor& query, const Tensor& keys, const Tensor& weight) {
  check_additive("additive_score", query, keys, weight);
  if (!kernels::fused_kernels()) {
    return composed::additive_score(query, keys, weight);
  }
  const Tensor q = dense(query);
  const Tensor k = dense(keys);
  const Tensor w = dense(weight);
  const Tensor scores = empty_like(q, {keys.dim(0), keys.dim(1)});
  backend(q).additive_score(q, k, w, scores);
  return record(
      "additive_score", {query, keys, weight}, scores,
      [q = Saved(q), k = Saved(k), w = Saved(w)](const BackwardContext& context) -> Gradients {
        const Tensor& queries = context.get(q);
        const Tensor& annotations = context.get(k);
        const Tensor& vector = context.get(w);
        const Tensor dquery = empty_like(queries);
        const Tensor dkeys = empty_like(annotations);
        const Tensor dweight = empty_like(vector);
        backend(queries).additive_score_backward(
            queries, annotations, vector, dense(context.cotangent()), dquery, dkeys, dweight);
        return {dquery, dkeys, dweight};
      });
}

AdditiveAttentionResult additive_attention(const Tensor& query, const Tensor& keys,
                                           const Tensor& values, const Tensor& weight,
                                           const Tensor& mask) {
  check_additive("additive_attention", query, keys, weight);
  check_alike("additive_attention", "query", query, "values", values);
  const Shape positions = {keys.dim(0), keys.dim(1)};
  HEED_CHECK(values.rank() == 3 && Shape({values.dim(0), values.dim(1)}) == positions,
             "additive_attention", "values (B, S, C) do not fit keys (B, S, A): {}, {}",
             describe("values", values), describe("keys", keys));
  if (mask.defined()) {
    check_mask("additive_attention", mask, "takes part", query, positions);
  }
  if (!kernels::fused_kernels()) {
    return composed::additive_attention(query, keys, values, weight, mask);
  }
  const Tensor q = dense(query);
  const Tensor k = dense(keys);
  const Tensor v = dense(values);
  const Tensor w = dense(weight);
  const AdditiveAttentionResult y = {empty_like(q, {positions[0], values.dim(2)}),
                                     empty_like(q, positions)};
  backend(q).additive_attention(q, k, v, mask.defined() ? broadcast_to(mask, positions) : Tensor(),
                                w, y.weights, y.context);
  const Tensor inputs[] = {query, keys, values, weight};
  const Tensor outputs[] = {y.context, y.weights};
  record("additive_attention", inputs, outputs,
         [q = Saved(q), k = Saved(k), v = Saved(v), w = Saved(w),
          weights = Saved(y.weights)](const BackwardContext& context) -> Gradients {
           const Tensor& queries = context.get(q);
           const Tensor& annotations = context.get(v);
           const Tensor dquery = empty_like(queries);
           const Tensor dkeys = empty_like(context.get(k));
           const Tensor dvalues = empty_like(annotations);
           const Tensor dweight = empty_like(context.get(w));
           backend(queries).additive_attention_backward(
               queries, context.get(k), annotations, context.get(w), context.get(weights),
               dense(context.cotangent(1)), dense(context.cotangent(0)), dquery, dkeys, dvalues,
               dweight);
           return {dquery, dkeys, dvalues, dweight};
         });
  return y;
}

Tensor max_pairs(const Tensor& x) {
  check_floating("max_pairs", x);
  HEED_CHECK(x.rank() > 0 && x.dim(-1) % 2 == 0, "max_pairs",
             "the last dimension does not split into pairs: {}", describe("x", x));
  const Tensor rows = as_rows(x);
  Shape shape = x.shape();
  shape[x.rank() - 1] /= 2;
  const Tensor y = empty_like(x, shape);
  backend(x).max_pairs(rows, view(y, {rows.dim(0), rows.dim(1) / 2}));
  return record(
      "max_pairs", {x}, y,
      [rows = Saved(rows), x_shape = x.shape()](const BackwardContext& context) -> Gradients {
        const Tensor& pairs = context.get(rows);
        const Tensor dx = empty_like(pairs);
        backend(pairs).max_pairs_backward(pairs, as_rows(context.cotangent()), dx);
        return {view(dx, x_shape)};
      });
}

}  // namespace heed
