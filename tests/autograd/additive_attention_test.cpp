#include <gtest/gtest.h>

#include <limits>

#include "autograd/autograd.h"
#include "autograd/functions.h"
#include "kernels/backend.h"
#include "tests/support/expect_close.h"

// What a mask promises on both paths of Bahdanau's attention.
namespace heed {
namespace {

class AdditiveAttentionTest : public testing::TestWithParam<bool> {
 protected:
  AdditiveAttentionTest() { kernels::set_fused_kernels(GetParam()); }
  ~AdditiveAttentionTest() override { kernels::set_fused_kernels(true); }
};
INSTANTIATE_TEST_SUITE_P(Paths, AdditiveAttentionTest, testing::Values(true, false),
                         [](const auto& path) { return path.param ? "Fused" : "Composed"; });

Tensor random(const Shape& shape, uint64_t stream) {
  Generator generator(3, stream);
  std::vector<double> values;
  for (int64_t i = 0; i < shape.numel(); ++i) {
    values.push_back(2 * generator.uniform() - 1);
  }
  return Tensor::from_vector(values, shape);
}

// x (B, S, ...) with `what` in every row whose mask is false.
Tensor spoilt(const Tensor& x, const Tensor& mask, double what) {
  return where(unsqueeze(mask, -1), x, Tensor::full({}, what, x.dtype()));
}

// The second sentence has nothing to attend to.
TEST_P(AdditiveAttentionTest, NothingPassesTheMask) {
  const Tensor mask = Tensor::from_vector(std::vector<bool>{1, 0, 1, 0, 0, 0}, {2, 3});
  const auto run = [&](const Tensor& keys, const Tensor& values) {
    const std::vector<Tensor> inputs = {random({2, 4}, 1), keys.clone(), values.clone(),
                                        random({4}, 4)};
    for (const Tensor& input : inputs) {
      set_requires_grad(input);
    }
    const auto result = additive_attention(inputs[0], inputs[1], inputs[2], inputs[3], mask);
    backward(sum(result.context * random({2, 5}, 5)));
    std::vector<Tensor> all = {result.context, result.weights};
    for (const Tensor& input : inputs) {
      all.push_back(gradient(input));
    }
    return all;
  };
  const Tensor keys = random({2, 3, 4}, 2), values = random({2, 3, 5}, 3);
  const std::vector<Tensor> clean = run(keys, values);
  for (const double what :
       {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    const std::vector<Tensor> bad = run(spoilt(keys, mask, what), spoilt(values, mask, what));
    for (size_t i = 0; i < clean.size(); ++i) {
      SCOPED_TRACE(i);
      test::expect_close(bad[i], clean[i], 1e-14);
    }
  }
}

}  // namespace
}  // namespace heed
