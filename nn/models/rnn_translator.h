#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/export.h"
#include "nn/additive_attention.h"
#include "nn/gru.h"
#include "nn/layers.h"
#include "nn/models/translation_model.h"

namespace heed::nn {

enum class Readout { maxout, linear };
enum class RnnInitialization {
  standard,  // each layer's own default
  paper,     // Bahdanau et al. 2015, B.1
  xavier,    // matrices Xavier, recurrent ones orthogonal, biases 0
};

struct RnnTranslatorOptions {
  int64_t source_vocabulary = 0;
  int64_t target_vocabulary = 0;
  int64_t width = 256;  // hidden units of encoder (a direction) and decoder
  int64_t embedding_width = 256;
  int64_t attention_width = 256;
  int64_t layers = 1;
  double dropout = 0;           // on embeddings, between layers, before the output
  bool attention = true;        // false: RNNencdec, one fixed vector for the whole source
  bool tie_embeddings = false;  // target embedding and output projection are one
  Readout readout = Readout::maxout;
  RnnInitialization initialization = RnnInitialization::standard;
  int64_t padding_id = 0;
};

// Bahdanau et al. 2015, "Neural machine translation by jointly learning to align and translate":
// a bidirectional GRU reads the source; s_0 = tanh(W h_back_1); at each step additive attention
// with the previous decoder state gives the context, which with the previous target word enters
// the decoder's GRU; a maxout layer over (state, word, context) reads out the next word (A.2.2,
// with the new state s_i). Without attention the context is tanh(V [h_fwd_T; h_back_1])
// throughout: RNNencdec (Cho et al. 2014).
class HEED_EXPORT RnnTranslator : public TranslationModel {
 public:
  RnnTranslator(const RnnTranslatorOptions& options, Generator& generator);

  Output forward(const PaddedIds& source, const Tensor& target_input,
                 bool with_attention) const override;
  std::unique_ptr<DecoderState> start(const PaddedIds& source) const override;
  Step step(DecoderState& state, const Tensor& tokens, bool with_attention) const override;
  int64_t target_vocabulary() const override { return options_.target_vocabulary; }

 private:
  // The source as the decoder sees it.
  struct Encoded {
    AttentionMemory memory;              // with attention
    Tensor fixed_context;                // (B, C) without
    std::vector<Tensor> initial_states;  // (B, H) a layer
  };
  struct State;

  Encoded encode(const PaddedIds& source) const;
  AdditiveAttentionResult context_for(const Encoded& encoded, const Tensor& query) const;
  // One step of the decoder's layers; word_gates are the embedding's part of the lowest one.
  void advance(std::vector<Tensor>& states, const Tensor& word_gates, const Tensor& context) const;
  // (B, T, .) or (B, .) -> logits (.., V)
  Tensor read_out(const Tensor& states, const Tensor& words, const Tensor& contexts) const;
  void initialize(Generator& generator);
  void draw_weights(Generator& generator);

  RnnTranslatorOptions options_;
  int64_t context_width_;
  Embedding source_embedding_;
  Embedding target_embedding_;
  Gru encoder_;
  std::vector<std::unique_ptr<Linear>> bridges_;  // s_0 of each layer
  std::optional<AdditiveAttention> attention_;
  std::optional<Linear> summary_;  // V of the fixed context
  Linear word_gates_;              // the decoder's input weights for the word (with the bias) ..
  Linear context_gates_;           // .. and for the context
  Tensor recurrent_weight_;
  Tensor recurrent_bias_;
  std::vector<std::unique_ptr<GruCell>> upper_layers_;
  Linear readout_;
  Linear output_;
  Dropout dropout_;
};

}  // namespace heed::nn
