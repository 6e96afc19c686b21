#include "autograd/functions.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "autograd/autograd.h"
#include "tests/support/expect_close.h"

// What the table of op cases cannot say: gradients withheld on purpose, NaN kept out.
namespace heed {
namespace {

using Values = std::vector<double>;

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double infinity = std::numeric_limits<double>::infinity();

Tensor leaf(const Values& values, const Shape& shape) {
  const Tensor x = Tensor::from_vector(values, shape);
  set_requires_grad(x);
  return x;
}

TEST(Embedding, PaddingRowGathersNoGradient) {
  const Tensor table = leaf({1, 2, 3, 4, 5, 6}, {3, 2});
  const Tensor ids = Tensor::from_vector<int32_t>({0, 2, 0, 1}, {4});
  const Tensor y = embedding(ids, table, 0);
  EXPECT_EQ(y.to_doubles(), Values({1, 2, 5, 6, 1, 2, 3, 4}));
  backward(sum(y));
  EXPECT_EQ(gradient(table).to_doubles(), Values({0, 0, 1, 1, 1, 1}));
}

TEST(CrossEntropy, NllLeavesSmoothingOutAndCarriesNoGradient) {
  const Tensor logits = leaf({0, 0, 0, 2, 0, 0}, {2, 3});
  const Tensor targets = Tensor::from_vector<int32_t>({1, 0}, {2});
  const CrossEntropy smooth = cross_entropy(logits, targets, {0.3, -100});
  const CrossEntropy plain = cross_entropy(logits, targets);
  EXPECT_FALSE(requires_grad(smooth.nll));
  const double expected = std::log(3) + std::log(std::exp(2) + 2) - 2;
  test::expect_close(smooth.nll.to_doubles(), {expected}, 1e-14);
  test::expect_close(plain.loss.to_doubles(), {expected}, 1e-14);
  EXPECT_GT(smooth.loss.item(), expected + 0.1);
}

TEST(CrossEntropy, IgnoredRowsLetNothingThrough) {
  const Tensor logits = leaf({nan, infinity, 0, 0}, {2, 2});
  const CrossEntropy result = cross_entropy(logits, Tensor::from_vector<int32_t>({-100, 1}, {2}));
  test::expect_close(result.loss.to_doubles(), {std::log(2)}, 1e-14);
  backward(result.loss);
  test::expect_close(gradient(logits).to_doubles(), {0, 0, 0.5, -0.5}, 1e-14);
}

TEST(Softmax, MaskedNanAndRowsWithoutEntriesGiveZeros) {
  const Tensor mask = Tensor::from_vector<bool>({true, false, false, false}, {2, 2});
  const Tensor cotangent = Tensor::from_vector<double>({1, 2, 3, 4}, {2, 2});
  const Tensor x = leaf({1, nan, infinity, -infinity}, {2, 2});
  const Tensor y = softmax(x, mask);
  EXPECT_EQ(y.to_doubles(), Values({1, 0, 0, 0}));
  backward(y, cotangent);
  EXPECT_EQ(gradient(x).to_doubles(), Values({0, 0, 0, 0}));
  clear_gradient(x);
  const Tensor log_y = log_softmax(x, mask);
  EXPECT_EQ(log_y.to_doubles(), Values({0, -infinity, -infinity, -infinity}));
  backward(log_y, cotangent);
  EXPECT_EQ(gradient(x).to_doubles(), Values({0, 0, 0, 0}));
}

TEST(Where, WhatIsNotChosenReachesNothing) {
  const Tensor condition = Tensor::from_vector<bool>({true, false}, {2});
  const Tensor a = leaf({1, nan}, {2});
  const Tensor b = leaf({infinity, 2}, {2});
  const Tensor y = where(condition, a, b);
  EXPECT_EQ(y.to_doubles(), Values({1, 2}));
  backward(y, Tensor::from_vector<double>({3, 4}, {2}));
  EXPECT_EQ(gradient(a).to_doubles(), Values({3, 0}));
  EXPECT_EQ(gradient(b).to_doubles(), Values({0, 4}));
}

TEST(Maximum, OfEqualsTheFirstTakesTheGradient) {
  const Tensor a = leaf({1, 5}, {2});
  const Tensor b = leaf({1, 7}, {2});
  backward(sum(maximum(a, b)));
  EXPECT_EQ(gradient(a).to_doubles(), Values({1, 0}));
  EXPECT_EQ(gradient(b).to_doubles(), Values({0, 1}));
}

TEST(Max, EqualLargestShareTheGradient) {
  const Tensor x = leaf({4, 1, 4, 4}, {4});
  backward(max(x, 0), Tensor::full({}, 6.0, DType::f64));
  EXPECT_EQ(gradient(x).to_doubles(), Values({2, 0, 2, 2}));
}

TEST(Dropout, SameStateDropsTheSameAndTheStateMovesOn) {
  Generator generator(4);
  const RandomState start = generator.state();
  const Tensor x = Tensor::full({1000}, 1.0);
  const Values first = dropout(x, 0.25, generator).to_doubles();
  EXPECT_NE(dropout(x, 0.25, generator).to_doubles(), first);
  generator.set_state(start);
  EXPECT_EQ(dropout(x, 0.25, generator).to_doubles(), first);
  int64_t dropped = 0;
  for (const double value : first) {
    dropped += value == 0 ? 1 : 0;
  }
  EXPECT_NEAR(static_cast<double>(dropped), 250, 50);
}

TEST(ArgMaxAndTopK, TakeTheFirstOfEqualsAndRecordNothing) {
  const Tensor x = leaf({1, 5, 5, 3, 3, 0}, {2, 3});
  const Tensor best = arg_max(x);
  EXPECT_EQ(best.to_vector<int32_t>(), std::vector<int32_t>({1, 0}));
  const TopK top = top_k(x, 2);
  EXPECT_EQ(top.values.to_doubles(), Values({5, 5, 3, 3}));
  EXPECT_EQ(top.indices.to_vector<int32_t>(), std::vector<int32_t>({1, 2, 0, 1}));
  EXPECT_FALSE(requires_grad(top.values));
}

TEST(Comparisons, AreBooleanAndBroadcast) {
  const Tensor a = leaf({1, 2, 3}, {3});
  const Tensor b = Tensor::from_vector<double>({2}, {1});
  const auto truth = [](const Tensor& x) { return x.to_vector<bool>(); };
  EXPECT_EQ(truth(equal(a, b)), std::vector<bool>({false, true, false}));
  EXPECT_EQ(truth(not_equal(a, b)), std::vector<bool>({true, false, true}));
  EXPECT_EQ(truth(less(a, b)), std::vector<bool>({true, false, false}));
  EXPECT_EQ(truth(less_equal(a, b)), std::vector<bool>({true, true, false}));
  const Tensor p = Tensor::from_vector<bool>({true, true, false, false}, {2, 2});
  const Tensor q = Tensor::from_vector<bool>({true, false}, {2});
  EXPECT_EQ(truth(logical_and(p, q)), std::vector<bool>({true, false, false, false}));
  EXPECT_EQ(truth(logical_and(q, p)), std::vector<bool>({true, false, false, false}));
  EXPECT_FALSE(requires_grad(less(a, b)));
}

// --- rotary positions --------------------------------------------------------------------------

TEST(Rotary, TurnsPairsByTheirAngles) {
  const Tensor x = Tensor::from_vector<double>({1, 0, 0, 1, 1, 0, 0, 1}, {2, 4});
  const double slow = 1 / std::sqrt(100.0);  // base^(-2/4)
  const Tensor y = rotary(x, 2, 100);
  test::expect_close(y.to_doubles(),
                     {std::cos(2), std::sin(2), -std::sin(2 * slow), std::cos(2 * slow),
                      std::cos(3), std::sin(3), -std::sin(3 * slow), std::cos(3 * slow)},
                     1e-15);
  // (0, 2) and (1, 3) are pairs here.
  const Tensor z = rotary(slice(x, 0, 0, 1), 2, 100, RotaryPairing::half);
  test::expect_close(z.to_doubles(),
                     {std::cos(2), -std::sin(2 * slow), std::sin(2), std::cos(2 * slow)}, 1e-15);
}

TEST(Rotary, ProductsDependOnTheDistanceAlone) {
  for (const RotaryPairing pairing : {RotaryPairing::interleaved, RotaryPairing::half}) {
    const Tensor query = Tensor::from_vector<double>({1, 2, -3, 0.5, 1, -1}, {1, 6});
    const Tensor key = Tensor::from_vector<double>({0.3, -1, 2, 1, -2, 0.7}, {1, 6});
    const auto product = [&](int64_t at, int64_t other) {
      return sum(rotary(query, at, 10000, pairing) * rotary(key, other, 10000, pairing)).item();
    };
    EXPECT_NEAR(product(107, 100), product(7, 0), 1e-12);
    EXPECT_GT(std::abs(product(7, 0) - product(8, 0)), 0.01);
  }
}

TEST(Rotary, PositionsMayDifferByRowOfTheBatch) {
  const Tensor x = Tensor::from_vector<double>({1, 2, 3, 4, 5, 6, 7, 8}, {2, 1, 2, 2});
  const Tensor positions = Tensor::from_vector<int32_t>({3, 4, 0, 1}, {2, 1, 2});
  const Tensor y = rotary(x, positions);
  test::expect_close(slice(y, 0, 0, 1), rotary(slice(x, 0, 0, 1), 3), 0);
  test::expect_close(slice(y, 0, 1, 2), rotary(slice(x, 0, 1, 2), 0), 0);
}

}  // namespace
}  // namespace heed
