#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "tests/kernels/support.h"

namespace heed::kernels::test {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double inf = std::numeric_limits<double>::infinity();

// The shape of y when the dimensions whose bit is set fall together.
Shape kept_shape(const Shape& shape, unsigned reduced) {
  Shape result = shape;
  for (int d = 0; d < shape.rank(); ++d) {
    if ((reduced >> d & 1U) != 0) {
      result[d] = 1;
    }
  }
  return result;
}

std::vector<double> reduced_by_hand(ReduceOp op, const Tensor& x, const Shape& kept) {
  std::vector<double> result(static_cast<size_t>(kept.numel()), op == ReduceOp::sum ? 0 : -inf);
  Shape strides = kept.strides();
  for (int d = 0; d < kept.rank(); ++d) {
    strides[d] = kept[d] == 1 ? 0 : strides[d];
  }
  const std::vector<double> values = x.to_doubles();
  size_t i = 0;
  for_each_offset(x.shape(), strides, [&](int64_t at) {
    double& sum = result[static_cast<size_t>(at)];
    sum = op == ReduceOp::sum ? sum + values[i] : std::max(sum, values[i]);
    ++i;
  });
  return result;
}

TEST(Reduce, MatchesPlainLoopsOverAnySetOfDimensions) {
  for (const Shape& shape : {Shape{}, Shape{1}, Shape{13}, Shape{5, 1}, Shape{1, 5}, Shape{17, 19},
                             Shape{3, 5, 7}, Shape{2, 3, 1, 4}, Shape{2, 3, 2, 3, 2}}) {
    for (const DType dtype : {DType::f32, DType::f64}) {
      const Tensor x = random_tensor(shape, dtype, 1);
      for (unsigned reduced = 0; reduced < 1U << shape.rank(); ++reduced) {
        const Shape kept = kept_shape(shape, reduced);
        for (const ReduceOp op : {ReduceOp::sum, ReduceOp::maximum}) {
          for (const Layout layout : layouts) {
            SCOPED_TRACE(testing::Message() << shape.to_string() << " to " << kept.to_string());
            const Tensor y = unset(kept, dtype);
            tested().reduce(op, laid_out(x, layout), y);
            expect_same_numbers(y, reduced_by_hand(op, x, kept),
                                op == ReduceOp::sum ? tolerance_of(dtype) : 0);
          }
        }
      }
    }
  }
}

TEST(Reduce, ReadsBroadcastDimensions) {
  const Tensor row = from_doubles({1, 2, 3}, {3}, DType::f32);
  const Tensor x = row.as_strided({4, 3}, {0, 1}, 0);
  const Tensor rows = unset({4, 1}, DType::f32);
  tested().reduce(ReduceOp::sum, x, rows);
  expect_same_numbers(rows, {6, 6, 6, 6}, 0);
  const Tensor columns = unset({1, 3}, DType::f32);
  tested().reduce(ReduceOp::sum, x, columns);
  expect_same_numbers(columns, {4, 8, 12}, 0);
}

TEST(Reduce, SumOfNothingIsZero) {
  for (const auto& [from, to] : std::vector<std::pair<Shape, Shape>>{{{0}, {1}},
                                                                     {{3, 0}, {3, 1}},
                                                                     {{0, 3}, {1, 3}},
                                                                     {{2, 0, 3}, {1, 1, 3}},
                                                                     {{2, 0, 3}, {2, 1, 1}},
                                                                     {{2, 0, 3}, {1, 1, 1}},
                                                                     {{0, 3}, {0, 1}}}) {
    SCOPED_TRACE(from.to_string() + " to " + to.to_string());
    const Tensor y = unset(to, DType::f32);
    tested().reduce(ReduceOp::sum, Tensor::zeros(from), y);
    expect_same_numbers(y, std::vector<double>(static_cast<size_t>(to.numel()), 0), 0);
  }
}

TEST(Reduce, KeepsNanAndInfinity) {
  const Tensor x = from_doubles({1, nan, 3, -inf, -inf, -inf, inf, 5, -inf}, {3, 3}, DType::f32);
  for (const Layout layout : layouts) {
    const Tensor y = unset({3, 1}, DType::f32);
    tested().reduce(ReduceOp::maximum, laid_out(x, layout), y);
    expect_same_numbers(y, {nan, -inf, inf}, 0);
    tested().reduce(ReduceOp::sum, laid_out(x, layout), y);
    expect_same_numbers(y, {nan, -inf, nan}, 0);
    const Tensor columns = unset({1, 3}, DType::f32);
    tested().reduce(ReduceOp::maximum, laid_out(x, layout), columns);
    expect_same_numbers(columns, {inf, nan, 3}, 0);
  }
}

TEST(Reduce, AddsUpManySmallNumbers) {
  // In f32 a running sum of tenths is off by more than a thousandth here.
  const Tensor x = Tensor::full({300'000, 2}, 0.1);
  const double tenth = static_cast<double>(0.1F);
  const Tensor all = unset({1, 1}, DType::f32);
  tested().reduce(ReduceOp::sum, x, all);
  expect_same_numbers(all, {600'000 * tenth}, 1e-7);
  const Tensor columns = unset({1, 2}, DType::f32);
  tested().reduce(ReduceOp::sum, x, columns);
  expect_same_numbers(columns, {300'000 * tenth, 300'000 * tenth}, 1e-7);
}

TEST(Reduce, DoesNotDependOnTheThreads) {
  const Tensor x = random_tensor({211, 7, 103}, DType::f32, 1);
  for (const Shape& kept :
       {Shape{211, 7, 1}, Shape{1, 1, 103}, Shape{1, 7, 1}, Shape{1, 1, 1}, Shape{211, 1, 103}}) {
    expect_same_for_any_threads([&] {
      const Tensor y = unset(kept, x.dtype());
      tested().reduce(ReduceOp::sum, x, y);
      return y;
    });
  }
}

// Runs longer and shorter than a block, and sizes around a multiple of it.
TEST(Reduce, OfEverythingIsTheSameOnAnyNumberOfThreads) {
  for (const Shape& shape :
       {Shape{16'384}, Shape{16'385}, Shape{3, 40'001}, Shape{40'001, 3}, Shape{20, 30, 100}}) {
    const Tensor x = random_tensor(shape, DType::f32, 1);
    const Shape kept = Shape::filled(shape.rank(), 1);
    // Every second row of twice as many: nothing merges.
    Shape sparse = x.strides();
    sparse[0] *= 2;
    Shape twice = shape;
    twice[0] *= 2;
    const Tensor rows = random_tensor(twice, DType::f32, 2).as_strided(shape, sparse, 0);
    for (const Tensor& view : {x, laid_out(x, Layout::turned), laid_out(x, Layout::spaced), rows}) {
      for (const ReduceOp op : {ReduceOp::sum, ReduceOp::maximum}) {
        const auto compute = [&] {
          const Tensor y = unset(kept, DType::f32);
          tested().reduce(op, view, y);
          return y;
        };
        SCOPED_TRACE(shape.to_string());
        expect_same_for_any_threads(compute);
        expect_same_numbers(compute(), reduced_by_hand(op, view, kept), 1e-6);
      }
    }
  }
}

TEST(ArgMax, IsTheFirstOfTheLargest) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    const Tensor x = from_doubles({1, 5, 2, 5, -3, -3, -3, -3, -inf, -inf, 0, -inf}, {3, 4}, dtype);
    const Tensor y = unset({3}, DType::i32);
    tested().arg_max(x, y);
    expect_same_numbers(y, {1, 0, 2}, 0);
  }
  tested().arg_max(Tensor::zeros({0, 4}), unset({0}, DType::i32));
}

TEST(ArgMax, MatchesAScanOfManyRows) {
  const Tensor x = random_tensor({401, 89}, DType::f32, 1);
  const Tensor y = unset({401}, DType::i32);
  set_thread_count(3);
  tested().arg_max(x, y);
  set_thread_count(available_cores());
  const std::vector<float> all = x.to_vector<float>();
  std::vector<double> expected;
  for (int64_t n = 0; n < 401; ++n) {
    const float* row = all.data() + n * 89;
    expected.push_back(static_cast<double>(std::max_element(row, row + 89) - row));
  }
  expect_same_numbers(y, expected, 0);
}

TEST(TopK, SortsByValueThenIndex) {
  const Tensor x = from_doubles({1, 7, 7, -inf, 3, 0, 0, 0, 0, 0}, {2, 5}, DType::f32);
  const Tensor values = unset({2, 3}, DType::f32);
  const Tensor indices = unset({2, 3}, DType::i32);
  tested().top_k(x, values, indices);
  expect_same_numbers(values, {7, 7, 3, 0, 0, 0}, 0);
  expect_same_numbers(indices, {1, 2, 4, 0, 1, 2}, 0);
}

TEST(TopK, NanComesFirst) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    std::vector<double> rows = {5, nan, 3, -inf, nan, inf, nan, nan, nan, 1, 2, nan};
    rows.insert(rows.end(), 36, 0);  // rows of 16, in which vectors of every width find them
    const Tensor x = from_doubles(rows, {3, 16}, dtype);
    const Tensor values = unset({3, 4}, dtype);
    const Tensor indices = unset({3, 4}, DType::i32);
    tested().top_k(x, values, indices);
    expect_same_numbers(indices, {1, 4, 6, 7, 0, 1, 2, 3, 0, 1, 2, 3}, 0);
    expect_same_numbers(values, {nan, nan, nan, nan, 0, 0, 0, 0, 0, 0, 0, 0}, 0);
    const Tensor narrow =
        from_doubles({1, nan, 3, 5, nan, 3, 4, 4, nan, nan, nan, nan}, {3, 4}, dtype);
    const Tensor two = unset({3, 2}, dtype);
    const Tensor places = unset({3, 2}, DType::i32);
    tested().top_k(narrow, two, places);
    expect_same_numbers(two, {nan, 5, nan, 4, nan, nan}, 0);
    expect_same_numbers(places, {1, 3, 0, 2, 0, 1}, 0);
  }
}

TEST(TopK, MatchesASortOfManyRows) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    for (const int64_t k : {1, 5, 97}) {
      const Tensor x = random_tensor({203, 97}, dtype, 1);
      const Tensor values = unset({203, k}, dtype);
      const Tensor indices = unset({203, k}, DType::i32);
      tested().top_k(x, values, indices);
      const std::vector<double> all = x.to_doubles();
      std::vector<double> expected_values;
      std::vector<double> expected_indices;
      for (int64_t n = 0; n < 203; ++n) {
        const double* row = all.data() + n * 97;
        std::vector<int> order(97);
        std::iota(order.begin(), order.end(), 0);
        std::stable_sort(order.begin(), order.end(),
                         [row](int a, int b) { return row[a] > row[b]; });
        for (size_t i = 0; i < static_cast<size_t>(k); ++i) {
          expected_values.push_back(row[order[i]]);
          expected_indices.push_back(order[i]);
        }
      }
      expect_same_numbers(values, expected_values, 0);
      expect_same_numbers(indices, expected_indices, 0);
    }
  }
}

