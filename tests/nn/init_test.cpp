#include "nn/init.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "tests/nn/support.h"

namespace heed::nn::test {
namespace {

struct Moments {
  double mean = 0, deviation = 0, low = 0, high = 0;
};

Moments moments(const Tensor& tensor) {
  const Values values = tensor.to_doubles();
  const auto count = static_cast<double>(values.size());
  Moments result;
  for (const double value : values) {
    result.mean += value / count;
  }
  for (const double value : values) {
    result.deviation += (value - result.mean) * (value - result.mean) / count;
  }
  result.deviation = std::sqrt(result.deviation);
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  result.low = *low;
  result.high = *high;
  return result;
}

double dot(const Values& a, const Values& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    sum += a[i] * b[i];
  }
  return sum;
}

void expect_orthonormal_rows(const std::vector<Values>& rows, size_t begin, size_t end) {
  for (size_t i = begin; i < end; ++i) {
    for (size_t j = begin; j < end; ++j) {
      EXPECT_NEAR(dot(rows[i], rows[j]), i == j ? 1 : 0, 1e-12) << i << ", " << j;
    }
  }
}

TEST(Init, ConstantFillsAndAnnouncesTheChange) {
  const Tensor tensor = Tensor::zeros({2, 3});
  const int64_t version = tensor.version();
  init_constant(tensor, 0.25);
  EXPECT_EQ(tensor.to_doubles(), Values(6, 0.25));
  EXPECT_GT(tensor.version(), version);
}

// The bounds are about six standard errors of 60,000 draws.
TEST(Init, NormalHasItsDeviation) {
  const Tensor tensor = Tensor::empty({200, 300});
  Generator generator(1);
  init_normal(tensor, 0.01, generator);
  const Moments found = moments(tensor);
  EXPECT_NEAR(found.mean, 0, 2.5e-4);
  EXPECT_NEAR(found.deviation, 0.01, 2e-4);
  EXPECT_GT(found.high, 0.03);
}

TEST(Init, UniformFillsItsInterval) {
  const Tensor tensor = Tensor::empty({200, 300});
  Generator generator(1);
  init_uniform(tensor, -0.5, 1.5, generator);
  const Moments found = moments(tensor);
  EXPECT_NEAR(found.mean, 0.5, 0.015);
  EXPECT_NEAR(found.deviation, 2 / std::sqrt(12.0), 0.01);
  EXPECT_GE(found.low, -0.5);
  EXPECT_LT(found.low, -0.49);
  EXPECT_LT(found.high, 1.5);
  EXPECT_GT(found.high, 1.49);
}

TEST(Init, XavierIsBoundedByBothFans) {
  const Tensor matrix = Tensor::empty({100, 50});
  Generator generator(1);
  init_xavier(matrix, generator);
  const double bound = std::sqrt(6.0 / 150);
  const Moments found = moments(matrix);
  EXPECT_GE(found.low, -bound);
  EXPECT_LE(found.high, bound);
  EXPECT_LT(found.low, -0.98 * bound);
  EXPECT_GT(found.high, 0.98 * bound);
}

TEST(Init, OrthogonalGivesEachBlockOrthonormalRows) {
  Generator generator(1);
  const Tensor gates = Tensor::empty({24, 8}, DType::f64);
  init_orthogonal(gates, generator);
  const auto rows = rows_of(gates);
  for (size_t block = 0; block < 3; ++block) {
    expect_orthonormal_rows(rows, 8 * block, 8 * block + 8);
  }
  EXPECT_GT(std::abs(dot(rows[0], rows[8])), 1e-3) << "blocks are drawn on their own";
}

TEST(Init, OrthogonalOfWideAndOfUnevenMatrices) {
  Generator generator(1);
  const Tensor wide = Tensor::empty({3, 7}, DType::f64);
  init_orthogonal(wide, generator);
  expect_orthonormal_rows(rows_of(wide), 0, 3);
  const Tensor uneven = Tensor::empty({5, 3}, DType::f64);
  init_orthogonal(uneven, generator);
  expect_orthonormal_rows(rows_of(uneven), 0, 3);
  expect_orthonormal_rows(rows_of(uneven), 3, 5);
}

using Initializer = void (*)(const Tensor&, Generator&);

TEST(Init, GivesF32AndF64TheSameNumbers) {
  const Initializer initializers[] = {
      [](const Tensor& x, Generator& g) { init_uniform(x, -1, 2, g); },
      [](const Tensor& x, Generator& g) { init_normal(x, 0.3, g); },
      [](const Tensor& x, Generator& g) { init_xavier(x, g, 0.5); },
      init_orthogonal,
  };
  for (const Initializer initialize : initializers) {
    const Tensor single = Tensor::empty({6, 5}, DType::f32);
    const Tensor exact = Tensor::empty({6, 5}, DType::f64);
    Generator first(4);
    Generator second(4);
    initialize(single, first);
    initialize(exact, second);
    const Values values = exact.to_doubles();
    EXPECT_EQ(single.to_vector<float>(), std::vector<float>(values.begin(), values.end()));
    EXPECT_EQ(first.state(), second.state());
  }
}

TEST(Init, RefusesWhatIsNoMatrix) {
  Generator generator(1);
  EXPECT_EQ(error_of([&] { init_xavier(Tensor::empty({4}), generator); }),
            "[init_xavier] a matrix is expected, not (4)");
  EXPECT_EQ(error_of([&] {
              init_orthogonal(Tensor::empty({2, 2, 2}), generator);
            }),
            "[init_orthogonal] a matrix is expected, not (2, 2, 2)");
}

TEST(Init, SkippedItTouchesAndDrawsNothing) {
  Generator generator(1);
  const Tensor matrix = Tensor::full({2, 3}, 7, DType::f32);
  {
    const SkipInitialization skip;
    init_constant(matrix, 1);
    init_uniform(matrix, 0, 1, generator);
    init_normal(matrix, 1, generator);
    init_xavier(matrix, generator);
    init_orthogonal(matrix, generator);
  }
  EXPECT_EQ(matrix.to_doubles(), Values(6, 7.0));
  EXPECT_EQ(generator.state().offset, 0U);
  init_constant(matrix, 1);
  EXPECT_EQ(matrix.to_doubles(), Values(6, 1.0)) << "the scope has ended";
}

}  // namespace
}  // namespace heed::nn::test
