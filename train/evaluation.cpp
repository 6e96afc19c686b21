#include "train/evaluation.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "autograd/functions.h"
#include "core/interrupt.h"
#include "train/scoring/exact_match.h"

namespace heed::train {
namespace {

std::string joined(const std::vector<std::string>& pieces) {
  return fmt::format("{}", fmt::join(pieces, " "));
}

// What is scored: the text as it is, or the model's tokens with single spaces between.
std::string scored_hypothesis(const EvaluationOptions& options, Translation translation) {
  if (options.bleu.tokenizer != BleuTokenizer::none) {
    return translation.text;
  }
  if (!translation.pieces.empty() && translation.ended) {
    translation.pieces.pop_back();  // "</s>"
  }
  return joined(translation.pieces);
}

std::optional<double> alignment_accuracy(Translator& translator, const EncodedCorpus& corpus) {
  if (corpus.alignments.empty()) {
    return std::nullopt;
  }
  const auto attention = forced_attention(translator, corpus.examples);
  int64_t words = 0;
  int64_t right = 0;
  for (size_t i = 0; i < corpus.examples.size(); ++i) {
    const data::WordAlignment& truth = corpus.alignments[i];
    // Only where a piece is a word on both sides can the truth be compared.
    if (attention[i].empty() || corpus.examples.target_length(i) != truth.size()) {
      continue;
    }
    for (size_t j = 0; j < truth.size(); ++j) {
      const auto& row = attention[i][j];
      const auto strongest =
          static_cast<int>(std::max_element(row.begin(), row.end()) - row.begin());
      right += std::count(truth[j].begin(), truth[j].end(), strongest) > 0 ? 1 : 0;
      ++words;
    }
  }
  if (words == 0) {
    return std::nullopt;
  }
  return static_cast<double>(right) / static_cast<double>(words);
}

}  // namespace

CorpusLoss corpus_loss(Translator& translator, const EncodedCorpus& corpus) {
  const nn::EvaluationScope evaluation(*translator.model);
  const CrossEntropyOptions options{translator.config.train.label_smoothing,
                                    data::Vocabulary::padding};
  CorpusLoss total;
  const auto plan = data::plan_by_length(corpus.examples, {translator.config.decode.batch_size, 0});
  for (size_t i = 0; i < plan.size(); ++i) {
    check_stop();
    const data::PairBatch batch = data::make_batch(corpus.examples, plan[i]);
    const auto output = translator.model->forward(source_of(batch), target_input_of(batch), false);
    const CrossEntropy loss = cross_entropy(output.logits, target_output_of(batch), options);
    total.loss += loss.loss.item();
    total.nll += loss.nll.item();
    total.tokens += batch.target_tokens;
  }
  return total;
}

std::vector<std::vector<std::vector<float>>> forced_attention(Translator& translator,
                                                              const data::PairStore& examples) {
  const nn::EvaluationScope evaluation(*translator.model);
  std::vector<std::vector<std::vector<float>>> all(examples.size());
  const auto plan = data::plan_by_length(examples, {translator.config.decode.batch_size, 0});
  for (size_t i = 0; i < plan.size(); ++i) {
    check_stop();
    const data::PairBatch batch = data::make_batch(examples, plan[i]);
    const auto output = translator.model->forward(source_of(batch), target_input_of(batch), true);
    if (!output.attention.defined()) {
      return all;
    }
    const auto weights = to_dtype(output.attention, DType::f32).to_vector<float>();
    auto at = weights.begin();
    for (size_t row = 0; row < plan[i].size(); ++row) {
      const auto steps = static_cast<int64_t>(examples.target_length(plan[i][row])) + 1;
      std::vector<std::vector<float>> rows;
      for (int64_t t = 0; t < batch.target_width; ++t, at += batch.source_width) {
        if (t < steps) {
          rows.emplace_back(at, at + batch.source_lengths[row]);
        }
      }
      all[plan[i][row]] = in_source_order(translator.config, std::move(rows));
    }
  }
  return all;
}

std::vector<std::vector<std::vector<std::vector<float>>>> head_attention(
    Translator& translator, const data::SentencePair& pair) {
  const nn::EvaluationScope evaluation(*translator.model);
  const Config& config = translator.config;
  data::PairStore examples = pair_store(translator.text, "a pair");
  examples.append({encode_source(config, translator.text.source, pair.source),
                   translator.text.target.encode(pair.target)});
  const data::PairBatch batch = data::make_batch(examples, std::array{uint32_t{0}});
  const auto output = translator.model->forward(source_of(batch), target_input_of(batch), true);
  std::vector<std::vector<std::vector<std::vector<float>>>> layers;
  for (const Tensor& weights : output.layer_attention) {  // (1, H, T, S)
    const auto values = to_dtype(weights, DType::f32).to_vector<float>();
    auto at = values.begin();
    auto& heads = layers.emplace_back();
    for (int64_t head = 0; head < weights.dim(1); ++head) {
      std::vector<std::vector<float>> rows;
      for (int64_t t = 0; t < batch.target_width; ++t, at += batch.source_width) {
        rows.emplace_back(at, at + batch.source_width);
      }
      heads.push_back(in_source_order(config, std::move(rows)));
    }
  }
  return layers;
}

Evaluation evaluate(Translator& translator, const EncodedCorpus& corpus,
                    const EvaluationOptions& options) {
  Evaluation result;
  result.loss = corpus_loss(translator, corpus);
  const TextSide& target = translator.text.target;
  std::vector<std::string> sources;
  for (const data::SentencePair& pair : corpus.pairs) {
    sources.push_back(pair.source);
    const auto pieces = target.encode_pieces(pair.target);
    const bool tokens = options.bleu.tokenizer == BleuTokenizer::none;
    result.references.push_back(tokens ? joined(pieces) : pair.target);
    result.respaced_references.push_back(tokens ? joined(pieces)
                                                : target.tokenizer->decode(pieces));
  }
  for (auto& translations : translate(translator, sources, options.decode)) {
    result.hypotheses.push_back(scored_hypothesis(options, std::move(translations.front())));
  }
  // A model that reads and writes lower case is scored so, and the signature says it.
  result.bleu_options = options.bleu;
  result.bleu_options.lowercase |= translator.config.data.lowercase;
  result.bleu = bleu(result.hypotheses, result.references, result.bleu_options);
  result.chrf = chrf(result.hypotheses, result.references, {result.bleu_options.lowercase});
  result.exact = exact_match(result.hypotheses, result.respaced_references);
  result.alignment_accuracy = alignment_accuracy(translator, corpus);
  return result;
}

}  // namespace heed::train
