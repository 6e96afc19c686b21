#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "core/safetensors.h"
#include "nn/module.h"

// What PyTorch computed, from the files that make_golden.py writes.
namespace heed::test {

// A way of computing that has to agree with PyTorch.
struct Way {
  const char* name;
  DType dtype;
  bool fused;
};

// One case, in the dtype of the test.
class Golden {
 public:
  Golden(const std::string& name, const Way& way);

  // Floating inputs are leaves with a gradient.
  const Tensor& input(const std::string& name) const;
  std::vector<int64_t> lengths() const;
  Tensor output(const std::string& name) const;  // f64
  // Turns the module into the dtype of the test and loads every parameter by its name.
  void load(nn::Module& module) const;

  void expect_output(const std::string& name, const Tensor& actual) const;
  void expect_output(const std::string& name, const Tensor& actual, double tolerance) const;
  // Gradients of exactly the parameters and inputs that have one in PyTorch, by name.
  void expect_gradients(const nn::Module& module) const;
  void expect_input_gradients() const;

  // Of every number, relative where it is larger than 1.
  double tolerance() const { return way_.dtype == DType::f64 ? 1e-13 : 4e-6; }

 private:
  std::vector<NamedTensor> group(const std::string& prefix) const;

  std::string name_;
  Way way_;
  TensorFile file_;
  std::vector<NamedTensor> inputs_;
};

// Each test runs in f32 and f64, with the fused functions and with the composed ones.
class Parity : public testing::TestWithParam<Way> {
 protected:
  Parity();
  ~Parity() override;
  static Golden golden(const std::string& name) { return {name, GetParam()}; }
};

}  // namespace heed::test
