#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "tests/kernels/support.h"

namespace heed::kernels::test {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double inf = std::numeric_limits<double>::infinity();

TEST(MaxPairs, MatchesPlainLoops) {
  for (const Shape& shape :
       {Shape{0, 3}, Shape{3, 0}, Shape{1, 1}, Shape{5, 1}, Shape{17, 19}, Shape{101, 67}}) {
    for (const DType dtype : {DType::f32, DType::f64}) {
      SCOPED_TRACE(shape.to_string());
      const Tensor x = random_tensor({shape[0], 2 * shape[1]}, dtype, 1);
      const Tensor dy = random_tensor(shape, dtype, 2);
      const std::vector<double> values = x.to_doubles();
      const std::vector<double> incoming = dy.to_doubles();
      std::vector<double> expected;
      std::vector<double> gradient(values.size(), 0);
      for (size_t i = 0; i < incoming.size(); ++i) {
        expected.push_back(std::max(values[2 * i], values[2 * i + 1]));
        gradient[values[2 * i] >= values[2 * i + 1] ? 2 * i : 2 * i + 1] = incoming[i];
      }
      const Tensor y = unset(shape, dtype);
      tested().max_pairs(x, y);
      expect_same_numbers(y, expected, 0);
      const Tensor dx = unset(x.shape(), dtype);
      tested().max_pairs_backward(x, dy, dx);
      expect_same_numbers(dx, gradient, 0);
    }
  }
}

TEST(MaxPairs, EqualOnesGiveTheFirstTheGradient) {
  const Tensor x = from_doubles({2, 2, 0, -0.0, -inf, -inf, 1, inf}, {2, 4}, DType::f32);
  const Tensor dx = unset({2, 4}, DType::f32);
  tested().max_pairs_backward(x, from_doubles({5, 6, 7, 8}, {2, 2}, DType::f32), dx);
  expect_same_numbers(dx, {5, 0, 6, 0, 7, 0, 0, 8}, 0);
}

TEST(MaxPairs, NanStaysVisible) {
  const Tensor y = unset({1, 4}, DType::f32);
  tested().max_pairs(from_doubles({nan, 1, 1, nan, nan, nan, -inf, 3}, {1, 8}, DType::f32), y);
  expect_same_numbers(y, {nan, nan, nan, 3}, 0);
}

}  // namespace
}  // namespace heed::kernels::test
