#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "core/export.h"
#include "nn/models/decoder_state.h"
#include "nn/module.h"
#include "nn/sequence.h"

namespace heed::nn {

// What every translator offers: teacher forcing for training and scoring, steps for decoding.
class HEED_EXPORT TranslationModel : public Module {
 public:
  struct Output {
    Tensor logits;     // (B, T, V)
    Tensor attention;  // (B, T, S), or undefined when not asked for or when there is none
    // Several layers' and heads', of which attention is then the mean: (B, H, T, S) each.
    std::vector<Tensor> layer_attention = {};
  };
  // target_input (B, T) i32: <s> and the target without its last token.
  virtual Output forward(const PaddedIds& source, const Tensor& target_input,
                         bool with_attention) const = 0;

  // Decoding: a state for a batch of sentences, then step by step; nothing is recorded.
  virtual std::unique_ptr<DecoderState> start(const PaddedIds& source) const = 0;
  struct Step {
    Tensor logits;     // (B, V)
    Tensor attention;  // (B, S), or undefined when not asked for or when there is none
  };
  // One token further: tokens (B) i32 are the ones before.
  virtual Step step(DecoderState& state, const Tensor& tokens, bool with_attention) const = 0;

  virtual int64_t target_vocabulary() const = 0;
  // The longest source and target input, in tokens, when positions are a table.
  virtual std::optional<int64_t> context() const { return std::nullopt; }
};

}  // namespace heed::nn
