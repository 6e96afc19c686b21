#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "tests/kernels/support.h"

namespace heed::kernels::test {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double inf = std::numeric_limits<double>::infinity();

const std::vector<Shape> shapes = {
    {}, {1}, {0}, {7}, {3, 0, 2}, {5, 1, 3}, {2, 3, 5}, {3, 2, 1, 4}, {2, 2, 2, 2, 3}};

using Scalar = std::function<double(double, double)>;

std::vector<double> zip(const Tensor& a, const Tensor& b, const Scalar& f) {
  std::vector<double> left = a.to_doubles();
  const std::vector<double> right = b.to_doubles();
  std::transform(left.begin(), left.end(), right.begin(), left.begin(), f);
  return left;
}

TEST(Fill, SetsEveryElementOfAView) {
  for (const DType dtype : {DType::f32, DType::f64, DType::i32, DType::boolean}) {
    for (const Layout layout : layouts) {
      const Tensor y = laid_out(unset({3, 5, 2}, dtype), layout);
      tested().fill(y, 1);
      expect_same_numbers(y, std::vector<double>(30, 1), 0);
    }
  }
  const Tensor memory = Tensor::zeros({4, 4});
  tested().fill(memory.as_strided({2, 2}, {4, 1}, 5), 7);
  EXPECT_EQ(memory.to_doubles(),
            (std::vector<double>{0, 0, 0, 0, 0, 7, 7, 0, 0, 7, 7, 0, 0, 0, 0, 0}));
}

TEST(Copy, MovesBetweenAnyLayouts) {
  for (const Shape& shape : shapes) {
    const Tensor x = random_tensor(shape, DType::f32, 1);
    for (const Layout from : layouts) {
      for (const Layout to : layouts) {
        const Tensor y = laid_out(unset(shape, DType::f32), to);
        tested().copy(laid_out(x, from), y);
        expect_same_numbers(y, x.to_doubles(), 0);
      }
    }
  }
}

// Matrices and batches of them, smaller and larger than a tile of any dtype.
TEST(Copy, TransposesAnySizeOfMatrix) {
  for (const Shape& shape : {Shape{2, 2}, Shape{2, 300}, Shape{31, 33}, Shape{64, 64},
                             Shape{65, 63}, Shape{129, 200}, Shape{3, 70, 2, 66}}) {
    const Tensor x = random_tensor(shape, DType::f64, 1, -100, 100);
    for (const auto& [from, to] :
         std::vector<std::pair<DType, DType>>{{DType::f32, DType::f32},
                                              {DType::f64, DType::f64},
                                              {DType::f64, DType::f32},
                                              {DType::i32, DType::f64},
                                              {DType::f32, DType::i32},
                                              {DType::boolean, DType::i32}}) {
      SCOPED_TRACE(shape.to_string() + " " + std::string(dtype_name(from)));
      const Tensor given = from_doubles(x.to_doubles(), shape, from);
      const Tensor expected = unset(shape, to);
      const std::vector<double> values = from_doubles(given.to_doubles(), shape, to).to_doubles();
      tested().copy(laid_out(given, Layout::turned), expected);
      EXPECT_EQ(expected.to_doubles(), values);
      const Tensor turned = laid_out(unset(shape, to), Layout::turned);
      tested().copy(given, turned);
      EXPECT_EQ(turned.to_doubles(), values);
    }
  }
}

TEST(Copy, TransposesOnAnyNumberOfThreads) {
  const Tensor x = random_tensor({2, 300, 257}, DType::f32, 1);
  expect_same_for_any_threads([&] {
    const Tensor y = unset({257, 300, 2}, DType::f32);
    tested().copy(x.as_strided({257, 300, 2}, {1, 257, 300 * 257}, 0), y);
    return y;
  });
}

TEST(Copy, Converts) {
  const Tensor x = from_doubles({-2, 0, 1, 3}, {4}, DType::f64);
  for (const DType dtype : {DType::f32, DType::i32}) {
    const Tensor y = unset({4}, dtype);
    tested().copy(x, y);
    expect_same_numbers(y, {-2, 0, 1, 3}, 0);
  }
  const Tensor truth = unset({4}, DType::boolean);
  tested().copy(x, truth);
  expect_same_numbers(truth, {1, 0, 1, 1}, 0);
  const Tensor back = unset({4}, DType::i32);
  tested().copy(truth, back);
  expect_same_numbers(back, {1, 0, 1, 1}, 0);
}

struct BinaryCase {
  BinaryOp op;
  Scalar f;
};
const std::vector<BinaryCase> binary_cases = {
    {BinaryOp::add, [](double a, double b) { return a + b; }},
    {BinaryOp::subtract, [](double a, double b) { return a - b; }},
    {BinaryOp::multiply, [](double a, double b) { return a * b; }},
    {BinaryOp::divide, [](double a, double b) { return a / b; }},
    {BinaryOp::maximum, [](double a, double b) { return std::max(a, b); }},
    {BinaryOp::minimum, [](double a, double b) { return std::min(a, b); }},
};

TEST(Binary, MatchesScalarsInEveryLayout) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    for (const Shape& shape : shapes) {
      const Tensor a = random_tensor(shape, dtype, 1);
      const Tensor b = random_tensor(shape, dtype, 2, 0.5, 2);
      for (const BinaryCase& c : binary_cases) {
        for (const Layout left : layouts) {
          for (const Layout right : layouts) {
            const Tensor y = unset(shape, dtype);
            tested().binary(c.op, laid_out(a, left), laid_out(b, right), y);
            expect_same_numbers(y, zip(a, b, c.f), tolerance_of(dtype));
          }
        }
      }
    }
  }
}

