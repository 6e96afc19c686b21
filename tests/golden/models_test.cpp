#include <functional>

#include "autograd/autograd.h"
#include "autograd/functions.h"
#include "nn/models/causal_lm.h"
#include "nn/models/rnn_translator.h"
#include "nn/models/transformer.h"
#include "tests/golden/golden.h"
#include "train/optimizer.h"

namespace heed::test {
namespace {

// Logits, loss and every gradient at the start, then the losses of ten steps of AdamW.
void expect_parity(const Golden& golden, nn::Module& model,
                   const std::function<Tensor()>& logits_of) {
  golden.load(model);
  const Tensor& targets = golden.input("targets");
  int64_t tokens = 0;
  for (const int32_t id : targets.to_vector<int32_t>()) {
    tokens += id == 0 ? 0 : 1;
  }
  train::TrainConfig config;
  config.optimizer = "adamw";
  config.beta2 = 0.98;
  config.epsilon = 1e-8;
  config.weight_decay = 0.1;
  const auto optimizer = train::make_optimizer(config, model.named_parameters());
  std::vector<Tensor> losses;
  for (int step = 0; step < 10; ++step) {
    model.clear_gradients();
    const Tensor logits = logits_of();
    const Tensor loss =
        cross_entropy(logits, targets, {.label_smoothing = 0.1, .ignore_index = 0}).loss /
        static_cast<double>(tokens);
    backward(loss);
    if (step == 0) {
      golden.expect_output("logits", logits);
      golden.expect_gradients(model);
    }
    losses.push_back(loss.detach());
    optimizer->step(0.01);
  }
  // Training magnifies rounding: the smallest gradients are divided by their own size.
  golden.expect_output("losses", stack(losses, 0), 10 * golden.tolerance());
}

void expect_translator_parity(const Golden& golden, nn::TranslationModel& model) {
  const nn::PaddedIds source = {golden.input("source"), golden.lengths()};
  expect_parity(golden, model,
                [&] { return model.forward(source, golden.input("target_input"), false).logits; });
}

nn::RnnTranslatorOptions rnn_options() {
  nn::RnnTranslatorOptions options;
  options.source_vocabulary = 11;
  options.target_vocabulary = 13;
  options.width = 8;
  options.embedding_width = 6;
  options.attention_width = 7;
  return options;
}

TEST_P(Parity, RnnSearch) {
  Generator generator(1);
  nn::RnnTranslatorOptions options = rnn_options();
  options.layers = 2;
  nn::RnnTranslator model(options, generator);
  expect_translator_parity(golden("rnnsearch"), model);
}

TEST_P(Parity, RnnEncoderDecoderWithTiedEmbeddings) {
  Generator generator(1);
  nn::RnnTranslatorOptions options = rnn_options();
  options.attention = false;
  options.tie_embeddings = true;
  options.readout = nn::Readout::linear;
  nn::RnnTranslator model(options, generator);
  expect_translator_parity(golden("rnnencdec"), model);
}

nn::TransformerOptions transformer_options() {
  nn::TransformerOptions options;
  options.source_vocabulary = 11;
  options.target_vocabulary = 13;
  options.width = 12;
  options.encoder_layers = 2;
  options.decoder_layers = 2;
  options.heads = 3;
  options.ffn_width = 20;
  options.dropout = 0;
  return options;
}

TEST_P(Parity, TransformerPostNormReluSinusoids) {
  Generator generator(1);
  nn::Transformer model(transformer_options(), generator);
  expect_translator_parity(golden("transformer_post"), model);
}

TEST_P(Parity, TransformerPreNormGeluLearnedPositionsOneEmbedding) {
  Generator generator(1);
  nn::TransformerOptions options = transformer_options();
  options.source_vocabulary = 13;
  options.context = 9;
  options.tie_embeddings = true;
  options.share_vocabulary = true;
  options.positions = nn::Positions::learned;
  options.norm_placement = nn::NormPlacement::pre;
  options.activation = nn::Activation::gelu;
  nn::Transformer model(options, generator);
  expect_translator_parity(golden("transformer_pre"), model);
}

nn::CausalLmOptions language_model_options() {
  nn::CausalLmOptions options;
  options.vocabulary = 17;
  options.width = 12;
  options.layers = 2;
  options.heads = 3;
  return options;
}

void expect_language_model_parity(const Golden& golden, nn::CausalLm& model) {
  expect_parity(golden, model, [&] { return model.forward(golden.input("ids")); });
}

TEST_P(Parity, CausalLm) {
  Generator generator(1);
  nn::CausalLmOptions options = language_model_options();
  options.context = 11;
  nn::CausalLm model(options, generator);
  expect_language_model_parity(golden("causal_lm_pre"), model);
}

TEST_P(Parity, CausalLmPostNormGeluTanhSinusoids) {
  Generator generator(1);
  nn::CausalLmOptions options = language_model_options();
  options.ffn_width = 20;
  options.tie_embeddings = false;
  options.positions = nn::Positions::sinusoidal;
  options.norm_placement = nn::NormPlacement::post;
  options.activation = nn::Activation::gelu_tanh;
  nn::CausalLm model(options, generator);
  expect_language_model_parity(golden("causal_lm_post"), model);
}

nn::CausalLmOptions llama_options(RotaryPairing pairing) {
  nn::CausalLmOptions options = language_model_options();
  options.ffn_width = 20;
  options.bias = false;
  options.tie_embeddings = false;
  options.positions = nn::Positions::rotary;
  options.rotary_pairing = pairing;
  options.norm = nn::NormKind::rms;
  options.activation = nn::Activation::silu;
  options.gated = true;
  return options;
}

TEST_P(Parity, CausalLmRotaryRmsNormSwiGlu) {
  Generator generator(1);
  nn::CausalLm model(llama_options(RotaryPairing::interleaved), generator);
  expect_language_model_parity(golden("causal_lm_rotary"), model);
}

TEST_P(Parity, CausalLmRotaryHalves) {
  Generator generator(1);
  nn::CausalLm model(llama_options(RotaryPairing::half), generator);
  expect_language_model_parity(golden("causal_lm_rotary_half"), model);
}

}  // namespace
}  // namespace heed::test
