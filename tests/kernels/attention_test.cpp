#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "tests/kernels/attention_problem.h"

namespace heed::kernels::test {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double infinity = std::numeric_limits<double>::infinity();

struct ByHand {
  std::vector<double> y, log_sum, dquery, dkey, dvalue, dbias;
};

// A row at a time, weights and all; what is masked is not touched.
ByHand by_hand(const AttentionProblem& p) {
  const std::vector<double> q = p.query.to_doubles(), k = p.key.to_doubles();
  const std::vector<double> v = p.value.to_doubles(), g = p.dy.to_doubles();
  const std::vector<double> bias = p.bias.defined() ? p.bias.to_doubles() : q;
  const std::vector<bool> mask = p.mask.defined() ? p.mask.to_vector<bool>() : std::vector<bool>();
  const auto queries = static_cast<size_t>(p.query.dim(2)),
             keys = static_cast<size_t>(p.key.dim(2));
  const auto width = static_cast<size_t>(p.query.dim(3));
  const auto value_width = static_cast<size_t>(p.value.dim(3));
  const auto heads = static_cast<size_t>(p.query.dim(0) * p.query.dim(1));
  ByHand r;
  r.y.assign(heads * queries * value_width, 0);
  r.dquery.assign(q.size(), 0);
  r.dkey.assign(k.size(), 0);
  r.dvalue.assign(v.size(), 0);
  r.dbias.assign(heads * queries * keys, 0);
  for (size_t row = 0; row < heads * queries; ++row) {
    const size_t head = row / queries;
    const auto seen =
        static_cast<int64_t>(row % queries + 1 + keys) - static_cast<int64_t>(queries);
    std::vector<size_t> attended;
    for (size_t s = 0; s < keys; ++s) {
      if ((!p.rule.causal || static_cast<int64_t>(s) < seen) &&
          (mask.empty() || mask[row * keys + s])) {
        attended.push_back(s);
      }
    }
    std::vector<double> weights(keys, 0), factors(keys, 1), dweights(keys, 0);
    double largest = -infinity;
    for (const size_t s : attended) {
      double score = p.bias.defined() ? bias[row * keys + s] : 0;
      for (size_t d = 0; d < width; ++d) {
        score += p.rule.scale * q[row * width + d] * k[(head * keys + s) * width + d];
      }
      weights[s] = score;
      largest = std::max(largest, score);
    }
    double total = 0;
    for (const size_t s : attended) {
      weights[s] = std::exp(weights[s] - largest);
      total += weights[s];
      if (p.rule.dropout > 0) {
        const bool kept = philox_uniform(p.rule.random, row * keys + s) >= p.rule.dropout;
        factors[s] = kept ? 1 / (1 - p.rule.dropout) : 0;
      }
    }
    r.log_sum.push_back(attended.empty() ? infinity : largest + std::log(total));
    double mean = 0;
    for (const size_t s : attended) {
      weights[s] /= total;
      for (size_t e = 0; e < value_width; ++e) {
        const double cotangent = g[row * value_width + e];
        const size_t at = (head * keys + s) * value_width + e;
        r.y[row * value_width + e] += weights[s] * factors[s] * v[at];
        r.dvalue[at] += weights[s] * factors[s] * cotangent;
        dweights[s] += factors[s] * cotangent * v[at];
      }
      mean += weights[s] * dweights[s];
    }
    for (const size_t s : attended) {
      const double dscore = weights[s] * (dweights[s] - mean);
      r.dbias[row * keys + s] = dscore;
      for (size_t d = 0; d < width; ++d) {
        r.dquery[row * width + d] += p.rule.scale * dscore * k[(head * keys + s) * width + d];
        r.dkey[(head * keys + s) * width + d] += p.rule.scale * dscore * q[row * width + d];
      }
    }
  }
  return r;
}

// The error of a gradient of scores grows with the scale.
void expect_right(const AttentionProblem& p, Layout layout = Layout::dense, double factor = 1) {
  const AttentionResults actual = attend(p, layout);
  const ByHand expected = by_hand(p);
  // Sums run over the keys, and over the queries.
  const double tolerance = factor * 30 * tolerance_of(p.query.dtype());
  expect_same_numbers(actual.y, expected.y, tolerance);
  expect_same_numbers(actual.log_sum, expected.log_sum, tolerance);
  expect_same_numbers(actual.dquery, expected.dquery, tolerance);
  expect_same_numbers(actual.dkey, expected.dkey, tolerance);
  expect_same_numbers(actual.dvalue, expected.dvalue, tolerance);
  expect_same_numbers(actual.dbias, expected.dbias, tolerance);
}

// Within a tile, over its edges, and widths over the edge of a panel; as few queries as a decoder
// has.
const AttentionSizes all_sizes[] = {
    {1, 1, 1, 1, 1, 1},     {2, 3, 5, 7, 3, 4},    {1, 2, 97, 129, 5, 3},  {2, 1, 13, 300, 8, 8},
    {1, 1, 200, 3, 16, 64}, {1, 2, 6, 256, 65, 1}, {1, 1, 48, 17, 1, 130}, {0, 2, 3, 4, 5, 6},
    {1, 2, 0, 3, 4, 5},     {1, 2, 3, 0, 4, 5},    {1, 1, 2, 3, 4, 0},     {2, 2, 1, 300, 70, 133},
    {1, 2, 3, 261, 64, 64}};

TEST(Attention, MatchesPlainLoops) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    for (const AttentionSizes& n : all_sizes) {
      SCOPED_TRACE(n.text());
      expect_right(attention_problem(n, dtype));
    }
  }
}

