#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "core/error.h"
#include "kernels/precision.h"
#include "tests/kernels/support.h"

// Attention on tensor cores, where the device that is tested has them, against f64 on the CPU.
namespace heed::kernels::test {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

struct Sizes {
  int64_t batch, heads, queries, keys, width, value_width;
};

struct Problem {
  Tensor query, key, value, mask, bias, dy;
  AttentionRule rule;

  Shape scores() const { return {query.dim(0), query.dim(1), query.dim(2), key.dim(2)}; }
};

struct Results {
  Tensor y, log_sum, dquery, dkey, dvalue, dbias;
};

class AttentionBf16 : public testing::Test {
 protected:
  void SetUp() override {
    try {
      set_precision(default_device(), Precision::bf16);
    } catch (const InputError& lacking) {
      GTEST_SKIP() << lacking.what();
    }
  }
  void TearDown() override { set_precision(default_device(), Precision::float32); }
};

Problem problem_of(const Sizes& n) {
  const auto random = [&](int64_t length, int64_t width, uint64_t stream) {
    return random_tensor({n.batch, n.heads, length, width}, DType::f32, stream);
  };
  return {random(n.queries, n.width, 1),
          random(n.keys, n.width, 2),
          random(n.keys, n.value_width, 3),
          {},
          {},
          random(n.queries, n.value_width, 4),
          {1 / std::sqrt(static_cast<double>(n.width)), false, 0, {9, 2, 7}}};
}

// By the backend of the tensors' own device.
Results attend(const Problem& p, Layout layout = Layout::dense) {
  const DType dtype = p.query.dtype();
  const Device device = p.query.device();
  const auto out = [&](const Shape& shape) {
    const Tensor x = Tensor::full(shape, nan, dtype, device);
    return device.kind == DeviceKind::cpu ? x : laid_out(x, layout);
  };
  const auto in = [&](const Tensor& x) { return x.defined() ? laid_out(x, layout) : x; };
  const Shape rows = {p.query.dim(0), p.query.dim(1), p.query.dim(2)};
  const Shape y_shape = {rows[0], rows[1], rows[2], p.value.dim(3)};
  const Results r = {out(y_shape),         Tensor::full(rows, nan, dtype, device),
                     out(p.query.shape()), out(p.key.shape()),
                     out(p.value.shape()), Tensor::zeros(p.scores(), dtype, device)};
  const Tensor query = in(p.query), key = in(p.key), value = in(p.value), dy = in(p.dy);
  backend(device).attention(query, key, value, p.mask, p.bias, p.rule, r.y, r.log_sum);
  backend(device).attention_backward(query, key, value, p.mask, p.bias, p.rule, r.y, r.log_sum, dy,
                                     r.dquery, r.dkey, r.dvalue, r.dbias);
  return r;
}

// The same in f64 on the CPU, its inputs as they are or rounded to bf16.
Problem in_f64(const Problem& p, bool rounded) {
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
  Problem result = {in(p.query), in(p.key), in(p.value), {}, {}, in(p.dy), p.rule};
  if (p.mask.defined()) {
    result.mask = Tensor::from_vector(p.mask.to_vector<bool>(), p.mask.shape(), Device{});
  }
  if (p.bias.defined()) {
    result.bias = Tensor::from_vector(p.bias.to_doubles(), p.bias.shape(), Device{});
  }
  return result;
}

double largest_error(const Tensor& actual, const Tensor& exact) {
  const std::vector<double> a = actual.to_doubles(), e = exact.to_doubles();
  double largest = 0;
  for (size_t i = 0; i < e.size(); ++i) {
    // inf is where it belongs.
    const double error = a[i] == e[i] ? 0 : std::abs(a[i] - e[i]);
    largest = error <= largest ? largest : error;  // NaN is largest
  }
  return largest;
}

// Values within twice, gradients within three times what rounded inputs alone make.
void expect_right(const Problem& p, Layout layout = Layout::dense) {
  const Results actual = attend(p, layout);
  const Results exact = attend(in_f64(p, false));
  const Results plain = attend(in_f64(p, true));
  const auto expect = [](const char* name, const Tensor& x, const Tensor& right,
                         const Tensor& rounded, double factor) {
    EXPECT_LE(largest_error(x, right), factor * largest_error(rounded, right) + 1e-6) << name;
  };
  expect("y", actual.y, exact.y, plain.y, 2);
  expect("log_sum", actual.log_sum, exact.log_sum, plain.log_sum, 2);
  expect("dquery", actual.dquery, exact.dquery, plain.dquery, 3);
  expect("dkey", actual.dkey, exact.dkey, plain.dkey, 3);
  expect("dvalue", actual.dvalue, exact.dvalue, plain.dvalue, 3);
  expect("dbias", actual.dbias, exact.dbias, plain.dbias, 3);
}

// Within a tile, over its edges, every width of tiles, and nothing at all.
const Sizes all_sizes[] = {{1, 1, 1, 9, 16, 16},    {2, 3, 5, 7, 3, 4},
                           {1, 2, 97, 129, 17, 33}, {2, 1, 13, 200, 64, 64},
                           {1, 1, 130, 65, 128, 1}, {1, 1, 64, 64, 40, 128},
                           {0, 2, 3, 4, 5, 6},      {1, 2, 0, 3, 4, 5},
                           {1, 2, 3, 0, 4, 5},      {1, 1, 2, 3, 4, 0}};

std::string text(const Sizes& n) {
  return Shape{n.batch, n.heads, n.queries, n.keys, n.width, n.value_width}.to_string();
}

Tensor random_mask(const Shape& shape) {
  Generator generator(3);
  std::vector<bool> values(static_cast<size_t>(shape.numel()));
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = generator.below(4) != 0;
  }
  return Tensor::from_vector(values, shape);
}

