#pragma once

#include "nn/transformer_layers.h"

// What the Transformer models share. Internal to the nn room.
namespace heed::nn {

// The layers of a model by its own options, which have the same words.
template <typename ModelOptions>
TransformerLayerOptions layer_options(const ModelOptions& options) {
  TransformerLayerOptions result;
  result.width = options.width;
  result.heads = options.heads;
  result.ffn_width = options.ffn_width;
  result.dropout = options.dropout;
  result.bias = options.bias;
  result.norm = options.norm;
  result.norm_placement = options.norm_placement;
  result.activation = options.activation;
  result.gated = options.gated;
  if (options.positions == Positions::rotary) {
    result.rotary = Rotary{options.rotary_pairing};
  }
  return result;
}

}  // namespace heed::nn
