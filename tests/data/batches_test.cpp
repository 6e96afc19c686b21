#include "data/batches.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <set>
#include <utility>
#include <vector>

#include "core/random.h"

namespace heed::data {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

using Plan = std::vector<std::vector<uint32_t>>;

Plan batches_of(const BatchPlan& plan) {
  Plan batches;
  for (size_t i = 0; i < plan.size(); ++i) {
    batches.emplace_back(plan[i].begin(), plan[i].end());
  }
  return batches;
}

PairStore store_of(const std::vector<PairExample>& examples) {
  PairStore store("a corpus", 100);
  for (const PairExample& example : examples) {
    store.append(example);
  }
  return store;
}

// Source and target of random lengths, the target about as long as the source.
std::vector<PairExample> random_pairs(size_t count, uint64_t longest) {
  Generator generator(17);
  std::vector<PairExample> examples(count);
  for (PairExample& example : examples) {
    const uint64_t length = 1 + generator.below(longest);
    example.source.assign(length, 4);
    example.target.assign(length + generator.below(3), 5);
  }
  return examples;
}

PairStore random_examples(size_t count, uint64_t longest) {
  return store_of(random_pairs(count, longest));
}

std::vector<uint32_t> flat(const Plan& plan) {
  std::vector<uint32_t> indices;
  for (const auto& batch : plan) {
    indices.insert(indices.end(), batch.begin(), batch.end());
  }
  return indices;
}

// Every index of [0, count) is there once.
testing::AssertionResult covers(const Plan& plan, size_t count) {
  std::vector<uint32_t> indices = flat(plan);
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

size_t rows_times_width(const PairStore& examples, const std::vector<uint32_t>& batch) {
  size_t width = 0;
  for (const uint32_t index : batch) {
    width = std::max({width, examples.source_length(index), examples.target_length(index) + 1});
  }
  return width * batch.size();
}

// Of all cells of the target, the part that is padding.
double padding_share(const PairStore& examples, const Plan& plan) {
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
  const PairStore examples =
      store_of({{{10, 11, 3}, {20, 21}}, {{99, 3}, {98}}, {{12, 3}, {22, 23, 24}}});
  const PairBatch batch = make_batch(examples, std::array{2U, 0U});
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
  const PairBatch bare = make_batch(store_of({{{}, {}}}), std::array{0U});
  EXPECT_THAT(bare.source, ElementsAre(0));
  EXPECT_THAT(bare.source_lengths, ElementsAre(0));
  EXPECT_THAT(bare.target_input, ElementsAre(2));
  EXPECT_THAT(bare.target_output, ElementsAre(3));
  EXPECT_EQ(bare.target_tokens, 1);
  const PairBatch none = make_batch(PairStore(), {});
  EXPECT_EQ(none.size(), 0);
  EXPECT_THAT(none.target_output, IsEmpty());
  EXPECT_EQ(none.target_tokens, 0);
}

TEST(EpochPlan, HoldsEveryExampleOnceInFullBatches) {
  const auto examples = random_examples(1003, 30);
  Generator generator(1);
  const Plan plan = batches_of(plan_epoch(examples, {.sentences = 10}, generator));
  EXPECT_TRUE(covers(plan, 1003));
  ASSERT_THAT(plan, SizeIs(101)) << "1,000 make a pool of full batches, three are left";
  EXPECT_EQ(std::count_if(plan.begin(), plan.end(), [](const auto& b) { return b.size() == 10; }),
            100);
}

TEST(EpochPlan, KeepsRowsTimesWidthWithinTheTokens) {
  auto pairs = random_pairs(2000, 40);
  pairs[77].target.assign(300, 5);
  const PairStore examples = store_of(pairs);
  Generator generator(1);
  const Plan plan = batches_of(plan_epoch(examples, {.sentences = 64, .tokens = 200}, generator));
  EXPECT_TRUE(covers(plan, 2000));
  for (const auto& batch : plan) {
    if (batch == std::vector<uint32_t>{77}) {
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
    for (const auto& batch : batches_of(
             plan_epoch(examples, {.sentences = 32, .tokens = 0, .pool = pool}, generator))) {
      const auto [least, most] =
          std::minmax_element(batch.begin(), batch.end(), [&](uint32_t a, uint32_t b) {
            return examples.target_length(a) < examples.target_length(b);
          });
      if (batch.size() == 32) {
        narrowest =
            std::min(narrowest, examples.target_length(*most) - examples.target_length(*least));
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
  EXPECT_LT(padding_share(examples, batches_of(plan_epoch(examples, {.sentences = 32}, generator))),
            0.05);
  Plan unsorted;
  for (uint32_t begin = 0; begin + 32 <= examples.size(); begin += 32) {
    unsorted.emplace_back();
    for (uint32_t i = 0; i < 32; ++i) {
      unsorted.back().push_back(begin + i);
    }
  }
  EXPECT_GT(padding_share(examples, unsorted), 0.3) << "what sorting saves";
}

TEST(EpochPlan, TheOrderOfLengthsIsRandom) {
  const auto examples = random_examples(3200, 50);
  Generator generator(1);
  const Plan plan = batches_of(plan_epoch(examples, {.sentences = 32}, generator));
  int longer = 0;
  int shorter = 0;
  for (size_t i = 1; i < plan.size(); ++i) {
    const size_t before = examples.target_length(plan[i - 1][0]);
    const size_t now = examples.target_length(plan[i][0]);
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
  const Plan first = batches_of(plan_epoch(examples, {.sentences = 16}, generator));
  const Plan second = batches_of(plan_epoch(examples, {.sentences = 16}, generator));
  EXPECT_NE(first, second) << "each epoch has an order of its own";
  Generator again(start);
  EXPECT_EQ(batches_of(plan_epoch(examples, {.sentences = 16}, again)), first);
  EXPECT_EQ(batches_of(plan_epoch(examples, {.sentences = 16}, again)), second);
  EXPECT_EQ(again.state(), generator.state());
  Generator other(5, 9);
  EXPECT_NE(batches_of(plan_epoch(examples, {.sentences = 16}, other)), first);
}

// The same by lists of lists.
Plan expected_plan(const std::vector<PairExample>& examples, const BatchLimits& limits,
                   Generator& generator) {
  int64_t widths = 0;
  for (const PairExample& example : examples) {
    widths += static_cast<int64_t>(std::max(example.source.size(), example.target.size() + 1));
  }
  const auto count = static_cast<int64_t>(examples.size());
  const int64_t sentences = limits.tokens > 0
                                ? std::min(limits.sentences, limits.tokens * count / widths)
                                : limits.sentences;
  std::vector<uint32_t> order(examples.size());
  std::iota(order.begin(), order.end(), 0U);
  generator.shuffle(order);
  Plan plan;
  const auto pool = static_cast<size_t>(limits.pool * sentences);
  for (size_t begin = 0; begin < order.size(); begin += pool) {
    std::vector<uint32_t> part(order.begin() + begin,
                               order.begin() + std::min(order.size(), begin + pool));
    std::stable_sort(part.begin(), part.end(), [&](uint32_t a, uint32_t b) {
      return std::pair(examples[a].target.size(), examples[a].source.size()) <
             std::pair(examples[b].target.size(), examples[b].source.size());
    });
    std::vector<uint32_t> batch;
    for (const uint32_t index : part) {
      batch.push_back(index);
      size_t width = 0;
      for (const uint32_t row : batch) {
        width = std::max({width, examples[row].source.size(), examples[row].target.size() + 1});
      }
      const auto tokens = static_cast<int64_t>(width * batch.size());
      const bool over = static_cast<int64_t>(batch.size()) > limits.sentences ||
                        (limits.tokens > 0 && tokens > limits.tokens);
      if (over && batch.size() > 1) {
        batch.pop_back();
        plan.push_back(std::exchange(batch, {index}));
      }
    }
    plan.push_back(batch);
  }
  generator.shuffle(plan);
  return plan;
}

TEST(EpochPlan, IsWhatListsOfBatchesGive) {
  const auto pairs = random_pairs(3001, 30);
  for (const BatchLimits limits : {BatchLimits{16, 0, 7}, BatchLimits{1, 0, 100},
                                   BatchLimits{20, 150, 10}, BatchLimits{64, 0, 1}}) {
    Generator generator(8);
    Generator other(8);
    const Plan plan = batches_of(plan_epoch(store_of(pairs), limits, generator));
    EXPECT_EQ(plan, expected_plan(pairs, limits, other));
    EXPECT_EQ(generator.state(), other.state());
  }
}

TEST(EpochPlan, DifferentEpochsPutDifferentExamplesTogether) {
  const auto examples = random_examples(400, 5);
  Generator generator(1);
  const auto neighbours = [&] {
    for (const auto& batch : batches_of(plan_epoch(examples, {.sentences = 8}, generator))) {
      if (std::find(batch.begin(), batch.end(), 0U) != batch.end()) {
        return std::set<uint32_t>(batch.begin(), batch.end());
      }
    }
    return std::set<uint32_t>{};
  };
  const auto first = neighbours();
  ASSERT_THAT(first, SizeIs(8));
  EXPECT_NE(neighbours(), first);
}

TEST(EpochPlan, OfNothingIsNothing) {
  Generator generator(1);
  EXPECT_EQ(plan_epoch(PairStore(), {}, generator).size(), 0U);
  EXPECT_EQ(plan_by_length(PairStore(), {}).size(), 0U);
}

TEST(PlanByLength, GoesFromLongToShortAndKeepsTheIndices) {
  PairStore examples("a corpus", 100);
  for (const size_t length : {2U, 7U, 2U, 5U, 9U}) {
    examples.append({std::vector<int32_t>(length, 4), {5}});
  }
  EXPECT_THAT(batches_of(plan_by_length(examples, {.sentences = 2})),
              ElementsAre(ElementsAre(4, 1), ElementsAre(3, 0), ElementsAre(2)));
  EXPECT_THAT(batches_of(plan_by_length(examples, {.sentences = 64, .tokens = 14})),
              ElementsAre(ElementsAre(4), ElementsAre(1, 3), ElementsAre(0, 2)));
}

TEST(PlanByLength, HoldsEveryExampleOnce) {
  const auto examples = random_examples(777, 30);
  const Plan plan = batches_of(plan_by_length(examples, {.sentences = 64, .tokens = 400}));
  EXPECT_TRUE(covers(plan, 777));
  for (const auto& batch : plan) {
    EXPECT_LE(rows_times_width(examples, batch), 400U);
  }
}

}  // namespace
}  // namespace heed::data
