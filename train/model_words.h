#pragma once

#include "nn/attention.h"
#include "nn/feed_forward.h"
#include "nn/positions.h"
#include "nn/transformer_layers.h"
#include "train/config/config.h"

// The words of the [model] section as the layers know them.
namespace heed::train {

nn::Positions positions_of(const ModelConfig& model);
nn::NormKind norm_of(const ModelConfig& model);
nn::NormPlacement norm_placement_of(const ModelConfig& model);
nn::Activation activation_of(const ModelConfig& model);
bool is_gated(const ModelConfig& model);  // swiglu, geglu
RotaryPairing rotary_pairing_of(const ModelConfig& model);

}  // namespace heed::train
