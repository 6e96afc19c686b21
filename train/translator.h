#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/export.h"
#include "nn/decoding.h"
#include "nn/models/translation_model.h"
#include "train/checkpoint.h"
#include "train/config/config.h"
#include "train/translation_data.h"

namespace heed::train {

// A model with everything needed to use it on text.
struct Translator {
  Config config;
  TranslationText text;
  std::string training_data;  // its fingerprint; empty: not known
  std::unique_ptr<nn::TranslationModel> model;
};

// Config, text and weights, and back. Throws InputError naming the checkpoint: a language model,
// weights that do not fit.
HEED_EXPORT Checkpoint checkpoint_of(const Translator& translator);
HEED_EXPORT Translator restore_translator(const Checkpoint& checkpoint);

// The model that config.model describes, initialised from the generator.
HEED_EXPORT std::unique_ptr<nn::TranslationModel> make_translation_model(
    const Config& config, const TranslationText& text, Generator& generator);

// Throws InputError for a sentence that is longer than the model's table of positions; `name` is
// what to call it.
HEED_EXPORT void check_fits(const Translator& translator, const EncodedCorpus& corpus);
HEED_EXPORT void check_fits(const Translator& translator, const std::string& source,
                            const std::string& name);

// The [decode] section.
HEED_EXPORT nn::DecodingOptions decoding_options(const DecodeConfig& config);

struct Translation {
  std::string text;
  std::vector<std::string> pieces;  // of the text, and "</s>" last when it ended
  bool ended = false;               // pieces ends with "</s>"
  double score = 0;
  double log_probability = 0;
  std::vector<std::vector<float>> attention;  // a row a piece, source order; empty without
};

// Of each sentence its n best translations. Sentences without any token give one empty
// translation. Similar lengths are decoded together; the order of the input is kept. Attention is
// there when asked for.
HEED_EXPORT std::vector<std::vector<Translation>> translate(Translator& translator,
                                                            const std::vector<std::string>& texts,
                                                            const DecodeConfig& decode,
                                                            bool with_attention = false);

// The source as shown beside an alignment: its pieces, and "</s>" when the model reads it.
HEED_EXPORT std::vector<std::string> source_pieces(const Translator& translator,
                                                   const std::string& text);

// Attention rows of the batch's row `row`, put into source order (undoing reverse_source).
HEED_EXPORT std::vector<std::vector<float>> in_source_order(
    const Config& config, std::vector<std::vector<float>> attention);

}  // namespace heed::train