TEST_F(AttentionBf16, ErrsAsRoundedInputsDo) {
  for (const Sizes& n : all_sizes) {
    SCOPED_TRACE(text(n));
    Problem p = problem_of(n);
    expect_right(p);
    p.rule.causal = true;
    expect_right(p);
  }
}

TEST_F(AttentionBf16, MasksBiasesAndDropout) {
  for (const Sizes& n : all_sizes) {
    SCOPED_TRACE(text(n));
    Problem p = problem_of(n);
    p.mask = random_mask(p.scores());
    expect_right(p);
    p.bias = random_tensor(p.scores(), DType::f32, 5);
    p.rule.dropout = 0.3;
    expect_right(p);
    p.rule.causal = true;
    expect_right(p);
  }
}

TEST_F(AttentionBf16, AnyLayoutGivesTheSameBytes) {
  const Problem p = problem_of({1, 2, 97, 70, 20, 17});
  const Results dense = attend(p);
  for (const Layout layout : {Layout::turned, Layout::spaced}) {
    const Results other = attend(p, layout);
    EXPECT_EQ(other.y.to_doubles(), dense.y.to_doubles());
    EXPECT_EQ(other.dquery.to_doubles(), dense.dquery.to_doubles());
    EXPECT_EQ(other.dkey.to_doubles(), dense.dkey.to_doubles());
    EXPECT_EQ(other.dvalue.to_doubles(), dense.dvalue.to_doubles());
  }
}

// What the f32 kernel gives differs by more than its own rounding: another one ran.
TEST_F(AttentionBf16, WideHeadsAreLeftToTheKernelsOfF32) {
  for (const int64_t width : {128, 129}) {
    const Problem p = problem_of({1, 1, 20, 30, width, 16});
    const double error = largest_error(attend(p).y, attend(in_f64(p, false)).y);
    EXPECT_EQ(error > 1e-4, width == 128) << error;
  }
}

TEST_F(AttentionBf16, LargeScoresDoNotOverflow) {
  Problem p = problem_of({1, 1, 3, 200, 4, 2});
  p.query = from_doubles(std::vector<double>(12, 64), {1, 1, 3, 4}, DType::f32);
  p.rule.scale = 4;
  const Results r = attend(p);
  for (const Tensor& x : {r.y, r.dquery, r.dkey, r.dvalue}) {
    for (const double value : x.to_doubles()) {
      ASSERT_TRUE(std::isfinite(value));
    }
  }
}

// Rows of zeros, keys that nobody sees, and inf and NaN in them: the others stay the same bytes.
TEST_F(AttentionBf16, NothingPassesTheMask) {
  const Sizes n = {1, 1, 70, 140, 20, 17};
  Problem p = problem_of(n);
  std::vector<bool> may(static_cast<size_t>(p.scores().numel()), true);
  for (int64_t l = 0; l < n.queries; ++l) {
    for (int64_t s = 0; s < n.keys; ++s) {
      may[static_cast<size_t>(l * n.keys + s)] = s != 7 && s != 139 && l != 4;
    }
  }
  p.mask = Tensor::from_vector(may, p.scores());
  const Results clean = attend(p);
  EXPECT_EQ(clean.log_sum.to_doubles()[4], std::numeric_limits<double>::infinity());
  const auto row_of = [](const Tensor& x, int64_t row) {
    return x.as_strided({x.dim(3)}, {1}, row * x.dim(3));
  };
  EXPECT_EQ(row_of(clean.y, 4).to_doubles(), std::vector<double>(17, 0));
  for (const double bad : {nan, std::numeric_limits<double>::infinity()}) {
    for (const int64_t s : {7, 139}) {
      tested().fill(row_of(p.key, s), bad);
      tested().fill(row_of(p.value, s), bad);
    }
    tested().fill(row_of(p.query, 4), bad);
    tested().fill(row_of(p.dy, 4), bad);
    const Results spoilt = attend(p);
    EXPECT_EQ(spoilt.y.to_doubles(), clean.y.to_doubles());
    EXPECT_EQ(spoilt.dquery.to_doubles(), clean.dquery.to_doubles());
    EXPECT_EQ(spoilt.dkey.to_doubles(), clean.dkey.to_doubles());
    EXPECT_EQ(spoilt.dvalue.to_doubles(), clean.dvalue.to_doubles());
    EXPECT_EQ(spoilt.dbias.to_doubles(), clean.dbias.to_doubles());
  }
}

// NaN of a value comes out where it is attended to, and nowhere else.
TEST_F(AttentionBf16, NanReachesWhoAttendsToIt) {
  const Sizes n = {1, 1, 3, 4, 2, 2};
  Problem p = problem_of(n);
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
