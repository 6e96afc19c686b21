#include "nn/positions.h"

#include <cmath>

#include "autograd/functions.h"
#include "tests/nn/support.h"

namespace heed::nn::test {
namespace {

TEST(Sinusoids, InterleaveSineAndCosine) {
  const Tensor table = sinusoids(3, 2, 6);
  EXPECT_EQ(table.dtype(), DType::f64);
  Values expected;
  for (const double position : {3.0, 4.0}) {
    for (const double pair : {0.0, 2.0, 4.0}) {
      const double angle = position / std::pow(10000, pair / 6);
      expected.push_back(std::sin(angle));
      expected.push_back(std::cos(angle));
    }
  }
  expect_close(table, Tensor::from_vector(expected, {2, 6}), 1e-15);
}

TEST(Sinusoids, WantAnEvenWidth) {
  EXPECT_EQ(error_of([] { sinusoids(0, 4, 5); }),
            "[sinusoids] pairs of sine and cosine want an even width: 4 rows of 5 from 0");
}

// Of width 6.
struct Encoding : PositionEncoding {
  explicit Encoding(Positions positions, int64_t context = 8, Generator generator = Generator(1))
      : PositionEncoding(positions, 6, context, 0.1, generator) {}
};

TEST(PositionEncoding, AddsSinusoidsHoweverFar) {
  const Tensor x = random_tensor({2, 5, 6}, DType::f64, 1);
  const Encoding encoding(Positions::sinusoidal);
  EXPECT_TRUE(encoding.named_parameters().empty());
  EXPECT_FALSE(encoding.limit());
  for (const int64_t first : {0, 3, 4, 1000}) {
    expect_close(encoding.forward(x, first), x + sinusoids(first, 5, 6), 1e-15);
  }
}

TEST(PositionEncoding, ALongContextTakesNoMemoryInAdvance) {
  const Encoding encoding(Positions::sinusoidal, int64_t{1} << 50);
  const Tensor x = random_tensor({1, 2, 6}, DType::f64, 1);
  for (const int64_t first : {int64_t{0}, int64_t{349'524}, int64_t{1} << 49}) {
    expect_close(encoding.forward(x, first), x + sinusoids(first, 2, 6), 1e-15);
  }
}

TEST(PositionEncoding, AddsLearnedRowsAsFarAsTheyGo) {
  const Tensor x = random_tensor({2, 5, 6}, DType::f32, 1);
  const Encoding encoding(Positions::learned);
  const auto parameters = encoding.named_parameters();
  ASSERT_EQ(parameters.size(), 1);
  EXPECT_EQ(parameters[0].name, "weight");
  EXPECT_EQ(parameters[0].tensor.shape(), Shape({8, 6}));
  EXPECT_EQ(encoding.limit(), 8);
  for (const int64_t first : {0, 3}) {
    expect_close(encoding.forward(x, first), x + slice(parameters[0].tensor, 0, first, first + 5),
                 0);
  }
  EXPECT_EQ(error_of([&] { encoding.forward(x, 4); }),
            "[positions] position 8 is past the end of the learned table: the context is 8");
}

TEST(PositionEncoding, LeavesRotaryAndNoneToOthers) {
  const Tensor x = random_tensor({2, 5, 6}, DType::f32, 1);
  for (const Positions positions : {Positions::none, Positions::rotary}) {
    const Encoding encoding(positions, 2);
    EXPECT_TRUE(encoding.named_parameters().empty());
    EXPECT_FALSE(encoding.limit());
    EXPECT_TRUE(encoding.forward(x).same(x));
  }
}

TEST(PositionEncoding, RefusesImpossibleSizes) {
  EXPECT_EQ(error_of([] { Encoding(Positions::learned, 0); }),
            "[positions] the context 0 is not positive");
  EXPECT_EQ(error_of([] {
              Encoding(Positions::none).forward(Tensor::zeros({2, 6}));
            }),
            "[positions] x (B, T, C) is expected, not (2, 6)");
}

}  // namespace
}  // namespace heed::nn::test
