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
    wrong.back() += 0.01 * (1 + std::abs(wrong.back()));
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
    }
  }
  return count;
}

class WrongBackwardTest : public OpCaseTest {};

TEST_P(WrongBackwardTest, IsNoticed) {
  const std::pair<const char*, Corruption> corruptions[] = {{"ten percent more", scaled},
                                                            {"dropped", dropped},
                                                            {"wrong sign", negated},
                                                            {"wrong order", reversed},
                                                            {"one element off", one_element_off}};
  for (const auto& [name, corrupt] : corruptions) {
    SCOPED_TRACE(name);
    int count = 0;
    for_each_variant(
        [&, corrupt = corrupt](const OpCase& op_case) { count += noticed(op_case, corrupt); });
    EXPECT_GT(count, 0);
  }
}

INSTANTIATE_TEST_SUITE_P(Ops, WrongBackwardTest, testing::ValuesIn(test::op_names()),
                         test::op_test_name);

}  // namespace
}  // namespace heed