TEST(Binary, Broadcasts) {
  const Tensor dense = random_tensor({3, 4, 5}, DType::f64, 1);
  const Tensor small = random_tensor({64}, DType::f64, 2, 0.5, 2);
  // A scalar, a row, a column, a matrix over the first dimension, and one across two dimensions.
  for (const Shape& strides : {Shape{0, 0, 0}, Shape{0, 0, 1}, Shape{0, 1, 0}, Shape{0, 5, 1},
                               Shape{1, 0, 0}, Shape{5, 0, 1}}) {
    const Tensor expanded = small.as_strided({3, 4, 5}, strides, 2);
    for (const BinaryCase& c : binary_cases) {
      const Tensor y = unset({3, 4, 5}, DType::f64);
      tested().binary(c.op, dense, expanded, y);
      expect_same_numbers(y, zip(dense, expanded, c.f), 1e-14);
      tested().binary(c.op, expanded, dense, y);
      expect_same_numbers(y, zip(expanded, dense, c.f), 1e-14);
    }
  }
}

TEST(Binary, WorksInPlace) {
  const Tensor a = random_tensor({3, 5}, DType::f64, 1);
  const Tensor b = random_tensor({3, 5}, DType::f64, 2);
  const std::vector<double> expected = zip(a, b, [](double l, double r) { return l - r; });
  tested().binary(BinaryOp::subtract, a, b, a);
  expect_same_numbers(a, expected, 0);
}

TEST(Binary, CountsInWholeNumbers) {
  const Tensor a = from_doubles({-7, 8, 9, 16777217}, {4}, DType::i32);
  const Tensor b = from_doubles({2, 3, -4, 1}, {4}, DType::i32);
  const Tensor y = unset({4}, DType::i32);
  const auto of = [&](BinaryOp op) {
    tested().binary(op, a, b, y);
    return y.to_vector<int32_t>();
  };
  using Ints = std::vector<int32_t>;
  EXPECT_EQ(of(BinaryOp::add), (Ints{-5, 11, 5, 16777218}));
  EXPECT_EQ(of(BinaryOp::subtract), (Ints{-9, 5, 13, 16777216}));
  EXPECT_EQ(of(BinaryOp::multiply), (Ints{-14, 24, -36, 16777217}));
  EXPECT_EQ(of(BinaryOp::divide), (Ints{-3, 2, -2, 16777217}));
  EXPECT_EQ(of(BinaryOp::maximum), (Ints{2, 8, 9, 16777217}));
  EXPECT_EQ(of(BinaryOp::minimum), (Ints{-7, 3, -4, 1}));
}

