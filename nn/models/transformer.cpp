#include "nn/models/transformer.h"

#include <cmath>

#include "autograd/functions.h"
#include "core/error.h"
#include "nn/init.h"
#include "nn/models/source_rows.h"
#include "nn/models/support.h"

namespace heed::nn {
namespace {

TransformerOptions checked(TransformerOptions options) {
  HEED_CHECK(options.source_vocabulary > 0 && options.target_vocabulary > 0, "transformer",
             "vocabularies are not empty: source {}, target {}", options.source_vocabulary,
             options.target_vocabulary);
  HEED_CHECK(!options.share_vocabulary || options.source_vocabulary == options.target_vocabulary,
             "transformer", "a shared vocabulary has one size: source {}, target {}",
             options.source_vocabulary, options.target_vocabulary);
  if (options.embedding_scale == 0) {
    options.embedding_scale = std::sqrt(static_cast<double>(options.width));
  }
  return options;
}

// Embeddings enter with deviation 1 after scaling; one that is the output projection as well keeps
// the logits small instead.
double embedding_deviation(const TransformerOptions& options) {
  return options.tie_embeddings ? 1 / std::sqrt(static_cast<double>(options.width))
                                : 1 / options.embedding_scale;
}

double inverse_root(int64_t count) { return 1.0 / std::sqrt(static_cast<double>(count)); }

// Matrices Xavier, those that write into the residual stream times `residual`; biases 0.
void start_layers(const Module& layers, double residual, Generator& generator) {
  for (const auto& [name, parameter] : layers.named_parameters()) {
    if (parameter.rank() == 2) {
      init_xavier(parameter, generator, is_residual_projection(name) ? residual : 1);
    } else if (name.ends_with("bias")) {
      init_constant(parameter, 0);
    }
  }
}

// The mean over layers and heads: n of (B, H, T, S) -> (B, T, S).
Tensor mean_attention(const std::vector<Tensor>& weights) {
  Tensor total = sum(weights.front(), {1});
  for (size_t layer = 1; layer < weights.size(); ++layer) {
    total = total + sum(weights[layer], {1});
  }
  return total / static_cast<double>(static_cast<int64_t>(weights.size()) * weights[0].dim(1));
}

}  // namespace

struct Transformer::State final : DecoderState {
  State(const PaddedIds& source, std::vector<KeysValues> projected)
      : sources(source), memory(std::move(projected)), caches(memory.size()) {}

  void select(const std::vector<int32_t>& rows) override {
    for (KeyValueCache& cache : caches) {
      cache.select(rows);
    }
    if (sources.select(rows)) {
      for (KeysValues& layer : memory) {
        layer = {select_rows(layer.keys, rows), select_rows(layer.values, rows)};
      }
    }
  }

  SourceRows sources;
  std::vector<KeysValues> memory;     // of each layer
  std::vector<KeyValueCache> caches;  // of each layer
};

Transformer::Transformer(const TransformerOptions& options, Generator& generator)
    : options_(checked(options)),
      source_embedding_(options.source_vocabulary, options.width, generator, options.padding_id),
      target_embedding_(options.target_vocabulary, options.width, generator, options.padding_id),
      source_positions_(options.positions, options.width, options.context,
                        options_.embedding_scale * embedding_deviation(options_), generator),
      target_positions_(options.positions, options.width, options.context,
                        options_.embedding_scale * embedding_deviation(options_), generator),
      encoder_(layer_options(options), options.encoder_layers, generator),
      decoder_(layer_options(options), options.decoder_layers, generator),
      output_(options.width, options.target_vocabulary, generator, false),
      dropout_(options.dropout) {
  register_module("source_embedding", source_embedding_);
  register_module("target_embedding", target_embedding_);
  register_module("source_positions", source_positions_);
  register_module("target_positions", target_positions_);
  register_module("encoder", encoder_);
  register_module("decoder", decoder_);
  register_module("output", output_);
  register_module("dropout", dropout_);
  if (options.tie_embeddings) {
    output_.share_weight(target_embedding_.weight);
    if (options.share_vocabulary) {
      source_embedding_.share_weight(target_embedding_.weight);
    }
  }
  initialize(generator);
}

void Transformer::initialize(Generator& generator) {
  for (const Embedding* embedding : {&source_embedding_, &target_embedding_}) {
    init_normal(embedding->weight, embedding_deviation(options_), generator);
    embedding->zero_padding();
  }
  if (!options_.tie_embeddings) {
    init_xavier(output_.weight, generator);
  }
  const bool deep = options_.norm_placement == NormPlacement::pre;
  start_layers(encoder_, deep ? inverse_root(2 * encoder_.layers()) : 1, generator);
  start_layers(decoder_, deep ? inverse_root(3 * decoder_.layers()) : 1, generator);
}

Tensor Transformer::embed(const Embedding& embedding, const PositionEncoding& positions,
                          const Tensor& ids, int64_t first) const {
  HEED_CHECK(ids.rank() == 2 && ids.dim(1) > 0, "transformer",
             "ids (B, T) with T > 0 are expected, not {}", ids.shape().to_string());
  return dropout_.forward(
      positions.forward(embedding.forward(ids) * options_.embedding_scale, first));
}

std::vector<KeysValues> Transformer::encode(const PaddedIds& source, const Mask& mask) const {
  const Tensor words = embed(source_embedding_, source_positions_, source.ids, 0);
  return decoder_.project(encoder_.forward(words, mask), mask);
}

TranslationModel::Output Transformer::forward(const PaddedIds& source, const Tensor& target_input,
                                              bool with_attention) const {
  const Mask padding = Mask::padding(source.lengths, source.width());
  const auto memory = encode(source, padding);
  // Padding stands at the end of targets: no real position sees it.
  const auto [output, weights] =
      decoder_.forward(embed(target_embedding_, target_positions_, target_input, 0), Mask::causal(),
                       memory, padding, with_attention);
  return {output_.forward(output), weights.empty() ? Tensor() : mean_attention(weights), weights};
}

std::unique_ptr<DecoderState> Transformer::start(const PaddedIds& source) const {
  const NoGradScope no_grad;
  return std::make_unique<State>(source,
                                 encode(source, Mask::padding(source.lengths, source.width())));
}

TranslationModel::Step Transformer::step(DecoderState& decoder_state, const Tensor& tokens,
                                         bool with_attention) const {
  const NoGradScope no_grad;
  auto& state = dynamic_cast<State&>(decoder_state);
  const Tensor words = embed(target_embedding_, target_positions_, unsqueeze(tokens, 1),
                             state.caches.front().length());
  // One query a row: every key so far is allowed.
  const Mask padding = Mask::padding(state.sources.lengths(), state.sources.width());
  const auto [output, weights] =
      decoder_.forward(words, {}, state.memory, padding, with_attention, &state.caches);
  return {output_.forward(squeeze(output, 1)),
          weights.empty() ? Tensor() : squeeze(mean_attention(weights), 1)};
}

}  // namespace heed::nn
