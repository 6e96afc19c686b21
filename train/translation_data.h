#pragma once

#include <string>
#include <vector>

#include "core/export.h"
#include "data/batches.h"
#include "data/corpus.h"
#include "nn/sequence.h"
#include "train/config/config.h"
#include "train/text_side.h"

namespace heed::train {

// Both sides, made from the training corpus or read back from a checkpoint.
struct TranslationText {
  TextSide source;
  TextSide target;
};

HEED_EXPORT TranslationText build_text(const Config& config, const data::PairCorpus& train);

// A source sentence as the model reads it: ids, reversed and ended as the config says.
HEED_EXPORT std::vector<int32_t> encode_source(const Config& config, const TextSide& side,
                                               const std::string& text);

// A corpus as ids, its pieces beside them, filtered by length.
struct EncodedCorpus {
  std::string name;
  std::vector<data::PairExample> examples;
  std::vector<data::SentencePair> pairs;        // of the examples kept
  std::vector<data::WordAlignment> alignments;  // of the examples kept; empty when unknown
  int64_t target_tokens = 0;                    // the end of each target counted
};

enum class LengthFilter { apply, keep_all };

// Logs what was left out and why. Evaluation keeps all.
HEED_EXPORT EncodedCorpus encode_corpus(const Config& config, const TranslationText& text,
                                        data::PairCorpus corpus, LengthFilter filter);

HEED_EXPORT data::PairCorpus load_corpus(const Config& config, const CorpusName& name,
                                         data::Split split);

// The batch's tensors.
HEED_EXPORT nn::PaddedIds source_of(const data::PairBatch& batch);
HEED_EXPORT Tensor target_input_of(const data::PairBatch& batch);
HEED_EXPORT Tensor target_output_of(const data::PairBatch& batch);

}  // namespace heed::train
