#include "train/evaluation.h"

#include <algorithm>
#include <cmath>

#include "autograd/functions.h"
#include "train/scoring/exact_match.h"

namespace heed::train {
namespace {

// What is compared: detokenised text, or the tokens with single spaces between.
std::string scored_text(const TextSide& side, const EvaluationOptions& options,
                        const std::string& text) {
  const auto pieces = side.tokenizer->encode(text);
  if (options.bleu.tokenizer == BleuTokenizer::none) {
    std::string joined;
    for (const std::string& piece : pieces) {
      joined += joined.empty() ? "" : " ";
      joined += piece;
    }
    return joined;
  }
  return side.tokenizer->decode(pieces);
}

std::string scored_text(const TextSide& side, const EvaluationOptions& options,
                        const Translation& translation) {
  if (options.bleu.tokenizer != BleuTokenizer::none) {
    return translation.text;
  }
  std::string joined;
  for (const std::string& piece : translation.pieces) {
    if (piece != side.vocabulary.token(data::Vocabulary::end)) {
      joined += joined.empty() ? "" : " ";
      joined += piece;
    }
  }
  return joined;
}

std::optional<double> alignment_accuracy(Translator& translator, const EncodedCorpus& corpus) {
  if (corpus.alignments.empty()) {
    return std::nullopt;
  }
  const auto attention = forced_attention(translator, corpus);
  int64_t words = 0;
  int64_t right = 0;
  for (size_t i = 0; i < corpus.examples.size(); ++i) {
    const data::WordAlignment& truth = corpus.alignments[i];
    // Only where a piece is a word on both sides can the truth be compared.
    if (attention[i].empty() || corpus.examples[i].target.size() != truth.size()) {
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

double CorpusLoss::perplexity() const { return std::exp(nll_per_token()); }

CorpusLoss corpus_loss(Translator& translator, const EncodedCorpus& corpus) {
  const nn::EvaluationScope evaluation(*translator.model);
  const CrossEntropyOptions options{translator.config.train.label_smoothing,
                                    data::Vocabulary::padding};
  CorpusLoss total;
  for (const auto& plan :
       data::plan_by_length(corpus.examples, {translator.config.decode.batch_size, 0})) {
    const data::PairBatch batch = data::make_batch(corpus.examples, plan);
    const auto output = translator.model->forward(source_of(batch), target_input_of(batch), false);
    const CrossEntropy loss = cross_entropy(output.logits, target_output_of(batch), options);
    total.loss += loss.loss.item();
    total.nll += loss.nll.item();
    total.tokens += batch.target_tokens;
  }
  return total;
}

std::vector<std::vector<std::vector<float>>> forced_attention(Translator& translator,
                                                              const EncodedCorpus& corpus) {
  const nn::EvaluationScope evaluation(*translator.model);
  std::vector<std::vector<std::vector<float>>> all(corpus.examples.size());
  for (const auto& plan :
       data::plan_by_length(corpus.examples, {translator.config.decode.batch_size, 0})) {
    const data::PairBatch batch = data::make_batch(corpus.examples, plan);
    const auto output = translator.model->forward(source_of(batch), target_input_of(batch), true);
    if (!output.attention.defined()) {
      return all;
    }
    const auto weights = to_dtype(output.attention, DType::f32).to_vector<float>();
    auto at = weights.begin();
    for (size_t row = 0; row < plan.size(); ++row) {
      const auto steps = static_cast<int64_t>(corpus.examples[plan[row]].target.size()) + 1;
      std::vector<std::vector<float>> rows;
      for (int64_t t = 0; t < batch.target_width; ++t, at += batch.source_width) {
        if (t < steps) {
          rows.emplace_back(at, at + batch.source_lengths[row]);
        }
      }
      all[plan[row]] = in_source_order(translator.config, std::move(rows));
    }
  }
  return all;
}

Evaluation evaluate(Translator& translator, const EncodedCorpus& corpus,
                    const EvaluationOptions& options) {
  Evaluation result;
  result.loss = corpus_loss(translator, corpus);
  std::vector<std::string> sources;
  for (const data::SentencePair& pair : corpus.pairs) {
    sources.push_back(pair.source);
    result.references.push_back(scored_text(translator.text.target, options, pair.target));
  }
  for (const auto& translations : translate(translator, sources, options.decode)) {
    result.hypotheses.push_back(scored_text(translator.text.target, options, translations.front()));
  }
  result.bleu = bleu(result.hypotheses, result.references, options.bleu);
  result.chrf = chrf(result.hypotheses, result.references);
  result.exact = exact_match(result.hypotheses, result.references);
  result.alignment_accuracy = alignment_accuracy(translator, corpus);
  return result;
}

}  // namespace heed::train
