#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "tests/kernels/support.h"

namespace heed::kernels::test {
namespace {

constexpr double base = 50;

Tensor positions_of(const std::vector<int32_t>& values, const Shape& shape) {
  return Tensor::from_vector(values, shape);
}

std::vector<double> by_hand(const Tensor& x, const std::vector<int32_t>& positions, bool half) {
  const auto width = static_cast<size_t>(x.dim(-1));
  std::vector<double> y = x.to_doubles();
  for (size_t row = 0; row < y.size() / std::max<size_t>(1, width); ++row) {
    for (size_t i = 0; i < width / 2; ++i) {
      const double exponent = -2 * static_cast<double>(i) / static_cast<double>(width);
      const double angle = positions[row % positions.size()] * std::pow(base, exponent);
      double& a = y[row * width + (half ? i : 2 * i)];
      double& b = y[row * width + (half ? i + width / 2 : 2 * i + 1)];
      const double turned = a * std::cos(angle) - b * std::sin(angle);
      b = a * std::sin(angle) + b * std::cos(angle);
      a = turned;
    }
  }
  return y;
}

TEST(Rotary, MatchesPlainLoopsInEveryLayout) {
  const std::vector<int32_t> positions = {3, 0, 1000, 4, 5};
  for (const Shape& shape : {Shape{5, 2}, {3, 5, 6}, {2, 3, 5, 34}, {5, 0}, {0, 5, 4}}) {
    for (const DType dtype : {DType::f32, DType::f64}) {
      for (const bool half : {false, true}) {
        for (const Layout layout : layouts) {
          SCOPED_TRACE(shape.to_string());
          const Tensor x = random_tensor(shape, dtype, 1);
          Shape rows = shape;
          rows.erase(shape.rank() - 1);
          Shape strides = Shape::filled(rows.rank(), 0);
          strides[rows.rank() - 1] = 1;
          const Tensor at = positions_of(positions, {5}).as_strided(rows, strides, 0);
          const Tensor y = laid_out(unset(shape, dtype), layout);
          tested().rotary(laid_out(x, layout), at, base, half, false, y);
          expect_same_numbers(y, by_hand(x, positions, half), 4 * tolerance_of(dtype));
          const Tensor back = unset(shape, dtype);
          tested().rotary(y, at, base, half, true, back);
          expect_same_numbers(back, x.to_doubles(), 4 * tolerance_of(dtype));
        }
      }
    }
  }
}

TEST(Rotary, PositionsMayDifferInEveryDimension) {
  const Tensor x = random_tensor({2, 2, 2, 4}, DType::f64, 1);
  const std::vector<int32_t> positions = {1, 2, 1, 7, 0, 2, 5, 6};
  const Tensor y = unset(x.shape(), DType::f64);
  tested().rotary(x, positions_of(positions, {2, 2, 2}), base, false, false, y);
  expect_same_numbers(y, by_hand(x, positions, false), 1e-14);
}

TEST(Rotary, DoesNotDependOnTheThreads) {
  const Tensor x = random_tensor({2, 300, 64}, DType::f32, 1);
  const Tensor at = Tensor::zeros({2, 300}, DType::i32);
  expect_same_for_any_threads([&] {
    const Tensor y = unset(x.shape(), DType::f32);
    tested().rotary(x, at, base, true, false, y);
    return y;
  });
}

}  // namespace
}  // namespace heed::kernels::test
