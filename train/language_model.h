#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/export.h"
#include "data/text_corpus.h"
#include "data/windows.h"
#include "nn/models/causal_lm.h"
#include "train/checkpoint.h"
#include "train/config/config.h"
#include "train/corpus_loss.h"
#include "train/text_side.h"

namespace heed::train {

// A model with everything needed to use it on text.
struct LanguageModel {
  Config config;
  TextSide text;
  std::string training_data;  // its fingerprint; empty: not known
  std::unique_ptr<nn::CausalLm> model;
};

// Config, text and weights, and back. Throws InputError naming the checkpoint: a translator,
// weights that do not fit.
HEED_EXPORT Checkpoint checkpoint_of(const LanguageModel& language_model);
HEED_EXPORT LanguageModel restore_language_model(const Checkpoint& checkpoint);

// The model that config.model describes, initialised from the generator.
HEED_EXPORT std::unique_ptr<nn::CausalLm> make_causal_lm(const Config& config, int64_t vocabulary,
                                                         Generator& generator);

// A text that is not learned: a file, heed's own sources, or the tail of data.train.
struct HeldOutText {
  data::RunningText text;
  std::optional<data::RunningText> learned;  // what is before the tail, in the same reading
};
// Throws InputError for the tail of a text that was learned whole.
HEED_EXPORT HeldOutText load_held_out_text(const Config& config, const CorpusName& name);

// What a training reads, each file once. data.train is without the tail when that is held out.
struct TrainingTexts {
  data::RunningText train;
  std::optional<data::RunningText> validation;
};
HEED_EXPORT TrainingTexts load_training_texts(const Config& config);

HEED_EXPORT TextSide build_text_side(const Config& config, const data::RunningText& train);

struct EncodedText {
  std::string name;
  data::IdStore ids;
  // Of the tokens that are predicted: all but the first. None where the tokenizer does not keep the
  // text (word, space).
  std::optional<int64_t> characters;
};

// Logs how much it is. Throws InputError when nothing in it could be predicted.
HEED_EXPORT EncodedText encode_running_text(const LanguageModel& language_model,
                                            const data::RunningText& text);

// A batch's tensors.
HEED_EXPORT Tensor input_of(const data::WindowBatch& batch);
HEED_EXPORT Tensor output_of(const data::WindowBatch& batch);

// Sums over a text that is read in windows of model.context tokens, one after another.
struct TextLoss : CorpusLoss {
  std::optional<int64_t> characters;                 // as EncodedText's
  std::optional<double> bits_per_character() const;  // none without characters
};

HEED_EXPORT TextLoss text_loss(LanguageModel& language_model, const EncodedText& text);

}  // namespace heed::train