TEST(Attention, CausalMatchesPlainLoops) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    for (const AttentionSizes& n : all_sizes) {
      SCOPED_TRACE(n.text());
      AttentionProblem p = attention_problem(n, dtype);
      p.rule.causal = true;
      expect_right(p);
    }
  }
}

TEST(Attention, MaskBiasAndDropoutMatchPlainLoops) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    for (const AttentionSizes& n : all_sizes) {
      SCOPED_TRACE(n.text());
      AttentionProblem p = attention_problem(n, dtype);
      p.mask = random_mask(p.scores());
      expect_right(p);
      p.bias = random_tensor(p.scores(), dtype, 5);
      p.rule.dropout = 0.3;
      expect_right(p);
      p.rule.causal = true;
      expect_right(p);
    }
  }
}

TEST(Attention, ReadsAndWritesAnyLayout) {
  for (const Layout layout : layouts) {
    for (const AttentionSizes& n :
         {AttentionSizes{2, 3, 5, 7, 3, 4}, {1, 2, 97, 129, 20, 17}, {2, 2, 2, 300, 33, 70}}) {
      SCOPED_TRACE(n.text());
      expect_right(attention_problem(n, DType::f32), layout);
      expect_right(attention_problem(n, DType::f64), layout);
    }
  }
}

// Masks and biases that repeat by strides of 0, along keys, queries, heads and batch.
TEST(Attention, ReadsRepeatedMasksAndBiases) {
  const AttentionSizes n = {2, 2, 53, 261, 4, 4};
  const Shape scores = {2, 2, 53, 261};
  for (const Shape& kept : {Shape{1, 1, 1, 261}, {2, 1, 1, 261}, {1, 1, 53, 1}, {1, 2, 53, 261}}) {
    for (const DType dtype : {DType::f32, DType::f64}) {
      SCOPED_TRACE(kept.to_string());
      AttentionProblem p = attention_problem(n, dtype);
      p.mask = repeated(random_mask(kept), scores);
      p.bias = repeated(random_tensor(kept, dtype, 5), scores);
      expect_right(p);
    }
  }
}

// Scores far apart: the running maximum keeps every exponential in range.
TEST(Attention, LargeScoresDoNotOverflow) {
  const AttentionSizes n = {1, 1, 3, 300, 2, 2};
  for (const DType dtype : {DType::f32, DType::f64}) {
    AttentionProblem p = attention_problem(n, dtype);
    p.rule.scale = dtype == DType::f32 ? 200 : 2000;
    expect_right(p, Layout::dense, p.rule.scale);
  }
}

// Keys 7 and 299 are seen by nobody and one query sees none: NaN in them reaches nothing.
TEST(Attention, NothingPassesTheMask) {
  for (const int64_t queries : {3, 100}) {
    const AttentionSizes n = {1, 1, queries, 300, 3, 70};
    const int64_t blind = queries / 2;
    for (const DType dtype : {DType::f32, DType::f64}) {
      for (const double bad : {nan, infinity, -infinity}) {
        AttentionProblem p = attention_problem(n, dtype);
        std::vector<bool> may(static_cast<size_t>(p.scores().numel()), true);
        for (int64_t l = 0; l < n.queries; ++l) {
          for (int64_t s = 0; s < n.keys; ++s) {
            may[static_cast<size_t>(l * n.keys + s)] = s != 7 && s != 299 && l != blind;
          }
        }
        p.mask = Tensor::from_vector(may, p.scores());
        const ByHand clean = by_hand(p);
        const auto spoil = [&](const Tensor& x, int64_t row) {
          tested().fill(x.as_strided({x.dim(3)}, {1}, row * x.dim(3)), bad);
        };
        for (const int64_t s : {7, 299}) {
          spoil(p.key, s);
          spoil(p.value, s);
        }
        spoil(p.query, blind);
        spoil(p.dy, blind);
        const AttentionResults actual = attend(p);
        const double tolerance = 30 * tolerance_of(dtype);
        expect_same_numbers(actual.y, clean.y, tolerance);
        expect_same_numbers(actual.dquery, clean.dquery, tolerance);
        expect_same_numbers(actual.dkey, clean.dkey, tolerance);
        expect_same_numbers(actual.dvalue, clean.dvalue, tolerance);
        expect_same_numbers(actual.dbias, clean.dbias, tolerance);
        EXPECT_EQ(actual.log_sum.to_doubles()[static_cast<size_t>(blind)], infinity);
      }
    }
  }
}

TEST(Attention, NanInAQuerySpoilsItsRow) {
  const AttentionSizes n = {1, 1, 2, 3, 2, 2};
  AttentionProblem p = attention_problem(n, DType::f64);
  tested().fill(p.query.as_strided({1}, {1}, 0), nan);
  const std::vector<double> y = attend(p).y.to_doubles();
  EXPECT_TRUE(std::isnan(y[0]) && std::isnan(y[1]));
  EXPECT_FALSE(std::isnan(y[2]) || std::isnan(y[3]));
}

TEST(Attention, DoesNotDependOnTheThreads) {
  for (const AttentionSizes& n : {AttentionSizes{1, 1, 500, 700, 8, 8}, {3, 2, 100, 150, 8, 8}}) {
    AttentionProblem p = attention_problem(n, DType::f32);
    p.rule.causal = true;
    p.rule.dropout = 0.1;
    expect_same_for_any_threads([&] { return attend(p).y; });
    expect_same_for_any_threads([&] { return attend(p).dquery; });
    expect_same_for_any_threads([&] { return attend(p).dkey; });
    expect_same_for_any_threads([&] { return attend(p).dvalue; });
  }
}

}  // namespace
}  // namespace heed::kernels::test
