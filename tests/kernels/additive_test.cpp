#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "tests/kernels/support.h"

namespace heed::kernels::test {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

struct Inputs {
  Tensor query, keys, weight, dscores;
};

// shape: batch, positions, width.
Inputs random_inputs(const Shape& shape, DType dtype) {
  return {random_tensor({shape[0], shape[2]}, dtype, 1), random_tensor(shape, dtype, 2),
          random_tensor({shape[2]}, dtype, 3, -1, 1),
          random_tensor({shape[0], shape[1]}, dtype, 4)};
}

Tensor score(const Inputs& in) {
  const Tensor scores = unset({in.keys.dim(0), in.keys.dim(1)}, in.keys.dtype());
  tested().additive_score(in.query, in.keys, in.weight, scores);
  return scores;
}

struct Gradients {
  Tensor dquery, dkeys, dweight;
};

Gradients backward(const Inputs& in) {
  const DType dtype = in.keys.dtype();
  const Gradients result = {unset(in.query.shape(), dtype), unset(in.keys.shape(), dtype),
                            unset(in.weight.shape(), dtype)};
  tested().additive_score_backward(in.query, in.keys, in.weight, in.dscores, result.dquery,
                                   result.dkeys, result.dweight);
  return result;
}

struct ScoresByHand {
  std::vector<double> scores, dquery, dkeys, dweight;
};

ScoresByHand by_hand(const Inputs& in) {
  const auto batch = static_cast<size_t>(in.keys.dim(0));
  const auto positions = static_cast<size_t>(in.keys.dim(1));
  const auto width = static_cast<size_t>(in.keys.dim(2));
  const std::vector<double> query = in.query.to_doubles();
  const std::vector<double> keys = in.keys.to_doubles();
  const std::vector<double> weight = in.weight.to_doubles();
  const std::vector<double> dscores = in.dscores.to_doubles();
  ScoresByHand result;
  result.dquery.assign(batch * width, 0);
  result.dweight.assign(width, 0);
  for (size_t row = 0; row < batch * positions; ++row) {
    double sum = 0;
    for (size_t a = 0; a < width; ++a) {
      const size_t at_query = row / positions * width + a;
      const double t = std::tanh(query[at_query] + keys[row * width + a]);
      sum += weight[a] * t;
      const bool used = dscores[row] != 0;
      const double inner = used ? dscores[row] * weight[a] * (1 - t * t) : 0;
      result.dkeys.push_back(inner);
      result.dquery[at_query] += inner;
      result.dweight[a] += used ? dscores[row] * t : 0;
    }
    result.scores.push_back(sum);
  }
  return result;
}

void expect_gradients(const Gradients& actual, const ScoresByHand& expected, double tolerance) {
  expect_same_numbers(actual.dquery, expected.dquery, tolerance);
  expect_same_numbers(actual.dkeys, expected.dkeys, tolerance);
  expect_same_numbers(actual.dweight, expected.dweight, tolerance);
}

TEST(AdditiveScore, MatchesPlainLoops) {
  for (const Shape& shape :
       {Shape{0, 3, 5}, Shape{3, 0, 5}, Shape{3, 5, 0}, Shape{1, 1, 1}, Shape{1, 5, 1},
        Shape{2, 1, 13}, Shape{3, 5, 7}, Shape{17, 19, 23}, Shape{33, 2, 131}}) {
    for (const DType dtype : {DType::f32, DType::f64}) {
      SCOPED_TRACE(shape.to_string());
      const Inputs in = random_inputs(shape, dtype);
      const ScoresByHand expected = by_hand(in);
      const double tolerance = 8 * tolerance_of(dtype);  // sums of up to 323 numbers
      expect_same_numbers(score(in), expected.scores, tolerance);
      expect_gradients(backward(in), expected, tolerance);
    }
  }
}

TEST(AdditiveScore, BackwardDoesNotReadKeysWithoutAGradient) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    const Inputs in = random_inputs({3, 5, 7}, dtype);
    // The end of one sentence, the beginning of another, all of the last.
    for (const int64_t row : {3, 4, 5, 10, 11, 12, 13, 14}) {
      tested().fill(in.keys.as_strided({7}, {1}, row * 7), nan);
      tested().fill(in.dscores.as_strided({1}, {1}, row), row % 2 == 0 ? 0 : -0.0);
    }
    expect_gradients(backward(in), by_hand(in), 8 * tolerance_of(dtype));
  }
}

