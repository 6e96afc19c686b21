#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "tests/kernels/support.h"

namespace heed::kernels::test {
namespace {

constexpr double epsilon = 1e-5;

struct Norm {
  Tensor y, mean, rstd;
};

Norm layer_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, double eps = epsilon) {
  const Norm result = {unset(x.shape(), x.dtype()), unset({x.dim(0)}, x.dtype()),
                       unset({x.dim(0)}, x.dtype())};
  tested().layer_norm(x, weight, bias, eps, result.y, result.mean, result.rstd);
  return result;
}

struct Gradients {
  Tensor dx, dweight, dbias;
};

Gradients backward(const Tensor& x, const Tensor& weight, const Norm& norm, const Tensor& dy) {
  const Gradients result = {unset(x.shape(), x.dtype()), unset({x.dim(1)}, x.dtype()),
                            unset({x.dim(1)}, x.dtype())};
  tested().layer_norm_backward(x, weight, norm.mean, norm.rstd, dy, result.dx, result.dweight,
                               result.dbias);
  return result;
}

struct NormByHand {
  std::vector<double> y, mean, rstd, dx, dweight, dbias;
};

// dx by the chain rule through the mean and the variance, one step after the other.
NormByHand by_hand(const Tensor& x, const Tensor& weight, const Tensor& bias, const Tensor& dy,
                   double eps = epsilon) {
  const auto rows = static_cast<size_t>(x.dim(0));
  const auto width = static_cast<size_t>(x.dim(1));
  const auto count = static_cast<double>(width);
  const std::vector<double> w = weight.to_doubles();
  const std::vector<double> b = bias.to_doubles();
  const std::vector<double> all = x.to_doubles();
  const std::vector<double> incoming = dy.to_doubles();
  NormByHand result;
  result.dweight.assign(width, 0);
  result.dbias.assign(width, 0);
  for (size_t n = 0; n < rows; ++n) {
    const double* row = all.data() + n * width;
    const double* g = incoming.data() + n * width;
    double mean = 0;
    double variance = 0;
    for (size_t i = 0; i < width; ++i) {
      mean += row[i] / count;
    }
    for (size_t i = 0; i < width; ++i) {
      variance += (row[i] - mean) * (row[i] - mean) / count;
    }
    const double rstd = 1 / std::sqrt(variance + eps);
    double dmean = 0;
    double dvariance = 0;
    for (size_t i = 0; i < width; ++i) {
      const double dxhat = g[i] * w[i];
      result.y.push_back((row[i] - mean) * rstd * w[i] + b[i]);
      result.dweight[i] += g[i] * (row[i] - mean) * rstd;
      result.dbias[i] += g[i];
      dvariance += dxhat * (row[i] - mean) * -0.5 * rstd * rstd * rstd;
      dmean -= dxhat * rstd;
    }
    for (size_t i = 0; i < width; ++i) {
      result.dx.push_back(g[i] * w[i] * rstd + dvariance * 2 * (row[i] - mean) / count +
                          dmean / count);
    }
    result.mean.push_back(mean);
    result.rstd.push_back(rstd);
  }
  return result;
}

TEST(LayerNorm, MatchesPlainLoops) {
  for (const Shape& shape :
       {Shape{0, 5}, Shape{1, 1}, Shape{1, 2}, Shape{2, 1}, Shape{1, 13}, Shape{17, 19},
        Shape{16, 8}, Shape{33, 3}, Shape{211, 101}, Shape{3, 257}, Shape{2, 1031}}) {
    for (const DType dtype : {DType::f32, DType::f64}) {
      SCOPED_TRACE(shape.to_string());
      const Tensor x = random_tensor(shape, dtype, 1, -1, 3);
      const Tensor weight = random_tensor({shape[1]}, dtype, 2);
      const Tensor bias = random_tensor({shape[1]}, dtype, 3);
      const Tensor dy = random_tensor(shape, dtype, 4);
      const NormByHand expected = by_hand(x, weight, bias, dy);
      const Norm actual = layer_norm(x, weight, bias);
      // Two elements may lie close together, which rstd makes large; sums run over the rows.
      const double tolerance = 8 * tolerance_of(dtype);
      expect_same_numbers(actual.mean, expected.mean, tolerance);
      expect_same_numbers(actual.rstd, expected.rstd, tolerance);
      expect_same_numbers(actual.y, expected.y, tolerance);
      const Gradients gradients = backward(x, weight, actual, dy);
      expect_same_numbers(gradients.dx, expected.dx, shape[1] == 1 ? 400 * tolerance : tolerance);
      expect_same_numbers(gradients.dweight, expected.dweight, tolerance);
      expect_same_numbers(gradients.dbias, expected.dbias, tolerance);
    }
  }
}

TEST(LayerNorm, UsesTheBiasedVariance) {
  const Tensor x = from_doubles({1, 3}, {1, 2}, DType::f64);
  const Norm norm =
      layer_norm(x, Tensor::full({2}, 2, DType::f64), Tensor::full({2}, 10, DType::f64), 0.5625);
  expect_same_numbers(norm.mean, {2}, 0);
  expect_same_numbers(norm.rstd, {0.8}, 1e-15);
  expect_same_numbers(norm.y, {8.4, 11.6}, 1e-15);
}

TEST(LayerNorm, AConstantRowGivesTheBias) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    const Tensor bias = from_doubles({1, -2, 3}, {3}, dtype);
    const Norm norm =
        layer_norm(Tensor::full({2, 3}, 0.5, dtype), Tensor::full({3}, 7, dtype), bias);
    expect_same_numbers(norm.y, {1, -2, 3, 1, -2, 3}, 0);
    expect_same_numbers(norm.rstd, {1 / std::sqrt(epsilon), 1 / std::sqrt(epsilon)}, 1e-6);
  }
}

