#include "core/error.h"

#include <gtest/gtest.h>

#include <string>

namespace heed {
namespace {

TEST(Error, CarriesTagAndText) {
  EXPECT_STREQ(Error("slice", "length 0 is not positive").what(),
               "[slice] length 0 is not positive");
  EXPECT_STREQ(Error("[config] first\n[config] second").what(), "[config] first\n[config] second");
}

TEST(Error, ChecksThrowTheirKind) {
  try {
    HEED_CHECK(1 > 2, "slice", "length {} is not positive", -3);
    FAIL() << "nothing was thrown";
  } catch (const InputError&) {
    FAIL() << "a mistake in code is not the user's input";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "[slice] length -3 is not positive");
  }
  try {
    HEED_CHECK_INPUT(1 > 2, "config", "{} is unknown", "speed");
    FAIL() << "nothing was thrown";
  } catch (const InputError& error) {
    EXPECT_STREQ(error.what(), "[config] speed is unknown");
  }
}

TEST(Error, AssertNamesPlaceAndCondition) {
  const int rank = 2;
  int line = 0;
  try {
    // clang-format off
    line = __LINE__; HEED_ASSERT(rank == 3, "rank {}", rank);
    // clang-format on
    FAIL() << "nothing was thrown";
  } catch (const InternalError& error) {
    EXPECT_EQ(std::string(error.what()),
              fmt::format("{}:{}: rank == 3 does not hold: rank 2", __FILE__, line));
  }
}

TEST(Error, ChecksEvaluateTheConditionOnceAndTheTextOnlyOnFailure) {
  int conditions = 0;
  int texts = 0;
  const auto holds = [&] { return ++conditions > 0; };
  const auto text = [&] { return ++texts; };
  HEED_CHECK(holds(), "tag", "{}", text());
  HEED_CHECK_INPUT(holds(), "tag", "{}", text());
  HEED_ASSERT(holds(), "{}", text());
  EXPECT_EQ(conditions, 3);
  EXPECT_EQ(texts, 0);
}

TEST(Error, ChecksAreOneStatement) {
  bool other_branch = false;
  if (false)
    HEED_CHECK(false, "tag", "never");
  else
    other_branch = true;
  EXPECT_TRUE(other_branch);
}

}  // namespace
}  // namespace heed
