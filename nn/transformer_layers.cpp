#include "nn/transformer_layers.h"

#include "autograd/functions.h"
#include "core/error.h"

namespace heed::nn {
namespace {

MultiHeadAttentionOptions attention_options(const TransformerLayerOptions& options,
                                            std::optional<Rotary> rotary) {
  MultiHeadAttentionOptions result;
  result.width = options.width;
  result.heads = options.heads;
  result.dropout = options.dropout;
  result.bias = options.bias;
  result.rotary = rotary;
  return result;
}

FeedForwardOptions feed_forward_options(const TransformerLayerOptions& options) {
  return {options.width, options.ffn_width, options.activation,
          options.gated, options.dropout,   options.bias};
}

std::unique_ptr<Norm> norm_of(const TransformerLayerOptions& options) {
  return make_norm(options.norm, options.width, options.bias);
}

// x and a sublayer of it, with the norm before the sublayer or after the sum.
template <typename F>
Tensor residual(NormPlacement placement, const Norm& norm, const Dropout& dropout, const Tensor& x,
                F&& sublayer) {
  return placement == NormPlacement::pre ? x + dropout.forward(sublayer(norm.forward(x)))
                                         : norm.forward(x + dropout.forward(sublayer(x)));
}

KeyValueCache* cache_of(std::vector<KeyValueCache>* caches, size_t layer) {
  return caches == nullptr ? nullptr : &(*caches)[layer];
}

}  // namespace

EncoderLayer::EncoderLayer(const TransformerLayerOptions& options, Generator& generator)
    : norm_placement_(options.norm_placement),
      self_attn_(attention_options(options, options.rotary), generator),
      feed_forward_(feed_forward_options(options), generator),
      norm1_(norm_of(options)),
      norm2_(norm_of(options)),
      dropout_(options.dropout) {
  register_module("self_attn", self_attn_);
  register_module("", feed_forward_);
  register_module("norm1", *norm1_);
  register_module("norm2", *norm2_);
  register_module("dropout", dropout_);
}

Tensor EncoderLayer::forward(const Tensor& x, const Mask& mask, KeyValueCache* cache) const {
  const Tensor attended = residual(norm_placement_, *norm1_, dropout_, x, [&](const Tensor& h) {
    return self_attn_.forward(h, mask, false, cache).output;
  });
  return residual(norm_placement_, *norm2_, dropout_, attended,
                  [&](const Tensor& h) { return feed_forward_.forward(h); });
}

DecoderLayer::DecoderLayer(const TransformerLayerOptions& options, Generator& generator)
    : norm_placement_(options.norm_placement),
      self_attn_(attention_options(options, options.rotary), generator),
      multihead_attn_(attention_options(options, std::nullopt), generator),
      feed_forward_(feed_forward_options(options), generator),
      norm1_(norm_of(options)),
      norm2_(norm_of(options)),
      norm3_(norm_of(options)),
      dropout_(options.dropout) {
  register_module("self_attn", self_attn_);
  register_module("multihead_attn", multihead_attn_);
  register_module("", feed_forward_);
  register_module("norm1", *norm1_);
  register_module("norm2", *norm2_);
  register_module("norm3", *norm3_);
  register_module("dropout", dropout_);
}

KeysValues DecoderLayer::project(const Tensor& memory, const Mask& memory_mask) const {
  return multihead_attn_.project(memory, memory, memory_mask);
}

MultiHeadOutput DecoderLayer::forward(const Tensor& x, const Mask& mask, const KeysValues& memory,
                                      const Mask& memory_mask, bool with_weights,
                                      KeyValueCache* cache) const {
  const Tensor own = residual(norm_placement_, *norm1_, dropout_, x, [&](const Tensor& h) {
    return self_attn_.forward(h, mask, false, cache).output;
  });
  Tensor weights;
  const Tensor informed = residual(norm_placement_, *norm2_, dropout_, own, [&](const Tensor& h) {
    const auto found = multihead_attn_.forward(h, memory, memory_mask, with_weights);
    weights = found.weights;
    return found.output;
  });
  return {residual(norm_placement_, *norm3_, dropout_, informed,
                   [&](const Tensor& h) { return feed_forward_.forward(h); }),
          weights};
}

Encoder::Encoder(const TransformerLayerOptions& options, int64_t layers, Generator& generator) {
  HEED_CHECK(layers > 0, "encoder", "{} layers are none", layers);
  for (int64_t layer = 0; layer < layers; ++layer) {
    layers_.push_back(std::make_unique<EncoderLayer>(options, generator));
    register_module(fmt::format("layers.{}", layer), *layers_.back());
  }
  if (options.norm_placement == NormPlacement::pre) {
    norm_ = norm_of(options);
    register_module("norm", *norm_);
  }
}

Tensor Encoder::forward(const Tensor& x, const Mask& mask,
                        std::vector<KeyValueCache>* caches) const {
  Tensor h = mask.clear_padding(x);
  const Mask cleared = mask.cleared();  // layers keep finite what is
  for (size_t layer = 0; layer < layers_.size(); ++layer) {
    h = layers_[layer]->forward(h, cleared, cache_of(caches, layer));
  }
  return norm_ ? norm_->forward(h) : h;
}

Decoder::Decoder(const TransformerLayerOptions& options, int64_t layers, Generator& generator) {
  HEED_CHECK(layers > 0, "decoder", "{} layers are none", layers);
  for (int64_t layer = 0; layer < layers; ++layer) {
    layers_.push_back(std::make_unique<DecoderLayer>(options, generator));
    register_module(fmt::format("layers.{}", layer), *layers_.back());
  }
  if (options.norm_placement == NormPlacement::pre) {
    norm_ = norm_of(options);
    register_module("norm", *norm_);
  }
}

std::vector<KeysValues> Decoder::project(const Tensor& memory, const Mask& memory_mask) const {
  const Tensor source = memory_mask.clear_padding(memory);
  std::vector<KeysValues> projected;
  for (const auto& layer : layers_) {
    projected.push_back(layer->project(source));
  }
  return projected;
}

DecoderOutput Decoder::forward(const Tensor& x, const Mask& mask,
                               const std::vector<KeysValues>& memory, const Mask& memory_mask,
                               bool with_weights, std::vector<KeyValueCache>* caches) const {
  DecoderOutput result;
  Tensor h = mask.clear_padding(x);
  const Mask cleared = mask.cleared();
  for (size_t layer = 0; layer < layers_.size(); ++layer) {
    auto found = layers_[layer]->forward(h, cleared, memory[layer], memory_mask, with_weights,
                                         cache_of(caches, layer));
    h = found.output;
    if (with_weights) {
      result.weights.push_back(found.weights);
    }
  }
  result.output = norm_ ? norm_->forward(h) : h;
  return result;
}

bool is_residual_projection(std::string_view name) {
  return name.ends_with("out_proj.weight") || name.ends_with("linear2.weight");
}

}  // namespace heed::nn
