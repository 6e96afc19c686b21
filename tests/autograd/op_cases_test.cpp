#include "autograd/op_cases/op_cases.h"

#include <gtest/gtest.h>

#include <cmath>

#include "autograd/autograd.h"
#include "autograd/gradcheck_matcher.h"
#include "core/error.h"
#include "kernels/backend.h"
#include "tests/autograd/op_case_names.h"
#include "tests/support/expect_close.h"

// Every op of the table: values, gradients, layouts, twins, devices, error texts.
namespace heed {
namespace {

using test::OpCaseTest;
using Tensors = std::vector<Tensor>;

constexpr uint64_t seed = 5;

Tensor converted(const Tensor& x, DType dtype, Device device) {
  if (!is_floating(x.dtype())) {
    dtype = x.dtype();
  }
  const Tensor y = Tensor::empty(x.shape(), dtype, x.device());
  kernels::backend(y).copy(x, y);
  if (device == y.device()) {
    return y;
  }
  return dispatch_all(dtype, [&]<typename T>(T) {
    return Tensor::from_vector(y.to_vector<T>(), y.shape(), device);
  });
}

Tensors converted(const Tensors& tensors, DType dtype, Device device = default_device()) {
  Tensors result;
  for (const Tensor& tensor : tensors) {
    result.push_back(converted(tensor, dtype, device));
  }
  return result;
}

// The same numbers; those without elements agree in shape alone.
void expect_equal(const Tensor& actual, const Shape& shape, const std::vector<double>& values,
                  double tolerance) {
  ASSERT_EQ(actual.shape().to_string(), shape.to_string());
  if (!values.empty()) {
    test::expect_close(actual.to_doubles(), values, tolerance);
  }
}

// Outputs, then the gradients of the floating inputs.
Tensors run(const OpCase& op_case, const Tensors& inputs) {
  for (const Tensor& input : inputs) {
    if (is_floating(input.dtype())) {
      set_requires_grad(input);
    }
  }
  const Tensors outputs = op_case.function(inputs);
  Tensors results = outputs;
  for (size_t k = 0; k < outputs.size(); ++k) {
    // Different in every element, and the same for every layout, twin and device.
    std::vector<double> cotangent;
    for (int64_t i = 0; i < outputs[k].numel(); ++i) {
      cotangent.push_back(1.0 +
                          0.1 * static_cast<double>((7 * i + 3 * static_cast<int64_t>(k)) % 11));
    }
    const Tensor dense = Tensor::from_vector(cotangent, outputs[k].shape());
    backward(outputs[k], converted(dense, outputs[k].dtype(), outputs[k].device()), true);
  }
  for (const Tensor& input : inputs) {
    if (is_floating(input.dtype())) {
      EXPECT_TRUE(gradient(input).defined());
      results.push_back(gradient(input).defined() ? gradient(input) : input);
    }
  }
  return results;
}

void expect_same_results(const Tensors& actual, const Tensors& expected, double tolerance) {
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < actual.size(); ++i) {
    SCOPED_TRACE("result " + std::to_string(i));
    expect_equal(actual[i], expected[i].shape(), expected[i].to_doubles(), tolerance);
  }
}

void expect_reference(const OpCase& op_case, DType dtype, double tolerance) {
  const Tensors inputs = converted(op_case.inputs(seed), dtype);
  std::vector<reference::Array> arrays;
  for (const Tensor& input : inputs) {
    arrays.push_back(reference::array_of(input));
  }
  const Tensors outputs = op_case.function(inputs);
  const std::vector<reference::Array> expected = op_case.reference(arrays);
  ASSERT_EQ(outputs.size(), expected.size());
  for (size_t k = 0; k < outputs.size(); ++k) {
    EXPECT_EQ(outputs[k].dtype(), dtype);
    expect_equal(outputs[k], expected[k].shape, expected[k].values, tolerance);
  }
}

TEST_P(OpCaseTest, ValuesMatchReferenceInF64) {
  for_each_variant([](const OpCase& op_case) { expect_reference(op_case, DType::f64, 1e-13); });
}

TEST_P(OpCaseTest, ValuesMatchReferenceInF32) {
  for_each_variant([](const OpCase& op_case) { expect_reference(op_case, DType::f32, 1e-5); });
}

TEST_P(OpCaseTest, PassesGradcheck) {
  int64_t checked = 0;
  for_each_variant([&](const OpCase& op_case) {
    const GradcheckResult result =
        gradcheck(op_case.function, op_case.inputs(seed), op_case.options);
    EXPECT_THAT(result, PassesGradcheck());
    EXPECT_EQ(result.kinks, 0);
    checked += result.checked;
  });
  EXPECT_GT(checked, 10);
}

// f64 gradients are held by gradcheck; those of f32 have to agree with them.
TEST_P(OpCaseTest, GradientsInF32MatchF64) {
  for_each_variant([](const OpCase& op_case) {
    const Tensors in_f32 = converted(op_case.inputs(seed), DType::f32);
    expect_same_results(run(op_case, in_f32), run(op_case, converted(in_f32, DType::f64)), 1e-4);
  });
}

// --- layouts -----------------------------------------------------------------------------------

using Relayout = Tensor (*)(const Tensor&);

Tensor fill_from(const Tensor& x, const Tensor& layout) {
  kernels::backend(x).copy(x, layout);
  return layout;
}

// The first dimension varies fastest, as after a transpose.
Tensor turned(const Tensor& x) {
  Shape strides = x.shape();
  int64_t step = 1;
  for (int d = 0; d < x.rank(); ++d) {
    strides[d] = step;
    step *= x.shape()[d];
  }
  return fill_from(x, Tensor::empty({step}, x.dtype()).as_strided(x.shape(), strides, 0));
}

// Inside of a tensor one larger on each side in every dimension, as after slices.
Tensor sliced(const Tensor& x) {
  Shape outer = x.shape();
  int64_t offset = 0;
  for (int d = 0; d < x.rank(); ++d) {
    outer[d] += 2;
  }
  const Shape strides = outer.strides();
  for (int d = 0; d < x.rank(); ++d) {
    offset += strides[d];
  }
  const Tensor whole = Tensor::full(outer, is_floating(x.dtype()) ? NAN : 1, x.dtype());
  return fill_from(x, whole.as_strided(x.shape(), strides, offset));
}

// Repeats the first slice of dimension 0 by a stride of 0.
Tensor expanded(const Tensor& x) {
  if (x.rank() == 0 || x.numel() == 0) {
    return x;
  }
  Shape strides = x.strides();
  strides[0] = 0;
  return x.as_strided(x.shape(), strides, x.offset());
}

void expect_layout_makes_no_difference(const OpCase& op_case, Relayout relayout) {
  Tensors plain;
  Tensors strided;
  for (const Tensor& input : op_case.inputs(seed)) {
    const Tensor other = relayout(input);
    strided.push_back(other.detach());
    plain.push_back(other.clone());
  }
  expect_same_results(run(op_case, strided), run(op_case, plain), 1e-13);
}

TEST_P(OpCaseTest, TransposedInputsGiveTheSame) {
  for_each_variant(
      [](const OpCase& op_case) { expect_layout_makes_no_difference(op_case, turned); });
}

TEST_P(OpCaseTest, SlicedInputsGiveTheSame) {
  for_each_variant(
      [](const OpCase& op_case) { expect_layout_makes_no_difference(op_case, sliced); });
}

TEST_P(OpCaseTest, ExpandedInputsGiveTheSame) {
  for_each_variant(
      [](const OpCase& op_case) { expect_layout_makes_no_difference(op_case, expanded); });
}

// --- twins -------------------------------------------------------------------------------------
// ----------------------------------------------------------------------------

class ComposedScope {
 public:
  ComposedScope() { kernels::set_fused_kernels(false); }
  ~ComposedScope() { kernels::set_fused_kernels(true); }
};

TEST_P(OpCaseTest, ComposedTwinGivesTheSame) {
  for_each_variant([](const OpCase& op_case) {
    const Tensors fused = run(op_case, op_case.inputs(seed));
    const ComposedScope composed;
    expect_same_results(run(op_case, op_case.inputs(seed)), fused, 1e-12);
  });
}

INSTANTIATE_TEST_SUITE_P(Ops, OpCaseTest, testing::ValuesIn(test::op_names()), test::op_test_name);

// --- devices -----------------------------------------------------------------------------------

class OnTheCpu {
 public:
  OnTheCpu() { set_default_device({}); }
  ~OnTheCpu() { set_default_device(before_); }

