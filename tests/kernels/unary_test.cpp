#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <limits>
#include <numbers>
#include <utility>
#include <vector>

#include "tests/kernels/support.h"

namespace heed::kernels::test {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double inf = std::numeric_limits<double>::infinity();

// Each op with its derivative, in long double.
using Real = long double;
struct UnaryCase {
  const char* name;
  UnaryOp op;
  std::function<Real(Real)> f;
  std::function<Real(Real)> slope;
  bool slope_from_y;
  bool positive_only;
};

Real logistic(Real x) { return 1 / (1 + std::exp(-x)); }
Real normal_cdf(Real x) { return std::erfc(-x / std::sqrt(Real{2})) / 2; }
Real gelu_tanh_inner(Real x) {
  return std::sqrt(2 / std::numbers::pi_v<Real>) * (x + 0.044715L * x * x * x);
}

const std::vector<UnaryCase>& cases() {
  static const std::vector<UnaryCase> all = {
      {"negate", UnaryOp::negate, [](Real x) { return -x; }, [](Real) { return Real{-1}; }, false,
       false},
      {"absolute", UnaryOp::absolute, [](Real x) { return std::abs(x); },
       [](Real x) { return Real((x > 0) - (x < 0)); }, false, false},
      {"square", UnaryOp::square, [](Real x) { return x * x; }, [](Real x) { return 2 * x; }, false,
       false},
      {"square_root", UnaryOp::square_root, [](Real x) { return std::sqrt(x); },
       [](Real x) { return 0.5L / std::sqrt(x); }, true, true},
      {"exponential", UnaryOp::exponential, [](Real x) { return std::exp(x); },
       [](Real x) { return std::exp(x); }, true, false},
      {"logarithm", UnaryOp::logarithm, [](Real x) { return std::log(x); },
       [](Real x) { return 1 / x; }, false, true},
      {"tanh", UnaryOp::tanh, [](Real x) { return std::tanh(x); },
       [](Real x) { return 1 - std::tanh(x) * std::tanh(x); }, true, false},
      {"sigmoid", UnaryOp::sigmoid, logistic,
       [](Real x) { return logistic(x) * (1 - logistic(x)); }, true, false},
      {"relu", UnaryOp::relu, [](Real x) { return x > 0 ? x : 0; },
       [](Real x) { return Real(x > 0); }, true, false},
      {"gelu", UnaryOp::gelu, [](Real x) { return x * normal_cdf(x); },
       [](Real x) {
         return normal_cdf(x) + x * std::exp(-x * x / 2) / std::sqrt(2 * std::numbers::pi_v<Real>);
       },
       false, false},
      {"gelu_tanh", UnaryOp::gelu_tanh,
       [](Real x) { return x / 2 * (1 + std::tanh(gelu_tanh_inner(x))); },
       [](Real x) {
         const Real t = std::tanh(gelu_tanh_inner(x));
         return (1 + t) / 2 + x / 2 * (1 - t * t) * std::sqrt(2 / std::numbers::pi_v<Real>) *
                                  (1 + 3 * 0.044715L * x * x);
       },
       false, false},
      {"silu", UnaryOp::silu, [](Real x) { return x * logistic(x); },
       [](Real x) { return logistic(x) * (1 + x * (1 - logistic(x))); }, false, false},
  };
  return all;
}

std::vector<double> each(const Tensor& x, const std::function<Real(Real)>& f) {
  std::vector<double> values = x.to_doubles();
  std::transform(values.begin(), values.end(), values.begin(),
                 [&](double v) { return static_cast<double>(f(v)); });
  return values;
}

Tensor apply(UnaryOp op, const Tensor& x) {
  const Tensor y = unset(x.shape(), x.dtype());
  tested().unary(op, x, y);
  return y;
}

TEST(Unary, MatchesLongDoubleInEveryLayout) {
  for (const UnaryCase& c : cases()) {
    for (const DType dtype : {DType::f32, DType::f64}) {
      for (const Shape& shape : {Shape{}, Shape{1}, Shape{0}, Shape{1031}, Shape{3, 5, 7}}) {
        const Tensor x = random_tensor(shape, dtype, 1, c.positive_only ? 0.01 : -6, 6);
        for (const Layout layout : layouts) {
          SCOPED_TRACE(testing::Message() << c.name << " " << shape.to_string());
          expect_same_numbers(apply(c.op, laid_out(x, layout)), each(x, c.f), tolerance_of(dtype));
        }
      }
    }
  }
}

TEST(Unary, WorksInPlace) {
  for (const UnaryCase& c : cases()) {
    const Tensor x = random_tensor({37}, DType::f64, 1, c.positive_only ? 0.01 : -6, 6);
    const std::vector<double> expected = each(x, c.f);
    tested().unary(c.op, x, x);
    expect_same_numbers(x, expected, 1e-14);
  }
}

// The largest relative error over a range, in units of the dtype's epsilon.
double error_in_epsilons(const UnaryCase& c, DType dtype, double low, double high) {
  const Tensor x = random_tensor({20011}, dtype, 3, low, high);
  const std::vector<double> xs = x.to_doubles();
  const std::vector<double> ys = apply(c.op, x).to_doubles();
  const double epsilon = dtype == DType::f32 ? std::numeric_limits<float>::epsilon()
                                             : std::numeric_limits<double>::epsilon();
  Real worst = 0;
  for (size_t i = 0; i < xs.size(); ++i) {
    const Real expected = c.f(xs[i]);
    worst = std::max(worst, std::abs(ys[i] - expected) / std::abs(expected));
  }
  return static_cast<double>(worst) / epsilon;
}

TEST(Unary, IsAccurateRelativeToSmallResults) {
  struct Range {
    UnaryOp op;
    double low, high;
  };
  const std::vector<Range> ranges = {
      {UnaryOp::exponential, -80, 80},  {UnaryOp::exponential, -1e-3, 1e-3},
      {UnaryOp::logarithm, 1e-30, 1e3}, {UnaryOp::logarithm, 0.9, 1.1},
      {UnaryOp::tanh, -1e-6, 1e-6},     {UnaryOp::tanh, -0.1, 0.1},
      {UnaryOp::tanh, -1, 1},           {UnaryOp::tanh, -20, 20},
      {UnaryOp::sigmoid, -80, 80},      {UnaryOp::sigmoid, -1, 1},
      {UnaryOp::silu, -80, 80},         {UnaryOp::gelu, -3, 3},
  };
  for (const Range& range : ranges) {
    for (const UnaryCase& c : cases()) {
      for (const DType dtype : {DType::f32, DType::f64}) {
        if (c.op == range.op) {
          EXPECT_LT(error_in_epsilons(c, dtype, range.low, range.high), 8)
              << c.name << " in [" << range.low << ", " << range.high << ") " << dtype_name(dtype);
        }
      }
    }
  }
}

TEST(Unary, KeepsNanAndInfinity) {
  struct Case {
    UnaryOp op;
    std::vector<double> expected;
  };
  const std::vector<double> special = {nan, inf, -inf, 0};
  const std::vector<Case> expectations = {
      {UnaryOp::negate, {nan, -inf, inf, 0}},   {UnaryOp::absolute, {nan, inf, inf, 0}},
      {UnaryOp::square, {nan, inf, inf, 0}},    {UnaryOp::square_root, {nan, inf, nan, 0}},
      {UnaryOp::exponential, {nan, inf, 0, 1}}, {UnaryOp::logarithm, {nan, inf, nan, -inf}},
      {UnaryOp::tanh, {nan, 1, -1, 0}},         {UnaryOp::sigmoid, {nan, 1, 0, 0.5}},
      {UnaryOp::relu, {nan, inf, 0, 0}},        {UnaryOp::gelu, {nan, inf, 0, 0}},
      {UnaryOp::gelu_tanh, {nan, inf, 0, 0}},   {UnaryOp::silu, {nan, inf, 0, 0}},
  };
  for (const DType dtype : {DType::f32, DType::f64}) {
    for (const Case& c : expectations) {
      // Alone and inside a full vector.
      for (const int64_t repeats : {1, 9}) {
        std::vector<double> xs;
        std::vector<double> ys;
        for (int64_t i = 0; i < repeats; ++i) {
          xs.insert(xs.end(), special.begin(), special.end());
          ys.insert(ys.end(), c.expected.begin(), c.expected.end());
        }
        SCOPED_TRACE(testing::Message() << "op " << static_cast<int>(c.op));
        expect_same_numbers(apply(c.op, from_doubles(xs, {4 * repeats}, dtype)), ys, 0);
      }
    }
  }
}

constexpr UnaryOp gates[] = {UnaryOp::gelu, UnaryOp::gelu_tanh, UnaryOp::silu};

TEST(Unary, SaturatesWithoutNan) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    const Tensor x = from_doubles({-1e30, -1000, 1000, 1e30}, {4}, dtype);
    expect_same_numbers(apply(UnaryOp::exponential, x), {0, 0, inf, inf}, 0);
    expect_same_numbers(apply(UnaryOp::tanh, x), {-1, -1, 1, 1}, 0);
    expect_same_numbers(apply(UnaryOp::sigmoid, x), {0, 0, 1, 1}, 0);
    for (const UnaryOp op : gates) {
      expect_same_numbers(apply(op, x), {0, 0, 1000, 1e30}, 1e-6);
    }
  }
}

