#include <gtest/gtest.h>

#include <cmath>

#include "autograd/autograd.h"
#include "autograd/gradcheck.h"
#include "tests/autograd/op_case_names.h"

// Gradcheck has to see a wrong backward of any op: each input's gradient is falsified in turn.
namespace heed {
namespace {

using test::OpCaseTest;
using Values = std::vector<double>;
using Corruption = Values (*)(const Values&, const Shape&);

Values scaled(const Values& gradient, const Shape&) {
  Values wrong = gradient;
  for (double& value : wrong) {
    value *= 1.1;
  }
  return wrong;
}
Values dropped(const Values& gradient, const Shape&) { return Values(gradient.size(), 0.0); }
Values negated(const Values& gradient, const Shape&) {
  Values wrong = gradient;
  for (double& value : wrong) {
    value = -value;
  }
  return wrong;
}
Values reversed(const Values& gradient, const Shape&) {
  return {gradient.rbegin(), gradient.rend()};
}
Values one_element_off(const Values& gradient, const Shape&) {
  Values wrong = gradient;
  if (!wrong.empty()) {
    wrong.back() += 0.01 * (1 + std::abs(wrong.back()));
  }
  return wrong;
}
// Each matrix of the last two dimensions transposed, its numbers read as if it had not been.
Values transposed(const Values& gradient, const Shape& shape) {
  if (shape.rank() < 2) {
    return gradient;
  }
  const auto rows = static_cast<size_t>(shape[shape.rank() - 2]);
  const auto columns = static_cast<size_t>(shape[shape.rank() - 1]);
  Values wrong = gradient;
  for (size_t i = 0; i < gradient.size(); ++i) {
    const size_t row = i / columns % rows;
    wrong[i / (rows * columns) * rows * columns + i % columns * rows + row] = gradient[i];
  }
  return wrong;
}

// Whether gradcheck's tolerances can tell the two apart.
bool differs(const Values& wrong, const Values& right, const GradcheckOptions& options) {
  for (size_t i = 0; i < right.size(); ++i) {
    const double allowed =
        options.absolute_tolerance + options.relative_tolerance * std::abs(right[i]);
    if (std::abs(wrong[i] - right[i]) > 2 * allowed) {
      return true;
    }
  }
  return false;
}

// How often a falsified gradient was noticed; fails when one was not.
int noticed(const OpCase& op_case, Corruption corrupt) {
  int count = 0;
  const std::vector<Tensor> inputs = op_case.inputs(5);
  for (size_t target = 0; target < inputs.size(); ++target) {
    if (!is_floating(inputs[target].dtype())) {
      continue;
    }
    bool changed = false;
    const auto wrong = [&](const std::vector<Tensor>& given) {
      const Tensor& x = given[target];
      const Tensor y = x.clone();
      record("wrong", {x}, y, [&](const BackwardContext& context) -> Gradients {
        const Values right = context.cotangent().to_doubles();
        const Values result = corrupt(right, context.cotangent().shape());
        changed = differs(result, right, op_case.options);
        return {Tensor::from_vector(result, context.cotangent().shape())};
      });
      std::vector<Tensor> passed = given;
      passed[target] = y;
      return op_case.function(passed);
    };
    const GradcheckResult result = gradcheck(wrong, inputs, op_case.options);
    if (changed) {
      EXPECT_EQ(result.outcome, GradcheckOutcome::mismatch) << "input " << target;
      EXPECT_EQ(result.input, static_cast<int>(target)) << result.message;
      ++count;
    }
  }
  return count;
}

class WrongBackwardTest : public OpCaseTest {};

TEST_P(WrongBackwardTest, IsNoticed) {
  struct Named {
    const char* name;
    Corruption corrupt;
    bool of_every_op = true;  // has something to falsify
  };
  for (const Named& corruption : {Named{"ten percent more", scaled},
                                  {"dropped", dropped},
                                  {"wrong sign", negated},
                                  {"wrong order", reversed},
                                  {"one element off", one_element_off},
                                  {"transposed", transposed, false}}) {
    SCOPED_TRACE(corruption.name);
    int count = 0;
    for_each_variant([&](const OpCase& op_case) { count += noticed(op_case, corruption.corrupt); });
    if (corruption.of_every_op) {
      EXPECT_GT(count, 0);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Ops, WrongBackwardTest, testing::ValuesIn(test::op_names()),
                         test::op_test_name);

}  // namespace
}  // namespace heed
