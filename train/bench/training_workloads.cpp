#include "train/bench/training_workloads.h"

#include <algorithm>
#include <functional>
#include <string>
#include <utility>

#include "autograd/functions.h"
#include "core/random.h"
#include "data/vocabulary.h"
#include "nn/init.h"
#include "nn/models/causal_lm.h"
#include "nn/models/rnn_translator.h"
#include "nn/models/transformer.h"
#include "train/bench/synthetic.h"
#include "train/update.h"

namespace heed::train {
namespace {

// The same batch again and again.
class OneBatch final : public Task {
 public:
  OneBatch(std::unique_ptr<nn::Module> model, std::function<CrossEntropy()> loss, int64_t tokens)
      : model_(std::move(model)), loss_(std::move(loss)), tokens_(tokens) {}

  nn::Module& module() override { return *model_; }
  Checkpoint checkpoint() const override { return {}; }
  int64_t plan_epoch(Generator&) override { return INT64_MAX; }
  BatchLoss loss(int64_t) override {
    const CrossEntropy sums = loss_();
    return {sums.loss, sums.nll, tokens_};
  }
  bool has_validation() const override { return false; }
  Validation validate() override { return {}; }

 private:
  std::unique_ptr<nn::Module> model_;
  std::function<CrossEntropy()> loss_;
  int64_t tokens_;
};

TrainConfig adamw() {
  TrainConfig config;
  config.optimizer = "adamw";
  config.epsilon = 1e-8;
  config.clip_norm = 1;
  return config;
}

// Training steps as the trainer makes them: loss, gradients, clipping, AdamW.
class TrainingWorkload final : public Workload {
 public:
  TrainingWorkload(std::unique_ptr<nn::Module> model, std::function<CrossEntropy()> loss,
                   int64_t tokens, double attention_flops)
      : task_(std::move(model), std::move(loss), tokens),
        tokens_(tokens),
        flops_(6.0 * static_cast<double>(product_weights(task_.module()) * tokens) +
               attention_flops),
        updater_(adamw(), task_) {}

  void run() override { updater_.update(state_, INT64_MAX, 1e-4); }
  int64_t tokens() const override { return tokens_; }
  double flops() const override { return flops_; }

 private:
  OneBatch task_;
  int64_t tokens_;
  double flops_;
  Updater updater_;
  TrainingState state_;
};

// Scores and contexts, forward and backward, of layers over `positions` that see `keys` each.
double attention_flops(int64_t layers, int64_t width, int64_t keys, int64_t positions) {
  return 12.0 * static_cast<double>(layers * width * keys * positions);
}

constexpr int64_t pairs = 64;
constexpr int64_t pair_length = 16;
constexpr int64_t pair_vocabulary = 8000;

std::unique_ptr<Workload> train_translator(std::unique_ptr<nn::TranslationModel> model,
                                           double further_flops) {
  const Shape shape = {pairs, pair_length};
  const nn::PaddedIds source = {synthetic_ids(shape, pair_vocabulary, 1),
                                std::vector<int64_t>(pairs, pair_length)};
  const Tensor input = synthetic_ids(shape, pair_vocabulary, 2);
  const Tensor output = synthetic_ids(shape, pair_vocabulary, 3);
  const auto loss = [=, &translator = *model] {
    return cross_entropy(translator.forward(source, input, false).logits, output,
                         {0.1, data::Vocabulary::padding});
  };
  return std::make_unique<TrainingWorkload>(std::move(model), loss, shape.numel(), further_flops);
}

}  // namespace

nn::CausalLmOptions gpt_small() {
  nn::CausalLmOptions options;  // nanoGPT's recipe for a CPU
  options.vocabulary = 65;
  options.bias = false;
  return options;
}

nn::CausalLmOptions gpt_medium() {
  nn::CausalLmOptions options = gpt_small();
  options.layers = 6;
  options.heads = 6;
  options.width = 384;
  options.context = 256;
  return options;
}

nn::RnnTranslatorOptions bench_rnnsearch() {
  nn::RnnTranslatorOptions options;
  options.source_vocabulary = pair_vocabulary;
  options.target_vocabulary = pair_vocabulary;
  return options;
}

std::unique_ptr<Workload> train_causal_lm(const nn::CausalLmOptions& options, int64_t batch) {
  Generator generator(1);
  auto model = std::make_unique<nn::CausalLm>(options, generator);
  const Shape shape = {batch, options.context};
  const Tensor input = synthetic_ids(shape, options.vocabulary, 1);
  const Tensor output = synthetic_ids(shape, options.vocabulary, 2);
  const auto loss = [input, output, &lm = *model] {
    return cross_entropy(lm.forward(input), output);
  };
  const int64_t tokens = shape.numel();
  return std::make_unique<TrainingWorkload>(
      std::move(model), loss, tokens,
      attention_flops(options.layers, options.width, options.context, tokens));
}

std::unique_ptr<Workload> train_gpt_small() {
  return train_causal_lm(gpt_small(), gpt_small_batch);
}
std::unique_ptr<Workload> train_gpt_medium() { return train_causal_lm(gpt_medium(), 8); }

std::unique_ptr<Workload> train_rnnsearch() {
  Generator generator(1);
  const nn::RnnTranslatorOptions options = bench_rnnsearch();
  // s_0 = tanh(W h): a matrix that is used once a sentence, not at each position.
  const double unused =
      6.0 * static_cast<double>(options.width * options.width * pairs * (pair_length - 1));
  return train_translator(std::make_unique<nn::RnnTranslator>(options, generator), -unused);
}

std::unique_ptr<Workload> train_transformer() {
  nn::TransformerOptions options;
  options.source_vocabulary = pair_vocabulary;
  options.target_vocabulary = pair_vocabulary;
  options.ffn_width = 512;
  Generator generator(1);
  // The encoder's own, the decoder's own and the decoder's of the encoder.
  const int64_t attentions = options.encoder_layers + 2 * options.decoder_layers;
  return train_translator(
      std::make_unique<nn::Transformer>(options, generator),
      attention_flops(attentions, options.width, pair_length, pairs * pair_length));
}

}  // namespace heed::train
