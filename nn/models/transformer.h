#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "core/export.h"
#include "nn/layers.h"
#include "nn/models/translation_model.h"
#include "nn/positions.h"
#include "nn/transformer_layers.h"

namespace heed::nn {

struct TransformerOptions {
  int64_t source_vocabulary = 0;
  int64_t target_vocabulary = 0;
  int64_t width = 256;
  int64_t encoder_layers = 3;
  int64_t decoder_layers = 3;
  int64_t heads = 8;
  int64_t ffn_width = 0;  // 0: 4 width
  int64_t context = 256;  // positions of a learned table
  double dropout = 0.1;   // on embeddings, attention weights, inner units, sublayer outputs
  bool bias = true;
  bool tie_embeddings = false;    // the output projection is the target embedding ..
  bool share_vocabulary = false;  // .. and then the source embedding too
  Positions positions = Positions::sinusoidal;
  NormKind norm = NormKind::layer;
  NormPlacement norm_placement = NormPlacement::post;
  Activation activation = Activation::relu;
  bool gated = false;
  RotaryPairing rotary_pairing = RotaryPairing::interleaved;
  double embedding_scale = 0;  // of embeddings before positions are added; 0: sqrt(width)
  int64_t padding_id = 0;
};

// Vaswani et al. 2017, "Attention is all you need". Parameters: source_embedding, target_embedding,
// source_positions, target_positions (learned ones), encoder and decoder (layers.N, as EncoderLayer
// and DecoderLayer, and norm with norms in front), output (no bias). Embeddings and learned
// positions start normal with deviation 1 / sqrt(width), other matrices Xavier uniform, biases 0;
// with norms in front, what writes into a residual stream of n sublayers starts 1 / sqrt(n) times
// that.
class HEED_EXPORT Transformer : public TranslationModel {
 public:
  Transformer(const TransformerOptions& options, Generator& generator);

  Output forward(const PaddedIds& source, const Tensor& target_input,
                 bool with_attention) const override;
  // Steps keep keys and values of the target in a cache.
  std::unique_ptr<DecoderState> start(const PaddedIds& source) const override;
  Step step(DecoderState& state, const Tensor& tokens, bool with_attention) const override;
  int64_t target_vocabulary() const override { return options_.target_vocabulary; }
  std::optional<int64_t> context() const override { return target_positions_.limit(); }

 private:
  struct State;
  // (B, T) -> (B, T, width): scaled, with positions from `first` on, dropped out.
  Tensor embed(const Embedding& embedding, const PositionEncoding& positions, const Tensor& ids,
               int64_t first) const;
  // What the decoder's layers read of the source.
  std::vector<KeysValues> encode(const PaddedIds& source, const Mask& mask) const;
  void initialize(Generator& generator);

  TransformerOptions options_;
  Embedding source_embedding_;
  Embedding target_embedding_;
  PositionEncoding source_positions_;
  PositionEncoding target_positions_;
  Encoder encoder_;
  Decoder decoder_;
  Linear output_;
  Dropout dropout_;
};

}  // namespace heed::nn
