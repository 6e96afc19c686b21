#include "tests/kernels/support.h"

#include <gtest/gtest.h>

#include <cmath>

namespace heed::kernels::test {
namespace {

TEST(LargestError, ForgetsNoNan) {
  EXPECT_EQ(largest_error({1, 2.5, 3, -INFINITY}, {1, 2, 3.25, -INFINITY}), 0.5);
  EXPECT_EQ(largest_error({NAN, 2, 3}, {1, 2, 3}), INFINITY);
  EXPECT_EQ(largest_error({1, NAN, 2}, {1, 2, 3}), INFINITY);
  EXPECT_EQ(largest_error({1, 2, 3}, {1, 2, INFINITY}), INFINITY);
  EXPECT_EQ(largest_error({1, 2}, {1, 2, 3}), INFINITY);
}

}  // namespace
}  // namespace heed::kernels::test
