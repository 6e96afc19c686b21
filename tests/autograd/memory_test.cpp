#include "core/memory.h"

#include <gtest/gtest.h>

#include <functional>
#include <vector>

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

int64_t peak_above_start(const std::function<void()>& work) {
  DeviceMemory& memory = device_memory(default_device());
  memory.reset_peak();
  const int64_t before = memory.statistics().in_use;
  work();
  return memory.statistics().peak_in_use - before;
}

// Of logits that nobody holds any more their gradient takes the place.
TEST(CrossEntropyMemory, HoldsTheLogitsOnce) {
  const Tensor x = Tensor::full({64, 8}, 0.5);
  const Tensor weight = Tensor::full({5000, 8}, 0.25);
  const Tensor targets = Tensor::full({64}, 7, DType::i32);
  set_requires_grad(weight);
  constexpr int64_t logits_bytes = 64 * 5000 * 4;
  const auto step = [&](Tensor& held) {
    held = linear(x, weight);
    Tensor loss = cross_entropy(held, targets).loss;
    return loss;
  };
  std::vector<double> gradients;
  for (const bool hold : {false, true}) {
    const int64_t peak = peak_above_start([&] {
      Tensor logits;
      const Tensor loss = step(logits);
      const std::vector<double> before = hold ? logits.to_doubles() : std::vector<double>();
      if (!hold) {
        logits = Tensor();
      }
      backward(loss);
      if (hold) {
        EXPECT_EQ(logits.to_doubles(), before);
      }
    });
    EXPECT_EQ(peak > 2 * logits_bytes, hold) << peak;
    const std::vector<double> found = gradient(weight).to_doubles();
    EXPECT_TRUE(gradients.empty() || gradients == found);
    gradients = found;
    clear_gradient(weight);
  }
}

TEST(CrossEntropyMemory, OfARetainedGraphStays) {
  const Tensor x = Tensor::full({3, 2}, 0.5);
  const Tensor weight = Tensor::from_vector<float>({1, 2, 3, 4, 5, 6, 7, 8}, {4, 2});
  set_requires_grad(weight);
  const Tensor loss = cross_entropy(linear(x, weight), Tensor::full({3}, 1, DType::i32)).loss;
  backward(loss, {}, true);
  const std::vector<double> first = gradient(weight).to_doubles();
  clear_gradient(weight);
  backward(loss);
  EXPECT_EQ(gradient(weight).to_doubles(), first);
}

// A weight that is used many times has its gradients added up in place, and what a user holds of
// them stays as it was.
TEST(LinearMemory, AddsToTheGradientThatIsThere) {
  const Tensor weight = Tensor::full({400, 100}, 0.01);
  set_requires_grad(weight);
  constexpr int64_t weight_bytes = 400 * 100 * 4;
  const auto backward_of = [&](double value) {
    backward(sum(linear(Tensor::full({2, 100}, value), weight)));
  };
  backward_of(1);
  EXPECT_LT(peak_above_start([&] { backward_of(2); }), weight_bytes);
  EXPECT_EQ(gradient(weight).to_doubles(), std::vector<double>(40'000, 2 * 1 + 2 * 2));
  const Tensor held = gradient(weight);
  backward_of(4);
  EXPECT_EQ(held.to_doubles(), std::vector<double>(40'000, 6));
  EXPECT_EQ(gradient(weight).to_doubles(), std::vector<double>(40'000, 14));
}

}  // namespace
}  // namespace heed
