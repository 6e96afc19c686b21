#include "nn/layers.h"

#include <algorithm>
#include <cmath>

#include "autograd/functions.h"
#include "core/error.h"
#include "nn/init.h"

namespace heed::nn {
namespace {

void check_tied(const char* layer, const Tensor& weight, const Tensor& other) {
  HEED_CHECK(other.shape() == weight.shape(), layer, "weights of shapes {} and {} cannot be tied",
             weight.shape().to_string(), other.shape().to_string());
}

}  // namespace

Linear::Linear(int64_t in, int64_t out, Generator& generator, bool with_bias)
    : weight(register_parameter("weight", Tensor::empty({out, in}))) {
  const double bound = 1.0 / std::sqrt(static_cast<double>(std::max<int64_t>(in, 1)));
  init_uniform(weight, -bound, bound, generator);
  if (with_bias) {
    bias = register_parameter("bias", Tensor::empty({out}));
    init_uniform(bias, -bound, bound, generator);
  }
}

void Linear::share_weight(const Tensor& other) {
  check_tied("linear", weight, other);
  replace_parameter(weight, other);
  weight = other;
}

Tensor Linear::forward(const Tensor& x) const { return linear(x, weight, bias); }

Embedding::Embedding(int64_t vocabulary, int64_t width, Generator& generator, int64_t padding)
    : weight(register_parameter("weight", Tensor::empty({vocabulary, width}))), padding_(padding) {
  HEED_CHECK(padding < vocabulary, "embedding",
             "padding id {} is out of range: the vocabulary has {} ids", padding, vocabulary);
  init_normal(weight, 1.0, generator);
  zero_padding();
}

void Embedding::zero_padding() const {
  if (padding_ >= 0) {
    const Tensor row = weight.as_strided({weight.dim(1)}, {1}, padding_ * weight.dim(1));
    init_constant(row, 0);
  }
}

void Embedding::share_weight(const Tensor& other) {
  check_tied("embedding", weight, other);
  replace_parameter(weight, other);
  weight = other;
}

Tensor Embedding::forward(const Tensor& ids) const { return embedding(ids, weight, padding_); }

Dropout::Dropout(double p) : p_(p) {
  HEED_CHECK(p >= 0 && p < 1, "dropout", "the probability {} is not in [0, 1)", p);
}

Tensor Dropout::forward(const Tensor& x) const { return training() ? dropout(x, p_) : x; }

std::unique_ptr<Norm> make_norm(NormKind kind, int64_t width, bool with_bias) {
  if (kind == NormKind::rms) {
    return std::make_unique<RmsNorm>(width);
  }
  return std::make_unique<LayerNorm>(width, 1e-5, with_bias);
}

LayerNorm::LayerNorm(int64_t width, double epsilon, bool with_bias)
    : weight(register_parameter("weight", Tensor::full({width}, 1.0))), epsilon_(epsilon) {
  if (with_bias) {
    bias = register_parameter("bias", Tensor::zeros({width}));
  }
}

Tensor LayerNorm::forward(const Tensor& x) const { return layer_norm(x, weight, bias, epsilon_); }

RmsNorm::RmsNorm(int64_t width, double epsilon)
    : weight(register_parameter("weight", Tensor::full({width}, 1.0))), epsilon_(epsilon) {}

Tensor RmsNorm::forward(const Tensor& x) const { return rms_norm(x, weight, epsilon_); }

}  // namespace heed::nn
