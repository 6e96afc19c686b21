#include "data/batches.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

#include "core/random.h"

namespace heed::data {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

using Plan = std::vector<std::vector<size_t>>;

// Source and target of random lengths, the target about as long as the source.
std::vector<PairExample> random_examples(size_t count, uint64_t longest) {
  Generator generator(17);
  std::vector<PairExample> examples(count);
  for (PairExample& example : examples) {
    const uint64_t length = 1 + generator.below(longest);
    example.source.assign(length, 4);
    example.target.assign(length + generator.below(3), 5);
  }
  return examples;
}

std::vector<size_t> flat(const Plan& plan) {
  std::vector<size_t> indices;
  for (const auto& batch : plan) {
    indices.insert(indices.end(), batch.begin(), batch.end());
  }
  return indices;
}

// Every index of [0, count) is there once.
testing::AssertionResult covers(const Plan& plan, size_t count) {
  std::vector<size_t> indices = flat(plan);
  std::sort(indices.begin(), indices.end());
  if (indices.size() != count) {
    return testing::AssertionFailure() << indices.size() << " indices, not " << count;
  }
  for (size_t i = 0; i < count; ++i) {
    if (indices[i] != i) {
      return testing::AssertionFailure() << i << " is missing";
    }
  }
  return testing::AssertionSuccess();
}

size_t rows_times_width(const std::vector<PairExample>& examples,
                        const std::vector<size_t>& batch) {
  size_t width = 0;
  for (const size_t index : batch) {
    width = std::max({width, examples[index].source.size(), examples[index].target.size() + 1});
  }
  return width * batch.size();
}

// Of all cells of the target, the part that is padding.
double padding_share(const std::vector<PairExample>& examples, const Plan& plan) {
  double cells = 0;
  double tokens = 0;
  for (const auto& indices : plan) {
    const PairBatch batch = make_batch(examples, indices);
    cells += static_cast<double>(batch.size() * batch.target_width);
    tokens += static_cast<double>(batch.target_tokens);
  }
  return 1 - tokens / cells;
}

TEST(Batch, IsPaddedRowByRow) {
  const std::vector<PairExample> examples = {
      {{10, 11, 3}, {20, 21}}, {{99, 3}, {98}}, {{12, 3}, {22, 23, 24}}};
  const PairBatch batch = make_batch(examples, {2, 0});
  EXPECT_EQ(batch.size(), 2);
  EXPECT_THAT(batch.indices, ElementsAre(2, 0));
  EXPECT_EQ(batch.source_width, 3);
  EXPECT_EQ(batch.target_width, 4);
  EXPECT_THAT(batch.source, ElementsAre(12, 3, 0, 10, 11, 3));
  EXPECT_THAT(batch.source_lengths, ElementsAre(2, 3));
  EXPECT_THAT(batch.target_input, ElementsAre(2, 22, 23, 24, 2, 20, 21, 0));
  EXPECT_THAT(batch.target_output, ElementsAre(22, 23, 24, 3, 20, 21, 3, 0));
  EXPECT_EQ(batch.target_tokens, 7);
}

TEST(Batch, EmptySidesAndNoRowsHaveShapesToo) {
  const PairBatch bare = make_batch({{{}, {}}}, {0});
  EXPECT_THAT(bare.source, ElementsAre(0));
  EXPECT_THAT(bare.source_lengths, ElementsAre(0));
  EXPECT_THAT(bare.target_input, ElementsAre(2));
  EXPECT_THAT(bare.target_output, ElementsAre(3));
  EXPECT_EQ(bare.target_tokens, 1);
  const PairBatch none = make_batch({}, {});
  EXPECT_EQ(none.size(), 0);
  EXPECT_THAT(none.target_output, IsEmpty());
  EXPECT_EQ(none.target_tokens, 0);
}

TEST(EpochPlan, HoldsEveryExampleOnceInFullBatches) {
  const auto examples = random_examples(1003, 30);
  Generator generator(1);
  const Plan plan = plan_epoch(examples, {.sentences = 10}, generator);
  EXPECT_TRUE(covers(plan, 1003));
  ASSERT_THAT(plan, SizeIs(101)) << "1,000 make a pool of full batches, three are left";
  EXPECT_EQ(std::count_if(plan.begin(), plan.end(), [](const auto& b) { return b.size() == 10; }),
            100);
}

TEST(EpochPlan, KeepsRowsTimesWidthWithinTheTokens) {
  auto examples = random_examples(2000, 40);
  examples[77].target.assign(300, 5);
  Generator generator(1);
  const Plan plan = plan_epoch(examples, {.sentences = 64, .tokens = 200}, generator);
  EXPECT_TRUE(covers(plan, 2000));
  for (const auto& batch : plan) {
    if (batch == std::vector<size_t>{77}) {
      continue;  // longer than the limit: alone
    }
    EXPECT_LE(rows_times_width(examples, batch), 200U);
    EXPECT_LE(batch.size(), 64U);
  }
  EXPECT_THAT(plan, ::testing::Contains(ElementsAre(77)));
  EXPECT_LT(plan.size(), 500U) << "batches are filled up to the limit";
}

TEST(EpochPlan, APoolOfOneBatchMixesAllLengths) {
  const auto examples = random_examples(5000, 50);
  const auto narrowest_spread = [&](int64_t pool) {
    Generator generator(1);
    size_t narrowest = 50;
    for (const auto& batch :
         plan_epoch(examples, {.sentences = 32, .tokens = 0, .pool = pool}, generator)) {
      const auto [least, most] =
          std::minmax_element(batch.begin(), batch.end(), [&](size_t a, size_t b) {
            return examples[a].target.size() < examples[b].target.size();
          });
      if (batch.size() == 32) {
        narrowest =
            std::min(narrowest, examples[*most].target.size() - examples[*least].target.size());
      }
    }
    return narrowest;
  };
  EXPECT_GT(narrowest_spread(1), 25U);
  EXPECT_LT(narrowest_spread(100), 3U);
}

TEST(EpochPlan, LittleOfABatchIsPadding) {
  const auto examples = random_examples(5000, 50);
  Generator generator(1);
  EXPECT_LT(padding_share(examples, plan_epoch(examples, {.sentences = 32}, generator)), 0.05);
  Plan unsorted;
  for (size_t begin = 0; begin + 32 <= examples.size(); begin += 32) {
    unsorted.emplace_back();
    for (size_t i = 0; i < 32; ++i) {
      unsorted.back().push_back(begin + i);
    }
  }
  EXPECT_GT(padding_share(examples, unsorted), 0.3) << "what sorting saves";
}

TEST(EpochPlan, TheOrderOfLengthsIsRandom) {
  const auto examples = random_examples(3200, 50);
  Generator generator(1);
  const Plan plan = plan_epoch(examples, {.sentences = 32}, generator);
  int longer = 0;
  int shorter = 0;
  for (size_t i = 1; i < plan.size(); ++i) {
    const size_t before = examples[plan[i - 1][0]].target.size();
    const size_t now = examples[plan[i][0]].target.size();
    longer += now > before ? 1 : 0;
    shorter += now < before ? 1 : 0;
  }
  EXPECT_GT(longer, 25) << "of 99 steps to the next batch about half go up";
  EXPECT_GT(shorter, 25) << "and half down";
}

TEST(EpochPlan, IsAFunctionOfTheGeneratorsState) {
  const auto examples = random_examples(500, 20);
  Generator generator(4, 9);
  const RandomState start = generator.state();
  const Plan first = plan_epoch(examples, {.sentences = 16}, generator);
  const Plan second = plan_epoch(examples, {.sentences = 16}, generator);
  EXPECT_NE(first, second) << "each epoch has an order of its own";
  Generator again(start);
  EXPECT_EQ(plan_epoch(examples, {.sentences = 16}, again), first);
  EXPECT_EQ(plan_epoch(examples, {.sentences = 16}, again), second);
  EXPECT_EQ(again.state(), generator.state());
  Generator other(5, 9);
  EXPECT_NE(plan_epoch(examples, {.sentences = 16}, other), first);
}

TEST(EpochPlan, DifferentEpochsPutDifferentExamplesTogether) {
  const auto examples = random_examples(400, 5);
  Generator generator(1);
  const auto neighbours = [&] {
    for (const auto& batch : plan_epoch(examples, {.sentences = 8}, generator)) {
      if (std::find(batch.begin(), batch.end(), 0U) != batch.end()) {
        return std::set<size_t>(batch.begin(), batch.end());
      }
    }
    return std::set<size_t>{};
  };
  const auto first = neighbours();
  ASSERT_THAT(first, SizeIs(8));
  EXPECT_NE(neighbours(), first);
}

TEST(EpochPlan, OfNothingIsNothing) {
  Generator generator(1);
  EXPECT_THAT(plan_epoch({}, {}, generator), IsEmpty());
  EXPECT_THAT(plan_by_length({}, {}), IsEmpty());
}

TEST(PlanByLength, GoesFromLongToShortAndKeepsTheIndices) {
  std::vector<PairExample> examples;
  for (const size_t length : {2U, 7U, 2U, 5U, 9U}) {
    examples.push_back({std::vector<int32_t>(length, 4), {5}});
  }
  EXPECT_THAT(plan_by_length(examples, {.sentences = 2}),
              ElementsAre(ElementsAre(4, 1), ElementsAre(3, 0), ElementsAre(2)));
  EXPECT_THAT(plan_by_length(examples, {.sentences = 64, .tokens = 14}),
              ElementsAre(ElementsAre(4), ElementsAre(1, 3), ElementsAre(0, 2)));
}

TEST(PlanByLength, HoldsEveryExampleOnce) {
  const auto examples = random_examples(777, 30);
  const Plan plan = plan_by_length(examples, {.sentences = 64, .tokens = 400});
  EXPECT_TRUE(covers(plan, 777));
  for (const auto& batch : plan) {
    EXPECT_LE(rows_times_width(examples, batch), 400U);
  }
}

}  // namespace
}  // namespace heed::data
