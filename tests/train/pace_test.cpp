#include "train/pace.h"

#include <gtest/gtest.h>

namespace heed::train {
namespace {

using std::chrono::seconds;

TEST(Pace, IsThatSinceItsStart) {
  const Pace::Clock::time_point start = Pace::Clock::now();
  Pace pace(10, start);
  pace.count(60);
  pace.count(40);
  EXPECT_DOUBLE_EQ(pace.tokens_per_second(start + seconds(4)), 25);
  EXPECT_DOUBLE_EQ(pace.seconds_left(12, 20, start + seconds(4)), 16);
  EXPECT_DOUBLE_EQ(pace.seconds_left(20, 20, start + seconds(4)), 0);
}

TEST(Pace, BeforeAnyStepOrTimeIsANumber) {
  const Pace::Clock::time_point start = Pace::Clock::now();
  const Pace pace(10, start);
  EXPECT_EQ(pace.tokens_per_second(start), 0);
  EXPECT_DOUBLE_EQ(pace.seconds_left(10, 20, start + seconds(3)), 30);
}

}  // namespace
}  // namespace heed::train
