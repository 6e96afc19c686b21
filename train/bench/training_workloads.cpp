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
#include "train/optimizer.h"
#include "train/update_report.h"

namespace heed::train {
namespace {

// A training step as the trainer makes it: loss, gradients, clipping, AdamW.
template <typename Model>
class TrainingWorkload final : public Workload {
 public:
  TrainingWorkload(std::unique_ptr<Model> model, std::function<CrossEntropy(const Model&)> loss,
                   int64_t tokens, double attention_flops)
      : model_(std::move(model)),
        loss_(std::move(loss)),
        tokens_(tokens),
        flops_(6.0 * static_cast<double>(product_weights(*model_) * tokens) + attention_flops),
        report_(model_->named_parameters()) {
    TrainConfig config;
    config.optimizer = "adamw";
    config.epsilon = 1e-8;
    optimizer_ = make_optimizer(config, model_->named_parameters());
  }

  void run() override {
    const CrossEntropy batch = loss_(*model_);
    backward(batch.loss);
    report_.begin();
    report_.add({batch.loss, batch.nll, tokens_});
    if (std::exchange(reported_, true)) {
      report_.wait();
    }
    optimizer_->step(1e-4, report_.gradient_scale(1));
    model_->clear_gradients();
  }
  int64_t tokens() const override { return tokens_; }
  double flops() const override { return flops_; }

 private:
  std::unique_ptr<Model> model_;
  std::function<CrossEntropy(const Model&)> loss_;
  int64_t tokens_;
  double flops_;
  UpdateReport report_;
  bool reported_ = false;  // there was an update before
  std::unique_ptr<Optimizer> optimizer_;
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
  const auto loss = [=](const nn::TranslationModel& translator) {
    return cross_entropy(translator.forward(source, input, false).logits, output,
                         {0.1, data::Vocabulary::padding});
  };
  return std::make_unique<TrainingWorkload<nn::TranslationModel>>(std::move(model), loss,
                                                                  shape.numel(), further_flops);
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
  const auto loss = [input, output](const nn::CausalLm& lm) {
    return cross_entropy(lm.forward(input), output);
  };
  const int64_t tokens = shape.numel();
  return std::make_unique<TrainingWorkload<nn::CausalLm>>(
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
