#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "core/tensor.h"

namespace heed::test {

// Every |actual - expected| <= tolerance * max(1, |expected|). Fails on no elements, differing
// sizes and NaN, so that nothing passes for want of numbers; equal infinities are close.
inline testing::AssertionResult close(const std::vector<double>& actual,
                                      const std::vector<double>& expected, double tolerance) {
  if (actual.size() != expected.size()) {
    return testing::AssertionFailure() << actual.size() << " elements are not " << expected.size();
  }
  if (actual.empty()) {
    return testing::AssertionFailure() << "there is nothing to compare";
  }
  for (size_t i = 0; i < actual.size(); ++i) {
    const double allowed = tolerance * std::max(1.0, std::abs(expected[i]));
    const bool same = actual[i] == expected[i];
    if (!same && !(std::isfinite(expected[i]) && std::abs(actual[i] - expected[i]) <= allowed)) {
      return testing::AssertionFailure() << "element " << i << " is " << actual[i] << ", not "
                                         << expected[i] << " (allowed " << allowed << ")";
    }
  }
  return testing::AssertionSuccess();
}

inline void expect_close(const std::vector<double>& actual, const std::vector<double>& expected,
                         double tolerance) {
  EXPECT_TRUE(close(actual, expected, tolerance));
}

// Shapes are compared too.
inline void expect_close(const Tensor& actual, const Tensor& expected, double tolerance) {
  ASSERT_TRUE(actual.defined() && expected.defined());
  ASSERT_EQ(actual.shape().to_string(), expected.shape().to_string());
  EXPECT_TRUE(close(actual.to_doubles(), expected.to_doubles(), tolerance));
}

}  // namespace heed::test
