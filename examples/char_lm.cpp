// A character language model in a few lines: text to ids, a Transformer, training, writing.
#include <fmt/core.h>

#include "autograd/functions.h"
#include "data/text_corpus.h"
#include "data/windows.h"
#include "nn/models/causal_lm.h"
#include "train/optimizer.h"
#include "train/sampling.h"

int main() {
  using namespace heed;
  constexpr int64_t context = 64;
  constexpr int64_t batch_size = 8;
  const std::string line = "to be, or not to be, that is the question:\n";
  std::string lines;
  for (int i = 0; i < 100; ++i) {
    lines += line;
  }
  const data::RunningText text("a line many times", lines);
  const auto tokenizer = data::make_text_tokenizer({.kind = "character"}, text);
  const auto vocabulary = data::build_text_vocabulary(*tokenizer, text, 1, 0);
  const data::IdStore ids = data::encode_text(*tokenizer, vocabulary, text);

  Generator generator(1);
  nn::CausalLmOptions options;
  options.vocabulary = vocabulary.size();
  options.width = 32;
  options.layers = 2;
  options.context = context;
  nn::CausalLm model(options, generator);
  train::TrainConfig training;
  training.optimizer = "adamw";
  training.epsilon = 1e-8;
  const auto optimizer = train::make_optimizer(training, model.named_parameters());

  double nats_a_token = 0;
  for (int step = 0; step < 400; ++step) {
    const auto starts = data::random_windows(batch_size, ids.size(), context, generator);
    const data::WindowBatch batch = data::make_window_batch(ids, starts, context);
    const Tensor logits =
        model.forward(Tensor::from_vector(batch.input, {batch.rows, batch.width}));
    const Tensor targets = Tensor::from_vector(batch.output, {batch.rows, batch.width});
    const Tensor loss =
        cross_entropy(logits, targets).loss * (1.0 / static_cast<double>(batch.tokens));
    nats_a_token = loss.item();
    backward(loss);
    optimizer->step(5e-3);
    model.clear_gradients();
  }

  const nn::EvaluationScope evaluation(model);
  const auto state = model.start(1);
  std::vector<int32_t> next = {vocabulary.id("\n")};
  std::string written;
  for (size_t i = 0; i < line.size(); ++i) {
    const auto length = static_cast<int64_t>(next.size());
    const Tensor logits = model.step(*state, Tensor::from_vector(next, {1, length}));
    next = {train::sample(logits.to_vector<float>(), {.temperature = 0}, generator)};
    written += vocabulary.token(next.front());
  }
  fmt::print("{:.3f} nats a token: {}\n", nats_a_token, written);
  return written == line ? 0 : 1;
}
