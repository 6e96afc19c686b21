#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "tests/kernels/tensor_cores.h"
#include "tests/support/error_of.h"

// Products of operands rounded to bf16 or TF32, where the device that is tested has them.
namespace heed::kernels::test {
namespace {

// x with as many significant bits, to the nearest, to even from the middle.
double rounded(double x, int bits) {
  if (x == 0) {
    return 0;
  }
  const double unit = std::ldexp(1, std::ilogb(x) + 1 - bits);
  return std::nearbyint(x / unit) * unit;
}

class PrecisionTest : public OnTensorCores {
 protected:
  static Tensor product(Precision precision, const Tensor& a, const Tensor& b) {
    Shape shape = a.shape();
    shape[a.rank() - 1] = b.dim(-1);
    const Tensor y = unset(shape, a.dtype());
    set_precision(default_device(), precision);
    tested().matmul(a, b, y, 0);
    return y;
  }
};

// a b for a (batch, M, K) and b (batch, K, N) of which every number has that many bits.
std::vector<double> product_by_hand(const Tensor& a, const Tensor& b, int bits) {
  const std::vector<double> left = a.to_doubles(), right = b.to_doubles();
  const auto m = static_cast<size_t>(a.dim(-2)), k = static_cast<size_t>(a.dim(-1));
  const auto n = static_cast<size_t>(b.dim(-1));
  const size_t batch = left.size() / (m * k);
  std::vector<double> y(batch * m * n, 0);
  for (size_t row = 0; row < batch * m; ++row) {
    for (size_t i = 0; i < k; ++i) {
      for (size_t column = 0; column < n; ++column) {
        y[row * n + column] +=
            rounded(left[row * k + i], bits) * rounded(right[(row / m * k + i) * n + column], bits);
      }
    }
  }
  return y;
}

// Nothing but the rounding of the operands sets a product apart from that of f64.
void expect_bf16(const Tensor& y, const Tensor& a, const Tensor& b) {
  expect_same_numbers(y, product_by_hand(a, b, 8),
                      1e-6 * std::sqrt(static_cast<double>(a.dim(-1)) + 1));
}

TEST_F(PrecisionTest, Bf16RoundsTheOperandsAlone) {
  struct Size {
    int64_t m, k, n;
  };
  for (const auto& [m, k, n] : std::vector<Size>{{1, 1, 1}, {1, 7, 5}, {5, 1, 7}, {17, 130, 19}}) {
    const Tensor a = random_tensor({3, m, k}, DType::f32, 1);
    const Tensor b = random_tensor({3, k, n}, DType::f32, 2);
    for (const Layout left : layouts) {
      for (const Layout right : layouts) {
        expect_bf16(product(Precision::bf16, laid_out(a, left), laid_out(b, right)), a, b);
      }
    }
  }
}

TEST_F(PrecisionTest, Bf16ReadsHeadsAndRepeatedOperands) {
  const Tensor x = random_tensor({4, 6, 5, 7}, DType::f32, 1);  // (B, T, heads, d)
  const Tensor b = random_tensor({4, 5, 6, 3}, DType::f32, 2);
  const auto expect = [&](const Tensor& a, const Tensor& other) {
    expect_bf16(product(Precision::bf16, a, other), a, other);
  };
  const Tensor turned_heads = x.as_strided({4, 5, 7, 6}, {210, 7, 1, 35}, 0);
  expect(turned_heads, b);
  expect(x.as_strided({4, 5, 7, 6}, {0, 7, 1, 35}, 0), b);    // one row of heads for all batches
  expect(x.as_strided({4, 5, 7, 6}, {210, 0, 1, 35}, 0), b);  // one head for all
  expect(x.as_strided({4, 5, 7, 6}, {0, 0, 0, 1}, 3), b);     // one row for everything
  expect(b.as_strided({4, 5, 3, 6}, {90, 18, 1, 3}, 0),
         turned_heads.as_strided({4, 5, 6, 7}, {210, 7, 35, 1}, 0));
}

TEST_F(PrecisionTest, Bf16AddsToWhatIsThere) {
  const Tensor a = random_tensor({3, 4}, DType::f32, 1), b = random_tensor({4, 5}, DType::f32, 2);
  const Tensor y = Tensor::full({3, 5}, 1 + std::ldexp(1, -20), DType::f32);
  std::vector<double> expected = product_by_hand(a, b, 8);
  for (double& value : expected) {
    value += 1 + std::ldexp(1, -20);
  }
  set_precision(default_device(), Precision::bf16);
  tested().matmul(a, b, y, 1);
  expect_same_numbers(y, expected, 3e-7);
}

// A product of one term: two rounded operands. A card may cut TF32 off where another rounds it.
TEST_F(PrecisionTest, Tf32KeepsElevenBits) {
  const Tensor a = random_tensor({2, 170, 1}, DType::f32, 1, 1, 2);
  const Tensor b = random_tensor({2, 1, 90}, DType::f32, 2, 1, 2);
  const std::vector<double> exact = product_by_hand(a, b, 24);
  const auto error = [&](Precision precision) {
    return largest_error(product(precision, a, b).to_doubles(), exact);
  };
  // Of both operands, each in [1, 2), rounded to the nearest.
  const double most = 4 * std::ldexp(1, -11);
  EXPECT_LT(error(Precision::tf32), 2.1 * most);
  EXPECT_GT(error(Precision::tf32), most / 2);
  EXPECT_GT(error(Precision::bf16), 4 * most);
}

TEST_F(PrecisionTest, F64AndFloat32AreNotRounded) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    const Tensor a = random_tensor({2, 17, 33}, dtype, 1);
    const Tensor b = random_tensor({2, 33, 9}, dtype, 2);
    const Precision least = dtype == DType::f64 ? Precision::bf16 : Precision::float32;
    expect_same_numbers(product(least, a, b), product_by_hand(a, b, 53), 30 * tolerance_of(dtype));
  }
}

TEST_F(PrecisionTest, IsPartOfTheDescription) {
  set_precision(default_device(), Precision::float32);
  const std::string plain = tested().description();
  set_precision(default_device(), Precision::bf16);
  EXPECT_EQ(tested().description(), plain + ", products in bf16");
  set_precision(default_device(), Precision::tf32);
  EXPECT_EQ(tested().description(), plain + ", products in tf32");
}

TEST(PrecisionOfTheCpu, IsFloat32) {
  set_precision(Device{}, Precision::float32);
  EXPECT_EQ(heed::test::error_of<InputError>([] { set_precision(Device{}, Precision::bf16); }),
            "[device] the cpu computes in float32 alone: tf32 and bf16 are for graphics cards");
}

}  // namespace
}  // namespace heed::kernels::test
