#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "tests/kernels/support.h"

namespace heed::kernels::test {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double inf = std::numeric_limits<double>::infinity();
constexpr int32_t ignore = -100;

struct Loss {
  Tensor loss, nll, largest, sum;
};

Loss cross_entropy(const Tensor& logits, const Tensor& targets, double smoothing,
                   int64_t ignored = ignore) {
  const Shape rows = {logits.dim(0)};
  const Loss result = {unset(rows, logits.dtype()), unset(rows, logits.dtype()),
                       unset(rows, logits.dtype()), unset(rows, logits.dtype())};
  tested().cross_entropy(logits, targets, smoothing, ignored, result.loss, result.nll,
                         result.largest, result.sum);
  return result;
}

Tensor backward(const Tensor& logits, const Tensor& targets, double smoothing, const Loss& forward,
                const Tensor& dloss, int64_t ignored = ignore) {
  const Tensor dlogits = unset(logits.shape(), logits.dtype());
  tested().cross_entropy_backward(logits, targets, smoothing, ignored, forward.largest, forward.sum,
                                  dloss, dlogits);
  return dlogits;
}

struct LossByHand {
  std::vector<double> loss, nll, largest, sum, dlogits;
};

LossByHand by_hand(const Tensor& logits, const Tensor& targets, double smoothing,
                   const std::vector<double>& dloss) {
  const std::vector<double> x = logits.to_doubles();
  const std::vector<int32_t> t = targets.to_vector<int32_t>();
  const auto classes = static_cast<size_t>(logits.dim(1));
  LossByHand result;
  result.dlogits.assign(x.size(), 0);
  for (size_t n = 0; n < t.size(); ++n) {
    if (t[n] == ignore) {
      result.loss.push_back(0);
      result.nll.push_back(0);
      result.largest.push_back(0);
      result.sum.push_back(1);
      continue;
    }
    const double* row = x.data() + n * classes;
    const double largest = *std::max_element(row, row + classes);
    double sum = 0;
    for (size_t v = 0; v < classes; ++v) {
      sum += std::exp(row[v] - largest);
    }
    const double lse = largest + std::log(sum);
    double loss = (1 - smoothing) * (lse - row[t[n]]);
    for (size_t v = 0; v < classes; ++v) {
      const double share = smoothing / static_cast<double>(classes);
      loss += share * (lse - row[v]);
      const double hit = static_cast<int32_t>(v) == t[n] ? 1 - smoothing : 0;
      result.dlogits[n * classes + v] = dloss[n] * (std::exp(row[v] - lse) - hit - share);
    }
    result.loss.push_back(loss);
    result.nll.push_back(lse - row[t[n]]);
    result.largest.push_back(largest);
    result.sum.push_back(sum);
  }
  return result;
}

// Every third target is ignored; its logits are NaN.
Tensor targets_for(int64_t rows, int64_t classes) {
  Generator generator(5);
  std::vector<int32_t> targets;
  for (int64_t n = 0; n < rows; ++n) {
    const auto target = static_cast<int32_t>(generator.below(static_cast<uint64_t>(classes)));
    targets.push_back(n % 3 == 1 ? ignore : target);
  }
  return Tensor::from_vector(targets, {rows});
}

Tensor logits_for(const Tensor& targets, int64_t classes, DType dtype) {
  const Tensor logits = random_tensor({targets.dim(0), classes}, dtype, 1, -9, 9);
  for (int64_t n = 1; n < targets.dim(0); n += 3) {
    tested().fill(logits.as_strided({classes}, {1}, n * classes), nan);
  }
  return logits;
}

TEST(CrossEntropy, MatchesPlainLoops) {
  for (const auto& [rows, classes] : std::vector<std::pair<int64_t, int64_t>>{
           {0, 5}, {1, 1}, {1, 2}, {7, 1}, {2, 13}, {17, 19}, {101, 257}, {3, 1009}}) {
    for (const DType dtype : {DType::f32, DType::f64}) {
      for (const double smoothing : {0.0, 0.1, 1.0}) {
        SCOPED_TRACE(testing::Message() << rows << " x " << classes << ", " << smoothing);
        const Tensor targets = targets_for(rows, classes);
        const Tensor logits = logits_for(targets, classes, dtype);
        const Tensor dloss = random_tensor({rows}, dtype, 2);
        const LossByHand expected = by_hand(logits, targets, smoothing, dloss.to_doubles());
        const Loss actual = cross_entropy(logits, targets, smoothing);
        const double tolerance = tolerance_of(dtype);
        expect_same_numbers(actual.largest, expected.largest, 0);
        expect_same_numbers(actual.sum, expected.sum, tolerance);
        // A difference of two numbers of up to about 15.
        expect_same_numbers(actual.nll, expected.nll, 4 * tolerance);
        expect_same_numbers(actual.loss, expected.loss, 4 * tolerance);
        expect_same_numbers(backward(logits, targets, smoothing, actual, dloss), expected.dlogits,
                            4 * tolerance);
      }
    }
  }
}

TEST(CrossEntropy, IgnoredRowsAreNeverRead) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    const Tensor logits = from_doubles({nan, inf, -inf, 0, 0, 0}, {2, 3}, dtype);
    const Tensor dloss = from_doubles({nan, 1}, {2}, dtype);
    // Whether or not the ignored number is one of the classes.
    for (const int32_t ignored : {-100, 0}) {
      const Tensor targets = Tensor::from_vector<int32_t>({ignored, 2}, {2});
      const Loss actual = cross_entropy(logits, targets, 0.3, ignored);
      expect_same_numbers(actual.loss, {0, std::log(3)}, tolerance_of(dtype));
      expect_same_numbers(actual.nll, {0, std::log(3)}, tolerance_of(dtype));
      expect_same_numbers(backward(logits, targets, 0.3, actual, dloss, ignored),
                          {0, 0, 0, 1 / 3.0 - 0.1, 1 / 3.0 - 0.1, 1 / 3.0 - 0.7 - 0.1},
                          tolerance_of(dtype));
    }
  }
}

