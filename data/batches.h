#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "core/export.h"
#include "core/random.h"
#include "data/pair_store.h"

namespace heed::data {

// Padded with Vocabulary::padding, row-major.
struct PairBatch {
  std::vector<uint32_t> indices;  // of the examples, in the order of the rows
  int64_t source_width = 0;
  int64_t target_width = 0;
  std::vector<int32_t> source;  // (B, source_width)
  std::vector<int64_t> source_lengths;
  std::vector<int32_t> target_input;   // (B, target_width): <s>, target
  std::vector<int32_t> target_output;  // (B, target_width): target, </s>
  int64_t target_tokens = 0;           // of target_output, without padding

  int64_t size() const { return static_cast<int64_t>(indices.size()); }
};

HEED_EXPORT PairBatch make_batch(const PairStore& examples, std::span<const uint32_t> indices);

struct BatchLimits {
  int64_t sentences = 64;
  int64_t tokens = 0;  // rows times the longer width; 0: no limit. A longer pair is alone.
  // Batches whose sentences are sorted by length together. Many: little is padding, but a batch
  // holds one length only. 1: batches are drawn at random.
  int64_t pool = 100;
};

// Batches, each some indices of examples: 4 bytes an example.
class HEED_EXPORT BatchPlan {
 public:
  BatchPlan() = default;
  // Neighbours in `order` go together until a limit is reached; in the pools, if any, of so many
  // examples each.
  BatchPlan(const PairStore& examples, std::vector<uint32_t> order, const BatchLimits& limits,
            size_t pool);

  size_t size() const { return batches_.size(); }
  std::span<const uint32_t> operator[](size_t batch) const {
    return {order_.data() + batches_[batch].begin, batches_[batch].count};
  }
  void shuffle(Generator& generator) { generator.shuffle(batches_); }

 private:
  struct Range {
    uint32_t begin, count;
  };
  std::vector<uint32_t> order_;
  std::vector<Range> batches_;
};

// The batches of one epoch. Examples are shuffled, sorted by length within pools and cut up; then
// the batches are shuffled. A pure function of the examples' lengths, the limits and the
// generator's state.
HEED_EXPORT BatchPlan plan_epoch(const PairStore& examples, const BatchLimits& limits,
                                 Generator& generator);

// Every example once, longest sources first: for evaluation.
HEED_EXPORT BatchPlan plan_by_length(const PairStore& examples, const BatchLimits& limits);

}  // namespace heed::data
