#include "tests/golden/golden.h"

#include "autograd/autograd.h"
#include "autograd/functions.h"
#include "kernels/backend.h"
#include "tests/support/expect_close.h"

namespace heed::test {
namespace {

void expect_gradient(const std::string& name, const Tensor& leaf, const Tensor& expected,
                     double tolerance) {
  SCOPED_TRACE("gradient of " + name);
  expect_close(gradient(leaf), expected, tolerance);
}

}  // namespace

Golden::Golden(const std::string& name, const Way& way)
    : name_(name),
      way_(way),
      file_(read_safetensors(std::string(HEED_GOLDEN) + "/" + name + ".safetensors")) {
  for (const NamedTensor& entry : group("input/")) {
    if (!is_floating(entry.tensor.dtype())) {
      inputs_.push_back(entry);
      continue;
    }
    inputs_.push_back({entry.name, to_dtype(entry.tensor, way.dtype).clone()});
    set_requires_grad(inputs_.back().tensor);
  }
}

std::vector<NamedTensor> Golden::group(const std::string& prefix) const {
  std::vector<NamedTensor> found;
  for (const NamedTensor& entry : file_.tensors) {
    if (entry.name.starts_with(prefix)) {
      found.push_back({entry.name.substr(prefix.size()), entry.tensor});
    }
  }
  return found;
}

const Tensor& Golden::input(const std::string& name) const {
  for (const NamedTensor& entry : inputs_) {
    if (entry.name == name) {
      return entry.tensor;
    }
  }
  return file_.at("input/" + name);  // throws, naming it
}

std::vector<int64_t> Golden::lengths() const {
  const auto values = input("lengths").to_vector<int32_t>();
  return {values.begin(), values.end()};
}

Tensor Golden::output(const std::string& name) const { return file_.at("output/" + name); }

void Golden::load(nn::Module& module) const {
  module.convert(way_.dtype);
  module.load_parameters(group("parameter/"), name_);
}

void Golden::expect_output(const std::string& name, const Tensor& actual) const {
  expect_output(name, actual, tolerance());
}

void Golden::expect_output(const std::string& name, const Tensor& actual, double tolerance) const {
  SCOPED_TRACE("output " + name);
  EXPECT_EQ(actual.dtype(), way_.dtype);
  expect_close(actual, output(name), tolerance);
}

void Golden::expect_gradients(const nn::Module& module) const {
  const auto parameters = module.named_parameters();
  EXPECT_EQ(group("gradient/").size(), parameters.size());
  for (const auto& [name, parameter] : parameters) {
    expect_gradient(name, parameter, file_.at("gradient/" + name), tolerance());
  }
}

void Golden::expect_input_gradients() const {
  const auto expected = group("input_gradient/");
  EXPECT_FALSE(expected.empty());
  for (const auto& [name, values] : expected) {
    expect_gradient(name, input(name), values, tolerance());
  }
}

Parity::Parity() { kernels::set_fused_kernels(GetParam().fused); }
Parity::~Parity() { kernels::set_fused_kernels(true); }

INSTANTIATE_TEST_SUITE_P(PyTorch, Parity,
                         testing::Values(Way{"f32", DType::f32, true}, Way{"f64", DType::f64, true},
                                         Way{"f32Composed", DType::f32, false},
                                         Way{"f64Composed", DType::f64, false}),
                         [](const auto& way) { return std::string(way.param.name); });

}  // namespace heed::test
