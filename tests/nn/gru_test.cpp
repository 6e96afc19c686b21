#include "nn/gru.h"

#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "autograd/functions.h"
#include "tests/nn/support.h"

namespace heed::nn::test {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr int64_t in = 3;
constexpr int64_t hidden = 2;

double logistic(double x) { return 1 / (1 + std::exp(-x)); }

// torch.nn.GRUCell, as its documentation writes it.
Values step_by_hand(const GruWeights& weights, const Values& x, const Values& h) {
  const Values a = affine_by_hand(weights.input.to_doubles(), weights.input_bias.to_doubles(), x);
  const Values b =
      affine_by_hand(weights.recurrent.to_doubles(), weights.recurrent_bias.to_doubles(), h);
  const size_t width = h.size();
  Values next(width);
  for (size_t i = 0; i < width; ++i) {
    const double r = logistic(a[i] + b[i]);
    const double z = logistic(a[width + i] + b[width + i]);
    const double n = std::tanh(a[2 * width + i] + r * b[2 * width + i]);
    next[i] = (1 - z) * n + z * h[i];
  }
  return next;
}

struct OneSentence {
  std::vector<Values> states;  // T rows of the top layer
  std::vector<Values> last;    // of each layer and direction
};

OneSentence gru_by_hand(const Gru& gru, const GruOptions& options, std::vector<Values> x) {
  OneSentence result;
  auto weights = gru.weights().begin();
  for (int64_t layer = 0; layer < options.layers; ++layer) {
    std::vector<Values> states(x.size());
    for (const bool backward : {false, true}) {
      if (backward && !options.bidirectional) {
        break;
      }
      Values h(hidden, 0.0);
      for (size_t i = 0; i < x.size(); ++i) {
        const size_t t = backward ? x.size() - 1 - i : i;
        h = step_by_hand(*weights, x[t], h);
        states[t].insert(states[t].end(), h.begin(), h.end());
      }
      result.last.push_back(h);
      ++weights;
    }
    x = states;
  }
  result.states = x;
  return result;
}

struct GruCase {
  int64_t layers;
  bool bidirectional;
};

class GruTest : public testing::TestWithParam<GruCase> {
 protected:
  GruTest() { gru_.convert(DType::f64); }

  // The loss of random weights over everything a Gru returns.
  static Tensor loss(const GruOutput& output, const Tensor& weights, const Tensor& last_weights) {
    Tensor total = sum(output.states * weights);
    for (const Tensor& last : output.last) {
      total = total + sum(last * last_weights);
    }
    return total;
  }

