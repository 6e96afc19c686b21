#include "data/windows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "core/error.h"

namespace heed::data {
namespace {

using ::testing::ElementsAre;

const std::vector<int32_t> ids = {10, 11, 12, 13, 14, 15, 16};

TEST(Windows, ReadIdsAndPredictTheNextOnes) {
  const WindowBatch batch = make_window_batch(ids, {0, 3}, 3);
  EXPECT_EQ(batch.rows, 2);
  EXPECT_EQ(batch.width, 3);
  EXPECT_THAT(batch.input, ElementsAre(10, 11, 12, 13, 14, 15));
  EXPECT_THAT(batch.output, ElementsAre(11, 12, 13, 14, 15, 16));
  EXPECT_EQ(batch.tokens, 6);
}

TEST(Windows, ArePaddedWhereTheTextEnds) {
  const WindowBatch batch = make_window_batch(ids, {1, 4}, 4);
  EXPECT_EQ(batch.width, 4);
  EXPECT_THAT(batch.input, ElementsAre(11, 12, 13, 14, 14, 15, 0, 0));
  EXPECT_THAT(batch.output, ElementsAre(12, 13, 14, 15, 15, 16, 0, 0));
  EXPECT_EQ(batch.tokens, 6);
  EXPECT_EQ(make_window_batch(ids, {5}, 4).width, 1) << "no wider than the longest";
}

TEST(Windows, NeedAnIdToPredict) {
  EXPECT_THROW(make_window_batch(ids, {6}, 3), Error);
  EXPECT_THROW(make_window_batch(ids, {-1}, 3), Error);
}

TEST(Windows, OneAfterAnotherPredictEveryIdButTheFirstOnce) {
  EXPECT_THAT(sequential_windows(7, 3), ElementsAre(0, 3));
  EXPECT_THAT(sequential_windows(8, 3), ElementsAre(0, 3, 6));
  EXPECT_THAT(sequential_windows(2, 100), ElementsAre(0));
  EXPECT_TRUE(sequential_windows(1, 3).empty());
  std::multiset<int32_t> predicted;
  for (const int64_t start : sequential_windows(7, 2)) {
    const WindowBatch batch = make_window_batch(ids, {start}, 2);
    predicted.insert(batch.output.begin(), batch.output.end());
  }
  EXPECT_THAT(predicted, ElementsAre(11, 12, 13, 14, 15, 16));
}

TEST(Windows, RandomOnesComeFromEverywhereAlike) {
  Generator generator(3);
  std::map<int64_t, int> counts;
  for (const int64_t start : random_windows(4000, 7, 3, generator)) {
    ++counts[start];
  }
  ASSERT_EQ(counts.size(), 4U);  // 0 .. 3: the last whole window begins at 3
  EXPECT_EQ(counts.rbegin()->first, 3);
  for (const auto& [start, count] : counts) {
    EXPECT_NEAR(count, 1000, 100) << start;
  }
  Generator again(3);
  Generator other(3);
  EXPECT_EQ(random_windows(5, 1000, 3, again), random_windows(5, 1000, 3, other));
  EXPECT_NE(random_windows(5, 1000, 3, again), random_windows(5, 1000, 3, generator));
  EXPECT_THAT(random_windows(2, 3, 5, generator), ElementsAre(0, 0)) << "a text below one window";
}

}  // namespace
}  // namespace heed::data
