#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "core/export.h"
#include "nn/layers.h"
#include "nn/models/decoder_state.h"
#include "nn/positions.h"
#include "nn/transformer_layers.h"

namespace heed::nn {

struct CausalLmOptions {
  int64_t vocabulary = 0;
  int64_t width = 128;
  int64_t layers = 4;
  int64_t heads = 4;
  int64_t ffn_width = 0;  // 0: 4 width
  int64_t context = 64;   // positions of a learned table
  double dropout = 0;     // on embeddings, attention weights, inner units, sublayer outputs
  bool bias = true;
  bool tie_embeddings = true;  // embedding and output projection are one
  Positions positions = Positions::learned;
  NormKind norm = NormKind::layer;
  NormPlacement norm_placement = NormPlacement::pre;
  Activation activation = Activation::gelu;
  bool gated = false;
  RotaryPairing rotary_pairing = RotaryPairing::interleaved;
};

// A decoder-only Transformer (Radford et al. 2019, GPT-2): each position predicts the next token
// from those up to it. Parameters: embedding, positions, layers.N (as EncoderLayer), norm, output.
// Starts as GPT-2: matrices normal with deviation 0.02, those that write into the residual stream
// 1 / sqrt(2 layers) times that, biases 0. Sinusoidal positions scale embeddings by sqrt(width).
class HEED_EXPORT CausalLm : public Module {
 public:
  CausalLm(const CausalLmOptions& options, Generator& generator);

  // (B, T) i32 -> logits (B, T, V). Throws Error when T is past the context of a learned table.
  Tensor forward(const Tensor& ids) const;

  // Generation with a cache of keys and values; nothing is recorded.
  std::unique_ptr<DecoderState> start(int64_t batch) const;
  // Further tokens (B, n) i32, n >= 1 (a whole prompt at once) -> logits (B, V) after the last.
  // Throws Error when cached + n is past the context of a learned table.
  Tensor step(DecoderState& state, const Tensor& ids) const;
  int64_t cached(const DecoderState& state) const;  // positions held so far

  // The longest sequence; none without a learned table.
  std::optional<int64_t> context() const { return positions_.limit(); }
  int64_t vocabulary() const { return options_.vocabulary; }

 private:
  struct State;
  Tensor embed(const Tensor& ids, int64_t first) const;
  void initialize(Generator& generator);

  CausalLmOptions options_;
  double embedding_scale_;
  Embedding embedding_;
  PositionEncoding positions_;
  Dropout dropout_;
  Encoder encoder_;
  Linear output_;
};

}  // namespace heed::nn