TEST(CrossEntropy, LargeLogitsDoNotOverflow) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    const Tensor logits = from_doubles({1e4, -1e4, -1e4, 1e4, -1e4, -1e4}, {2, 3}, dtype);
    const Tensor targets = Tensor::from_vector<int32_t>({0, 1}, {2});
    const Loss actual = cross_entropy(logits, targets, 0.3);
    expect_same_numbers(actual.largest, {1e4, 1e4}, 0);
    expect_same_numbers(actual.sum, {1, 1}, 0);
    expect_same_numbers(actual.nll, {0, 2e4}, tolerance_of(dtype));
    expect_same_numbers(actual.loss, {4e3, 1.8e4}, tolerance_of(dtype));
    expect_same_numbers(backward(logits, targets, 0, actual, Tensor::full({2}, 1, dtype)),
                        {0, 0, 0, 1, -1, 0}, tolerance_of(dtype));
  }
}

TEST(CrossEntropy, TheLossKeepsItsDigitsBesideLargeLogits) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    const Tensor logits = from_doubles({1e4, 1e4, -1e4, -1e4}, {2, 2}, dtype);
    const Tensor targets = Tensor::from_vector<int32_t>({0, 1}, {2});
    const Loss actual = cross_entropy(logits, targets, 0.3);
    expect_same_numbers(actual.nll, {std::log(2), std::log(2)}, tolerance_of(dtype));
    expect_same_numbers(actual.loss, {std::log(2), std::log(2)}, tolerance_of(dtype));
  }
}

TEST(CrossEntropy, TheGradientKeepsItsDigitsBesideLargeLogits) {
  // Steps of one spacing of f32 at 1e4, 2^-10: their log-sum-exp is no f32, being off by up to
  // 5e-4, and so would be every probability.
  std::vector<double> values;
  for (const double step : {0.0, 3.0, 700.0, -1500.0, 41.0}) {
    values.push_back(1e4 + step / 1024);
  }
  const Tensor logits = from_doubles(values, {1, 5}, DType::f32);
  const Tensor targets = Tensor::from_vector<int32_t>({2}, {1});
  for (const double smoothing : {0.0, 0.1}) {
    const Tensor dloss = Tensor::full({1}, 1);
    expect_same_numbers(
        backward(logits, targets, smoothing, cross_entropy(logits, targets, smoothing), dloss),
        by_hand(logits, targets, smoothing, {1}).dlogits, 1e-6);
  }
}

