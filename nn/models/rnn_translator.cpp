#include "nn/models/rnn_translator.h"

#include <cmath>

#include "autograd/functions.h"
#include "core/error.h"
#include "nn/init.h"
#include "nn/models/source_rows.h"

namespace heed::nn {
namespace {

int64_t readout_width(const RnnTranslatorOptions& options) {
  return options.tie_embeddings ? options.embedding_width : options.width;
}

}  // namespace

struct RnnTranslator::State final : DecoderState {
  State(const PaddedIds& source, Encoded read)
      : sources(source), encoded(std::move(read)), states(encoded.initial_states) {}

  void select(const std::vector<int32_t>& rows) override {
    for (Tensor& state : states) {
      state = select_rows(state, rows);
    }
    if (sources.select(rows)) {
      encoded.fixed_context = select_rows(encoded.fixed_context, rows);
      encoded.memory = {select_rows(encoded.memory.keys, rows),
                        select_rows(encoded.memory.values, rows),
                        padding_mask(sources.lengths(), sources.width())};
    }
  }

  SourceRows sources;
  Encoded encoded;
  std::vector<Tensor> states;
};

RnnTranslator::RnnTranslator(const RnnTranslatorOptions& options, Generator& generator)
    : options_(options),
      context_width_(options.attention ? 2 * options.width : options.width),
      source_embedding_(options.source_vocabulary, options.embedding_width, generator,
                        options.padding_id),
      target_embedding_(options.target_vocabulary, options.embedding_width, generator,
                        options.padding_id),
      encoder_(options.embedding_width, options.width, {options.layers, true, options.dropout},
               generator),
      word_gates_(options.embedding_width, 3 * options.width, generator),
      context_gates_(context_width_, 3 * options.width, generator, false),
      recurrent_weight_(Tensor::empty({3 * options.width, options.width})),
      recurrent_bias_(Tensor::empty({3 * options.width})),
      readout_(options.width + options.embedding_width + context_width_,
               (options.readout == Readout::maxout ? 2 : 1) * readout_width(options), generator),
      output_(readout_width(options), options.target_vocabulary, generator),
      dropout_(options.dropout) {
  register_module("source_embedding", source_embedding_);
  register_module("encoder", encoder_);
  for (int64_t layer = 0; layer < options.layers; ++layer) {
    bridges_.push_back(std::make_unique<Linear>(options.width, options.width, generator));
    register_module(fmt::format("bridge{}", layer), *bridges_.back());
  }
  register_module("target_embedding", target_embedding_);
  if (options.attention) {
    attention_.emplace(options.width, 2 * options.width, options.attention_width, generator);
    register_module("attention", *attention_);
  } else {
    summary_.emplace(2 * options.width, options.width, generator);
    register_module("summary", *summary_);
  }
  register_module("word_gates", word_gates_);
  register_module("context_gates", context_gates_);
  register_parameter("recurrent.weight", recurrent_weight_);
  register_parameter("recurrent.bias", recurrent_bias_);
  for (int64_t layer = 1; layer < options.layers; ++layer) {
    upper_layers_.push_back(std::make_unique<GruCell>(options.width, options.width, generator));
    register_module(fmt::format("upper{}", layer), *upper_layers_.back());
  }
  register_module("readout", readout_);
  register_module("output", output_);
  register_module("dropout", dropout_);
  if (options.tie_embeddings) {
    output_.share_weight(target_embedding_.weight);
  }
  initialize(generator);
}

void RnnTranslator::initialize(Generator& generator) {
  draw_weights(generator);
  source_embedding_.zero_padding();
  target_embedding_.zero_padding();
}

void RnnTranslator::draw_weights(Generator& generator) {
  const double bound = 1.0 / std::sqrt(static_cast<double>(options_.width));
  init_uniform(recurrent_weight_, -bound, bound, generator);
  init_uniform(recurrent_bias_, -bound, bound, generator);
  if (options_.tie_embeddings) {
    // Logits of unit scale need rows of length about 1.
    init_normal(target_embedding_.weight,
                1.0 / std::sqrt(static_cast<double>(options_.embedding_width)), generator);
  }
  if (options_.initialization == RnnInitialization::standard) {
    return;
  }
  const bool paper = options_.initialization == RnnInitialization::paper;
  for (const auto& [name, parameter] : named_parameters()) {
    const bool recurrent = name.find("weight_hh") != std::string::npos ||
                           name.find("recurrent.weight") != std::string::npos;
    if (parameter.rank() == 1) {
      // Biases, and the attention vector v_a.
      paper || name != "attention.score" ? init_constant(parameter, 0)
                                         : init_normal(parameter, bound, generator);
    } else if (recurrent) {
      init_orthogonal(parameter, generator);
    } else if (!paper) {
      init_xavier(parameter, generator);
    } else {
      init_normal(parameter, name.starts_with("attention.") ? 0.001 : 0.01, generator);
    }
  }
}

RnnTranslator::Encoded RnnTranslator::encode(const PaddedIds& source) const {
  const Tensor mask = padding_mask(source.lengths, source.width());
  const Tensor words = dropout_.forward(source_embedding_.forward(source.ids));
  const GruOutput read = encoder_.forward(words, mask);
  Encoded encoded;
  // The top layer's backward state at the first word: the whole source, read from its end.
  const Tensor& first = read.last.back();
  for (const auto& bridge : bridges_) {
    encoded.initial_states.push_back(tanh(bridge->forward(first)));
  }
  if (attention_) {
    encoded.memory = attention_->prepare(read.states, mask);
  } else {
    const Tensor& last = read.last[read.last.size() - 2];
    encoded.fixed_context = tanh(summary_->forward(concat({last, first}, 1)));
  }
  return encoded;
}

AdditiveAttentionResult RnnTranslator::context_for(const Encoded& encoded,
                                                   const Tensor& query) const {
  return attention_ ? attention_->forward(query, encoded.memory)
                    : AdditiveAttentionResult{encoded.fixed_context, Tensor()};
}

void RnnTranslator::advance(std::vector<Tensor>& states, const Tensor& word_gates,
                            const Tensor& context) const {
  const Tensor gates = word_gates + context_gates_.forward(context);
  states[0] = gru_cell(gates, linear(states[0], recurrent_weight_, recurrent_bias_), states[0]);
  for (size_t layer = 1; layer < states.size(); ++layer) {
    states[layer] =
        upper_layers_[layer - 1]->forward(dropout_.forward(states[layer - 1]), states[layer]);
  }
}

Tensor RnnTranslator::read_out(const Tensor& states, const Tensor& words,
                               const Tensor& contexts) const {
  const Tensor mixed = readout_.forward(concat({states, words, contexts}, states.rank() - 1));
  const Tensor features = options_.readout == Readout::maxout ? max_pairs(mixed) : tanh(mixed);
  return output_.forward(dropout_.forward(features));
}

TranslationModel::Output RnnTranslator::forward(const PaddedIds& source, const Tensor& target_input,
                                                bool with_attention) const {
  const Encoded encoded = encode(source);
  const Tensor words = dropout_.forward(target_embedding_.forward(target_input));
  const auto word_gates = unstack(word_gates_.forward(words), 1);
  std::vector<Tensor> states = encoded.initial_states;
  std::vector<Tensor> tops;
  std::vector<Tensor> contexts;
  std::vector<Tensor> attention;
  for (const Tensor& gates : word_gates) {
    const AdditiveAttentionResult attended = context_for(encoded, states.back());
    advance(states, gates, attended.context);
    tops.push_back(states.back());
    contexts.push_back(attended.context);
    if (with_attention && attention_) {
      attention.push_back(attended.weights);
    }
  }
  return {read_out(stack(tops, 1), words, stack(contexts, 1)),
          attention.empty() ? Tensor() : stack(attention, 1)};
}

std::unique_ptr<DecoderState> RnnTranslator::start(const PaddedIds& source) const {
  const NoGradScope no_grad;
  return std::make_unique<State>(source, encode(source));
}

TranslationModel::Step RnnTranslator::step(DecoderState& decoder_state, const Tensor& tokens,
                                           bool with_attention) const {
  const NoGradScope no_grad;
  auto& state = dynamic_cast<State&>(decoder_state);
  const Tensor words = dropout_.forward(target_embedding_.forward(tokens));
  const AdditiveAttentionResult attended = context_for(state.encoded, state.states.back());
  advance(state.states, word_gates_.forward(words), attended.context);
  return {read_out(state.states.back(), words, attended.context),
          with_attention ? attended.weights : Tensor()};
}

}  // namespace heed::nn
