#include "data/windows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "core/error.h"

namespace heed::data {
namespace {

using ::testing::ElementsAre;

IdStore store_of(const std::vector<int32_t>& ids) {
  IdStore store("a text", 300);
  store.append(ids);
  return store;
}

const IdStore ids = store_of({10, 11, 12, 13, 14, 15, 16});

template <typename Windows>
std::vector<int64_t> all_starts(const Windows& windows) {
  std::vector<int64_t> all;
  for (int64_t i = 0; i < windows.batches(); ++i) {
    const auto starts = windows.starts(i);
    all.insert(all.end(), starts.begin(), starts.end());
  }
  return all;
}

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
  EXPECT_THAT(all_starts(SequentialWindows(7, 3, 4)), ElementsAre(0, 3));
  EXPECT_THAT(all_starts(SequentialWindows(8, 3, 1)), ElementsAre(0, 3, 6));
  EXPECT_THAT(all_starts(SequentialWindows(2, 100, 1)), ElementsAre(0));
  EXPECT_EQ(SequentialWindows(1, 3, 2).batches(), 0);
  EXPECT_EQ(SequentialWindows(0, 3, 2).batches(), 0);
  EXPECT_THAT(SequentialWindows(8, 3, 2).starts(0), ElementsAre(0, 3));
  EXPECT_THAT(SequentialWindows(8, 3, 2).starts(1), ElementsAre(6));
  std::multiset<int32_t> predicted;
  for (const int64_t start : all_starts(SequentialWindows(7, 2, 2))) {
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

TEST(Windows, AreShuffledAsAListOfThemWouldBe) {
  SequentialWindows windows(1001, 3, 8);
  std::vector<int64_t> expected = all_starts(windows);
  Generator generator(5);
  Generator other(5);
  generator.shuffle(expected);
  windows.shuffle(other);
  EXPECT_EQ(all_starts(windows), expected);
  EXPECT_EQ(generator.state(), other.state());
}

TEST(Windows, RandomOnesAreDrawnAgainForAnyBatch) {
  Generator generator(5);
  Generator other(5);
  const std::vector<int64_t> expected = random_windows(12 * 8, 1000, 10, generator);
  const RandomWindows windows(1000, 10, 8, other);
  EXPECT_EQ(windows.batches(), 12) << "as many as 1,000 ids fill";
  EXPECT_EQ(generator.state(), other.state());
  EXPECT_EQ(all_starts(windows), expected);
  EXPECT_EQ(windows.starts(7), std::vector<int64_t>(expected.begin() + 56, expected.begin() + 64));
  EXPECT_EQ(RandomWindows(5, 10, 8, other).batches(), 1);
}

}  // namespace
}  // namespace heed::data
