// A user's own layer and own differentiable function, gradchecked with the installed package.
#include <gtest/gtest.h>

#include <vector>

#include "autograd/functions.h"
#include "autograd/gradcheck_matcher.h"
#include "core/error.h"
#include "nn/init.h"
#include "nn/layers.h"

namespace {

using heed::Tensor;

// y = t h + (1 - t) x with t = sigmoid(W_t x), h = tanh(W_h x) (Srivastava et al. 2015).
class HighwayLayer : public heed::nn::Module {
 public:
  HighwayLayer(int64_t width, heed::Generator& generator)
      : gate_(width, width, generator), transform_(width, width, generator) {
    register_module("gate", gate_);
    register_module("transform", transform_);
  }
  Tensor forward(const Tensor& x) const {
    const Tensor t = sigmoid(gate_.forward(x));
    return t * tanh(transform_.forward(x)) + (1.0 - t) * x;
  }

 private:
  heed::nn::Linear gate_;
  heed::nn::Linear transform_;
};

// y = x^3 with a backward of its own, which multiplies x^2 by `factor`: 3 is right.
Tensor cube(const Tensor& x, double factor) {
  const Tensor y = [&] {
    const heed::NoGradScope no_grad;
    return x * x * x;
  }();
  return heed::record(
      "cube", {x}, y, [saved = heed::Saved(x), factor](const heed::BackwardContext& context) {
        return heed::Gradients{context.cotangent() * square(context.get(saved)) * factor};
      });
}

Tensor random_input(const heed::Shape& shape) {
  heed::Generator generator(3);
  const Tensor x = Tensor::empty(shape, heed::DType::f64);
  heed::nn::init_normal(x, 1.0, generator);
  return x;
}

TEST(Consumer, OwnLayerPassesGradcheck) {
  heed::Generator generator(1);
  HighwayLayer layer(4, generator);
  layer.convert(heed::DType::f64);
  EXPECT_EQ(layer.parameter_count(), 2 * (4 * 4 + 4));
  heed::expect_gradcheck(
      [&](const std::vector<Tensor>& inputs) { return std::vector{layer.forward(inputs[0])}; },
      {random_input({3, 4})});
}

TEST(Consumer, OwnFunctionPassesAndABrokenOneIsCaught) {
  const auto checked = [](double factor) {
    return heed::gradcheck(
        [=](const std::vector<Tensor>& inputs) { return std::vector{cube(inputs[0], factor)}; },
        {random_input({2, 5})});
  };
  EXPECT_THAT(checked(3.0), heed::PassesGradcheck());
  EXPECT_THAT(checked(2.0), testing::Not(heed::PassesGradcheck()));
}

TEST(Consumer, ErrorsCrossTheLibraryBoundary) {
  try {
    matmul(Tensor::zeros({2, 3}), Tensor::zeros({4, 5}));
    FAIL() << "no error";
  } catch (const heed::Error& error) {
    EXPECT_STREQ(error.what(), "[matmul] inner dimensions differ: a (2, 3) x b (4, 5)");
  }
}

}  // namespace
