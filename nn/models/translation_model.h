#pragma once

#include <memory>
#include <vector>

#include "core/export.h"
#include "nn/module.h"
#include "nn/sequence.h"

namespace heed::nn {

// Where a decoder stands for a batch of rows: everything step() reads and writes.
class HEED_EXPORT DecoderState {
 public:
  virtual ~DecoderState() = default;
  // Keeps these rows, in this order; a row may be named several times (hypotheses of a beam).
  virtual void select(const std::vector<int32_t>& rows) = 0;
};

// What every translator offers: teacher forcing for training and scoring, steps for decoding.
class HEED_EXPORT TranslationModel : public Module {
 public:
  struct Output {
    Tensor logits;     // (B, T, V)
    Tensor attention;  // (B, T, S), or undefined when not asked for or when there is none
  };
  // target_input (B, T) i32: <s> and the target without its last token.
  virtual Output forward(const PaddedIds& source, const Tensor& target_input,
                         bool with_attention) const = 0;

  virtual std::unique_ptr<DecoderState> start(const PaddedIds& source) const = 0;
  struct Step {
    Tensor logits;     // (B, V)
    Tensor attention;  // (B, S), or undefined
  };
  // One token further: tokens (B) i32 are the ones before.
  virtual Step step(DecoderState& state, const Tensor& tokens) const = 0;

  virtual int64_t target_vocabulary() const = 0;
};

}  // namespace heed::nn