TEST(Unary, ExponentialReachesTheEndsOfTheRange) {
  const UnaryCase& exponential =
      *std::find_if(cases().begin(), cases().end(),
                    [](const UnaryCase& c) { return c.op == UnaryOp::exponential; });
  EXPECT_LT(error_in_epsilons(exponential, DType::f32, 87, 88.72), 8);
  EXPECT_LT(error_in_epsilons(exponential, DType::f64, 700, 709.78), 8);
  EXPECT_LT(error_in_epsilons(exponential, DType::f64, -708, -700), 8);
  const auto exp_of = [](double x, DType dtype) {
    return apply(UnaryOp::exponential, Tensor::full({1}, x, dtype)).item();
  };
  EXPECT_TRUE(std::isfinite(exp_of(88.72283, DType::f32)));
  EXPECT_EQ(exp_of(88.72285, DType::f32), inf);
  EXPECT_EQ(exp_of(-104, DType::f32), 0);
  EXPECT_TRUE(std::isfinite(exp_of(709.7827, DType::f64)));
  EXPECT_EQ(exp_of(709.7828, DType::f64), inf);
  EXPECT_EQ(exp_of(-746, DType::f64), 0);
}

TEST(UnaryBackward, IsDyTimesTheSlopeAndReadsOneOperand) {
  for (const UnaryCase& c : cases()) {
    for (const DType dtype : {DType::f32, DType::f64}) {
      for (const Shape& shape : {Shape{0}, Shape{1}, Shape{3, 5, 7}}) {
        const Tensor x = random_tensor(shape, dtype, 1, c.positive_only ? 0.1 : -4, 4);
        const Tensor dy = random_tensor(shape, dtype, 2);
        std::vector<double> expected = each(x, c.slope);
        const std::vector<double> incoming = dy.to_doubles();
        for (size_t i = 0; i < expected.size(); ++i) {
          expected[i] *= incoming[i];
        }
        const Tensor y = c.slope_from_y ? apply(c.op, x) : Tensor();
        for (const Layout layout : layouts) {
          SCOPED_TRACE(testing::Message() << c.name << " " << shape.to_string());
          const Tensor dx = unset(shape, dtype);
          tested().unary_backward(c.op, c.slope_from_y ? Tensor() : laid_out(x, layout),
                                  c.slope_from_y ? laid_out(y, layout) : Tensor(),
                                  laid_out(dy, layout), dx);
          expect_same_numbers(dx, expected, 4 * tolerance_of(dtype));
        }
      }
    }
  }
}

