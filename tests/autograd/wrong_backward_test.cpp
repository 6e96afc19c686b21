#include <gtest/gtest.h>

#include <cmath>

#include "autograd/autograd.h"
#include "autograd/gradcheck.h"
#include "tests/autograd/op_case_names.h"

// Gradcheck has to see a wrong backward of any op: each input's gradient is falsified in turn.
namespace heed {
namespace {

using Values = std::vector<double>;
using Corruption = Values (*)(const Values&);

Values scaled(const Values& gradient) {
  Values wrong = gradient;
  for (double& value : wrong) {
    value *= 1.1;
  }
  return wrong;
}
Values dropped(const Values& gradient) { return Values(gradient.size(), 0.0); }
Values negated(const Values& gradient) {
  Values wrong = gradient;
  for (double& value : wrong) {
    value = -value;
  }
  return wrong;
}
Values reversed(const Values& gradient) { return {gradient.rbegin(), gradient.rend()}; }
Values one_element_off(const Values& gradient) {
  Values wrong = gradient;
  if (!wrong.empty()) {
    wrong.back() += 0.01;
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
        const Values result = corrupt(right);
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
    } else {
      EXPECT_TRUE(result.passed()) << result.message;
    }
  }
  return count;
}

void expect_noticed(Corruption corrupt, const std::string& op) {
  int count = 0;
  for (const OpCase& op_case : op_cases()) {
    if (op_case.op == op) {
      SCOPED_TRACE(op_case.variant);
      count += noticed(op_case, corrupt);
    }
  }
  EXPECT_GT(count, 0);
}

class WrongBackwardTest : public testing::TestWithParam<std::string> {};

TEST_P(WrongBackwardTest, TenPercentMore) { expect_noticed(scaled, GetParam()); }
TEST_P(WrongBackwardTest, Dropped) { expect_noticed(dropped, GetParam()); }
TEST_P(WrongBackwardTest, WrongSign) { expect_noticed(negated, GetParam()); }
TEST_P(WrongBackwardTest, WrongOrder) { expect_noticed(reversed, GetParam()); }
TEST_P(WrongBackwardTest, OneElementOff) { expect_noticed(one_element_off, GetParam()); }

INSTANTIATE_TEST_SUITE_P(Ops, WrongBackwardTest, testing::ValuesIn(test::op_names()),
                         test::op_test_name);

}  // namespace
}  // namespace heed
