#include "train/language_model_task.h"

#include <fmt/format.h>

#include <algorithm>

#include "autograd/functions.h"
#include "core/logging.h"
#include "data/windows.h"
#include "train/fingerprint.h"
#include "train/generation.h"
#include "train/streams.h"

namespace heed::train {
namespace {

void warn_of_a_short_text(const EncodedText& text, int64_t context, const char* outcome) {
  const int64_t tokens = text.ids.size();
  if (tokens <= context) {
    log::warning("data",
                 "{} has {} tokens, one window of model.context = {} needs {} (the last is only "
                 "predicted): {}",
                 text.name, tokens, context, context + 1, outcome);
  }
}

}  // namespace

LanguageModelTask::LanguageModelTask(const Config& config, const Checkpoint* saved) {
  if (saved != nullptr) {
    language_model_ = restore_language_model(*saved);
  }
  language_model_.config = config;
  const TrainingTexts texts = load_training_texts(config);
  if (saved == nullptr) {
    language_model_.text = build_text_side(config, texts.train);
  }
  train_ = encode_running_text(language_model_, texts.train);
  warn_of_a_short_text(train_, config.model.context, "longer contexts are never learned");
  language_model_.training_data = fingerprint(train_.ids);
  if (saved != nullptr) {
    check_same_data(*saved, language_model_.training_data, train_.name);
  }
  if (texts.validation) {
    validation_ = encode_running_text(language_model_, *texts.validation);
    warn_of_a_short_text(validation_, config.model.context, "longer contexts are never measured");
  }
  if (saved == nullptr) {
    Generator initial = generator_of(config.run.seed, Stream::initialization);
    language_model_.model = make_causal_lm(config, language_model_.text.vocabulary.size(), initial);
  }
}

int64_t LanguageModelTask::plan_epoch(Generator& generator) {
  const Config& config = language_model_.config;
  const int64_t width = config.model.context;
  const int64_t rows = config.data.batch_size;
  if (config.data.windows == "random") {
    data::RandomWindows windows(train_.ids.size(), width, rows, generator);
    const int64_t batches = windows.batches();
    starts_ = [windows = std::move(windows)](int64_t batch) { return windows.starts(batch); };
    return batches;
  }
  data::SequentialWindows windows(train_.ids.size(), width, rows);
  windows.shuffle(generator);
  const int64_t batches = windows.batches();
  starts_ = [windows = std::move(windows)](int64_t batch) { return windows.starts(batch); };
  return batches;
}

BatchLoss LanguageModelTask::loss(int64_t batch) {
  const Config& config = language_model_.config;
  const data::WindowBatch windows =
      data::make_window_batch(train_.ids, starts_(batch), config.model.context);
  const CrossEntropy sums =
      cross_entropy(language_model_.model->forward(input_of(windows)), output_of(windows),
                    {config.train.label_smoothing, data::Vocabulary::padding});
  return {sums.loss, sums.nll, windows.tokens};
}

Validation LanguageModelTask::validate() {
  const Config& config = language_model_.config;
  const TextLoss sums = text_loss(language_model_, validation_);
  Validation validation;
  validation.loss = sums.nll_per_token();
  validation.goodness = -validation.loss;
  const double perplexity = sums.perplexity();
  validation.figures = {
      {"loss", sums.loss_per_token(), ""},
      {"nll", validation.loss, fmt::format("nll {:.4f}", validation.loss)},
      {"perplexity", perplexity, fmt::format("perplexity {:.2f}", perplexity)},
  };
  if (const auto bits = sums.bits_per_character()) {
    validation.figures.push_back(
        {"bits_per_character", *bits, fmt::format("{:.3f} bits a character", *bits)});
  }
  Generator generator = generator_of(config.run.seed, Stream::sampling);
  for (int64_t i = 0; i < config.train.validation_samples; ++i) {
    validation.samples.push_back(one_line(sample_text(language_model_, 80, generator)));
  }
  return validation;
}

}  // namespace heed::train
