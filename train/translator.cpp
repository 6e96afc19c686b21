#include "train/translator.h"

#include <algorithm>

#include "core/error.h"
#include "core/interrupt.h"
#include "nn/init.h"
#include "nn/models/rnn_translator.h"
#include "nn/models/transformer.h"
#include "train/enough_weights.h"
#include "train/model_words.h"

namespace heed::train {
namespace {

nn::RnnTranslatorOptions rnn_options(const Config& config, const TranslationText& text) {
  const ModelConfig& model = config.model;
  nn::RnnTranslatorOptions options;
  options.source_vocabulary = text.source.vocabulary.size();
  options.target_vocabulary = text.target.vocabulary.size();
  options.width = model.width;
  options.embedding_width = model.embedding_width;
  options.attention_width = model.attention_width;
  options.layers = model.layers;
  options.dropout = model.dropout;
  options.attention = model.kind == "rnnsearch";
  options.tie_embeddings = model.tie_embeddings;
  options.readout = readout_of(model);
  options.initialization = initialization_of(model);
  options.padding_id = data::Vocabulary::padding;
  return options;
}

nn::TransformerOptions transformer_options(const Config& config, const TranslationText& text) {
  const ModelConfig& model = config.model;
  nn::TransformerOptions options;
  options.source_vocabulary = text.source.vocabulary.size();
  options.target_vocabulary = text.target.vocabulary.size();
  options.encoder_layers = options.decoder_layers = model.layers;
  options.share_vocabulary = config.data.shared_vocabulary;
  options.embedding_scale = model.embedding_scale;
  set_layer_options(options, model);
  options.padding_id = data::Vocabulary::padding;
  return options;
}

size_t most_tokens(const Translator& translator) {
  return static_cast<size_t>(translator.model->context().value_or(INT64_MAX));
}

void check_source(const Translator& translator, const std::vector<int32_t>& ids,
                  const std::string& name) {
  HEED_CHECK_INPUT(ids.size() <= most_tokens(translator), "translate",
                   "{} has {} tokens, the model's positions end at {} (model.context); cut it into "
                   "shorter sentences",
                   name, ids.size(), most_tokens(translator));
}

}  // namespace

Checkpoint checkpoint_of(const Translator& translator) {
  Checkpoint checkpoint;
  checkpoint.config = translator.config;
  translator.text.source.save(checkpoint.text, "source");
  translator.text.target.save(checkpoint.text, "target");
  checkpoint.training_data = translator.training_data;
  checkpoint.weights = translator.model->named_parameters();
  checkpoint.aliases = translator.model->aliases();
  return checkpoint;
}

Translator restore_translator(const Checkpoint& checkpoint) {
  HEED_CHECK_INPUT(checkpoint.config.data.task == "translation", "run",
                   "{} holds a language model ({}), which translates nothing; `heed generate` "
                   "writes with it",
                   checkpoint.path, checkpoint.config.model.kind);
  Translator translator;
  translator.config = checkpoint.config;
  translator.text = {TextSide::restore(checkpoint.text, "source", checkpoint.path),
                     TextSide::restore(checkpoint.text, "target", checkpoint.path)};
  translator.training_data = checkpoint.training_data;
  check_enough_weights(checkpoint, {translator.text.source.vocabulary.size(),
                                    translator.text.target.vocabulary.size()});
  const nn::SkipInitialization weights_come_from_the_checkpoint;
  Generator unused(0);
  translator.model = make_translation_model(translator.config, translator.text, unused);
  translator.model->load_parameters(checkpoint.weights, checkpoint.path);
  return translator;
}

std::unique_ptr<nn::TranslationModel> make_translation_model(const Config& config,
                                                             const TranslationText& text,
                                                             Generator& generator) {
  if (config.model.kind == "transformer") {
    return std::make_unique<nn::Transformer>(transformer_options(config, text), generator);
  }
  return std::make_unique<nn::RnnTranslator>(rnn_options(config, text), generator);
}

void check_fits(const Translator& translator, const EncodedCorpus& corpus) {
  const size_t most = most_tokens(translator);
  for (size_t i = 0; i < corpus.examples.size(); ++i) {
    const size_t tokens =
        std::max(corpus.examples.source_length(i), corpus.examples.target_length(i) + 1);
    HEED_CHECK_INPUT(tokens <= most, "data",
                     "{}: '{}' or its translation has {} tokens, the model's positions end at {}; "
                     "raise model.context, or leave the pair out",
                     corpus.name, corpus.pairs[i].source, tokens, most);
  }
}

void check_fits(const Translator& translator, const std::string& source, const std::string& name) {
  check_source(translator, encode_source(translator.config, translator.text.source, source), name);
}

nn::DecodingOptions decoding_options(const DecodeConfig& config) {
  nn::DecodingOptions options;
  options.beam_size = config.beam_size;
  options.length_penalty = config.length_penalty;
  options.max_length = config.max_length;
  options.min_length = config.min_length;
  options.n_best = config.n_best;
  options.start_id = data::Vocabulary::start;
  options.end_id = data::Vocabulary::end;
  options.never = {data::Vocabulary::padding, data::Vocabulary::unknown, data::Vocabulary::start};
  return options;
}

std::vector<std::vector<float>> in_source_order(const Config& config,
                                                std::vector<std::vector<float>> attention) {
  if (config.data.reverse_source) {
    for (auto& row : attention) {
      std::reverse(row.begin(), row.end() - (config.data.source_end && !row.empty() ? 1 : 0));
    }
  }
  return attention;
}

std::vector<std::vector<Translation>> translate(Translator& translator,
                                                const std::vector<std::string>& texts,
                                                const DecodeConfig& decode, bool with_attention) {
  data::PairStore examples = pair_store(translator.text, "the sentences");
  for (const std::string& text : texts) {
    const data::PairExample example{encode_source(translator.config, translator.text.source, text),
                                    {}};
    check_source(translator, example.source, fmt::format("sentence {}", examples.size() + 1));
    examples.append(example);
  }
  const auto is_empty = [&](uint32_t index) {
    return examples.source_length(index) <= (translator.config.data.source_end ? 1U : 0U);
  };
  nn::DecodingOptions options = decoding_options(decode);
  options.with_attention = with_attention;
  std::vector<std::vector<Translation>> results(texts.size());
  const data::BatchPlan plan = data::plan_by_length(examples, {decode.batch_size, 0});
  for (size_t i = 0; i < plan.size(); ++i) {
    check_stop();
    std::vector<uint32_t> indices;
    for (const uint32_t index : plan[i]) {
      if (is_empty(index)) {
        results[index].emplace_back();
      } else {
        indices.push_back(index);
      }
    }
    if (indices.empty()) {
      continue;
    }
    const data::PairBatch batch = data::make_batch(examples, indices);
    auto decoded = nn::decode(*translator.model, source_of(batch), options);
    for (size_t row = 0; row < indices.size(); ++row) {
      for (nn::Hypothesis& hypothesis : decoded[row]) {
        Translation translation;
        translation.pieces = translator.text.target.vocabulary.decode(hypothesis.tokens);
        translation.text = translator.text.target.tokenizer->decode(translation.pieces);
        translation.ended = hypothesis.ended;
        if (hypothesis.ended) {
          translation.pieces.emplace_back("</s>");
        }
        translation.score = hypothesis.score;
        translation.log_probability = hypothesis.log_probability;
        translation.attention = in_source_order(translator.config, std::move(hypothesis.attention));
        results[indices[row]].push_back(std::move(translation));
      }
    }
  }
  return results;
}

std::vector<std::string> source_pieces(const Translator& translator, const std::string& text) {
  std::vector<std::string> pieces = translator.text.source.tokenizer->encode(text);
  if (translator.config.data.source_end) {
    pieces.emplace_back("</s>");
  }
  return pieces;
}

}  // namespace heed::train