TEST(LayerNorm, KeepsItsDigitsFarFromZero) {
  // mean(x^2) - mean(x)^2 is off by more than the variance here, or negative.
  for (const double far : {4096.0, -65536.0}) {
    const Tensor near = random_tensor({5, 64}, DType::f32, 1);
    std::vector<double> values = near.to_doubles();
    for (double& value : values) {
      value = far + std::round(value * 64) / 64;
    }
    const Tensor x = from_doubles(values, near.shape(), DType::f32);
    const Tensor weight = Tensor::full({64}, 1);
    const Tensor bias = Tensor::zeros({64});
    const Norm actual = layer_norm(x, weight, bias);
    const NormByHand expected = by_hand(x, weight, bias, x);
    // What is left is the rounding of the mean to f32.
    expect_same_numbers(actual.mean, expected.mean, 1e-6);
    expect_same_numbers(actual.rstd, expected.rstd, 1e-3);
    expect_same_numbers(actual.y, expected.y, 1e-2);
  }
}

TEST(LayerNorm, NanSpoilsItsRowOnly) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const Tensor x = from_doubles({1, nan, -1, 1}, {2, 2}, DType::f64);
  const Norm norm =
      layer_norm(x, Tensor::full({2}, 1, DType::f64), Tensor::zeros({2}, DType::f64), 0);
  expect_same_numbers(norm.y, {nan, nan, -1, 1}, 0);
}

TEST(LayerNorm, DoesNotDependOnTheThreads) {
  const Tensor x = random_tensor({1009, 37}, DType::f32, 1);
  const Tensor weight = random_tensor({37}, DType::f32, 2);
  const Tensor dy = random_tensor(x.shape(), DType::f32, 3);
  const Norm norm = layer_norm(x, weight, weight);
  expect_same_for_any_threads([&] { return layer_norm(x, weight, weight).y; });
  expect_same_for_any_threads([&] { return backward(x, weight, norm, dy).dx; });
  expect_same_for_any_threads([&] { return backward(x, weight, norm, dy).dweight; });
  expect_same_for_any_threads([&] { return backward(x, weight, norm, dy).dbias; });
}

