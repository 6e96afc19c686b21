#pragma once

#include "kernels/precision.h"
#include "nn/attention.h"
#include "nn/feed_forward.h"
#include "nn/models/rnn_translator.h"
#include "nn/positions.h"
#include "nn/transformer_layers.h"
#include "train/config/config.h"

// The words of a config as layers and kernels know them. Throw InternalError for one that is none.
namespace heed::train {

kernels::Precision precision_of(const RunConfig& run);
nn::Readout readout_of(const ModelConfig& model);
nn::RnnInitialization initialization_of(const ModelConfig& model);
nn::Positions positions_of(const ModelConfig& model);
nn::NormKind norm_of(const ModelConfig& model);
nn::NormPlacement norm_placement_of(const ModelConfig& model);
nn::Activation activation_of(const ModelConfig& model);
bool is_gated(const ModelConfig& model);  // swiglu, geglu
RotaryPairing rotary_pairing_of(const ModelConfig& model);

// What TransformerOptions and CausalLmOptions have in common.
template <typename Options>
void set_layer_options(Options& options, const ModelConfig& model) {
  options.width = model.width;
  options.heads = model.heads;
  options.ffn_width = model.ffn_width;
  options.context = model.context;
  options.dropout = model.dropout;
  options.bias = model.bias;
  options.tie_embeddings = model.tie_embeddings;
  options.positions = positions_of(model);
  options.norm = norm_of(model);
  options.norm_placement = norm_placement_of(model);
  options.activation = activation_of(model);
  options.gated = is_gated(model);
  options.rotary_pairing = rotary_pairing_of(model);
}

}  // namespace heed::train
