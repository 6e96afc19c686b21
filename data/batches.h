#pragma once

#include <cstdint>
#include <vector>

#include "core/export.h"
#include "core/random.h"

namespace heed::data {

// One sentence pair as ids. The source ends with </s> where the model wants that; the target has
// neither start nor end.
struct PairExample {
  std::vector<int32_t> source;
  std::vector<int32_t> target;
};

// Padded with Vocabulary::padding, row-major.
struct PairBatch {
  std::vector<size_t> indices;  // of the examples, in the order of the rows
  int64_t source_width = 0;
  int64_t target_width = 0;
  std::vector<int32_t> source;  // (B, source_width)
  std::vector<int64_t> source_lengths;
  std::vector<int32_t> target_input;   // (B, target_width): <s>, target
  std::vector<int32_t> target_output;  // (B, target_width): target, </s>
  int64_t target_tokens = 0;           // of target_output, without padding

  int64_t size() const { return static_cast<int64_t>(indices.size()); }
};

HEED_EXPORT PairBatch make_batch(const std::vector<PairExample>& examples,
                                 const std::vector<size_t>& indices);

struct BatchLimits {
  int64_t sentences = 64;
  int64_t tokens = 0;  // rows times the longer width; 0: no limit. A longer pair is alone.
  // Batches whose sentences are sorted by length together. Many: little is padding, but a batch
  // holds one length only. 1: batches are drawn at random.
  int64_t pool = 100;
};

// The batches of one epoch, as indices. Examples are shuffled, sorted by length within pools and
// cut up; then the batches are shuffled. A pure
// function of the examples' lengths, the limits and the generator's state.
HEED_EXPORT std::vector<std::vector<size_t>> plan_epoch(const std::vector<PairExample>& examples,
                                                        const BatchLimits& limits,
                                                        Generator& generator);

// Every example once, longest sources first: for evaluation.
HEED_EXPORT std::vector<std::vector<size_t>> plan_by_length(
    const std::vector<PairExample>& examples, const BatchLimits& limits);

}  // namespace heed::data