TEST(Binary, CarriesNanThrough) {
  const Tensor a = from_doubles({nan, 1, nan, inf}, {4}, DType::f32);
  const Tensor b = from_doubles({1, nan, nan, -inf}, {4}, DType::f32);
  const Tensor y = unset({4}, DType::f32);
  tested().binary(BinaryOp::maximum, a, b, y);
  expect_same_numbers(y, {nan, nan, nan, inf}, 0);
  tested().binary(BinaryOp::minimum, a, b, y);
  expect_same_numbers(y, {nan, nan, nan, -inf}, 0);
  tested().binary(BinaryOp::add, a, b, y);
  expect_same_numbers(y, {nan, nan, nan, nan}, 0);
}

TEST(Compare, AnswersForEveryType) {
  struct Case {
    CompareOp op;
    std::vector<double> expected;
  };
  const std::vector<Case> cases = {{CompareOp::equal, {0, 1, 0}},
                                   {CompareOp::not_equal, {1, 0, 1}},
                                   {CompareOp::less, {1, 0, 0}},
                                   {CompareOp::less_equal, {1, 1, 0}}};
  for (const DType dtype : {DType::f32, DType::f64, DType::i32, DType::boolean}) {
    const Tensor a = from_doubles({0, 1, 1}, {3}, dtype);
    const Tensor b = from_doubles({1, 1, 0}, {3}, dtype);
    for (const Case& c : cases) {
      const Tensor y = Tensor::full({3}, 1, DType::boolean);
      tested().compare(c.op, a, laid_out(b, Layout::spaced), y);
      expect_same_numbers(y, c.expected, 0);
    }
  }
  const Tensor number = Tensor::full({1}, nan);
  for (const Case& c : cases) {
    const Tensor y = Tensor::full({1}, 1, DType::boolean);
    tested().compare(c.op, number, number, y);
    expect_same_numbers(y, {c.op == CompareOp::not_equal ? 1.0 : 0.0}, 0);
  }
}

TEST(Affine, ScalesAndShifts) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    const Tensor x = random_tensor({3, 5, 2}, dtype, 1);
    std::vector<double> expected = x.to_doubles();
    for (double& value : expected) {
      value = -1.5 * value + 0.25;
    }
    for (const Layout layout : layouts) {
      const Tensor y = unset({3, 5, 2}, dtype);
      tested().affine(laid_out(x, layout), -1.5, 0.25, y);
      expect_same_numbers(y, expected, tolerance_of(dtype));
    }
  }
}

TEST(Where, ChoosesAndIgnoresTheOther) {
  const Tensor condition = from_doubles({1, 0, 0, 1, 1, 0}, {2, 3}, DType::boolean);
  const Tensor a = from_doubles({1, nan, inf, 4, 5, nan}, {2, 3}, DType::f32);
  const Tensor b = from_doubles({nan, 20, 30, inf, nan, 60}, {2, 3}, DType::f32);
  for (const Layout layout : layouts) {
    const Tensor y = unset({2, 3}, DType::f32);
    tested().where(laid_out(condition, layout), a, laid_out(b, layout), y);
    expect_same_numbers(y, {1, 20, 30, 4, 5, 60}, 0);
  }
  // A mask over the columns and a scalar.
  const Tensor y = unset({2, 3}, DType::f32);
  tested().where(condition.as_strided({2, 3}, {0, 1}, 0), b.as_strided({2, 3}, {0, 0}, 1), a, y);
  expect_same_numbers(y, {20, nan, inf, 20, 5, nan}, 0);
}

TEST(Where, ChoosesWholeNumbersAndBooleans) {
  const Tensor condition = from_doubles({1, 0}, {2}, DType::boolean);
  for (const DType dtype : {DType::i32, DType::boolean}) {
    const Tensor y = unset({2}, dtype);
    tested().where(condition, Tensor::full({2}, 1, dtype), Tensor::full({2}, 0, dtype), y);
    expect_same_numbers(y, {1, 0}, 0);
  }
}

