#include "nn/layers.h"

#include <algorithm>
#include <cmath>

#include "autograd/functions.h"
#include "core/error.h"
#include "nn/init.h"

namespace heed::nn {

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
  HEED_CHECK(other.shape() == weight.shape(), "linear",
             "weights of shapes {} and {} cannot be tied", weight.shape().to_string(),
             other.shape().to_string());
  replace_parameter(weight, other);
  weight = other;
}

Tensor Linear::forward(const Tensor& x) const { return linear(x, weight, bias); }

Embedding::Embedding(int64_t vocabulary, int64_t width, Generator& generator, int64_t padding)
    : weight(register_parameter("weight", Tensor::empty({vocabulary, width}))), padding_(padding) {
  HEED_CHECK(padding < vocabulary, "embedding",
             "padding id {} is out of range: the vocabulary has {} ids", padding, vocabulary);
  init_normal(weight, 1.0, generator);
  if (padding >= 0) {
    float* row = weight.data<float>() + padding * width;
    std::fill_n(row, width, 0.0F);
  }
}

Tensor Embedding::forward(const Tensor& ids) const { return embedding(ids, weight, padding_); }

Dropout::Dropout(double p) : p_(p) {
  HEED_CHECK(p >= 0 && p < 1, "dropout", "the probability {} is not in [0, 1)", p);
}

Tensor Dropout::forward(const Tensor& x) const { return training() ? dropout(x, p_) : x; }

LayerNorm::LayerNorm(int64_t width, double epsilon)
    : weight(register_parameter("weight", Tensor::full({width}, 1.0))),
      bias(register_parameter("bias", Tensor::zeros({width}))),
      epsilon_(epsilon) {}

Tensor LayerNorm::forward(const Tensor& x) const { return layer_norm(x, weight, bias, epsilon_); }

}  // namespace heed::nn
