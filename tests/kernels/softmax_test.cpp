#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "tests/kernels/support.h"

namespace heed::kernels::test {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double inf = std::numeric_limits<double>::infinity();

using Kernel = void (Backend::*)(const Tensor&, const Tensor&, const Tensor&);
constexpr Kernel kernels[] = {&Backend::softmax, &Backend::log_softmax};

const std::vector<Shape> shapes = {{1},    {13},   {0},      {3, 0},    {0, 3},         {1, 1},
                                   {5, 1}, {1, 5}, {17, 19}, {3, 5, 7}, {2, 3, 11, 13}, {401, 67}};

Tensor run(Kernel kernel, const Tensor& x, const Tensor& mask) {
  const Tensor y = unset(x.shape(), x.dtype());
  (tested().*kernel)(x, mask, y);
  return y;
}

Tensor random_mask(const Shape& shape, uint64_t stream) {
  std::vector<double> values = random_tensor(shape, DType::f64, stream, -1, 1).to_doubles();
  for (double& value : values) {
    value = value > 0 ? 1 : 0;
  }
  return from_doubles(values, shape, DType::boolean);
}

// mask: one number an element of x, true unless 0.
std::vector<double> softmax_by_hand(Kernel kernel, const Tensor& x,
                                    const std::vector<double>& mask) {
  const bool logarithm = kernel == kernels[1];
  const std::vector<double> values = x.to_doubles();
  std::vector<double> result(values.size(), logarithm ? -inf : 0);
  const auto width = static_cast<size_t>(x.dim(-1));
  for (size_t begin = 0; begin < values.size(); begin += width) {
    double largest = -inf;
    double sum = 0;
    for (size_t i = begin; i < begin + width; ++i) {
      largest = mask[i] != 0 ? std::max(largest, values[i]) : largest;
    }
    for (size_t i = begin; i < begin + width; ++i) {
      sum += mask[i] != 0 ? std::exp(values[i] - largest) : 0;
    }
    for (size_t i = begin; i < begin + width; ++i) {
      if (mask[i] != 0) {
        const double log_p = values[i] - largest - std::log(sum);
        result[i] = logarithm ? log_p : std::exp(log_p);
      }
    }
  }
  return result;
}

TEST(Softmax, MatchesPlainLoops) {
  for (const Shape& shape : shapes) {
    for (const DType dtype : {DType::f32, DType::f64}) {
      const Tensor x = random_tensor(shape, dtype, 1, -9, 9);
      const std::vector<double> all(static_cast<size_t>(x.numel()), 1);
      for (const Kernel kernel : kernels) {
        SCOPED_TRACE(shape.to_string());
        expect_same_numbers(run(kernel, x, {}), softmax_by_hand(kernel, x, all),
                            tolerance_of(dtype));
      }
    }
  }
}

TEST(Softmax, MaskedEntriesAreNeverRead) {
  const double junk[] = {nan, inf, -inf, 1e30};
  for (const Shape& shape : shapes) {
    for (const DType dtype : {DType::f32, DType::f64}) {
      const Tensor mask = random_mask(shape, 2);
      const std::vector<double> used = mask.to_doubles();
      std::vector<double> values = random_tensor(shape, dtype, 1, -9, 9).to_doubles();
      for (size_t i = 0; i < values.size(); ++i) {
        values[i] = used[i] != 0 ? values[i] : junk[i % 4];
      }
      const Tensor x = from_doubles(values, shape, dtype);
      for (const Kernel kernel : kernels) {
        for (const Layout layout : layouts) {
          SCOPED_TRACE(shape.to_string());
          expect_same_numbers(run(kernel, x, laid_out(mask, layout)),
                              softmax_by_hand(kernel, x, used), tolerance_of(dtype));
        }
      }
    }
  }
}

TEST(Softmax, ARowWithoutEntriesGivesNothing) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    const Tensor x = from_doubles({nan, inf, 1, 7, 1, 1}, {3, 2}, dtype);
    const Tensor mask = from_doubles({0, 0, 1, 0, 1, 1}, {3, 2}, DType::boolean);
    expect_same_numbers(run(&Backend::softmax, x, mask), {0, 0, 1, 0, 0.5, 0.5},
                        tolerance_of(dtype));
    expect_same_numbers(run(&Backend::log_softmax, x, mask),
                        {-inf, -inf, 0, -inf, -std::log(2), -std::log(2)}, tolerance_of(dtype));
    const Tensor nothing = Tensor::full({3, 2}, -inf, dtype);
    expect_same_numbers(run(&Backend::softmax, nothing, {}), {0, 0, 0, 0, 0, 0}, 0);
    expect_same_numbers(run(&Backend::log_softmax, nothing, {}),
                        {-inf, -inf, -inf, -inf, -inf, -inf}, 0);
  }
}

// One mask a batch (padding), one for all batches (causal), one for everything.
TEST(Softmax, ReadsBroadcastMasks) {
  const Shape shape = {3, 2, 5, 7};
  for (const auto& [own, strides] : std::vector<std::pair<Shape, Shape>>{{{3, 7}, {7, 0, 0, 1}},
                                                                         {{5, 7}, {0, 0, 7, 1}},
                                                                         {{3, 5}, {5, 0, 1, 0}},
                                                                         {{7}, {0, 0, 0, 1}},
                                                                         {{1}, {0, 0, 0, 0}}}) {
    const Tensor mask = random_mask(own, 3).as_strided(shape, strides, 0);
    for (const DType dtype : {DType::f32, DType::f64}) {
      const Tensor x = random_tensor(shape, dtype, 1);
      for (const Kernel kernel : kernels) {
        SCOPED_TRACE(own.to_string());
        expect_same_numbers(run(kernel, x, mask), softmax_by_hand(kernel, x, mask.to_doubles()),
                            tolerance_of(dtype));
      }
    }
  }
}

