#pragma once

#include <cstdint>
#include <optional>

#include "core/export.h"
#include "nn/layers.h"

namespace heed::nn {

enum class Activation { relu, gelu, gelu_tanh, silu };

HEED_EXPORT Tensor activate(Activation activation, const Tensor& x);

struct FeedForwardOptions {
  int64_t width = 0;
  int64_t inner = 0;  // 0: 4 width
  Activation activation = Activation::relu;
  bool gated = false;
  double dropout = 0;  // of the inner units
  bool bias = true;
};

// linear2(a(linear1(x))), or gated (Shazeer 2020) linear2(a(linear_gate(x)) * linear1(x)): SwiGLU
// with silu, GEGLU with gelu. (..., width) -> (..., width)
class HEED_EXPORT FeedForward : public Module {
 public:
  FeedForward(const FeedForwardOptions& options, Generator& generator);
  Tensor forward(const Tensor& x) const;

 private:
  Activation activation_;
  Linear linear1_;
  std::optional<Linear> linear_gate_;
  Linear linear2_;
  Dropout dropout_;
};

}  // namespace heed::nn