TEST(SumsOfSquares, AddUpInDouble) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    for (const int64_t count : {0, 1, 7, 8, 17, 16384, 16385, 100'003}) {
      const Tensor x = random_tensor({count}, dtype, 1);
      double expected = 0;
      for (const double value : x.to_doubles()) {
        expected += value * value;
      }
      const Tensor y = unset({1}, DType::f64);
      tested().sums_of_squares(std::array{x}, y);
      expect_same_numbers(y, {expected}, 1e-13);
    }
  }
  // Squares past what f32 holds.
  const Tensor y = unset({1}, DType::f64);
  tested().sums_of_squares(std::array{Tensor::full({2}, 1e30)}, y);
  expect_same_numbers(y, {2e60}, 1e-6);
  const Tensor x = random_tensor({200'003}, DType::f32, 1);
  expect_same_for_any_threads([&] {
    tested().sums_of_squares(std::array{x}, y);
    return y;
  });
}

// More than a launch on a device takes, of other sizes each.
TEST(SumsOfSquares, AreOneATensor) {
  std::vector<Tensor> all;
  std::vector<double> expected;
  for (int64_t i = 0; i < 260; ++i) {
    all.push_back(random_tensor({i == 130 ? 20'011 : i * 7 % 301}, DType::f32, 1));
    expected.push_back(0);
    for (const double value : all.back().to_doubles()) {
      expected.back() += value * value;
    }
  }
  const Tensor y = unset({260}, DType::f64);
  tested().sums_of_squares(all, y);
  expect_same_numbers(y, expected, 1e-13);
  tested().sums_of_squares({}, unset({0}, DType::f64));
}

TEST(AllFinite, FindsOneBadElementAnywhere) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    for (const int64_t count : {1, 5, 50'021}) {
      const Tensor x = random_tensor({count}, dtype, 1);
      const Tensor y = unset({1}, DType::boolean);
      tested().all_finite(x, y);
      EXPECT_EQ(y.item(), 1);
      for (const double bad : {nan, inf, -inf}) {
        for (const int64_t at : {int64_t{0}, count / 2, count - 1}) {
          const Tensor spoiled = Tensor::empty({count}, dtype);
          tested().copy(x, spoiled);
          tested().fill(spoiled.as_strided({1}, {1}, at), bad);
          tested().all_finite(spoiled, y);
          EXPECT_EQ(y.item(), 0) << bad << " at " << at;
        }
      }
    }
  }
}

TEST(AllFinite, LooksAtTheElementsOfAViewOnly) {
  const Tensor memory = from_doubles({1, nan, 2, inf}, {4}, DType::f32);
  const Tensor y = unset({1}, DType::boolean);
  tested().all_finite(memory.as_strided({2}, {2}, 0), y);
  EXPECT_EQ(y.item(), 1);
  tested().all_finite(memory.as_strided({2}, {2}, 1), y);
  EXPECT_EQ(y.item(), 0);
  tested().all_finite(Tensor::zeros({0, 3}), y);
  EXPECT_EQ(y.item(), 1);
}

}  // namespace
}  // namespace heed::kernels::test
