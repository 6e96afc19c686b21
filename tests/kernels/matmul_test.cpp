#include <cblas.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "tests/kernels/support.h"
#include "tests/support/error_of.h"

namespace heed::kernels::test {
namespace {

// y + a b over dense copies of the operands.
std::vector<double> product_by_hand(const Tensor& a, const Tensor& b, std::vector<double> y) {
  const std::vector<double> left = a.to_doubles();
  const std::vector<double> right = b.to_doubles();
  const int64_t m = a.dim(-2);
  const int64_t k = a.dim(-1);
  const int64_t n = b.dim(-1);
  for (int64_t at = 0; at < static_cast<int64_t>(y.size()); ++at) {
    const int64_t batch = at / (m * n);
    const int64_t row = at / n % m;
    const int64_t column = at % n;
    for (int64_t i = 0; i < k; ++i) {
      y[static_cast<size_t>(at)] += left[static_cast<size_t>((batch * m + row) * k + i)] *
                                    right[static_cast<size_t>((batch * k + i) * n + column)];
    }
  }
  return y;
}

Shape matrices(const Shape& batch, int64_t rows, int64_t columns) {
  Shape shape = batch;
  shape.push_back(rows);
  shape.push_back(columns);
  return shape;
}

// Sums of k products of numbers below 2.
double product_tolerance(DType dtype, int64_t k) {
  return tolerance_of(dtype) * static_cast<double>(8 + k) / 4;
}

void expect_product(const Tensor& a, const Tensor& b) {
  SCOPED_TRACE(a.shape().to_string() + " by " + b.shape().to_string() + ", strides " +
               a.strides().to_string() + " and " + b.strides().to_string());
  Shape shape = a.shape();
  shape[shape.rank() - 1] = b.dim(-1);
  const DType dtype = a.dtype();
  const auto count = static_cast<size_t>(shape.numel());
  const Tensor y = unset(shape, dtype);
  tested().matmul(a, b, y, 0);
  expect_same_numbers(y, product_by_hand(a, b, std::vector<double>(count, 0)),
                      product_tolerance(dtype, a.dim(-1)));

  const Tensor start = random_tensor(shape, dtype, 9);
  std::vector<double> half = start.to_doubles();
  for (double& value : half) {
    value *= 0.5;
  }
  tested().matmul(a, b, start, 0.5);
  expect_same_numbers(start, product_by_hand(a, b, half), product_tolerance(dtype, a.dim(-1)));
}

TEST(Matmul, MatchesPlainLoopsInEveryLayout) {
  struct Size {
    int64_t m, k, n;
  };
  for (const auto& [m, k, n] : std::vector<Size>{
           {1, 1, 1}, {1, 7, 5}, {7, 5, 1}, {1, 9, 1}, {5, 1, 7}, {3, 4, 5}, {17, 13, 19}}) {
    for (const Shape& batch : {Shape{}, Shape{1}, Shape{3}, Shape{2, 3}}) {
      for (const DType dtype : {DType::f32, DType::f64}) {
        const Tensor a = random_tensor(matrices(batch, m, k), dtype, 1);
        const Tensor b = random_tensor(matrices(batch, k, n), dtype, 2);
        for (const Layout left : layouts) {
          for (const Layout right : layouts) {
            expect_product(laid_out(a, left), laid_out(b, right));
          }
        }
      }
    }
  }
}

TEST(Matmul, ReadsTransposedMatricesAndHeads) {
  const Tensor x = random_tensor({4, 6, 5, 7}, DType::f32, 1);  // (B, T, heads, d)
  const Tensor heads = x.as_strided({4, 5, 6, 7}, {210, 7, 35, 1}, 0);
  const Tensor transposed = x.as_strided({4, 5, 7, 6}, {210, 7, 1, 35}, 0);
  expect_product(heads, transposed);
  expect_product(transposed, heads);
}

TEST(Matmul, ReadsBroadcastOperands) {
  const Tensor x = random_tensor({64}, DType::f64, 1);
  const Tensor b = random_tensor({3, 4, 5}, DType::f64, 2);
  expect_product(x.as_strided({3, 2, 4}, {0, 4, 1}, 1), b);   // one matrix for every batch
  expect_product(x.as_strided({3, 2, 4}, {8, 0, 1}, 0), b);   // equal rows
  expect_product(x.as_strided({3, 2, 4}, {8, 1, 0}, 0), b);   // equal columns
  expect_product(x.as_strided({3, 2, 4}, {0, 0, 0}, 7), b);   // one number
  expect_product(x.as_strided({3, 2, 4}, {4, 1, 1}, 0), b);   // overlapping rows
  expect_product(x.as_strided({3, 1, 4}, {4, 0, 3}, 0), b);   // a strided row
  expect_product(x.as_strided({3, 2, 4}, {0, 12, 3}, 0), b);  // neither stride is 1
  expect_product(x.as_strided({3, 4, 1}, {1, 0, 0}, 0), b.as_strided({3, 1, 5}, {20, 0, 0}, 0));
}

TEST(Matmul, WritesIntoAViewOfWideRows) {
  const Tensor a = random_tensor({2, 3, 4}, DType::f32, 1);
  const Tensor b = random_tensor({2, 4, 5}, DType::f32, 2);
  const Tensor memory = Tensor::zeros({2, 3, 9});
  const Tensor y = memory.as_strided({2, 3, 5}, {27, 9, 1}, 2);
  tested().matmul(a, b, y, 0);
  expect_same_numbers(y, product_by_hand(a, b, std::vector<double>(30, 0)), 1e-5);
  const std::vector<double> all = memory.to_doubles();
  for (size_t row = 0; row < 6; ++row) {
    for (const size_t column : {0, 1, 7, 8}) {
      EXPECT_EQ(all[row * 9 + column], 0.0);
    }
  }
  // A single row whose stride says nothing.
  const Tensor line = memory.as_strided({1, 5}, {1, 1}, 2);
  const Tensor left = a.as_strided({1, 4}, {4, 1}, 0);
  const Tensor right = b.as_strided({4, 5}, {5, 1}, 0);
  tested().fill(line, NAN);
  tested().matmul(left, right, line, 0);
  expect_same_numbers(line, product_by_hand(left, right, std::vector<double>(5, 0)), 1e-5);
}

TEST(Matmul, SumsOverNothing) {
  const Tensor a = Tensor::zeros({2, 3, 0});
  const Tensor b = Tensor::zeros({2, 0, 4});
  const Tensor y = unset({2, 3, 4}, DType::f32);
  tested().matmul(a, b, y, 0);
  expect_same_numbers(y, std::vector<double>(24, 0), 0);
  tested().fill(y, 3);
  tested().matmul(a, b, y, 0.5);
  expect_same_numbers(y, std::vector<double>(24, 1.5), 0);
}

TEST(Matmul, WritesNothingWhenThereIsNothing) {
  const auto product = [](const Shape& a, const Shape& b, const Shape& y) {
    tested().matmul(Tensor::zeros(a), Tensor::zeros(b), Tensor::zeros(y), 0);
  };
  product({0, 3}, {3, 4}, {0, 4});
  product({2, 3}, {3, 0}, {2, 0});
  product({0, 2, 3}, {0, 3, 4}, {0, 2, 4});
}

// Large enough to be split along the rows, the columns and the batches.
TEST(Matmul, SplitsOverTheThreads) {
  struct Case {
    Shape batch;
    int64_t m, k, n;
  };
  for (const int threads : {1, 2, 3}) {
    set_thread_count(threads);
    for (const auto& [batch, m, k, n] : std::vector<Case>{{{}, 131, 67, 45},
                                                          {{}, 45, 67, 131},
                                                          {{}, 1, 301, 499},
                                                          {{}, 499, 301, 1},
                                                          {{5}, 33, 70, 41}}) {
      const Tensor a = random_tensor(matrices(batch, m, k), DType::f32, 1);
      const Tensor b = random_tensor(matrices(batch, k, n), DType::f32, 2);
      expect_product(a, b);
      expect_product(laid_out(a, Layout::turned), laid_out(b, Layout::turned));
    }
  }
  set_thread_count(available_cores());
}

// BLAS counts with 32 bits. Strides of 0 stand for the memory.
TEST(Matmul, SaysWhenAMatrixIsTooLargeForBlas) {
  constexpr int64_t large = int64_t{1} << 31;
  const auto zeros = [](int64_t rows, int64_t columns) {
    return Tensor::zeros({}).as_strided({rows, columns}, {0, 0}, 0);
  };
  const std::string message =
      "[matmul] a matrix is too large for BLAS: it has a size or a row stride of 2147483648, "
      "2147483647 is the most";
  for (const auto& [m, k, n] :
       {std::array{large, int64_t{1}, int64_t{1}}, std::array{int64_t{1}, large, int64_t{1}},
        std::array{int64_t{1}, int64_t{1}, large}}) {
    EXPECT_EQ(heed::test::error_of([&, m = m, k = k, n = n] {
                tested().matmul(zeros(m, k), zeros(k, n), zeros(m, n), 0);
              }),
              message);
    EXPECT_EQ(heed::test::error_of([&, m = m, k = k, n = n] {
                tested().linear(zeros(m, k), zeros(n, k), {}, zeros(m, n));
              }),
              message);
  }
}

TEST(Linear, IsXTimesTheTransposeOfWPlusBias) {
  struct Size {
    int64_t rows, in, out;
  };
  for (const int threads : {1, 3}) {
    set_thread_count(threads);
    for (const auto& [rows, in, out] : std::vector<Size>{{1, 1, 1},
                                                         {1, 7, 5},
                                                         {5, 7, 1},
                                                         {3, 4, 5},
                                                         {17, 13, 19},
                                                         {3, 0, 2},
                                                         {0, 3, 2},
                                                         {3, 2, 0},
                                                         {2, 99, 501},
                                                         {8, 67, 33},
                                                         {9, 67, 33},
                                                         {301, 99, 53}}) {
      for (const DType dtype : {DType::f32, DType::f64}) {
        const Tensor x = random_tensor({rows, in}, dtype, 1);
        const Tensor w = random_tensor({out, in}, dtype, 2);
        const Tensor bias = random_tensor({out}, dtype, 3);
        for (const bool biased : {false, true}) {
          SCOPED_TRACE(testing::Message() << rows << " rows, " << in << " to " << out);
          std::vector<double> start(static_cast<size_t>(rows * out), 0);
          for (size_t i = 0; biased && i < start.size(); ++i) {
            start[i] = bias.to_doubles()[i % static_cast<size_t>(out)];
          }
          const Tensor y = unset({rows, out}, dtype);
          tested().linear(x, w, biased ? bias : Tensor(), y);
          expect_same_numbers(y, product_by_hand(x, w.as_strided({in, out}, {1, in}, 0), start),
                              product_tolerance(dtype, in));
        }
      }
    }
  }
  set_thread_count(available_cores());
}

// A decoder's rows do not depend on how many are decoded with them.
TEST(Matmul, FewRowsGiveWhatEachGivesAlone) {
  if (default_device().kind == DeviceKind::cuda) {
    GTEST_SKIP() << "cuBLAS makes no such promise";
  }
  const Tensor x = random_tensor({8, 67}, DType::f32, 1);
  const Tensor w = random_tensor({33, 67}, DType::f32, 2);
  const Tensor together = unset({8, 33}, DType::f32);
  tested().linear(x, w, {}, together);
  for (int64_t rows = 1; rows < 8; ++rows) {
    const Tensor y = unset({rows, 33}, DType::f32);
    tested().linear(x.as_strided({rows, 67}, {67, 1}, 0), w, {}, y);
    const auto all = together.to_vector<float>();
    EXPECT_EQ(
        y.to_vector<float>(),
        std::vector<float>(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(33 * rows)));
  }
}

// Its own threads would spin against those of heed, which call it.
TEST(Matmul, IsGivenToABlasOfOneThread) {
  const Tensor x = Tensor::full({300, 300}, 1, DType::f32, Device{});
  const Tensor y = Tensor::empty({300, 300}, DType::f32, Device{});
  backend(Device{}).matmul(x, x, y, 0);
  EXPECT_EQ(y.to_doubles().back(), 300);
  EXPECT_EQ(openblas_get_num_threads(), 1);
}

}  // namespace
}  // namespace heed::kernels::test
