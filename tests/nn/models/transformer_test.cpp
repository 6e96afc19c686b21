#include "nn/models/transformer.h"

#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "autograd/functions.h"
#include "nn/decoding.h"
#include "tests/nn/models/tiny_models.h"
#include "tests/nn/support.h"

namespace heed::nn::test {
namespace {

struct Model : Transformer {
  explicit Model(const TransformerOptions& options, DType dtype = DType::f64,
                 Generator generator = Generator(1))
      : Transformer(options, generator) {
    convert(dtype);
    randomize(*this, 0.6);
  }
};

class TransformerTest : public testing::TestWithParam<Named<TransformerOptions>> {
 protected:
  Model model_{GetParam().options};
};

INSTANTIATE_TEST_SUITE_P(All, TransformerTest, testing::ValuesIn(transformers()),
                         [](const auto& given) { return given.param.name; });

TEST_P(TransformerTest, AttentionIsTheMeanOverLayersAndHeads) {
  const auto silent = model_.forward(source, target_input, false);
  EXPECT_FALSE(silent.attention.defined());
  EXPECT_TRUE(silent.layer_attention.empty());
  const auto found = model_.forward(source, target_input, true);
  expect_close(found.logits, silent.logits, 1e-12);
  ASSERT_EQ(found.layer_attention.size(), 2);
  Tensor total = Tensor::zeros({3, 3, 4}, DType::f64);
  for (const Tensor& layer : found.layer_attention) {
    EXPECT_EQ(layer.shape(), Shape({3, 2, 3, 4}));
    for (int64_t head = 0; head < 2; ++head) {
      total = total + squeeze(slice(layer, 1, head, head + 1), 1);
    }
  }
  expect_close(found.attention, total / 4, 1e-14);
}

std::map<std::string, std::string> names_and_shapes(const Module& module) {
  std::map<std::string, std::string> found;
  for (const NamedTensor& entry : module.named_parameters()) {
    found[entry.name] = entry.tensor.shape().to_string();
  }
  return found;
}

TEST(Transformer, NamesItsParameters) {
  Generator generator(1);
  auto options = tiny_transformer();
  options.positions = Positions::learned;
  options.norm_placement = NormPlacement::pre;
  auto found = names_and_shapes(Transformer(options, generator));
  EXPECT_EQ(found["source_embedding.weight"], "(7, 8)");
  EXPECT_EQ(found["target_embedding.weight"], "(6, 8)");
  EXPECT_EQ(found["source_positions.weight"], "(12, 8)");
  EXPECT_EQ(found["target_positions.weight"], "(12, 8)");
  EXPECT_EQ(found["encoder.layers.0.self_attn.in_proj_weight"], "(24, 8)");
  EXPECT_EQ(found["encoder.norm.weight"], "(8)");
  EXPECT_EQ(found["decoder.layers.1.multihead_attn.out_proj.bias"], "(8)");
  EXPECT_EQ(found["decoder.layers.1.norm3.bias"], "(8)");
  EXPECT_EQ(found["decoder.norm.bias"], "(8)");
  EXPECT_EQ(found["output.weight"], "(6, 8)");
  EXPECT_EQ(found.size(), 5 + 12 + 2 + 2 * 18 + 2);
}

TEST(Transformer, TiesEmbeddings) {
  Generator generator(1);
  auto options = tiny_transformer();
  EXPECT_TRUE(Transformer(options, generator).aliases().empty());
  options.tie_embeddings = true;
  EXPECT_EQ(Transformer(options, generator).aliases(),
            (std::map<std::string, std::string>{{"output.weight", "target_embedding.weight"}}));
  options.share_vocabulary = true;
  options.target_vocabulary = 7;
  EXPECT_EQ(
      Transformer(options, generator).aliases(),
      (std::map<std::string, std::string>{{"output.weight", "source_embedding.weight"},
                                          {"target_embedding.weight", "source_embedding.weight"}}));
}

double deviation_of(const Values& values) {
  double squares = 0;
  for (const double value : values) {
    squares += value * value;
  }
  return std::sqrt(squares / static_cast<double>(values.size()));
}

TEST(Transformer, StartsAsDocumented) {
  for (const NormPlacement placement : {NormPlacement::post, NormPlacement::pre}) {
    Generator generator(1);
    auto options = tiny_transformer();
    options.source_vocabulary = 100;
    options.target_vocabulary = 90;
    options.width = 64;
    options.ffn_width = 96;
    options.encoder_layers = 2;
    options.decoder_layers = 3;
    options.norm_placement = placement;
    const Transformer model(options, generator);
    for (const auto& [name, parameter] : model.named_parameters()) {
      const Values values = parameter.to_doubles();
      if (parameter.rank() == 1) {
        EXPECT_EQ(values, Values(values.size(), name.ends_with("weight") ? 1.0 : 0.0)) << name;
        continue;
      }
      double expected = std::sqrt(2.0 / static_cast<double>(parameter.dim(0) + parameter.dim(1)));
      if (name.find("embedding") != std::string::npos) {
        expected = 1.0 / 8;
        EXPECT_EQ(rows_of(parameter)[0], Values(64, 0.0)) << name;
      } else if (placement == NormPlacement::pre && is_residual_projection(name)) {
        expected /= name.starts_with("encoder.") ? 2 : 3;
      }
      EXPECT_NEAR(deviation_of(values), expected, 0.06 * expected) << name;
    }
  }
}

TEST(Transformer, ScalesEmbeddings) {
  auto options = tiny_transformer();
  options.positions = Positions::none;
  const Model by_default(options);
  options.embedding_scale = std::sqrt(8.0);
  const Model same(options);
  options.embedding_scale = 1;
  const Model unscaled(options);
  const auto logits = [](const Transformer& model) {
    return model.forward(source, target_input, false).logits.to_doubles();
  };
  EXPECT_EQ(logits(same), logits(by_default));
  EXPECT_NE(logits(unscaled), logits(by_default));
  for (const auto& [name, parameter] : unscaled.named_parameters()) {
    if (name.find("embedding") != std::string::npos) {
      parameter.set_data((parameter.detach() * std::sqrt(8.0)).detach());
    }
  }
  EXPECT_TRUE(close(logits(unscaled), logits(by_default), 1e-12));
}

TEST(Transformer, LearnedPositionsStartAtTheScaleOfEmbeddings) {
  for (const bool tied : {false, true}) {
    auto options = tiny_transformer();
    options.positions = Positions::learned;
    options.context = 200;
    options.width = 64;
    options.tie_embeddings = tied;
    Generator generator(1);
    const Transformer model(options, generator);
    for (const auto& [name, parameter] : model.named_parameters()) {
      if (name.ends_with("positions.weight")) {
        EXPECT_NEAR(deviation_of(parameter.to_doubles()), 1, 0.03) << name;
      }
    }
  }
}

TEST(Transformer, EveryCombinationOfOptionsLearns) {
  for (const Positions positions :
       {Positions::none, Positions::sinusoidal, Positions::learned, Positions::rotary}) {
    for (const NormKind norm : {NormKind::layer, NormKind::rms}) {
      for (const NormPlacement placement : {NormPlacement::pre, NormPlacement::post}) {
        for (const bool gated : {false, true}) {
          for (const bool bias : {false, true}) {
            auto options = tiny_transformer();
            options.positions = positions;
            options.norm = norm;
            options.norm_placement = placement;
            options.gated = gated;
            options.bias = bias;
            options.dropout = 0.1;
            Model model(options, DType::f32);
            const auto loss = [&] {
              const Tensor logits = model.forward(source, target_input, false).logits;
              return cross_entropy(logits, targets, {0.1, 0}).loss;
            };
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

TEST(Transformer, ALearnedTableEndsSourceTargetAndDecoding) {
  auto options = tiny_transformer();
  options.positions = Positions::learned;
  Model model(options);
  EXPECT_EQ(model.context(), 12);
  const PaddedIds longer = {Tensor::full({1, 13}, 4, DType::i32), {13}};
  const std::string refusal =
      "[positions] position 12 is past the end of the learned table: the context is 12";
  EXPECT_EQ(error_of([&] {
              model.forward(longer, Tensor::zeros({1, 2}, DType::i32), false);
            }),
            refusal);
  EXPECT_EQ(error_of([&] {
              model.forward({Tensor::full({1, 2}, 4, DType::i32), {2}},
                            Tensor::zeros({1, 13}, DType::i32), false);
            }),
            refusal);
  // Words without end stop at the table's.
  DecodingOptions decoding;
  decoding.max_length = 20;
  decoding.never = {0, 1, 2, 3};
  decoding.end_id = 3;
  decoding.min_length = 20;
  for (const auto& row : decode(model, source, decoding)) {
    EXPECT_EQ(row[0].tokens.size(), 12);
    EXPECT_FALSE(row[0].ended);
  }
}

TEST(Transformer, RefusesWhatDoesNotFit) {
  auto options = tiny_transformer();
  options.source_vocabulary = 0;
  EXPECT_EQ(error_of([&] { Model model(options); }),
            "[transformer] vocabularies are not empty: source 0, target 6");
  options = tiny_transformer();
  options.share_vocabulary = true;
  EXPECT_EQ(error_of([&] { Model model(options); }),
            "[transformer] a shared vocabulary has one size: source 7, target 6");
  const Model model(tiny_transformer());
  EXPECT_EQ(error_of([&] {
              model.forward(source, Tensor::zeros({3, 0}, DType::i32), false);
            }),
            "[transformer] ids (B, T) with T > 0 are expected, not (3, 0)");
}

}  // namespace
}  // namespace heed::nn::test
