#include "nn/feed_forward.h"

#include <cmath>
#include <map>
#include <numbers>
#include <string>
#include <vector>

#include "autograd/functions.h"
#include "tests/nn/support.h"

namespace heed::nn::test {
namespace {

double activated(Activation activation, double x) {
  switch (activation) {
    case Activation::relu:
      return std::max(x, 0.0);
    case Activation::gelu:
      return x * 0.5 * (1 + std::erf(x / std::numbers::sqrt2));
    case Activation::gelu_tanh:
      return 0.5 * x *
             (1 + std::tanh(std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x)));
    case Activation::silu:
      break;
  }
  return x / (1 + std::exp(-x));
}

constexpr Activation activations[] = {Activation::relu, Activation::gelu, Activation::gelu_tanh,
                                      Activation::silu};

FeedForwardOptions sized(Activation activation, bool gated, bool bias = true) {
  FeedForwardOptions options;
  options.width = 3;
  options.inner = 5;
  options.activation = activation;
  options.gated = gated;
  options.bias = bias;
  return options;
}

TEST(FeedForward, FollowsItsFormula) {
  const Tensor x = random_tensor({2, 2, 3}, DType::f64, 1);
  for (const Activation activation : activations) {
    for (const bool gated : {false, true}) {
      for (const bool bias : {false, true}) {
        Generator generator(1);
        FeedForward layer(sized(activation, gated, bias), generator);
        layer.convert(DType::f64);
        randomize(layer, 1);
        std::map<std::string, Values> p;
        for (const NamedTensor& entry : layer.named_parameters()) {
          p[entry.name] = entry.tensor.to_doubles();
        }
        Values expected;
        for (const Values& row : rows_of(x)) {
          const auto project = [&](const std::string& name, const Values& in) {
            return affine_by_hand(p.at(name + ".weight"), p[name + ".bias"], in);
          };
          Values inner = project("linear1", row);
          const Values gate = gated ? project("linear_gate", row) : inner;
          for (size_t i = 0; i < inner.size(); ++i) {
            inner[i] = activated(activation, gate[i]) * (gated ? inner[i] : 1);
          }
          const Values y = project("linear2", inner);
          expected.insert(expected.end(), y.begin(), y.end());
        }
        EXPECT_EQ(layer.named_parameters().size(), (gated ? 3U : 2U) * (bias ? 2U : 1U));
        expect_close(layer.forward(x), Tensor::from_vector(expected, {2, 2, 3}), 1e-12);
      }
    }
  }
}

TEST(FeedForward, IsFourTimesAsWideInsideUnlessTold) {
  Generator generator(1);
  FeedForwardOptions options;
  options.width = 6;
  EXPECT_EQ(FeedForward(options, generator).parameter_count(), 6 * 24 + 24 + 24 * 6 + 6);
}

TEST(FeedForward, DropsInnerUnitsInTraining) {
  Generator generator(1);
  FeedForwardOptions options = sized(Activation::relu, false);
  options.dropout = 0.5;
  FeedForward layer(options, generator);
  const Tensor x = random_tensor({20, 3}, DType::f32, 1);
  EXPECT_NE(layer.forward(x).to_doubles(), layer.forward(x).to_doubles());
  const EvaluationScope evaluation(layer);
  EXPECT_EQ(layer.forward(x).to_doubles(), layer.forward(x).to_doubles());
}

TEST(FeedForward, PassesGradcheck) {
  const Tensor x = random_tensor({2, 2, 3}, DType::f64, 1);
  for (const Activation activation : activations) {
    for (const bool gated : {false, true}) {
      Generator generator(1);
      FeedForward layer(sized(activation, gated), generator);
      layer.convert(DType::f64);
      randomize(layer, 1);
      EXPECT_THAT(
          gradcheck_module(
              layer, [&](const std::vector<Tensor>& in) { return layer.forward(in[0]); }, {x}),
          PassesGradcheck());
    }
  }
}

TEST(FeedForward, RefusesImpossibleSizes) {
  Generator generator(1);
  EXPECT_EQ(error_of([&] {
              FeedForward({0, 4}, generator);
            }),
            "[feed_forward] sizes are positive: width 0, inner 4");
}

}  // namespace
}  // namespace heed::nn::test
