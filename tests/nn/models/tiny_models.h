#pragma once

#include <string>
#include <vector>

#include "nn/models/rnn_translator.h"
#include "nn/models/transformer.h"

// Translators small enough to differentiate by finite differences, and a batch for them.
namespace heed::nn::test {

template <typename Options>
struct Named {
  std::string name;
  Options options;
};

inline RnnTranslatorOptions tiny_rnn_translator() {
  RnnTranslatorOptions options;
  options.source_vocabulary = 7;
  options.target_vocabulary = 6;
  options.width = 4;
  options.embedding_width = 3;
  options.attention_width = 5;
  return options;
}

inline TransformerOptions tiny_transformer() {
  TransformerOptions options;
  options.source_vocabulary = 7;
  options.target_vocabulary = 6;
  options.width = 8;
  options.encoder_layers = 1;
  options.decoder_layers = 2;
  options.heads = 2;
  options.ffn_width = 10;
  options.context = 12;
  options.dropout = 0;
  return options;
}

inline std::vector<Named<RnnTranslatorOptions>> rnn_translators() {
  const auto with = [](bool attention, int64_t layers, bool tied, Readout readout) {
    RnnTranslatorOptions options = tiny_rnn_translator();
    options.attention = attention;
    options.layers = layers;
    options.tie_embeddings = tied;
    options.readout = readout;
    return options;
  };
  return {
      {"rnnsearch", with(true, 1, false, Readout::maxout)},
      {"rnnsearch_deep", with(true, 2, false, Readout::linear)},
      {"rnnsearch_tied", with(true, 1, true, Readout::maxout)},
      {"rnnsearch_deep_tied_linear", with(true, 2, true, Readout::linear)},
      {"rnnencdec", with(false, 1, false, Readout::maxout)},
      {"rnnencdec_deep_tied", with(false, 2, true, Readout::maxout)},
      {"rnnencdec_linear", with(false, 1, false, Readout::linear)},
  };
}

inline std::vector<Named<TransformerOptions>> transformers() {
  const auto with = [](Positions positions, NormPlacement placement, NormKind norm, bool gated,
                       bool tied) {
    TransformerOptions options = tiny_transformer();
    options.positions = positions;
    options.norm_placement = placement;
    options.norm = norm;
    options.gated = gated;
    options.activation = gated ? Activation::silu : Activation::relu;
    options.bias = !gated;
    if (tied) {
      options.tie_embeddings = true;
      options.share_vocabulary = true;
      options.target_vocabulary = options.source_vocabulary;
    }
    return options;
  };
  constexpr auto pre = NormPlacement::pre;
  constexpr auto post = NormPlacement::post;
  return {
      {"vaswani", with(Positions::sinusoidal, post, NormKind::layer, false, false)},
      {"vaswani_tied", with(Positions::sinusoidal, post, NormKind::layer, false, true)},
      {"learned", with(Positions::learned, post, NormKind::layer, false, false)},
      {"pre", with(Positions::learned, pre, NormKind::layer, true, false)},
      {"llama_like", with(Positions::rotary, pre, NormKind::rms, true, true)},
      {"orderless", with(Positions::none, pre, NormKind::layer, false, false)},
  };
}

// Three sentences of 4, 1 and 3 words, to be translated by 2, 1 and none.
inline const PaddedIds source = {
    Tensor::from_vector<int32_t>({4, 5, 6, 3, 4, 0, 0, 0, 6, 3, 3, 0}, {3, 4}), {4, 1, 3}};
inline const Tensor target_input =
    Tensor::from_vector<int32_t>({2, 4, 5, 2, 5, 0, 2, 0, 0}, {3, 3});
inline const Tensor targets = Tensor::from_vector<int32_t>({4, 5, 3, 5, 3, 0, 3, 0, 0}, {3, 3});

}  // namespace heed::nn::test
