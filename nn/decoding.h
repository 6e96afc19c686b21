#pragma once

#include <cstdint>
#include <vector>

#include "core/export.h"
#include "nn/models/translation_model.h"

namespace heed::nn {

struct DecodingOptions {
  int64_t beam_size = 1;  // 1: greedy
  // Scores are log-probability / ((5 + length) / 6)^alpha (Wu et al. 2016, section 7), the end
  // token counted.
  double length_penalty = 0.6;
  // Tokens, the end included; 0: twice the source's length and 10, or what min_length takes. A
  // model whose positions are a table ends there.
  int64_t max_length = 0;
  int64_t min_length = 0;  // tokens before the end token is allowed
  int64_t n_best = 1;      // at most beam_size
  int32_t start_id = 2;
  int32_t end_id = 3;
  std::vector<int32_t> never = {0, 1, 2};  // ids that are never produced: padding, unknown, start
  bool with_attention = false;             // Hypothesis::attention; costs time and memory
};

struct Hypothesis {
  std::vector<int32_t> tokens;  // without start and end
  double log_probability = 0;   // nats, end token included
  double score = 0;             // after the length penalty
  bool ended = true;            // false: cut at max_length
  // Of each token, and of the end token last, the source positions' weights; empty when not asked
  // for or without attention.
  std::vector<std::vector<float>> attention;
};

// Decodes every row of the batch; the best hypothesis first. A row's result does not depend on its
// neighbours. At each step the beam_size best continuations are kept; those that end join a pool
// of finished ones, and a row stops when no live hypothesis can still beat the n_best finished
// ones under the penalty. With beam_size 1 this is greedy decoding.
HEED_EXPORT std::vector<std::vector<Hypothesis>> decode(TranslationModel& model,
                                                        const PaddedIds& source,
                                                        const DecodingOptions& options);

HEED_EXPORT double length_penalty(int64_t length, double alpha);

}  // namespace heed::nn
