#pragma once

#include <string>
#include <string_view>
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
                                               std::string_view text);

// For ids of either side.
HEED_EXPORT data::PairStore pair_store(const TranslationText& text, const std::string& name,
                                       int64_t expected = 0);

// A corpus as ids.
struct EncodedCorpus {
  std::string name;
  data::PairStore examples;
  // Of the examples, where the texts are kept; alignments also need to be known.
  std::vector<data::SentencePair> pairs;
  std::vector<data::WordAlignment> alignments;
  int64_t target_tokens = 0;  // the end of each target counted
};

// Training leaves out what is longer than data.max_length or over data.max_ratio, and needs no
// texts. Evaluation keeps all, and the texts.
enum class CorpusUse { training, evaluation };

// Logs what was left out and why.
HEED_EXPORT EncodedCorpus encode_corpus(const Config& config, const TranslationText& text,
                                        const data::PairCorpus& corpus, CorpusUse use);

// The first pairs that training learns from, at most so many.
HEED_EXPORT std::vector<data::SentencePair> first_learned(const Config& config,
                                                          const TranslationText& text,
                                                          const data::PairCorpus& corpus,
                                                          size_t count);

HEED_EXPORT data::PairCorpus load_corpus(const Config& config, const CorpusName& name,
                                         data::Split split);

// The batch's tensors.
HEED_EXPORT nn::PaddedIds source_of(const data::PairBatch& batch);
HEED_EXPORT Tensor target_input_of(const data::PairBatch& batch);
HEED_EXPORT Tensor target_output_of(const data::PairBatch& batch);

}  // namespace heed::train
