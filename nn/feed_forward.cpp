#include "nn/feed_forward.h"

#include "autograd/functions.h"
#include "core/error.h"

namespace heed::nn {
namespace {

int64_t inner_of(const FeedForwardOptions& options) {
  HEED_CHECK(options.width > 0 && options.inner >= 0, "feed_forward",
             "sizes are positive: width {}, inner {}", options.width, options.inner);
  return options.inner == 0 ? 4 * options.width : options.inner;
}

}  // namespace

Tensor activate(Activation activation, const Tensor& x) {
  switch (activation) {
    case Activation::relu:
      return relu(x);
    case Activation::gelu:
      return gelu(x);
    case Activation::gelu_tanh:
      return gelu_tanh(x);
    case Activation::silu:
      break;
  }
  return silu(x);
}

FeedForward::FeedForward(const FeedForwardOptions& options, Generator& generator)
    : activation_(options.activation),
      linear1_(options.width, inner_of(options), generator, options.bias),
      linear2_(inner_of(options), options.width, generator, options.bias),
      dropout_(options.dropout) {
  register_module("linear1", linear1_);
  if (options.gated) {
    linear_gate_.emplace(options.width, inner_of(options), generator, options.bias);
    register_module("linear_gate", *linear_gate_);
  }
  register_module("linear2", linear2_);
  register_module("dropout", dropout_);
}

Tensor FeedForward::forward(const Tensor& x) const {
  const Tensor inner = linear_gate_
                           ? activate(activation_, linear_gate_->forward(x)) * linear1_.forward(x)
                           : activate(activation_, linear1_.forward(x));
  return linear2_.forward(dropout_.forward(inner));
}

}  // namespace heed::nn
