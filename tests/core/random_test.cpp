#include "core/random.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <vector>

namespace heed {
namespace {

using Block = std::array<uint32_t, 4>;

// The known answers that Salmon et al. publish with the reference implementation.
TEST(Philox, GivesTheKnownAnswers) {
  EXPECT_EQ(philox_block(0, 0, 0), (Block{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox_block(~uint64_t{0}, ~uint64_t{0}, ~uint64_t{0}),
            (Block{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox_block(0x299f31d0a4093822, 0x0370734413198a2e, 0x85a308d3243f6a88),
            (Block{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Philox, UniformIsTheTopBitsOfOneNumber) {
  const RandomState state{7, 3, 5};
  for (uint64_t i = 0; i < 20; ++i) {
    const uint64_t position = 5 + i;
    const uint32_t number = philox_block(7, 3, position / 4)[position % 4];
    EXPECT_EQ(philox_uniform(state, i), static_cast<float>(number >> 8) / 16777216.0F);
  }
}

TEST(Generator, DrawsTheNumbersOfItsStreamInOrder) {
  Generator generator(11, 2);
  for (uint64_t i = 0; i < 10; ++i) {
    EXPECT_EQ(generator.next_u32(), philox_block(11, 2, i / 4)[i % 4]);
  }
  EXPECT_EQ(generator.state(), (RandomState{11, 2, 10}));
}

TEST(Generator, ContinuesFromAState) {
  Generator generator(5);
  generator.normal();
  const RandomState state = generator.state();
  const std::vector<double> expected{generator.uniform(), generator.normal(), generator.uniform()};
  Generator again(state);
  EXPECT_EQ((std::vector<double>{again.uniform(), again.normal(), again.uniform()}), expected);
  generator.set_state(state);
  EXPECT_EQ(generator.uniform(), expected[0]);
}

TEST(Generator, SetsNumbersAside) {
  Generator generator(5, 1);
  generator.next_u32();
  EXPECT_EQ(generator.reserve(100), (RandomState{5, 1, 1}));
  EXPECT_EQ(generator.state(), (RandomState{5, 1, 101}));
}

TEST(Generator, SeedsAndStreamsDiffer) {
  EXPECT_NE(Generator(1).next_u64(), Generator(2).next_u64());
  EXPECT_NE(Generator(1, 1).next_u64(), Generator(1, 2).next_u64());
}

TEST(Generator, UniformHasTheRightMoments) {
  Generator generator(1);
  constexpr int count = 20000;
  double sum = 0;
  double squares = 0;
  for (int i = 0; i < count; ++i) {
    const double u = generator.uniform();
    ASSERT_GE(u, 0.0);
    ASSERT_LT(u, 1.0);
    sum += u;
    squares += u * u;
  }
  EXPECT_NEAR(sum / count, 0.5, 0.01);
  EXPECT_NEAR(squares / count, 1.0 / 3, 0.01);
}

TEST(Generator, NormalHasTheRightMoments) {
  Generator generator(1);
  constexpr int count = 20000;
  std::array<double, 4> moments{};
  for (int i = 0; i < count; ++i) {
    const double x = generator.normal();
    ASSERT_TRUE(std::isfinite(x));
    for (size_t k = 0; k < 4; ++k) {
      moments[k] += std::pow(x, static_cast<double>(k + 1)) / count;
    }
  }
  EXPECT_NEAR(moments[0], 0, 0.03);
  EXPECT_NEAR(moments[1], 1, 0.05);
  EXPECT_NEAR(moments[2], 0, 0.15);
  EXPECT_NEAR(moments[3], 3, 0.3);
}

TEST(Generator, BelowIsEvenlySpread) {
  Generator generator(3);
  std::array<int, 7> counts{};
  constexpr int count = 14000;
  for (int i = 0; i < count; ++i) {
    const uint64_t number = generator.below(7);
    ASSERT_LT(number, 7U);
    ++counts[number];
  }
  for (const int c : counts) {
    EXPECT_NEAR(c, count / 7.0, 200);
  }
  EXPECT_EQ(generator.below(1), 0U);
  EXPECT_LT(generator.below(~uint64_t{0}), ~uint64_t{0});
}

TEST(Generator, ShufflesToEachOrderAlike) {
  Generator generator(9);
  std::array<int, 6> orders{};
  for (int i = 0; i < 6000; ++i) {
    std::vector<int> items{0, 1, 2};
    generator.shuffle(items);
    ++orders[static_cast<size_t>(items[0]) * 2 + (items[1] > items[2] ? 1 : 0)];
  }
  for (const int c : orders) {
    EXPECT_NEAR(c, 1000, 150);
  }
  std::vector<int> many(100);
  std::iota(many.begin(), many.end(), 0);
  const std::vector<int> sorted = many;
  generator.shuffle(many);
  EXPECT_NE(many, sorted);
  std::sort(many.begin(), many.end());
  EXPECT_EQ(many, sorted);
}

}  // namespace
}  // namespace heed
