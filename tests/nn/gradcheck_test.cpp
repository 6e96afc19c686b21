#include "nn/gradcheck.h"

#include <vector>

#include "autograd/functions.h"
#include "nn/layers.h"
#include "tests/nn/support.h"

namespace heed::nn::test {
namespace {

struct Scale : Module {
  Scale() : factor(register_parameter("factor", Tensor::full({3}, 0.5, DType::f64))) {}
  Tensor factor;
};

TEST(GradcheckModule, ChecksInputsAndParametersAndLeavesThemAsTheyWere) {
  const Scale layer;
  const Tensor before = layer.factor.detach();
  const Tensor x = random_tensor({2, 3}, DType::f64, 1);
  const auto result = gradcheck_module(
      layer, [&](const std::vector<Tensor>& in) { return in[0] * layer.factor; }, {x});
  EXPECT_THAT(result, PassesGradcheck());
  EXPECT_EQ(result.checked, 9);
  EXPECT_TRUE(layer.factor.shares_storage(before));
  EXPECT_EQ(layer.factor.to_doubles(), Values(3, 0.5));
  EXPECT_TRUE(requires_grad(layer.factor));
  EXPECT_FALSE(gradient(layer.factor).defined());
}

TEST(GradcheckModule, SeesAWrongGradientOfAParameter) {
  const Scale layer;
  const Tensor x = random_tensor({2, 3}, DType::f64, 1);
  // What depends on the parameter's numbers but passes no gradient.
  const auto result = gradcheck_module(
      layer, [&](const std::vector<Tensor>& in) { return in[0] * layer.factor.detach(); }, {x});
  EXPECT_EQ(result.outcome, GradcheckOutcome::mismatch);
  EXPECT_EQ(result.input, 1);
}

}  // namespace
}  // namespace heed::nn::test
