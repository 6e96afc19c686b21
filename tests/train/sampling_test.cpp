#include "train/sampling.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "core/error.h"
#include "tests/support/expect_close.h"

namespace heed::train {
namespace {

// Logits of the probabilities 0.4, 0.1, 0.3, 0.2.
const std::vector<float> logits = {std::log(4.0F), std::log(1.0F), std::log(3.0F), std::log(2.0F)};

// By id, 0 for what cannot be drawn.
std::vector<double> distribution(const SamplingOptions& options) {
  std::vector<double> probabilities(logits.size(), 0);
  for (const Choice& choice : choices(logits, options)) {
    probabilities[static_cast<size_t>(choice.id)] = choice.probability;
  }
  return probabilities;
}

std::string refusal(const SamplingOptions& options) {
  try {
    choices(logits, options);
  } catch (const InputError& error) {
    return error.what();
  }
  return "none";
}

TEST(Sampling, SoftmaxOfTheLogits) {
  test::expect_close(distribution({}), {0.4, 0.1, 0.3, 0.2}, 1e-7);
  EXPECT_EQ(choices(logits, {}).front().id, 0);
  EXPECT_EQ(choices(logits, {}).back().id, 1);
}

TEST(Sampling, TemperatureSharpensAndFlattens) {
  const double total = 16 + 1 + 9 + 4;
  test::expect_close(distribution({.temperature = 0.5}),
                     {16 / total, 1 / total, 9 / total, 4 / total}, 1e-7);
  test::expect_close(distribution({.temperature = 1e6}), {0.25, 0.25, 0.25, 0.25}, 1e-5);
  test::expect_close(distribution({.temperature = 0}), {1, 0, 0, 0}, 0);
  test::expect_close(distribution({.temperature = 1e-300}), {1, 0, 0, 0}, 1e-12);
}

TEST(Sampling, TopKKeepsTheLikeliest) {
  test::expect_close(distribution({.top_k = 2}), {4.0 / 7, 0, 3.0 / 7, 0}, 1e-7);
  test::expect_close(distribution({.top_k = 100}), {0.4, 0.1, 0.3, 0.2}, 1e-7);
}

// The fewest that hold at least p.
TEST(Sampling, TopPKeepsTheNucleus) {
  test::expect_close(distribution({.top_p = 0.39}), {1, 0, 0, 0}, 0);
  test::expect_close(distribution({.top_p = 0.6}), {4.0 / 7, 0, 3.0 / 7, 0}, 1e-7);
  test::expect_close(distribution({.top_p = 0.75}), {4.0 / 9, 0, 3.0 / 9, 2.0 / 9}, 1e-7);
  test::expect_close(distribution({.top_p = 1}), {0.4, 0.1, 0.3, 0.2}, 1e-7);
  test::expect_close(distribution({.top_p = 1e-9}), {1, 0, 0, 0}, 0);
  // Of what top_k left, renormalised: 4/7 of 0.7.
  test::expect_close(distribution({.top_k = 2, .top_p = 0.5}), {1, 0, 0, 0}, 0);
}

TEST(Sampling, SomeIdsAreNeverDrawn) {
  test::expect_close(distribution({.never = {0, 3}}), {0, 0.25, 0.75, 0}, 1e-7);
  test::expect_close(distribution({.temperature = 0, .never = {0}}), {0, 0, 1, 0}, 0);
  EXPECT_THROW(choices(logits, {.never = {0, 1, 2, 3}}), Error);
}

TEST(Sampling, EqualOnesGoByTheirIds) {
  const std::vector<float> equal = {1, 2, 2, 2};
  EXPECT_EQ(choices(equal, {.temperature = 0}).front().id, 1);
  EXPECT_EQ(choices(equal, {.top_k = 2}).back().id, 2);
}

TEST(Sampling, DrawsAsTheDistributionSays) {
  Generator generator(5);
  constexpr int draws = 20000;
  std::vector<double> shares(logits.size(), 0);
  for (int i = 0; i < draws; ++i) {
    shares[static_cast<size_t>(sample(logits, {}, generator))] += 1.0 / draws;
  }
  test::expect_close(shares, {0.4, 0.1, 0.3, 0.2}, 0.015);
  Generator one(9);
  Generator two(9);
  for (int i = 0; i < 50; ++i) {
    EXPECT_EQ(sample(logits, {}, one), sample(logits, {}, two));
  }
}

TEST(Sampling, OptionsOutOfRangeAreWorded) {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(refusal({.temperature = -1}), "[sampling] temperature is -1, at least 0 is expected");
  EXPECT_EQ(refusal({.temperature = nan}), "[sampling] temperature is nan, at least 0 is expected");
  EXPECT_EQ(refusal({.top_k = -2}), "[sampling] top-k is -2, at least 0 is expected");
  EXPECT_EQ(refusal({.top_p = 0}), "[sampling] top-p is 0, above 0 and at most 1 is expected");
  EXPECT_EQ(refusal({.top_p = 1.1}), "[sampling] top-p is 1.1, above 0 and at most 1 is expected");
  EXPECT_EQ(refusal({.top_p = nan}), "[sampling] top-p is nan, above 0 and at most 1 is expected");
  const std::vector<float> broken = {0, std::numeric_limits<float>::quiet_NaN()};
  try {
    choices(broken, {});
    FAIL() << "NaN was drawn from";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "[sampling] the model gives NaN: its weights are not finite");
  }
}

}  // namespace
}  // namespace heed::train