// The error of a gate or its slope where x is up to 40, in epsilons of the larger of |x| and 1.
TEST(Unary, GatesAreExactToAFewRoundingErrors) {
  for (const UnaryCase& c : cases()) {
    if (std::find(std::begin(gates), std::end(gates), c.op) == std::end(gates)) {
      continue;
    }
    for (const DType dtype : {DType::f32, DType::f64}) {
      const double epsilon = dtype == DType::f32 ? std::numeric_limits<float>::epsilon()
                                                 : std::numeric_limits<double>::epsilon();
      for (const double far : {1e-3, 1.0, 6.0, 40.0}) {
        const Tensor x = random_tensor({20011}, dtype, 3, -far, far);
        const Tensor slopes = unset(x.shape(), dtype);
        tested().unary_backward(c.op, x, {}, Tensor::full(x.shape(), 1, dtype), slopes);
        const std::vector<double> xs = x.to_doubles();
        const std::vector<double> ys = apply(c.op, x).to_doubles();
        const std::vector<double> dys = slopes.to_doubles();
        Real value_error = 0;
        Real slope_error = 0;
        for (size_t i = 0; i < xs.size(); ++i) {
          const Real scale = std::max(1.0, std::abs(xs[i])) * epsilon;
          value_error = std::max(value_error, std::abs(ys[i] - c.f(xs[i])) / scale);
          slope_error = std::max(slope_error, std::abs(dys[i] - c.slope(xs[i])) / epsilon);
        }
        EXPECT_LT(value_error, 1.5) << c.name << " within " << far << " " << dtype_name(dtype);
        EXPECT_LT(slope_error, 3) << c.name << " within " << far << " " << dtype_name(dtype);
      }
    }
  }
}

