#include "nn/models/causal_lm.h"

#include <cmath>
#include <vector>

#include "autograd/functions.h"
#include "core/error.h"
#include "nn/init.h"
#include "nn/models/support.h"

namespace heed::nn {
namespace {

constexpr double deviation = 0.02;

const CausalLmOptions& checked(const CausalLmOptions& options) {
  HEED_CHECK(options.vocabulary > 0, "causal_lm", "the vocabulary has {} tokens",
             options.vocabulary);
  return options;
}

void check_ids(const Tensor& ids) {
  HEED_CHECK(ids.defined() && ids.rank() == 2 && ids.dim(1) > 0, "causal_lm",
             "ids (B, T) with T > 0 are expected, not {}",
             ids.defined() ? ids.shape().to_string() : "undefined ones");
}

}  // namespace

struct CausalLm::State final : DecoderState {
  int64_t batch = 0;
  std::vector<KeyValueCache> caches;  // of each layer

  void select(const std::vector<int32_t>& rows) override {
    batch = static_cast<int64_t>(rows.size());
    for (KeyValueCache& cache : caches) {
      cache.select(rows);
    }
  }
};

CausalLm::CausalLm(const CausalLmOptions& options, Generator& generator)
    : options_(checked(options)),
      embedding_scale_(options.positions == Positions::sinusoidal
                           ? std::sqrt(static_cast<double>(options.width))
                           : 1),
      embedding_(options.vocabulary, options.width, generator),
      positions_(options.positions, options.width, options.context, deviation, generator),
      dropout_(options.dropout),
      encoder_(layer_options(options), options.layers, generator),
      output_(options.width, options.vocabulary, generator, false) {
  register_module("embedding", embedding_);
  register_module("positions", positions_);
  register_module("dropout", dropout_);
  register_module("", encoder_);
  register_module("output", output_);
  if (options.tie_embeddings) {
    output_.share_weight(embedding_.weight);
  }
  initialize(generator);
}

void CausalLm::initialize(Generator& generator) {
  const double residual = deviation / std::sqrt(2.0 * static_cast<double>(options_.layers));
  for (const auto& [name, parameter] : named_parameters()) {
    if (parameter.rank() == 2) {
      init_normal(parameter, is_residual_projection(name) ? residual : deviation, generator);
    } else if (name.ends_with("bias")) {
      init_constant(parameter, 0);
    }
  }
}

Tensor CausalLm::embed(const Tensor& ids, int64_t first) const {
  check_ids(ids);
  const Tensor tokens = embedding_.forward(ids);
  return dropout_.forward(
      positions_.forward(embedding_scale_ == 1 ? tokens : tokens * embedding_scale_, first));
}

Tensor CausalLm::forward(const Tensor& ids) const {
  return output_.forward(encoder_.forward(embed(ids, 0), Mask::causal()));
}

std::unique_ptr<DecoderState> CausalLm::start(int64_t batch) const {
  auto state = std::make_unique<State>();
  state->batch = batch;
  state->caches.resize(static_cast<size_t>(encoder_.layers()));
  return state;
}

Tensor CausalLm::step(DecoderState& decoder_state, const Tensor& ids) const {
  const NoGradScope no_grad;
  auto& state = dynamic_cast<State&>(decoder_state);
  check_ids(ids);
  HEED_CHECK(ids.dim(0) == state.batch, "causal_lm", "the state has {} rows, ids {} have {}",
             state.batch, ids.shape().to_string(), ids.dim(0));
  const Tensor h = encoder_.forward(embed(ids, cached(state)), Mask::causal(), &state.caches);
  const Tensor last = slice(h, 1, ids.dim(1) - 1, ids.dim(1));
  return output_.forward(squeeze(last, 1));
}

int64_t CausalLm::cached(const DecoderState& state) const {
  return dynamic_cast<const State&>(state).caches.front().length();
}

}  // namespace heed::nn