TEST(Softmax, LargeNumbersDoNotOverflow) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    const Tensor x = from_doubles({1e4, 1e4, -1e4, 1e4, -1e4, -1e4}, {2, 3}, dtype);
    expect_same_numbers(run(&Backend::softmax, x, {}), {0.5, 0.5, 0, 1, 0, 0}, tolerance_of(dtype));
    const double half = -std::log(2);
    expect_same_numbers(run(&Backend::log_softmax, x, {}), {half, half, half - 2e4, 0, -2e4, -2e4},
                        tolerance_of(dtype));
  }
}

void expect_nan_visible(Kernel kernel, DType dtype, size_t width, size_t at) {
  // Beside numbers, beside -inf, and as the only entry used.
  std::vector<double> values(3 * width, 1);
  std::fill_n(values.begin() + static_cast<int64_t>(width), width, -inf);
  std::vector<double> used(3 * width, 1);
  std::fill_n(used.begin() + static_cast<int64_t>(2 * width), width, 0);
  for (size_t row = 0; row < 3; ++row) {
    values[width * row + at] = nan;
    used[width * row + at] = 1;
  }
  const Shape shape = {3, static_cast<int64_t>(width)};
  const Tensor x = from_doubles(values, shape, dtype);
  const Tensor mask = from_doubles(used, shape, DType::boolean);
  for (const Tensor& y : {run(kernel, x, mask), run(kernel, x, {})}) {
    const std::vector<double> result = y.to_doubles();
    for (size_t row = 0; row < 3; ++row) {
      EXPECT_TRUE(std::isnan(result[width * row + at])) << "row " << row << ", entry " << at;
    }
  }
}

// In rows that fill less than a vector, and in and behind the vectors of longer ones.
TEST(Softmax, NanOfAUsedEntryStaysVisible) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    for (const Kernel kernel : kernels) {
      for (const size_t at : {0, 1, 2}) {
        expect_nan_visible(kernel, dtype, 3, at);
      }
      for (const size_t at : {0, 5, 31, 38}) {
        expect_nan_visible(kernel, dtype, 39, at);
      }
    }
  }
}

// What a cotangent holds where nothing was attended must not reach the others.
TEST(Softmax, BackwardMatchesPlainLoops) {
  for (const Shape& shape : shapes) {
    for (const DType dtype : {DType::f32, DType::f64}) {
      SCOPED_TRACE(shape.to_string());
      const Tensor mask = random_mask(shape, 2);
      const std::vector<double> used = mask.to_doubles();
      std::vector<double> incoming = random_tensor(shape, dtype, 4).to_doubles();
      for (size_t i = 0; i < incoming.size(); ++i) {
        incoming[i] = used[i] != 0 ? incoming[i] : nan;
      }
      const Tensor dy = from_doubles(incoming, shape, dtype);
      const Tensor x = random_tensor(shape, dtype, 1);
      const Tensor y = run(&Backend::softmax, x, mask);
      const Tensor log_y = run(&Backend::log_softmax, x, mask);
      const std::vector<double> p = y.to_doubles();
      const std::vector<double> log_p = log_y.to_doubles();
      std::vector<double> expected(p.size(), 0);
      std::vector<double> expected_log(p.size(), 0);
      const auto width = static_cast<size_t>(shape.dim(-1));
      for (size_t begin = 0; begin < p.size(); begin += width) {
        double dot = 0;
        double sum = 0;
        for (size_t i = begin; i < begin + width; ++i) {
          dot += used[i] != 0 ? incoming[i] * p[i] : 0;
          sum += used[i] != 0 ? incoming[i] : 0;
        }
        for (size_t i = begin; i < begin + width; ++i) {
          if (used[i] != 0) {
            expected[i] = p[i] * (incoming[i] - dot);
            expected_log[i] = incoming[i] - std::exp(log_p[i]) * sum;
          }
        }
      }
      const Tensor dx = unset(shape, dtype);
      tested().softmax_backward(y, dy, dx);
      expect_same_numbers(dx, expected, 4 * tolerance_of(dtype));
      const Tensor dx_log = unset(shape, dtype);
      tested().log_softmax_backward(log_y, dy, dx_log);
      expect_same_numbers(dx_log, expected_log, 4 * tolerance_of(dtype));
    }
  }
}

TEST(Softmax, DoesNotDependOnTheThreads) {
  const Tensor x = random_tensor({503, 131}, DType::f32, 1);
  const Tensor mask = random_mask(x.shape(), 2);
  const Tensor dy = random_tensor(x.shape(), DType::f32, 3);
  for (const Kernel kernel : kernels) {
    expect_same_for_any_threads([&] { return run(kernel, x, mask); });
  }
  expect_same_for_any_threads([&] {
    const Tensor dx = unset(x.shape(), DType::f32);
    tested().softmax_backward(run(&Backend::softmax, x, mask), dy, dx);
    return dx;
  });
  expect_same_for_any_threads([&] {
    const Tensor dx = unset(x.shape(), DType::f32);
    tested().log_softmax_backward(run(&Backend::log_softmax, x, mask), dy, dx);
    return dx;
  });
}

}  // namespace
}  // namespace heed::kernels::test
