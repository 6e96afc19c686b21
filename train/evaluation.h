#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/export.h"
#include "train/corpus_loss.h"
#include "train/scoring/bleu.h"
#include "train/scoring/chrf.h"
#include "train/translator.h"

namespace heed::train {

HEED_EXPORT CorpusLoss corpus_loss(Translator& translator, const EncodedCorpus& corpus);

struct EvaluationOptions {
  DecodeConfig decode;
  BleuOptions bleu;  // tokenizer none: the model's tokens are scored, lower-cased if they are
};

struct Evaluation {
  CorpusLoss loss;
  BleuOptions bleu_options;  // lower case where the model reads and writes it
  BleuScore bleu;
  ChrfScore chrf;
  double exact = 0;  // fraction of sentences that come out exactly as the reference
  std::vector<std::string> hypotheses;  // as scored
  std::vector<std::string> references;
  // The references as the tokenizer would write them: exact match asks for the words and marks of
  // the reference, not for its spacing.
  std::vector<std::string> respaced_references;
  // Where the corpus knows the truth and the model attends: the fraction of target words whose
  // strongest source word, the reference forced, is one that they translate.
  std::optional<double> alignment_accuracy;
};

HEED_EXPORT Evaluation evaluate(Translator& translator, const EncodedCorpus& corpus,
                                const EvaluationOptions& options);

// Attention of the reference translations, forced: of each example a row for every target piece
// and the end, in source order. Empty rows without attention.
HEED_EXPORT std::vector<std::vector<std::vector<float>>> forced_attention(
    Translator& translator, const data::PairStore& examples);

// The same of one pair, by decoder layer and head: [layer][head][piece][source]. Empty for models
// without heads.
HEED_EXPORT std::vector<std::vector<std::vector<std::vector<float>>>> head_attention(
    Translator& translator, const data::SentencePair& pair);

}  // namespace heed::train