// --- RMS norm ----------------------------------------------------------------------------------

struct RmsNorm {
  Tensor y, rstd, dx, dweight;
};

RmsNorm rms_norm(const Tensor& x, const Tensor& weight, const Tensor& dy, double eps = epsilon) {
  const RmsNorm r = {unset(x.shape(), x.dtype()), unset({x.dim(0)}, x.dtype()),
                     unset(x.shape(), x.dtype()), unset({x.dim(1)}, x.dtype())};
  tested().rms_norm(x, weight, eps, r.y, r.rstd);
  tested().rms_norm_backward(x, weight, r.rstd, dy, r.dx, r.dweight);
  return r;
}

// dx by the chain rule through the mean of squares.
TEST(RmsNorm, MatchesPlainLoops) {
  for (const Shape& shape :
       {Shape{0, 5}, {1, 1}, {2, 1}, {1, 13}, {17, 19}, {211, 101}, {3, 257}, {2, 1031}}) {
    for (const DType dtype : {DType::f32, DType::f64}) {
      SCOPED_TRACE(shape.to_string());
      const Tensor x = random_tensor(shape, dtype, 1, 0.5, 3);
      const Tensor weight = random_tensor({shape[1]}, dtype, 2);
      const Tensor dy = random_tensor(shape, dtype, 3);
      const auto width = static_cast<size_t>(shape[1]);
      const std::vector<double> all = x.to_doubles(), w = weight.to_doubles(), g = dy.to_doubles();
      std::vector<double> y, rstds, dx, dweight(width, 0);
      for (size_t n = 0; n < static_cast<size_t>(shape[0]); ++n) {
        double square = 0;
        for (size_t i = 0; i < width; ++i) {
          square += all[n * width + i] * all[n * width + i] / static_cast<double>(width);
        }
        const double rstd = 1 / std::sqrt(square + epsilon);
        double dsquare = 0;
        for (size_t i = n * width; i < (n + 1) * width; ++i) {
          y.push_back(all[i] * rstd * w[i - n * width]);
          dweight[i - n * width] += g[i] * all[i] * rstd;
          dsquare += g[i] * w[i - n * width] * all[i] * -0.5 * rstd * rstd * rstd;
        }
        for (size_t i = n * width; i < (n + 1) * width; ++i) {
          dx.push_back(g[i] * w[i - n * width] * rstd +
                       dsquare * 2 * all[i] / static_cast<double>(width));
        }
        rstds.push_back(rstd);
      }
      const RmsNorm actual = rms_norm(x, weight, dy);
      const double tolerance = 8 * tolerance_of(dtype);
      expect_same_numbers(actual.y, y, tolerance);
      expect_same_numbers(actual.rstd, rstds, tolerance);
      expect_same_numbers(actual.dx, dx, tolerance);
      expect_same_numbers(actual.dweight, dweight, tolerance);
    }
  }
}

TEST(RmsNorm, EpsilonIsInsideTheRoot) {
  const Tensor x = from_doubles({1, -1}, {1, 2}, DType::f64);
  const RmsNorm r = rms_norm(x, Tensor::full({2}, 2, DType::f64), x, 0.5625);
  expect_same_numbers(r.y, {1.6, -1.6}, 1e-15);
  expect_same_numbers(
      rms_norm(Tensor::zeros({1, 2}), Tensor::full({2}, 1), Tensor::zeros({1, 2})).y, {0, 0}, 0);
}

TEST(RmsNorm, DoesNotDependOnTheThreads) {
  const Tensor x = random_tensor({1009, 37}, DType::f32, 1);
  const Tensor weight = random_tensor({37}, DType::f32, 2);
  expect_same_for_any_threads([&] { return rms_norm(x, weight, x).y; });
  expect_same_for_any_threads([&] { return rms_norm(x, weight, x).dx; });
  expect_same_for_any_threads([&] { return rms_norm(x, weight, x).dweight; });
}

}  // namespace
}  // namespace heed::kernels::test
