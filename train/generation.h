#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/export.h"
#include "core/random.h"
#include "train/language_model.h"
#include "train/sampling.h"

namespace heed::train {

struct GenerationOptions {
  int64_t tokens = 256;
  SamplingOptions sampling;
  bool slide = true;  // false: prompt and tokens have to fit into the model's context
};

// The [decode] section.
HEED_EXPORT GenerationOptions generation_options(const DecodeConfig& decode);

// The prompt as ids. An empty one stands for a line feed, or the most frequent token where the
// vocabulary has none. Throws InputError naming what the vocabulary does not have, and for a prompt
// without any token.
HEED_EXPORT std::vector<int32_t> encode_prompt(const LanguageModel& language_model,
                                               const std::string& prompt);

// Hands each new token to `token` as soon as it is drawn. A sliding model reads of a prompt that is
// longer than the context its last part, and when the context is full, the latter half of it anew.
// Throws InputError when it may not slide and would have to.
HEED_EXPORT void generate(LanguageModel& language_model, const std::vector<int32_t>& prompt,
                          const GenerationOptions& options, Generator& generator,
                          const std::function<void(int32_t)>& token);

// A text out of nothing, drawn as the config's [decode] section says.
HEED_EXPORT std::string sample_text(LanguageModel& language_model, int64_t tokens,
                                    Generator& generator);

// Line feeds as an arrow, for a log line.
HEED_EXPORT std::string one_line(const std::string& text);

}  // namespace heed::train