 private:
  Device before_ = default_device();
};

std::vector<Device> other_devices() {
  const Device cuda{DeviceKind::cuda};
  try {
    kernels::backend(cuda);
  } catch (const Error&) {
    return {};
  }
  return {cuda};
}

TEST(Devices, AgreeWithTheCpu) {
  if (other_devices().empty()) {
    GTEST_SKIP() << "the cpu is the only device here";
  }
  const OnTheCpu scope;
  for (const Device device : other_devices()) {
    for (const OpCase& op_case : op_cases()) {
      SCOPED_TRACE(device_name(device) + " " + op_case.op + ": " + op_case.variant);
      const Tensors here = op_case.inputs(seed);
      const Tensors there = converted(here, DType::f64, device);
      expect_same_results(run(op_case, there), run(op_case, here), 1e-10);
    }
  }
}

// --- errors ------------------------------------------------------------------------------------

// On a card the host does not look at ids.
void expect_worded_mistakes() {
  const OnTheCpu scope;
  ASSERT_FALSE(error_cases().empty());
  for (const ErrorCase& error_case : error_cases()) {
    SCOPED_TRACE(error_case.message);
    try {
      error_case.call();
      ADD_FAILURE() << error_case.op << " was not refused";
    } catch (const Error& error) {
      EXPECT_EQ(error.what(), error_case.message);
    }
  }
}

TEST(ErrorCases, MistakesAreWorded) { expect_worded_mistakes(); }

TEST(ErrorCases, ComposedTwinsRefuseTheSame) {
  const ComposedScope composed;
  expect_worded_mistakes();
}

}  // namespace
}  // namespace heed
