#include <cmath>
#include <numeric>

#include "autograd/functions.h"
#include "autograd/functions/support.h"

// The twins of the fused functions, made of other ops. Tests hold both to the same values and
// gradients; [run] fused = false selects them. Arguments were checked by the fused signature, or
// are checked by the ops used here.
namespace heed::composed {

CrossEntropy cross_entropy(const Tensor& logits, const Tensor& targets,
                           const CrossEntropyOptions& options) {
  const int64_t classes = logits.dim(-1);
  const Tensor rows = reshape(logits, {-1, classes});
  const Tensor ids = reshape(targets, {-1, 1});
  std::vector<int32_t> every_class(static_cast<size_t>(classes));
  std::iota(every_class.begin(), every_class.end(), 0);
  const Tensor is_target =
      equal(ids, Tensor::from_vector(every_class, {1, classes}, logits.device()));
  const Tensor counts = not_equal(
      ids, Tensor::scalar(static_cast<double>(options.ignore_index), DType::i32, logits.device()));
  const Tensor zero = Tensor::zeros({}, logits.dtype(), logits.device());
  // An ignored row becomes a row of zeros before anything is computed from it.
  const Tensor log_p = where(counts, log_softmax(where(counts, rows, zero)), zero);
  const Tensor nll = negate(sum(where(is_target, log_p, zero)));
  if (options.label_smoothing == 0) {
    return {nll, nll.detach()};
  }
  const Tensor all = negate(sum(log_p));
  const double eps = options.label_smoothing;
  return {nll * (1 - eps) + all * (eps / static_cast<double>(classes)), nll.detach()};
}

Tensor layer_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, double epsilon) {
  const Tensor centred = x - mean(x, {-1}, true);
  const Tensor variance = mean(square(centred), {-1}, true);
  const Tensor scaled = centred / square_root(variance + epsilon) * weight;
  return bias.defined() ? scaled + bias : scaled;
}

Tensor rms_norm(const Tensor& x, const Tensor& weight, double epsilon) {
  return x / square_root(mean(square(x), {-1}, true) + epsilon) * weight;
}

Tensor rotary(const Tensor& x, const Tensor& positions, double base, RotaryPairing pairing) {
  const int64_t pairs = x.dim(-1) / 2;
  std::vector<double> cosines;
  std::vector<double> sines;
  for (const double position : positions.to_doubles()) {
    for (int64_t i = 0; i < pairs; ++i) {
      const double exponent = static_cast<double>(-i) / static_cast<double>(pairs);
      const double angle = position * std::pow(base, exponent);
      cosines.push_back(std::cos(angle));
      sines.push_back(std::sin(angle));
    }
  }
  Shape table = positions.shape();
  table.push_back(pairs);
  const auto as_tensor = [&](const std::vector<double>& values) {
    return to_dtype(Tensor::from_vector(values, table, x.device()), x.dtype());
  };
  const Tensor cosine = as_tensor(cosines);
  const Tensor sine = as_tensor(sines);
  // Pairs as the last dimension, or the last but one.
  const bool interleaved = pairing == RotaryPairing::interleaved;
  Shape paired = x.shape();
  paired[x.rank() - 1] = interleaved ? pairs : 2;
  paired.push_back(interleaved ? 2 : pairs);
  const int dim = interleaved ? -1 : -2;
  const std::vector<Tensor> ends = unstack(reshape(x, paired), dim);
  const std::vector<Tensor> turned = {ends[0] * cosine - ends[1] * sine,
                                      ends[0] * sine + ends[1] * cosine};
  return reshape(stack(turned, dim), x.shape());
}

Tensor gru_cell(const Tensor& gates_x, const Tensor& gates_h, const Tensor& h, const Tensor& mask) {
  const int64_t width = h.dim(1);
  const auto gate = [&](const Tensor& gates, int64_t i) {
    return slice(gates, 1, i * width, (i + 1) * width);
  };
  const Tensor r = sigmoid(gate(gates_x, 0) + gate(gates_h, 0));
  const Tensor z = sigmoid(gate(gates_x, 1) + gate(gates_h, 1));
  const Tensor n = heed::tanh(gate(gates_x, 2) + r * gate(gates_h, 2));
  const Tensor y = (1.0 - z) * n + z * h;
  return mask.defined() ? where(unsqueeze(mask, -1), y, h) : y;
}

Tensor additive_score(const Tensor& query, const Tensor& keys, const Tensor& weight) {
  return sum(heed::tanh(unsqueeze(query, 1) + keys) * weight, {-1});
}

AdditiveAttentionResult additive_attention(const Tensor& query, const Tensor& keys,
                                           const Tensor& values, const Tensor& weight,
                                           const Tensor& mask) {
  // 0 * NaN is NaN: what is masked is taken out.
  const auto used = [&mask](const Tensor& x) {
    return mask.defined() ? where(unsqueeze(mask, -1), x, Tensor::zeros({}, x.dtype(), x.device()))
                          : x;
  };
  const Tensor weights = softmax(composed::additive_score(query, used(keys), weight), mask);
  return {squeeze(matmul(unsqueeze(weights, 1), used(values)), 1), weights};
}

}  // namespace heed::composed