  Generator generator_{7};
  GruOptions options_{GetParam().layers, GetParam().bidirectional, 0};
  Gru gru_{in, hidden, options_, generator_};
  int64_t state_width_ = options_.bidirectional ? 2 * hidden : hidden;
};

INSTANTIATE_TEST_SUITE_P(All, GruTest,
                         testing::Values(GruCase{1, false}, GruCase{1, true}, GruCase{2, false},
                                         GruCase{2, true}),
                         [](const auto& given) {
                           return std::to_string(given.param.layers) +
                                  (given.param.bidirectional ? "_bidirectional" : "_forward");
                         });

TEST_P(GruTest, FollowsTheFormula) {
  const Tensor x = random_tensor({2, 4, in}, DType::f64, 1);
  const GruOutput output = gru_.forward(x, {});
  EXPECT_EQ(output.states.shape(), Shape({2, 4, state_width_}));
  const auto inputs = rows_of(x);
  const auto states = rows_of(output.states);
  for (int64_t b = 0; b < 2; ++b) {
    const OneSentence expected =
        gru_by_hand(gru_, options_, {inputs.begin() + 4 * b, inputs.begin() + 4 * b + 4});
    for (int64_t t = 0; t < 4; ++t) {
      expect_close(states[static_cast<size_t>(4 * b + t)], expected.states[static_cast<size_t>(t)],
                   1e-12);
    }
    ASSERT_EQ(output.last.size(), expected.last.size());
    for (size_t i = 0; i < expected.last.size(); ++i) {
      expect_close(rows_of(output.last[i])[static_cast<size_t>(b)], expected.last[i], 1e-12);
    }
  }
}

TEST_P(GruTest, APaddedBatchGivesWhatEachSentenceGivesAlone) {
  const std::vector<int64_t> lengths = {4, 1, 3};
  const Tensor x = random_tensor({3, 4, in}, DType::f64, 1);
  const Tensor weights = random_tensor({3, 4, state_width_}, DType::f64, 2);
  const Tensor last_weights = random_tensor({3, hidden}, DType::f64, 3);
  const GruOutput batch = gru_.forward(x, padding_mask(lengths, 4));
  backward(loss(batch, weights, last_weights));
  const auto batch_gradients = gradients_of(gru_);
  gru_.clear_gradients();
  for (int64_t b = 0; b < 3; ++b) {
    const int64_t length = lengths[static_cast<size_t>(b)];
    const auto row = [&](const Tensor& t) { return slice(t, 0, b, b + 1); };
    const auto real = [&](const Tensor& t) { return slice(row(t), 1, 0, length); };
    const GruOutput alone = gru_.forward(real(x), {});
    expect_close(real(batch.states), alone.states, 1e-12);
    for (const double value : slice(row(batch.states), 1, length, 4).to_doubles()) {
      EXPECT_EQ(value, 0);
    }
    for (size_t i = 0; i < alone.last.size(); ++i) {
      expect_close(row(batch.last[i]), alone.last[i], 1e-12);
    }
    backward(loss(alone, real(weights), row(last_weights)));
  }
  expect_close(batch_gradients, gradients_of(gru_), 1e-12);
}

TEST_P(GruTest, NothingOfThePaddingReachesStatesOrGradients) {
  const Tensor mask = padding_mask({2, 3, 0}, 3);
  const Tensor weights = random_tensor({3, 3, state_width_}, DType::f64, 2);
  const Tensor last_weights = random_tensor({3, hidden}, DType::f64, 3);
  const Tensor clean = random_tensor({3, 3, in}, DType::f64, 1);
  const Tensor dirty = where(unsqueeze(mask, -1), clean, Tensor::scalar(nan, DType::f64));
  struct Run {
    Values states, x_gradient;
    std::vector<Values> last;
    std::map<std::string, Values> gradients;
  };
  const auto run = [&](const Tensor& values) {
    const Tensor x = values.clone();
    set_requires_grad(x);
    gru_.clear_gradients();
    const GruOutput output = gru_.forward(x, mask);
    backward(loss(output, weights, last_weights));
    Run result{output.states.to_doubles(), gradient(x).to_doubles(), {}, gradients_of(gru_)};
    for (const Tensor& last : output.last) {
      result.last.push_back(last.to_doubles());
    }
    return result;
  };
  const auto expect_same = [&] {
    const Run expected = run(clean);
    const Run found = run(dirty);
    expect_close(found.states, expected.states, 0);
    expect_close(found.x_gradient, expected.x_gradient, 0);
    for (size_t i = 0; i < expected.last.size(); ++i) {
      expect_close(found.last[i], expected.last[i], 0);
    }
    expect_close(found.gradients, expected.gradients, 0);
  };
  expect_same();
  const ComposedScope composed;
  expect_same();
}

TEST_P(GruTest, PassesGradcheck) {
  const auto f = [&](const Tensor& mask) {
    return [&, mask](const std::vector<Tensor>& inputs) {
      const GruOutput output = gru_.forward(inputs[0], mask);
      std::vector<Tensor> parts = {reshape(output.states, {-1})};
      for (const Tensor& last : output.last) {
        parts.push_back(reshape(last, {-1}));
      }
      return concat(parts, 0);
    };
  };
  const Tensor x = random_tensor({2, 3, in}, DType::f64, 1);
  EXPECT_THAT(gradcheck_module(gru_, f({}), {x}), PassesGradcheck());
  EXPECT_THAT(gradcheck_module(gru_, f(padding_mask({3, 2}, 3)), {x}), PassesGradcheck());
}

TEST(Gru, NamesAndShapesArePyTorchs) {
  Generator generator(1);
  const Gru gru(in, hidden, {2, true, 0}, generator);
  std::vector<std::string> found;
  for (const NamedTensor& entry : gru.named_parameters()) {
    found.push_back(entry.name + " " + entry.tensor.shape().to_string());
    for (const double value : entry.tensor.to_doubles()) {
      EXPECT_LE(std::abs(value), 1 / std::sqrt(2.0));
    }
  }
  EXPECT_EQ(
      found,
      (std::vector<std::string>{
          "weight_ih_l0 (6, 3)", "weight_hh_l0 (6, 2)", "bias_ih_l0 (6)", "bias_hh_l0 (6)",
          "weight_ih_l0_reverse (6, 3)", "weight_hh_l0_reverse (6, 2)", "bias_ih_l0_reverse (6)",
          "bias_hh_l0_reverse (6)", "weight_ih_l1 (6, 4)", "weight_hh_l1 (6, 2)", "bias_ih_l1 (6)",
          "bias_hh_l1 (6)", "weight_ih_l1_reverse (6, 4)", "weight_hh_l1_reverse (6, 2)",
          "bias_ih_l1_reverse (6)", "bias_hh_l1_reverse (6)"}));
}

TEST(Gru, DropsOutBetweenLayersOnly) {
  Generator generator(1);
  const Tensor x = random_tensor({2, 5, in}, DType::f32, 1);
  Gru one(in, 8, {1, false, 0.5}, generator);
  const RandomState before = default_generator().state();
  const Values trained = one.forward(x, {}).states.to_doubles();
  EXPECT_EQ(default_generator().state(), before) << "one layer has nothing to drop";
  Gru two(in, 8, {2, false, 0.5}, generator);
  const GruOutput dropped = two.forward(x, {});
  const EvaluationScope evaluation(one);
  const EvaluationScope evaluation_of_two(two);
  EXPECT_EQ(one.forward(x, {}).states.to_doubles(), trained);
  const GruOutput kept = two.forward(x, {});
  EXPECT_EQ(dropped.last[0].to_doubles(), kept.last[0].to_doubles());
  EXPECT_NE(dropped.last[1].to_doubles(), kept.last[1].to_doubles());
}

TEST(Gru, RefusesEmptySizesAndOtherShapes) {
  Generator generator(1);
  EXPECT_EQ(error_of([&] { Gru(3, 0, {}, generator); }),
            "[gru] sizes are positive: in 3, hidden 0, layers 1");
  const Gru gru(in, hidden, {}, generator);
  EXPECT_EQ(error_of([&] {
              gru.forward(Tensor::zeros({2, 0, 3}), {});
            }),
            "[gru] x (B, T, I) with T > 0 is expected: (2, 0, 3)");
  EXPECT_EQ(error_of([&] {
              gru.forward(Tensor::zeros({2, 3}), {});
            }),
            "[gru] x (B, T, I) with T > 0 is expected: (2, 3)");
}

TEST(GruCell, IsOneStep) {
  Generator generator(1);
  GruCell cell(in, hidden, generator);
  cell.convert(DType::f64);
  const Tensor x = random_tensor({3, in}, DType::f64, 1);
  const Tensor h = random_tensor({3, hidden}, DType::f64, 2);
  const auto found = rows_of(cell.forward(x, h));
  for (size_t b = 0; b < 3; ++b) {
    expect_close(found[b], step_by_hand(cell.weights, rows_of(x)[b], rows_of(h)[b]), 1e-12);
  }
  std::vector<std::string> names;
  for (const NamedTensor& entry : cell.named_parameters()) {
    names.push_back(entry.name);
  }
  EXPECT_EQ(names, (std::vector<std::string>{"weight_ih", "weight_hh", "bias_ih", "bias_hh"}));
}

}  // namespace
}  // namespace heed::nn::test
