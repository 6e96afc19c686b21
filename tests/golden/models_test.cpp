#include <functional>

#include "autograd/autograd.h"
#include "autograd/functions.h"
#include "nn/models/rnn_translator.h"
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

}  // namespace
}  // namespace heed::test
