#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "core/export.h"
#include "nn/attention.h"
#include "nn/feed_forward.h"
#include "nn/layers.h"
#include "nn/mask.h"

namespace heed::nn {

enum class NormPlacement { pre, post };

struct TransformerLayerOptions {
  int64_t width = 0;
  int64_t heads = 1;
  int64_t ffn_width = 0;  // 0: 4 width
  double dropout = 0;     // of attention weights, inner units, and each sublayer's output
  bool bias = true;
  NormKind norm = NormKind::layer;
  // post: norm(x + f(x)), Vaswani et al. 2017; pre: x + f(norm(x)), and one norm after all layers.
  NormPlacement norm_placement = NormPlacement::post;
  Activation activation = Activation::relu;
  bool gated = false;
  std::optional<Rotary> rotary;  // in self-attention
};

// Self-attention, then feed-forward: PyTorch's TransformerEncoderLayer and its names (self_attn,
// linear1, linear2, norm1, norm2), batch first. With a causal mask, a decoder-only layer.
class HEED_EXPORT EncoderLayer : public Module {
 public:
  EncoderLayer(const TransformerLayerOptions& options, Generator& generator);
  Tensor forward(const Tensor& x, const Mask& mask = {}, KeyValueCache* cache = nullptr) const;

 private:
  NormPlacement norm_placement_;
  MultiHeadAttention self_attn_;
  FeedForward feed_forward_;
  std::unique_ptr<Norm> norm1_;
  std::unique_ptr<Norm> norm2_;
  Dropout dropout_;
};

// Self-attention, attention to the source, feed-forward: PyTorch's TransformerDecoderLayer and its
// names (self_attn, multihead_attn, linear1, linear2, norm1, norm2, norm3), batch first.
class HEED_EXPORT DecoderLayer : public Module {
 public:
  DecoderLayer(const TransformerLayerOptions& options, Generator& generator);

  // The source (B, S, width) as this layer's attention reads it.
  KeysValues project(const Tensor& memory, const Mask& memory_mask = {}) const;
  // x (B, T, width) -> the same; weights of the attention to the source when asked for.
  MultiHeadOutput forward(const Tensor& x, const Mask& mask, const KeysValues& memory,
                          const Mask& memory_mask = {}, bool with_weights = false,
                          KeyValueCache* cache = nullptr) const;

 private:
  NormPlacement norm_placement_;
  MultiHeadAttention self_attn_;
  MultiHeadAttention multihead_attn_;
  FeedForward feed_forward_;
  std::unique_ptr<Norm> norm1_;
  std::unique_ptr<Norm> norm2_;
  std::unique_ptr<Norm> norm3_;
  Dropout dropout_;
};

// layers.0, layers.1, ... and, with norms in front of sublayers, norm at the end.
class HEED_EXPORT Encoder : public Module {
 public:
  Encoder(const TransformerLayerOptions& options, int64_t layers, Generator& generator);
  // x (B, T, width) -> the same. Padding, NaN included, reaches no other position.
  Tensor forward(const Tensor& x, const Mask& mask = {},
                 std::vector<KeyValueCache>* caches = nullptr) const;
  int64_t layers() const { return static_cast<int64_t>(layers_.size()); }

 private:
  std::vector<std::unique_ptr<EncoderLayer>> layers_;
  std::unique_ptr<Norm> norm_;
};

struct DecoderOutput {
  Tensor output;                // (B, T, width)
  std::vector<Tensor> weights;  // of each layer, (B, H, T, S); none unless asked for
};

class HEED_EXPORT Decoder : public Module {
 public:
  Decoder(const TransformerLayerOptions& options, int64_t layers, Generator& generator);
  // The source (B, S, width) as each layer's attention reads it.
  std::vector<KeysValues> project(const Tensor& memory, const Mask& memory_mask = {}) const;
  DecoderOutput forward(const Tensor& x, const Mask& mask, const std::vector<KeysValues>& memory,
                        const Mask& memory_mask = {}, bool with_weights = false,
                        std::vector<KeyValueCache>* caches = nullptr) const;
  int64_t layers() const { return static_cast<int64_t>(layers_.size()); }

 private:
  std::vector<std::unique_ptr<DecoderLayer>> layers_;
  std::unique_ptr<Norm> norm_;
};

// Whether a parameter of these layers writes into the residual stream (out_proj.weight,
// linear2.weight): those start smaller in deep pre-norm networks (Radford et al. 2019, 2.3).
HEED_EXPORT bool is_residual_projection(std::string_view name);

}  // namespace heed::nn
