#include "nn/models/causal_lm.h"

#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "autograd/functions.h"
#include "tests/nn/support.h"

namespace heed::nn::test {
namespace {

CausalLmOptions tiny(Positions positions = Positions::learned) {
  CausalLmOptions options;
  options.vocabulary = 7;
  options.width = 8;
  options.layers = 2;
  options.heads = 2;
  options.ffn_width = 12;
  options.context = 10;
  options.positions = positions;
  return options;
}

struct Model : CausalLm {
  explicit Model(const CausalLmOptions& options, DType dtype = DType::f64,
                 Generator generator = Generator(1))
      : CausalLm(options, generator) {
    convert(dtype);
    randomize(*this, 0.7);
  }
};

Tensor tokens(const std::vector<int32_t>& ids, int64_t rows) {
  const auto width = std::ssize(ids) / rows;
  return Tensor::from_vector(ids, {rows, width});
}

const Tensor ids = tokens({1, 4, 2, 6, 0, 3, 5, 5, 1, 2, 0, 6}, 2);

constexpr Positions all_positions[] = {Positions::none, Positions::sinusoidal, Positions::learned,
                                       Positions::rotary};

Values last_row(const Tensor& logits, int64_t row, int64_t position) {
  return slice(slice(logits, 0, row, row + 1), 1, position, position + 1).to_doubles();
}

TEST(CausalLm, CachedEqualsUncachedForEveryKindOfPositions) {
  for (const Positions positions : all_positions) {
    for (const RotaryPairing pairing : {RotaryPairing::interleaved, RotaryPairing::half}) {
      auto options = tiny(positions);
      options.rotary_pairing = pairing;
      const Model model(options);
      const Tensor whole = model.forward(ids);
      EXPECT_EQ(whole.shape(), Shape({2, 6, 7}));
      const auto state = model.start(2);
      EXPECT_EQ(model.cached(*state), 0);
      int64_t begin = 0;
      for (const int64_t count : {3, 1, 2}) {  // a prompt at once, then further tokens
        const Tensor logits = model.step(*state, slice(ids, 1, begin, begin + count));
        begin += count;
        EXPECT_EQ(model.cached(*state), begin);
        expect_close(logits, squeeze(slice(whole, 1, begin - 1, begin), 1), 1e-12);
      }
    }
  }
}

TEST(CausalLm, TheFutureReachesNothing) {
  for (const Positions positions : all_positions) {
    const Model model(tiny(positions), DType::f32);
    const Tensor other = tokens({1, 4, 2, 0, 6, 6, 5, 5, 1, 3, 3, 4}, 2);
    const Tensor expected = model.forward(ids);
    const Tensor found = model.forward(other);
    EXPECT_EQ(slice(found, 1, 0, 3).to_doubles(), slice(expected, 1, 0, 3).to_doubles());
    EXPECT_NE(slice(found, 1, 3, 6).to_doubles(), slice(expected, 1, 3, 6).to_doubles());
  }
}

TEST(CausalLm, RowsDoNotSeeEachOther) {
  const Model model(tiny());
  const Tensor together = model.forward(ids);
  for (const int64_t row : {0, 1}) {
    expect_close(slice(together, 0, row, row + 1), model.forward(slice(ids, 0, row, row + 1)),
                 1e-12);
  }
}

TEST(CausalLm, SelectedRowsContinueAsTheyWere) {
  const Model model(tiny());
  const auto state = model.start(2);
  model.step(*state, slice(ids, 1, 0, 4));
  state->select({1, 0, 1});
  const Tensor found = model.step(*state, tokens({0, 0, 6}, 3));
  const auto expect_row = [&](int64_t row, const std::vector<int32_t>& sequence) {
    const auto length = std::ssize(sequence);
    expect_close(rows_of(found)[static_cast<size_t>(row)],
                 last_row(model.forward(tokens(sequence, 1)), 0, length - 1), 1e-12);
  };
  expect_row(0, {5, 5, 1, 2, 0});
  expect_row(1, {1, 4, 2, 6, 0});
  expect_row(2, {5, 5, 1, 2, 6});
}

TEST(CausalLm, OnlyALearnedTableEnds) {
  const Tensor longer = Tensor::zeros({1, 11}, DType::i32);
  for (const Positions positions : all_positions) {
    const Model model(tiny(positions));
    const auto state = model.start(1);
    if (positions != Positions::learned) {
      EXPECT_FALSE(model.context());
      const Tensor logits = model.forward(longer);
      expect_close(model.step(*state, longer), squeeze(slice(logits, 1, 10, 11), 1), 1e-12);
      continue;
    }
    EXPECT_EQ(model.context(), 10);
    const std::string refusal =
        "[positions] position 10 is past the end of the learned table: the context is 10";
    EXPECT_EQ(error_of([&] { model.forward(longer); }), refusal);
    model.step(*state, Tensor::zeros({1, 8}, DType::i32));
    EXPECT_EQ(error_of([&] { model.step(*state, Tensor::zeros({1, 3}, DType::i32)); }), refusal);
    EXPECT_EQ(model.cached(*state), 8);
    model.step(*state, Tensor::zeros({1, 2}, DType::i32));
  }
}

TEST(CausalLm, StepsRecordNothingAndTrainingGoesOn) {
  const Model model(tiny());
  const auto state = model.start(2);
  EXPECT_FALSE(requires_grad(model.step(*state, ids)));
  EXPECT_TRUE(requires_grad(model.forward(ids)));
}

TEST(CausalLm, NamesItsParameters) {
  Generator generator(1);
  auto options = tiny();
  options.layers = 1;
  const CausalLm model(options, generator);
  std::vector<std::string> found;
  for (const NamedTensor& entry : model.named_parameters()) {
    found.push_back(entry.name + " " + entry.tensor.shape().to_string());
  }
  EXPECT_EQ(found,
            (std::vector<std::string>{
                "embedding.weight (7, 8)", "positions.weight (10, 8)",
                "layers.0.self_attn.in_proj_weight (24, 8)", "layers.0.self_attn.in_proj_bias (24)",
                "layers.0.self_attn.out_proj.weight (8, 8)", "layers.0.self_attn.out_proj.bias (8)",
                "layers.0.linear1.weight (12, 8)", "layers.0.linear1.bias (12)",
                "layers.0.linear2.weight (8, 12)", "layers.0.linear2.bias (8)",
                "layers.0.norm1.weight (8)", "layers.0.norm1.bias (8)", "layers.0.norm2.weight (8)",
                "layers.0.norm2.bias (8)", "norm.weight (8)", "norm.bias (8)"}));
  EXPECT_EQ(model.aliases(),
            (std::map<std::string, std::string>{{"output.weight", "embedding.weight"}}));
  options.tie_embeddings = false;
  EXPECT_TRUE(CausalLm(options, generator).aliases().empty());
}

// 12 d^2 + 13 d a layer, two tables, one norm; the output is the embedding.
TEST(CausalLm, CountsAsGpt2) {
  Generator generator(1);
  CausalLmOptions options;
  options.vocabulary = 65;
  const CausalLm model(options, generator);
  const int64_t layer = 12 * 128 * 128 + 13 * 128;
  EXPECT_EQ(model.parameter_count(), 4 * layer + (65 + 64) * 128 + 2 * 128);
  options.bias = false;  // as nanoGPT's recipe: no biases in linear layers nor in norms
  EXPECT_EQ(CausalLm(options, generator).parameter_count(),
            4 * (12 * 128 * 128 + 2 * 128) + (65 + 64) * 128 + 128);
}

TEST(CausalLm, StartsAsGpt2) {
  Generator generator(1);
  CausalLmOptions options;
  options.vocabulary = 100;
  options.width = 64;
  options.layers = 8;
  const CausalLm model(options, generator);
  for (const auto& [name, parameter] : model.named_parameters()) {
    const Values values = parameter.to_doubles();
    if (parameter.rank() == 1) {
      EXPECT_EQ(values, Values(values.size(), name.ends_with("weight") ? 1.0 : 0.0)) << name;
      continue;
    }
    double squares = 0;
    for (const double value : values) {
      squares += value * value;
    }
    const double expected = is_residual_projection(name) ? 0.02 / 4 : 0.02;
    EXPECT_NEAR(std::sqrt(squares / static_cast<double>(values.size())), expected, 0.06 * expected)
        << name;
  }
  const double loss = cross_entropy(model.forward(Tensor::zeros({2, 4}, DType::i32)),
                                    Tensor::from_vector<int32_t>({1, 2, 3, 4, 5, 6, 7, 8}, {2, 4}))
                          .loss.item();
  EXPECT_NEAR(loss / 8, std::log(100.0), 0.1);
}

TEST(CausalLm, EveryCombinationOfOptionsLearns) {
  for (const Positions positions : all_positions) {
    for (const NormKind norm : {NormKind::layer, NormKind::rms}) {
      for (const NormPlacement placement : {NormPlacement::pre, NormPlacement::post}) {
        for (const bool gated : {false, true}) {
          for (const bool bias : {false, true}) {
            auto options = tiny(positions);
            options.norm = norm;
            options.norm_placement = placement;
            options.gated = gated;
            options.bias = bias;
            options.activation = gated ? Activation::silu : Activation::gelu;
            options.dropout = 0.1;
            options.tie_embeddings = bias;
            Model model(options, DType::f32);
            const Tensor targets = tokens({4, 2, 6, 0, 3, 5, 5, 1, 2, 0, 6, 1}, 2);
            const auto loss = [&] { return cross_entropy(model.forward(ids), targets).loss; };
            const auto evaluated = [&] {
              const EvaluationScope evaluation(model);
              return loss().item();
            };
            const double before = evaluated();
            descend(model, loss);
            EXPECT_LT(evaluated(), before);
          }
        }
      }
    }
  }
}

TEST(CausalLm, PassesGradcheckAsAWholeFusedAndComposed) {
  for (const Positions positions : all_positions) {
    auto options = tiny(positions);
    options.layers = 1;
    options.width = 4;
    options.gated = positions == Positions::rotary;
    options.norm = positions == Positions::rotary ? NormKind::rms : NormKind::layer;
    const Model model(options);
    const Tensor targets = tokens({4, 2, 6, 0, 3, 5, 5, 1, 2, 0, 6, 1}, 2);
    const auto check = [&] {
      EXPECT_THAT(gradcheck_module(model,
                                   [&](const std::vector<Tensor>&) {
                                     return cross_entropy(model.forward(ids), targets).loss;
                                   },
                                   {}),
                  PassesGradcheck());
    };
    check();
    const ComposedScope composed;
    check();
  }
}

TEST(CausalLm, RefusesWhatDoesNotFit) {
  if (default_device().kind == DeviceKind::cuda) {
    GTEST_SKIP() << "the host does not look at ids on a card";
  }
  EXPECT_EQ(error_of([] { Model({}); }), "[causal_lm] the vocabulary has 0 tokens");
  auto options = tiny();
  options.heads = 3;
  EXPECT_EQ(error_of([&] { Model model(options); }),
            "[attention] the width 8 is not divisible by 3 heads");
  const Model model(tiny());
  EXPECT_EQ(error_of([&] {
              model.forward(Tensor::zeros({2, 0}, DType::i32));
            }),
            "[causal_lm] ids (B, T) with T > 0 are expected, not (2, 0)");
  EXPECT_EQ(error_of([&] {
              model.forward(tokens({1, 7}, 1));
            }),
            "[embedding] id 7 is out of range: table f64 (7, 8)");
  const auto state = model.start(3);
  EXPECT_EQ(error_of([&] { model.step(*state, ids); }),
            "[causal_lm] the state has 3 rows, ids (2, 6) have 2");
}

}  // namespace
}  // namespace heed::nn::test
