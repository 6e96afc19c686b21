#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "autograd/autograd.h"
#include "autograd/functions.h"
#include "autograd/gradcheck_matcher.h"
#include "core/random.h"
#include "kernels/backend.h"
#include "nn/gradcheck.h"
#include "nn/init.h"
#include "nn/module.h"
#include "nn/sequence.h"
#include "tests/support/error_of.h"
#include "tests/support/expect_close.h"

// Inputs, plain loops in double and gradients for the tests of networks.
namespace heed::nn::test {

using heed::test::close;
using heed::test::error_of;
using heed::test::expect_close;
using Values = std::vector<double>;

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

// Uniform in [-1, 1); each stream gives other numbers, the same in every run.
inline Tensor random_tensor(const Shape& shape, DType dtype, uint64_t stream) {
  Generator generator(5, stream);
  const Tensor tensor = Tensor::empty(shape, dtype);
  init_uniform(tensor, -1, 1, generator);
  return tensor;
}

// Gives every parameter numbers uniform in [-scale, scale): biases too, and lively outputs.
inline void randomize(const Module& module, double scale, uint64_t seed = 9) {
  Generator generator(seed);
  for (const NamedTensor& entry : module.named_parameters()) {
    init_uniform(entry.tensor, -scale, scale, generator);
  }
}

// weight x + bias; no bias when it is empty.
inline Values affine_by_hand(const Values& weight, const Values& bias, const Values& x) {
  Values y(weight.size() / x.size());
  for (size_t o = 0; o < y.size(); ++o) {
    y[o] = bias.empty() ? 0 : bias[o];
    for (size_t i = 0; i < x.size(); ++i) {
      y[o] += weight[o * x.size() + i] * x[i];
    }
  }
  return y;
}

// A dense tensor's numbers as rows of its last dimension.
inline std::vector<Values> rows_of(const Tensor& tensor) {
  const Values all = tensor.to_doubles();
  const int64_t width = tensor.dim(-1);
  std::vector<Values> rows;
  for (int64_t begin = 0; begin < tensor.numel(); begin += width) {
    rows.emplace_back(all.begin() + begin, all.begin() + begin + width);
  }
  return rows;
}

// A few steps of gradient descent on the loss that `loss` makes.
template <typename F>
void descend(const Module& module, F&& loss) {
  for (int step = 0; step < 4; ++step) {
    module.clear_gradients();
    backward(loss());
    for (const NamedTensor& entry : module.named_parameters()) {
      const Tensor& p = entry.tensor;
      ASSERT_TRUE(gradient(p).defined()) << entry.name;
      p.set_data((p.detach() - gradient(p).detach() * 0.002).detach());
    }
  }
}

inline std::map<std::string, Values> gradients_of(const Module& module) {
  std::map<std::string, Values> gradients;
  for (const NamedTensor& entry : module.named_parameters()) {
    const Tensor g = gradient(entry.tensor);
    gradients[entry.name] =
        g.defined() ? g.to_doubles() : Values(static_cast<size_t>(entry.tensor.numel()), 0.0);
  }
  return gradients;
}

inline void expect_close(const std::map<std::string, Values>& actual,
                         const std::map<std::string, Values>& expected, double tolerance) {
  ASSERT_EQ(actual.size(), expected.size());
  for (const auto& [name, values] : expected) {
    ASSERT_TRUE(actual.contains(name)) << name;
    EXPECT_TRUE(close(actual.at(name), values, tolerance)) << name;
  }
}

// Composed functions instead of the fused ones while one lives.
class ComposedScope {
 public:
  ComposedScope() { kernels::set_fused_kernels(false); }
  ~ComposedScope() { kernels::set_fused_kernels(true); }
  ComposedScope(const ComposedScope&) = delete;
  ComposedScope& operator=(const ComposedScope&) = delete;
};

}  // namespace heed::nn::test