TEST(Unary, DoesTheTailOfEverySize) {
  for (const UnaryCase& c : cases()) {
    for (const DType dtype : {DType::f32, DType::f64}) {
      for (int64_t n = 0; n <= 40; ++n) {
        SCOPED_TRACE(testing::Message() << c.name << " " << n);
        const Tensor x = random_tensor({n}, dtype, 5, c.positive_only ? 0.1 : -4, 4);
        expect_same_numbers(apply(c.op, x), each(x, c.f), tolerance_of(dtype));
        // In place of dy, which is 1.
        const Tensor dx = Tensor::full({n}, 1, dtype);
        tested().unary_backward(c.op, x, apply(c.op, x), dx, dx);
        expect_same_numbers(dx, each(x, c.slope), 4 * tolerance_of(dtype));
      }
    }
  }
}

TEST(UnaryBackward, OfAGateIsItsLimitFarAwayAndKeepsNan) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    for (const UnaryOp op : gates) {
      // Alone and inside full vectors.
      for (const int64_t repeats : {1, 5}) {
        std::vector<double> xs;
        std::vector<double> slopes;
        for (int64_t i = 0; i < repeats; ++i) {
          for (const auto& [x, slope] : {std::pair{nan, nan},
                                         {-inf, 0.0},
                                         {-1e30, 0.0},
                                         {-2000.0, 0.0},
                                         {-0.0, 0.5},
                                         {0.0, 0.5},
                                         {2000.0, 1.0},
                                         {1e30, 1.0},
                                         {inf, 1.0}}) {
            xs.push_back(x);
            slopes.push_back(slope);
          }
        }
        const Shape shape = {static_cast<int64_t>(xs.size())};
        const Tensor dx = unset(shape, dtype);
        tested().unary_backward(op, from_doubles(xs, shape, dtype), {},
                                Tensor::full(shape, 1, dtype), dx);
        expect_same_numbers(dx, slopes, tolerance_of(dtype));
      }
    }
  }
}

TEST(UnaryBackward, IsZeroWhereReluAndAbsoluteHaveNoSlope) {
  const Tensor zero = Tensor::zeros({1});
  const Tensor dx = unset({1}, DType::f32);
  tested().unary_backward(UnaryOp::relu, {}, zero, Tensor::full({1}, 3), dx);
  expect_same_numbers(dx, {0}, 0);
  tested().unary_backward(UnaryOp::absolute, zero, {}, Tensor::full({1}, 3), dx);
  expect_same_numbers(dx, {0}, 0);
}

TEST(Unary, DoesNotDependOnTheThreads) {
  const Tensor x = random_tensor({100003}, DType::f32, 1);
  for (const UnaryOp op : {UnaryOp::tanh, UnaryOp::gelu, UnaryOp::silu}) {
    expect_same_for_any_threads([&] { return apply(op, x); });
  }
}

}  // namespace
}  // namespace heed::kernels::test