TEST(AdditiveScore, NanSpoilsItsPositionOnly) {
  const Inputs in = random_inputs({2, 3, 5}, DType::f32);
  std::vector<double> expected = score(in).to_doubles();
  expected[4] = nan;
  tested().fill(in.keys.as_strided({1}, {1}, 4 * 5 + 2), nan);
  expect_same_numbers(score(in), expected, 0);
}

TEST(AdditiveScore, SaturatesWithoutOverflow) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    Inputs in = random_inputs({1, 2, 3}, dtype);
    in.keys = from_doubles({1e4, 1e4, -1e4, -1e4, 1e4, 1e4}, {1, 2, 3}, dtype);
    in.weight = from_doubles({1, 2, 4}, {3}, dtype);
    expect_same_numbers(score(in), {-1, 5}, tolerance_of(dtype));
    const Gradients gradients = backward(in);
    expect_same_numbers(gradients.dkeys, std::vector<double>(6, 0), 0);
    expect_same_numbers(gradients.dquery, std::vector<double>(3, 0), 0);
  }
}

// --- with the softmax and the context ----------------------------------------------------------

struct Attended {
  Tensor weights, context, dquery, dkeys, dvalues, dweight;
};

// values (B, S, C); the cotangent of the weights is in.dscores.
Attended attend(const Inputs& in, const Tensor& values, const Tensor& mask,
                const Tensor& dcontext) {
  const DType dtype = in.keys.dtype();
  const auto out = [&](const Tensor& x) { return unset(x.shape(), dtype); };
  const Attended result = {out(in.dscores), out(dcontext), out(in.query),
                           out(in.keys),    out(values),   out(in.weight)};
  tested().additive_attention(in.query, in.keys, values, mask, in.weight, result.weights,
                              result.context);
  tested().additive_attention_backward(in.query, in.keys, values, in.weight, result.weights,
                                       in.dscores, dcontext, result.dquery, result.dkeys,
                                       result.dvalues, result.dweight);
  return result;
}

// From the scores by hand on.
void expect_attended(const Attended& actual, Inputs in, const Tensor& values, const Tensor& mask,
                     const Tensor& dcontext, double tolerance) {
  const auto batch = static_cast<size_t>(values.dim(0));
  const auto positions = static_cast<size_t>(values.dim(1));
  const auto width = static_cast<size_t>(values.dim(2));
  const std::vector<double> scores = by_hand(in).scores;
  const std::vector<double> v = values.to_doubles();
  const std::vector<double> g = dcontext.to_doubles();
  const std::vector<double> used =
      mask.defined() ? mask.to_doubles() : std::vector<double>(scores.size(), 1);
  std::vector<double> weights(scores.size());
  std::vector<double> context(batch * width);
  std::vector<double> dvalues(v.size());
  std::vector<double> dscores = in.dscores.to_doubles();
  for (size_t b = 0; b < batch; ++b) {
    double total = 0;
    double dot = 0;
    for (size_t row = b * positions; row < (b + 1) * positions; ++row) {
      weights[row] = used[row] != 0 ? std::exp(scores[row]) : 0;
      total += weights[row];
    }
    for (size_t row = b * positions; row < (b + 1) * positions; ++row) {
      weights[row] = total == 0 ? 0 : weights[row] / total;
      for (size_t c = 0; c < width; ++c) {
        context[b * width + c] += weights[row] * v[row * width + c];
        dvalues[row * width + c] = weights[row] * g[b * width + c];
        dscores[row] += v[row * width + c] * g[b * width + c];
      }
      dot += weights[row] * dscores[row];
    }
    for (size_t row = b * positions; row < (b + 1) * positions; ++row) {
      dscores[row] = weights[row] * (dscores[row] - dot);
    }
  }
  in.dscores = from_doubles(dscores, in.dscores.shape(), in.dscores.dtype());
  expect_same_numbers(actual.weights, weights, tolerance);
  expect_same_numbers(actual.context, context, tolerance);
  expect_same_numbers(actual.dvalues, dvalues, tolerance);
  expect_gradients({actual.dquery, actual.dkeys, actual.dweight}, by_hand(in), tolerance);
}