TEST(Dropout, KeepsWhatTheStreamSaysInAnyLayout) {
  const RandomState random{5, 9, 6};  // an offset that is no whole block
  for (const DType dtype : {DType::f32, DType::f64}) {
    for (const Shape& shape : shapes) {
      const Tensor x = random_tensor(shape, dtype, 1);
      for (const double p : {0.0, 0.1, 0.5, 0.9}) {
        std::vector<double> expected = x.to_doubles();
        for (size_t i = 0; i < expected.size(); ++i) {
          expected[i] = philox_uniform(random, i) >= p ? expected[i] / (1 - p) : 0;
        }
        for (const Layout layout : layouts) {
          const Tensor y = unset(shape, dtype);
          tested().dropout(laid_out(x, layout), p, random, y);
          expect_same_numbers(y, expected, tolerance_of(dtype));
        }
      }
    }
  }
}

// Every remainder of a vector, of a block and of the chunks that numbers are drawn in; a block
// number that passes 32 bits on the way.
TEST(Dropout, DrawsExactlyTheNumbersOfTheStream) {
  std::vector<int64_t> counts = {1019, 1025, 3001};
  for (int64_t n = 0; n <= 40; ++n) {
    counts.push_back(n);
  }
  const uint64_t past_32_bits = (uint64_t{1} << 34) - 37;
  for (const int64_t count : counts) {
    for (const uint64_t offset : {0, 1, 2, 3, 4, 7}) {
      for (const uint64_t start : {uint64_t{0}, past_32_bits}) {
        const RandomState random{0xFEDCBA9876543210, 0x123456789ABCDEF0, start + offset};
        for (const DType dtype : {DType::f32, DType::f64}) {
          const Tensor y = unset({count}, dtype);
          tested().dropout(Tensor::full({count}, 3, dtype), 0.75, random, y);
          std::vector<double> expected(static_cast<size_t>(count));
          for (size_t i = 0; i < expected.size(); ++i) {
            expected[i] = philox_uniform(random, i) >= 0.75 ? 12 : 0;
          }
          ASSERT_EQ(y.to_doubles(), expected) << count << " elements from " << random.offset;
        }
      }
    }
  }
}

TEST(Dropout, ComparesWithAProbabilityThatIsNotRoundedToF32) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    for (uint64_t offset = 0; offset < 8; ++offset) {
      const RandomState random{5, 9, offset};
      const double uniform = philox_uniform(random, 0);
      const Tensor y = unset({1}, dtype);
      for (const double p : {std::nextafter(uniform, 0), uniform, std::nextafter(uniform, 1)}) {
        tested().dropout(Tensor::full({1}, 1, dtype), p, random, y);
        EXPECT_EQ(y.item() != 0, uniform >= p);
      }
    }
  }
}

TEST(Dropout, DropsEverythingAtOneAndHidesNan) {
  const Tensor x = from_doubles({1, nan, inf, 2}, {4}, DType::f32);
  tested().dropout(x, 1, {}, x);
  expect_same_numbers(x, {0, 0, 0, 0}, 0);
}

TEST(Elementwise, DoesNotDependOnTheThreads) {
  const Tensor x = random_tensor({97, 1009}, DType::f32, 1);
  expect_same_for_any_threads([&] {
    const Tensor y = unset(x.shape(), x.dtype());
    tested().dropout(x, 0.3, {1, 2, 3}, y);
    return y;
  });
  // Split along the only dimension, and along the outer one of two.
  for (const Tensor& other : {x, laid_out(x, Layout::turned), x.as_strided(x.shape(), {0, 1}, 5)}) {
    const Tensor y = unset(x.shape(), x.dtype());
    set_thread_count(3);
    tested().binary(BinaryOp::multiply, x, other, y);
    set_thread_count(available_cores());
    expect_same_numbers(y, zip(x, other, [](double l, double r) { return l * r; }), 1e-6);
  }
}

}  // namespace
}  // namespace heed::kernels::test
