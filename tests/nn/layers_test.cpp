#include "nn/layers.h"

#include <cmath>
#include <vector>

#include "autograd/functions.h"
#include "tests/nn/support.h"

namespace heed::nn::test {
namespace {

TEST(Linear, MultipliesByTheTransposedWeightAndAddsTheBias) {
  Generator generator(1);
  Linear layer(3, 2, generator);
  layer.convert(DType::f64);
  const Tensor x = random_tensor({2, 4, 3}, DType::f64, 1);
  const Tensor y = layer.forward(x);
  EXPECT_EQ(y.shape(), Shape({2, 4, 2}));
  const auto rows = rows_of(y);
  const auto inputs = rows_of(x);
  for (size_t i = 0; i < rows.size(); ++i) {
    expect_close(rows[i],
                 affine_by_hand(layer.weight.to_doubles(), layer.bias.to_doubles(), inputs[i]),
                 1e-14);
  }
}

TEST(Linear, WithoutBiasHasOneParameter) {
  Generator generator(1);
  Linear layer(3, 2, generator, false);
  EXPECT_FALSE(layer.bias.defined());
  ASSERT_EQ(layer.named_parameters().size(), 1);
  EXPECT_EQ(layer.named_parameters()[0].name, "weight");
  const Tensor x = random_tensor({1, 3}, DType::f32, 1);
  expect_close(layer.forward(x).to_doubles(),
               affine_by_hand(layer.weight.to_doubles(), {}, x.to_doubles()), 1e-6);
}

TEST(Linear, StartsWithinTheInverseRootOfItsWidth) {
  Generator generator(1);
  const Linear layer(16, 200, generator);
  double largest = 0;
  for (const Tensor& parameter : {layer.weight, layer.bias}) {
    for (const double value : parameter.to_doubles()) {
      EXPECT_LE(std::abs(value), 0.25);
      largest = std::max(largest, std::abs(value));
    }
  }
  EXPECT_GT(largest, 0.245);
}

TEST(Linear, SharesAWeightOfItsShapeOnly) {
  Generator generator(1);
  Linear layer(3, 2, generator);
  const Linear other(3, 2, generator);
  layer.share_weight(other.weight);
  EXPECT_TRUE(layer.weight.same(other.weight));
  EXPECT_TRUE(layer.named_parameters()[0].tensor.same(other.weight));
  EXPECT_EQ(error_of([&] {
              layer.share_weight(Tensor::zeros({3, 2}));
            }),
            "[linear] weights of shapes (2, 3) and (3, 2) cannot be tied");
}

TEST(Embedding, LooksUpRows) {
  Generator generator(1);
  const Embedding layer(5, 3, generator);
  const Tensor y = layer.forward(Tensor::from_vector<int32_t>({4, 0, 4, 2}, {2, 2}));
  EXPECT_EQ(y.shape(), Shape({2, 2, 3}));
  const auto table = rows_of(layer.weight);
  EXPECT_EQ(rows_of(y), (std::vector<Values>{table[4], table[0], table[4], table[2]}));
}

TEST(Embedding, PaddingStartsAsZerosAndGetsNoGradient) {
  Generator generator(1);
  const Embedding layer(4, 2, generator, 1);
  EXPECT_EQ(rows_of(layer.weight)[1], Values(2, 0.0));
  EXPECT_NE(rows_of(layer.weight)[0], Values(2, 0.0));
  backward(sum(layer.forward(Tensor::from_vector<int32_t>({1, 3, 3, 0, 1}, {5}))));
  EXPECT_EQ(rows_of(gradient(layer.weight)), (std::vector<Values>{{1, 1}, {0, 0}, {0, 0}, {2, 2}}));
}

TEST(Embedding, ZerosItsPaddingAgain) {
  Generator generator(1);
  const Embedding layer(4, 2, generator, 1);
  randomize(layer, 1);
  const auto before = rows_of(layer.weight);
  layer.zero_padding();
  EXPECT_EQ(rows_of(layer.weight),
            (std::vector<Values>{before[0], Values(2, 0.0), before[2], before[3]}));
}

TEST(Embedding, SharesATableOfItsShapeOnly) {
  Generator generator(1);
  Embedding layer(4, 2, generator);
  const Embedding other(4, 2, generator);
  layer.share_weight(other.weight);
  EXPECT_TRUE(layer.weight.same(other.weight));
  EXPECT_TRUE(layer.named_parameters()[0].tensor.same(other.weight));
  EXPECT_EQ(error_of([&] {
              layer.share_weight(Tensor::zeros({5, 2}));
            }),
            "[embedding] weights of shapes (4, 2) and (5, 2) cannot be tied");
}

TEST(Embedding, RefusesIdsAndPaddingOutsideItsTable) {
  if (default_device().kind == DeviceKind::cuda) {
    GTEST_SKIP() << "the host does not look at ids on a card";
  }
  Generator generator(1);
  const Embedding layer(4, 2, generator);
  EXPECT_EQ(error_of([&] {
              layer.forward(Tensor::from_vector<int32_t>({0, 4}, {2}));
            }),
            "[embedding] id 4 is out of range: table f32 (4, 2)");
  EXPECT_EQ(error_of([&] { Embedding(4, 2, generator, 4); }),
            "[embedding] padding id 4 is out of range: the vocabulary has 4 ids");
}

// 4 standard errors of 20,000 draws with p = 0.3 are 0.013.
TEST(Dropout, DropsTheShareItIsGivenAndScalesTheRest) {
  const Dropout layer(0.3);
  const Tensor x = Tensor::full({200, 100}, 2.0, DType::f64);
  double dropped = 0;
  for (const double value : layer.forward(x).to_doubles()) {
    if (value == 0) {
      ++dropped;
    } else {
      ASSERT_NEAR(value, 2.0 / 0.7, 1e-12);
    }
  }
  EXPECT_NEAR(dropped / 20000, 0.3, 0.013);
}

TEST(Dropout, DrawsAnewEachTimeAndPassesTheGradientOfWhatItKept) {
  const Dropout layer(0.5);
  const Tensor x = Tensor::full({64}, 1.0);
  set_requires_grad(x);
  const Tensor y = layer.forward(x);
  EXPECT_NE(y.to_doubles(), layer.forward(x).to_doubles());
  backward(sum(y));
  EXPECT_EQ(gradient(x).to_doubles(), y.to_doubles());
}

TEST(Dropout, IsTheIdentityInEvaluation) {
  Dropout layer(0.9);
  const Tensor x = random_tensor({8, 8}, DType::f32, 1);
  const EvaluationScope evaluation(layer);
  EXPECT_TRUE(layer.forward(x).same(x));
}

TEST(Dropout, RefusesWhatIsNoProbability) {
  EXPECT_EQ(error_of([] { Dropout layer(1.0); }), "[dropout] the probability 1 is not in [0, 1)");
  EXPECT_EQ(error_of([] { Dropout layer(-0.5); }),
            "[dropout] the probability -0.5 is not in [0, 1)");
}

Values normalised(const Values& row, bool centre, double epsilon) {
  double mean = 0;
  double squares = 0;
  for (const double value : row) {
    mean += centre ? value / static_cast<double>(row.size()) : 0;
  }
  for (const double value : row) {
    squares += (value - mean) * (value - mean) / static_cast<double>(row.size());
  }
  Values result;
  for (const double value : row) {
    result.push_back((value - mean) / std::sqrt(squares + epsilon));
  }
  return result;
}

TEST(LayerNorm, NormalisesTheLastDimension) {
  for (const bool with_bias : {true, false}) {
    LayerNorm layer(6, 1e-5, with_bias);
    layer.convert(DType::f64);
    EXPECT_EQ(layer.weight.to_doubles(), Values(6, 1.0));
    ASSERT_EQ(layer.bias.defined(), with_bias);
    EXPECT_EQ(layer.named_parameters().size(), with_bias ? 2 : 1);
    const Values bias = with_bias ? layer.bias.to_doubles() : Values(6, 0.0);
    EXPECT_EQ(bias, Values(6, 0.0));
    randomize(layer, 1);
    const Tensor x = random_tensor({2, 3, 6}, DType::f64, 1);
    Values expected;
    for (const Values& row : rows_of(x)) {
      const Values normal = normalised(row, true, 1e-5);
      for (size_t i = 0; i < 6; ++i) {
        expected.push_back(normal[i] * layer.weight.to_doubles()[i] +
                           (with_bias ? layer.bias.to_doubles()[i] : 0));
      }
    }
    expect_close(layer.forward(x), Tensor::from_vector(expected, {2, 3, 6}), 1e-12);
  }
}

TEST(RmsNorm, DividesByTheRootMeanSquare) {
  const auto layer = make_norm(NormKind::rms, 6);
  layer->convert(DType::f64);
  ASSERT_EQ(layer->named_parameters().size(), 1);
  const Tensor weight = layer->named_parameters()[0].tensor;
  EXPECT_EQ(weight.to_doubles(), Values(6, 1.0));
  randomize(*layer, 1);
  const Tensor x = random_tensor({2, 3, 6}, DType::f64, 1);
  Values expected;
  for (const Values& row : rows_of(x)) {
    const Values normal = normalised(row, false, 1e-6);
    for (size_t i = 0; i < 6; ++i) {
      expected.push_back(normal[i] * weight.to_doubles()[i]);
    }
  }
  expect_close(layer->forward(x), Tensor::from_vector(expected, {2, 3, 6}), 1e-12);
}

}  // namespace
}  // namespace heed::nn::test
