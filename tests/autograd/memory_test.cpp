#include "core/memory.h"

#include <gtest/gtest.h>

#include "autograd/autograd.h"
#include "autograd/functions.h"
#include "kernels/backend.h"

namespace heed {
namespace {

Tensor numbers(const Shape& shape, Generator& generator) {
  std::vector<float> values;
  for (int64_t i = 0; i < shape.numel(); ++i) {
    values.push_back(static_cast<float>(0.1 * generator.normal()));
  }
  return Tensor::from_vector(values, shape);
}

// p -= 0.01 gradient, in place.
void step(const std::vector<Tensor>& parameters) {
  for (const Tensor& p : parameters) {
    const Tensor step = Tensor::empty(p.shape());
    kernels::backend(p).affine(gradient(p), -0.01, 0, step);
    kernels::backend(p).binary(kernels::BinaryOp::add, p, step, p);
    p.bump_version();
    clear_gradient(p);
  }
}

TEST(TrainingMemory, IsConstantOverAThousandSteps) {
  Generator generator(1);
  const Tensor x = numbers({8, 16}, generator);
  const Tensor targets = Tensor::from_vector<int32_t>({0, 1, 2, 3, 4, 0, 1, 2}, {8});
  const std::vector<Tensor> parameters = {numbers({16, 16}, generator), numbers({16}, generator),
                                          Tensor::full({16}, 1.0), Tensor::zeros({16}),
                                          numbers({5, 16}, generator)};
  for (const Tensor& parameter : parameters) {
    set_requires_grad(parameter);
  }
  const auto train = [&] {
    Tensor h = x;
    for (int layer = 0; layer < 3; ++layer) {
      h = layer_norm(heed::tanh(linear(h, parameters[0], parameters[1])) + h, parameters[2],
                     parameters[3]);
      h = dropout(h, 0.1, generator);
    }
    const Tensor loss = cross_entropy(linear(h, parameters[4]), targets).loss;
    const double value = loss.item();
    backward(loss);
    step(parameters);
    return value;
  };
  const double first = train();
  train();
  const MemoryStatistics warm = device_memory(default_device()).statistics();
  double last = 0;
  for (int i = 0; i < 1000; ++i) {
    last = train();
  }
  const MemoryStatistics after = device_memory(default_device()).statistics();
  EXPECT_EQ(after.in_use, warm.in_use);
  EXPECT_EQ(after.reserved, warm.reserved);
  EXPECT_EQ(after.system_calls, warm.system_calls);
  EXPECT_EQ(after.peak_in_use, warm.peak_in_use);
  EXPECT_LT(last, 0.5 * first);
}

TEST(GraphMemory, IsGivenBackByBackwardAndByDestruction) {
  const Tensor x = Tensor::full({1000}, 2.0);
  set_requires_grad(x);
  const int64_t before = device_memory(default_device()).statistics().in_use;
  { const Tensor y = sum(square(exponential(x))); }
  EXPECT_EQ(device_memory(default_device()).statistics().in_use, before);
  const Tensor y = sum(square(exponential(x)));
  backward(y);
  clear_gradient(x);
  EXPECT_LE(device_memory(default_device()).statistics().in_use - before, 64);
}

}  // namespace
}  // namespace heed