TEST(CrossEntropy, AnImpossibleClassCostsNothingUnlessItIsTheTarget) {
  const Tensor logits = from_doubles({-inf, 0, 0, -inf, 0, 0}, {2, 3}, DType::f32);
  const Tensor targets = Tensor::from_vector<int32_t>({1, 0}, {2});
  const Loss actual = cross_entropy(logits, targets, 0);
  expect_same_numbers(actual.loss, {std::log(2), inf}, 1e-6);
  expect_same_numbers(backward(logits, targets, 0, actual, Tensor::full({2}, 1)),
                      {0, -0.5, 0.5, -1, 0.5, 0.5}, 1e-6);
}

TEST(CrossEntropy, NanOfAUsedRowStaysVisible) {
  for (int64_t at = 0; at < 3; ++at) {
    for (const double others : {0.0, -inf}) {
      const Tensor logits = Tensor::full({1, 3}, others);
      tested().fill(logits.as_strided({1}, {1}, at), nan);
      const Loss actual = cross_entropy(logits, Tensor::from_vector<int32_t>({1}, {1}), 0);
      expect_same_numbers(actual.loss, {nan}, 0);
      expect_same_numbers(actual.nll, {nan}, 0);
    }
  }
}

// The loss of a sum arrives as one number for all rows, that of a column with a stride.
TEST(CrossEntropy, ReadsAnyStrideOfTheIncomingGradient) {
  const Tensor targets = Tensor::from_vector<int32_t>({1, 0, 1}, {3});
  const Tensor logits = random_tensor({3, 2}, DType::f64, 1);
  const Loss forward = cross_entropy(logits, targets, 0.1);
  const Tensor one = Tensor::full({1}, 0.25, DType::f64).as_strided({3}, {0}, 0);
  expect_same_numbers(backward(logits, targets, 0.1, forward, one),
                      by_hand(logits, targets, 0.1, {0.25, 0.25, 0.25}).dlogits, 1e-14);
  const Tensor column = laid_out(from_doubles({1, 2, 3}, {3}, DType::f64), Layout::spaced);
  expect_same_numbers(backward(logits, targets, 0.1, forward, column),
                      by_hand(logits, targets, 0.1, {1, 2, 3}).dlogits, 1e-14);
}

TEST(CrossEntropy, TheMeanOfManyLogitsKeepsItsDigits) {
  // One logit above 50,020 equal ones: a running sum of their distances in f32 costs the
  // loss its fourth digit.
  constexpr int64_t classes = 50'021;
  const Tensor logits = Tensor::full({1, classes}, -7.3);
  tested().fill(logits.as_strided({1}, {1}, 5), 7.3);
  const Tensor targets = Tensor::from_vector<int32_t>({3}, {1});
  for (const double smoothing : {0.1, 1.0}) {
    const Loss actual = cross_entropy(logits, targets, smoothing);
    // However short the vectors are.
    expect_same_numbers(actual.loss, by_hand(logits, targets, smoothing, {0}).loss, 1e-6);
  }
}

TEST(CrossEntropy, DoesNotDependOnTheThreads) {
  const Tensor targets = targets_for(211, 307);
  const Tensor logits = logits_for(targets, 307, DType::f32);
  expect_same_for_any_threads([&] { return cross_entropy(logits, targets, 0.1).loss; });
  const Loss forward = cross_entropy(logits, targets, 0.1);
  const Tensor dloss = random_tensor({211}, DType::f32, 2);
  expect_same_for_any_threads([&] { return backward(logits, targets, 0.1, forward, dloss); });
}

}  // namespace
}  // namespace heed::kernels::test