TEST(AdditiveAttention, MatchesPlainLoops) {
  for (const Shape& shape : {Shape{0, 3, 5, 2}, Shape{3, 0, 5, 2}, Shape{3, 5, 0, 2},
                             Shape{2, 3, 5, 0}, Shape{1, 1, 1, 1}, Shape{2, 1, 13, 3},
                             Shape{3, 5, 7, 11}, Shape{2, 41, 33, 19}, Shape{2, 9, 131, 261}}) {
    for (const DType dtype : {DType::f32, DType::f64}) {
      SCOPED_TRACE(shape.to_string());
      const Inputs in = random_inputs({shape[0], shape[1], shape[2]}, dtype);
      const Tensor values = random_tensor({shape[0], shape[1], shape[3]}, dtype, 5);
      const Tensor dcontext = random_tensor({shape[0], shape[3]}, dtype, 6);
      expect_attended(attend(in, values, {}, dcontext), in, values, {}, dcontext,
                      40 * tolerance_of(dtype));
    }
  }
}

// The last sentence has nothing to attend to; a mask of one row counts for every sentence.
TEST(AdditiveAttention, NothingPassesTheMask) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    const Inputs in = random_inputs({3, 5, 7}, dtype);
    const Tensor values = random_tensor({3, 5, 2}, dtype, 5);
    const Tensor dcontext = random_tensor({3, 2}, dtype, 6);
    const Tensor mask =
        Tensor::from_vector(std::vector<bool>{1, 1, 1, 1, 1, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0}, {3, 5});
    const Tensor spoilt = random_tensor({3, 5, 2}, dtype, 5);
    for (const int64_t row : {5, 8, 9, 10, 11, 12, 13, 14}) {
      tested().fill(in.keys.as_strided({7}, {1}, row * 7), nan);
      tested().fill(spoilt.as_strided({2}, {1}, row * 2), nan);
    }
    expect_attended(attend(in, spoilt, mask, dcontext), in, values, mask, dcontext,
                    8 * tolerance_of(dtype));
  }
  const Inputs in = random_inputs({3, 5, 7}, DType::f32);
  const Tensor values = random_tensor({3, 5, 2}, DType::f32, 5);
  const Tensor dcontext = random_tensor({3, 2}, DType::f32, 6);
  const Tensor row = Tensor::from_vector(std::vector<bool>{0, 1, 1, 0, 1}, {1, 5});
  const Tensor repeated = row.as_strided({3, 5}, {0, 1}, 0);
  expect_attended(attend(in, values, repeated, dcontext), in, values, repeated, dcontext,
                  8 * tolerance_of(DType::f32));
}

TEST(AdditiveScore, DoesNotDependOnTheThreads) {
  const Inputs in = random_inputs({37, 41, 67}, DType::f32);
  expect_same_for_any_threads([&] { return score(in); });
  expect_same_for_any_threads([&] { return backward(in).dquery; });
  expect_same_for_any_threads([&] { return backward(in).dkeys; });
  expect_same_for_any_threads([&] { return backward(in).dweight; });
}

}  // namespace
}  // namespace heed::kernels::test
