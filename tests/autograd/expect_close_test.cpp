#include "tests/support/expect_close.h"

#include <gtest/gtest.h>

#include <limits>

namespace heed::test {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double infinity = std::numeric_limits<double>::infinity();

TEST(ExpectClose, ComparesRelativeToTheExpectedOrOne) {
  EXPECT_TRUE(close({1, 2000}, {1.0005, 2001}, 1e-3));
  EXPECT_FALSE(close({1, 2000}, {1.002, 2000}, 1e-3));
  EXPECT_FALSE(close({2000}, {2003}, 1e-3));
  EXPECT_TRUE(close({0}, {1e-4}, 1e-3));
}

TEST(ExpectClose, NothingPassesForWantOfNumbers) {
  EXPECT_STREQ(close({}, {}, 1).message(), "there is nothing to compare");
  EXPECT_STREQ(close({1}, {1, 1}, 1).message(), "1 elements are not 2");
  EXPECT_FALSE(close({}, {}, 1));
  EXPECT_FALSE(close({1}, {1, 1}, 1));
}

TEST(ExpectClose, NanIsCloseToNothing) {
  EXPECT_FALSE(close({nan}, {nan}, 1));
  EXPECT_FALSE(close({nan}, {0}, 1));
  EXPECT_FALSE(close({0}, {nan}, 1));
}

TEST(ExpectClose, InfinityIsCloseToItselfAlone) {
  EXPECT_TRUE(close({infinity, -infinity}, {infinity, -infinity}, 1));
  EXPECT_FALSE(close({infinity}, {-infinity}, 1));
  EXPECT_FALSE(close({infinity}, {1e300}, 1));
  EXPECT_FALSE(close({1e300}, {infinity}, 1));
}

}  // namespace
}  // namespace heed::test
