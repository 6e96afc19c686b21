#pragma once

#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "nn/sequence.h"

namespace heed::nn {

// Which sentence each row of a decoder translates. What all hypotheses of a sentence share (keys
// and values of the source) can stay where it is while a beam only reorders them.
class SourceRows {
 public:
  explicit SourceRows(const PaddedIds& source)
      : lengths_(source.lengths), width_(source.width()), sentences_(lengths_.size()) {
    std::iota(sentences_.begin(), sentences_.end(), 0);
  }

  // Follows a selection of rows; false when each row belongs to the sentence it did before.
  bool select(const std::vector<int32_t>& rows) {
    std::vector<int64_t> lengths;
    std::vector<int32_t> sentences;
    for (const int32_t row : rows) {
      lengths.push_back(lengths_.at(static_cast<size_t>(row)));
      sentences.push_back(sentences_.at(static_cast<size_t>(row)));
    }
    const bool changed = sentences != sentences_;
    lengths_ = std::move(lengths);
    sentences_ = std::move(sentences);
    return changed;
  }

  const std::vector<int64_t>& lengths() const { return lengths_; }  // of each row's source
  int64_t width() const { return width_; }                          // they are padded to

 private:
  std::vector<int64_t> lengths_;
  int64_t width_;
  std::vector<int32_t> sentences_;
};

}  // namespace heed::nn
