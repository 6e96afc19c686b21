#include "train/translation_task.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "autograd/functions.h"
#include "core/logging.h"
#include "train/evaluation.h"
#include "train/fingerprint.h"
#include "train/streams.h"

namespace heed::train {
namespace {

data::BatchLimits limits(const DataConfig& data) {
  return data.batch_tokens > 0 ? data::BatchLimits{INT32_MAX, data.batch_tokens, data.sort_batches}
                               : data::BatchLimits{data.batch_size, 0, data.sort_batches};
}

}  // namespace

TranslationTask::TranslationTask(const Config& config, const Checkpoint* saved) {
  if (saved != nullptr) {
    translator_ = restore_translator(*saved);
  }
  translator_.config = config;
  const data::PairCorpus train = load_corpus(config, config.data.train, data::Split::train);
  if (saved == nullptr) {
    translator_.text = build_text(config, train);
  }
  train_ = encode_corpus(config, translator_.text, train, CorpusUse::training);
  translator_.training_data = fingerprint(train_.examples);
  if (saved != nullptr) {
    check_same_data(*saved, translator_.training_data, train_.name);
  }
  if (!config.data.validation.empty()) {
    validation_ =
        encode_corpus(config, translator_.text,
                      load_corpus(config, config.data.validation, data::Split::validation),
                      CorpusUse::evaluation);
  }
  if (saved == nullptr) {
    Generator initial = generator_of(config.run.seed, Stream::initialization);
    translator_.model = make_translation_model(config, translator_.text, initial);
  }
  check_fits(translator_, validation_);
}

int64_t TranslationTask::plan_epoch(Generator& generator) {
  plan_ = data::plan_epoch(train_.examples, limits(translator_.config.data), generator);
  return static_cast<int64_t>(plan_.size());
}

BatchLoss TranslationTask::loss(int64_t batch) {
  const data::PairBatch pairs =
      data::make_batch(train_.examples, plan_[static_cast<size_t>(batch)]);
  const CrossEntropyOptions options{translator_.config.train.label_smoothing,
                                    data::Vocabulary::padding};
  const auto output = translator_.model->forward(source_of(pairs), target_input_of(pairs), false);
  const CrossEntropy sums = cross_entropy(output.logits, target_output_of(pairs), options);
  return {sums.loss, sums.nll, pairs.target_tokens};
}

Validation TranslationTask::validate() {
  const TrainConfig& train = translator_.config.train;
  EvaluationOptions options;
  // Greedily, whatever else [decode] says: it may change when a run goes on, and must not change
  // which checkpoint is best.
  options.decode = {};
  options.decode.batch_size = translator_.config.decode.batch_size;
  const Evaluation result = evaluate(translator_, validation_, options);
  Validation validation;
  validation.loss = result.loss.nll_per_token();
  constexpr double noise = 5;  // BLEU below it tells nothing of a model
  const double bleu = result.bleu.score < noise ? 0 : result.bleu.score;
  validation.goodness = train.best_by == "bleu" ? bleu : -validation.loss;
  const double perplexity = result.loss.perplexity();
  validation.figures = {
      {"loss", result.loss.loss_per_token(), ""},
      {"nll", validation.loss, fmt::format("nll {:.4f}", validation.loss)},
      {"perplexity", perplexity, fmt::format("perplexity {:.2f}", perplexity)},
      {"bleu", result.bleu.score, fmt::format("BLEU {:.2f}", result.bleu.score)},
      {"chrf", result.chrf.score, fmt::format("chrF {:.2f}", result.chrf.score)},
      {"exact", result.exact, fmt::format("exact {:.1f}%", 100 * result.exact)},
  };
  if (result.alignment_accuracy) {
    validation.figures.push_back(
        {"alignment_accuracy", *result.alignment_accuracy,
         fmt::format("alignment {:.1f}%", 100 * *result.alignment_accuracy)});
  }
  const auto shown =
      std::min(static_cast<size_t>(train.validation_samples), result.hypotheses.size());
  for (size_t i = 0; i < shown; ++i) {
    const std::string& reference = result.respaced_references[i];
    validation.samples.push_back(
        fmt::format("{}  ->  {}  ({})", validation_.pairs[i].source, result.hypotheses[i],
                    result.hypotheses[i] == reference ? "right" : reference));
  }
  return validation;
}

}  // namespace heed::train
