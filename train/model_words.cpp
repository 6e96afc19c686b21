#include "train/model_words.h"

#include <initializer_list>
#include <string_view>
#include <utility>

#include "core/error.h"

namespace heed::train {
namespace {

// The config has checked that the word is one of these.
template <typename T>
T lookup(std::string_view word, std::initializer_list<std::pair<std::string_view, T>> meanings) {
  for (const auto& [name, meaning] : meanings) {
    if (name == word) {
      return meaning;
    }
  }
  throw InternalError("no meaning for " + std::string(word));
}

}  // namespace

kernels::Precision precision_of(const RunConfig& run) {
  return lookup<kernels::Precision>(run.precision, {{"float32", kernels::Precision::float32},
                                                    {"tf32", kernels::Precision::tf32},
                                                    {"bf16", kernels::Precision::bf16}});
}

nn::Readout readout_of(const ModelConfig& model) {
  return lookup<nn::Readout>(model.readout,
                             {{"maxout", nn::Readout::maxout}, {"linear", nn::Readout::linear}});
}

nn::RnnInitialization initialization_of(const ModelConfig& model) {
  return lookup<nn::RnnInitialization>(model.initialization,
                                       {{"default", nn::RnnInitialization::standard},
                                        {"paper", nn::RnnInitialization::paper},
                                        {"xavier", nn::RnnInitialization::xavier}});
}

nn::Positions positions_of(const ModelConfig& model) {
  return lookup<nn::Positions>(model.positions, {{"none", nn::Positions::none},
                                                 {"sinusoidal", nn::Positions::sinusoidal},
                                                 {"learned", nn::Positions::learned},
                                                 {"rotary", nn::Positions::rotary}});
}

nn::NormKind norm_of(const ModelConfig& model) {
  return lookup<nn::NormKind>(model.norm,
                              {{"layer", nn::NormKind::layer}, {"rms", nn::NormKind::rms}});
}

nn::NormPlacement norm_placement_of(const ModelConfig& model) {
  return lookup<nn::NormPlacement>(
      model.norm_placement, {{"pre", nn::NormPlacement::pre}, {"post", nn::NormPlacement::post}});
}

nn::Activation activation_of(const ModelConfig& model) {
  return lookup<nn::Activation>(model.activation, {{"relu", nn::Activation::relu},
                                                   {"gelu", nn::Activation::gelu},
                                                   {"gelu_tanh", nn::Activation::gelu_tanh},
                                                   {"silu", nn::Activation::silu},
                                                   {"swiglu", nn::Activation::silu},
                                                   {"geglu", nn::Activation::gelu}});
}

bool is_gated(const ModelConfig& model) {
  return model.activation == "swiglu" || model.activation == "geglu";
}

RotaryPairing rotary_pairing_of(const ModelConfig& model) {
  return lookup<RotaryPairing>(model.rotary_pairing, {{"interleaved", RotaryPairing::interleaved},
                                                      {"half", RotaryPairing::half}});
}

}  // namespace heed::train
