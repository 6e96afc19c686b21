#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "tests/kernels/attention_problem.h"
#include "tests/kernels/tensor_cores.h"

// Attention on tensor cores, where the device that is tested has them, against f64 on the CPU.
namespace heed::kernels::test {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double infinity = std::numeric_limits<double>::infinity();

class AttentionBf16 : public OnTensorCores {};

// The same in f64 on the CPU, its inputs as they are or rounded to bf16.
AttentionProblem in_f64(const AttentionProblem& p, bool rounded) {
  const auto in = [&](const Tensor& x) {
    std::vector<double> values = x.to_doubles();
    for (double& value : values) {
      if (rounded && value != 0) {
        const double unit = std::ldexp(1, std::ilogb(value) - 7);
        value = std::nearbyint(value / unit) * unit;
      }
    }
    return Tensor::from_vector(values, x.shape(), Device{});
  };
  AttentionProblem result = {in(p.query), in(p.key), in(p.value), {}, {}, in(p.dy), p.rule};
  if (p.mask.defined()) {
    result.mask = Tensor::from_vector(p.mask.to_vector<bool>(), p.mask.shape(), Device{});
  }
  if (p.bias.defined()) {
    result.bias = Tensor::from_vector(p.bias.to_doubles(), p.bias.shape(), Device{});
  }
  return result;
}

// Values within twice, gradients within three times what rounded inputs alone make.
void expect_right(const AttentionProblem& p, Layout layout = Layout::dense) {
  const AttentionResults actual = attend(p, layout);
  const AttentionResults exact = attend(in_f64(p, false));
  const AttentionResults plain = attend(in_f64(p, true));
  const auto expect = [](const char* name, const Tensor& x, const Tensor& right,
                         const Tensor& rounded, double factor) {
    EXPECT_LE(largest_error(x.to_doubles(), right.to_doubles()),
              factor * largest_error(rounded.to_doubles(), right.to_doubles()) + 1e-6)
        << name;
  };
  expect("y", actual.y, exact.y, plain.y, 2);
  expect("log_sum", actual.log_sum, exact.log_sum, plain.log_sum, 2);
  expect("dquery", actual.dquery, exact.dquery, plain.dquery, 3);
  expect("dkey", actual.dkey, exact.dkey, plain.dkey, 3);
  expect("dvalue", actual.dvalue, exact.dvalue, plain.dvalue, 3);
  expect("dbias", actual.dbias, exact.dbias, plain.dbias, 3);
}

// Within a tile, over its edges, every width of tiles, and nothing at all.
const AttentionSizes all_sizes[] = {{1, 1, 1, 9, 16, 16},    {2, 3, 5, 7, 3, 4},
                                    {1, 2, 97, 129, 17, 33}, {2, 1, 13, 200, 64, 64},
                                    {1, 1, 130, 65, 128, 1}, {1, 1, 64, 64, 40, 128},
                                    {0, 2, 3, 4, 5, 6},      {1, 2, 0, 3, 4, 5},
                                    {1, 2, 3, 0, 4, 5},      {1, 1, 2, 3, 4, 0}};

TEST_F(AttentionBf16, ErrsAsRoundedInputsDo) {
  for (const AttentionSizes& n : all_sizes) {
    SCOPED_TRACE(n.text());
    AttentionProblem p = attention_problem(n, DType::f32);
    expect_right(p);
    p.rule.causal = true;
    expect_right(p);
  }
}

TEST_F(AttentionBf16, MasksBiasesAndDropout) {
  for (const AttentionSizes& n : all_sizes) {
    SCOPED_TRACE(n.text());
    AttentionProblem p = attention_problem(n, DType::f32);
    p.mask = random_mask(p.scores());
    expect_right(p);
    p.bias = random_tensor(p.scores(), DType::f32, 5);
    p.rule.dropout = 0.3;
    expect_right(p);
    p.rule.causal = true;
    expect_right(p);
  }
}

TEST_F(AttentionBf16, ReadsRepeatedMasksAndBiases) {
  const AttentionSizes n = {2, 2, 33, 70, 4, 4};
  const Shape scores = {2, 2, 33, 70};
  for (const Shape& kept : {Shape{1, 1, 1, 70}, {2, 1, 1, 70}, {1, 1, 33, 1}, {1, 2, 33, 70}}) {
    SCOPED_TRACE(kept.to_string());
    AttentionProblem p = attention_problem(n, DType::f32);
    p.mask = repeated(random_mask(kept), scores);
    p.bias = repeated(random_tensor(kept, DType::f32, 5), scores);
    expect_right(p);
  }
}

TEST_F(AttentionBf16, AnyLayoutGivesTheSameBytes) {
  const AttentionProblem p = attention_problem({1, 2, 97, 70, 20, 17}, DType::f32);
  const AttentionResults dense = attend(p);
  for (const Layout layout : {Layout::turned, Layout::spaced}) {
    const AttentionResults other = attend(p, layout);
    EXPECT_EQ(other.y.to_doubles(), dense.y.to_doubles());
    EXPECT_EQ(other.dquery.to_doubles(), dense.dquery.to_doubles());
    EXPECT_EQ(other.dkey.to_doubles(), dense.dkey.to_doubles());
    EXPECT_EQ(other.dvalue.to_doubles(), dense.dvalue.to_doubles());
  }
}

// What the f32 kernel gives differs by more than its own rounding: another one ran.
TEST_F(AttentionBf16, WideHeadsAreLeftToTheKernelsOfF32) {
  for (const int64_t width : {128, 129}) {
    const AttentionProblem p = attention_problem({1, 1, 20, 30, width, 16}, DType::f32);
    const double error =
        largest_error(attend(p).y.to_doubles(), attend(in_f64(p, false)).y.to_doubles());
    EXPECT_EQ(error > 1e-4, width == 128) << error;
  }
}

TEST_F(AttentionBf16, LargeScoresDoNotOverflow) {
  AttentionProblem p = attention_problem({1, 1, 3, 200, 4, 2}, DType::f32);
  p.query = from_doubles(std::vector<double>(12, 64), {1, 1, 3, 4}, DType::f32);
  p.rule.scale = 4;
  const AttentionResults r = attend(p);
  for (const Tensor& x : {r.y, r.dquery, r.dkey, r.dvalue}) {
    for (const double value : x.to_doubles()) {
      ASSERT_TRUE(std::isfinite(value));
    }
  }
}

// Rows of zeros, keys that nobody sees, and inf and NaN in them: the others stay the same bytes.
TEST_F(AttentionBf16, NothingPassesTheMask) {
  const AttentionSizes n = {1, 1, 70, 140, 20, 17};
  AttentionProblem p = attention_problem(n, DType::f32);
  std::vector<bool> may(static_cast<size_t>(p.scores().numel()), true);
  for (int64_t l = 0; l < n.queries; ++l) {
    for (int64_t s = 0; s < n.keys; ++s) {
      may[static_cast<size_t>(l * n.keys + s)] = s != 7 && s != 139 && l != 4;
    }
  }
  p.mask = Tensor::from_vector(may, p.scores());
  const AttentionResults clean = attend(p);
  EXPECT_EQ(clean.log_sum.to_doubles()[4], infinity);
  const auto row_of = [](const Tensor& x, int64_t row) {
    return x.as_strided({x.dim(3)}, {1}, row * x.dim(3));
  };
  EXPECT_EQ(row_of(clean.y, 4).to_doubles(), std::vector<double>(17, 0));
  for (const double bad : {nan, infinity, -infinity}) {
    for (const int64_t s : {7, 139}) {
      tested().fill(row_of(p.key, s), bad);
      tested().fill(row_of(p.value, s), bad);
    }
    tested().fill(row_of(p.query, 4), bad);
    tested().fill(row_of(p.dy, 4), bad);
    const AttentionResults spoilt = attend(p);
    EXPECT_EQ(spoilt.y.to_doubles(), clean.y.to_doubles());
    EXPECT_EQ(spoilt.dquery.to_doubles(), clean.dquery.to_doubles());
    EXPECT_EQ(spoilt.dkey.to_doubles(), clean.dkey.to_doubles());
    EXPECT_EQ(spoilt.dvalue.to_doubles(), clean.dvalue.to_doubles());
    EXPECT_EQ(spoilt.dbias.to_doubles(), clean.dbias.to_doubles());
  }
}

// NaN of a value comes out where it is attended to, and nowhere else.
TEST_F(AttentionBf16, NanReachesWhoAttendsToIt) {
  const AttentionSizes n = {1, 1, 3, 4, 2, 2};
  AttentionProblem p = attention_problem(n, DType::f32);
  std::vector<bool> may(12, true);
  may[4 + 1] = false;  // query 1 does not see key 1
  p.mask = Tensor::from_vector(may, p.scores());
  tested().fill(p.value.as_strided({1}, {1}, 2), nan);  // of key 1
  const std::vector<double> y = attend(p).y.to_doubles();
  EXPECT_TRUE(std::isnan(y[0]) && std::isnan(y[4]));
  EXPECT_FALSE(std::isnan(y[2]) || std::isnan(y[3]));
}

}  // namespace
}  // namespace heed::kernels::test
