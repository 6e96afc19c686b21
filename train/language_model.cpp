#include "train/language_model.h"

#include <algorithm>
#include <numbers>

#include "autograd/functions.h"
#include "core/error.h"
#include "core/interrupt.h"
#include "core/logging.h"
#include "data/corpus.h"
#include "data/text_corpus.h"
#include "nn/init.h"
#include "train/enough_weights.h"
#include "train/model_words.h"

namespace heed::train {
namespace {

const CorpusName tail_of_train = {std::string(tail)};

int64_t count_characters(std::string_view text) {
  return std::count_if(text.begin(), text.end(),
                       [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; });
}

// Whether the pieces of a text hold all of it; words do without the spaces between them.
bool keeps_text(const DataConfig& data) {
  return data.tokenizer == "character" || data.tokenizer == "subword";
}

// What of the text its first piece, which nothing predicts, stands for.
std::string first_piece(const TextSide& side, std::string_view text) {
  const std::string_view line = text.substr(0, text.find('\n'));
  const std::vector<std::string> pieces = side.tokenizer->encode(line);
  return pieces.empty() ? "\n" : side.tokenizer->decode({pieces.front()});
}

}  // namespace

Checkpoint checkpoint_of(const LanguageModel& language_model) {
  Checkpoint checkpoint;
  checkpoint.config = language_model.config;
  language_model.text.save(checkpoint.text, "text");
  checkpoint.training_data = language_model.training_data;
  checkpoint.weights = language_model.model->named_parameters();
  checkpoint.aliases = language_model.model->aliases();
  return checkpoint;
}

LanguageModel restore_language_model(const Checkpoint& checkpoint) {
  HEED_CHECK_INPUT(checkpoint.config.data.task == "language_model", "run",
                   "{} holds a translator ({}), which does not go on writing; `heed translate` "
                   "translates with it",
                   checkpoint.path, checkpoint.config.model.kind);
  LanguageModel language_model;
  language_model.config = checkpoint.config;
  language_model.text = TextSide::restore(checkpoint.text, "text", checkpoint.path);
  language_model.training_data = checkpoint.training_data;
  check_enough_weights(checkpoint, {language_model.text.vocabulary.size()});
  const nn::SkipInitialization weights_come_from_the_checkpoint;
  Generator unused(0);
  language_model.model =
      make_causal_lm(checkpoint.config, language_model.text.vocabulary.size(), unused);
  language_model.model->load_parameters(checkpoint.weights, checkpoint.path);
  return language_model;
}

std::unique_ptr<nn::CausalLm> make_causal_lm(const Config& config, int64_t vocabulary,
                                             Generator& generator) {
  nn::CausalLmOptions options;
  options.vocabulary = vocabulary;
  options.layers = config.model.layers;
  set_layer_options(options, config.model);
  return std::make_unique<nn::CausalLm>(options, generator);
}

RunningText load_training_text(const Config& config) {
  const std::string& name = config.data.train.front();
  RunningText all{name, data::load_text(name, invalid_utf8_policy(config.data))};
  if (config.data.validation == tail_of_train) {
    all.text.resize(data::split_tail(all.text, config.data.validation_share).first.size());
    all.name += " without its tail";
  }
  return all;
}

RunningText load_held_out_text(const Config& config, const CorpusName& name) {
  HEED_CHECK_INPUT(name.size() == 1, "data", "a language model reads one text, {} were given",
                   name.size());
  HEED_CHECK_INPUT(!data::is_generator(name.front()), "data",
                   "{} makes pairs of sentences, a language model reads one text", name.front());
  if (name != tail_of_train) {
    return {name.front(), data::load_text(name.front(), invalid_utf8_policy(config.data))};
  }
  const std::string& train = config.data.train.front();
  HEED_CHECK_INPUT(
      config.data.validation == tail_of_train, "data",
      "the tail of {} was learned from: data.validation held out {}; name another text", train,
      config.data.validation.empty() ? "nothing" : config.data.validation.front());
  const std::string text = data::load_text(train, invalid_utf8_policy(config.data));
  return {"the tail of " + train,
          std::string(data::split_tail(text, config.data.validation_share).second)};
}

TextSide build_text_side(const Config& config, const RunningText& train) {
  TextSide side;
  side.tokenizer = data::make_text_tokenizer(
      {config.data.tokenizer, config.data.lowercase, config.data.subword_size}, train.text);
  side.vocabulary = data::build_text_vocabulary(*side.tokenizer, train.text, config.data.min_count,
                                                config.data.max_vocabulary);
  check_vocabulary(side, config.data, train.name);
  log::info("data", "vocabulary: {}", side.vocabulary.size());
  return side;
}

EncodedText encode_running_text(const LanguageModel& language_model, RunningText text) {
  const TextSide& side = language_model.text;
  EncodedText encoded;
  encoded.name = std::move(text.name);
  encoded.ids = data::encode_text(*side.tokenizer, side.vocabulary, text.text);
  HEED_CHECK_INPUT(encoded.ids.size() >= 2, "data",
                   "{} has {} tokens, at least 2 are needed: one to read, one to predict",
                   encoded.name, encoded.ids.size());
  const int64_t characters = count_characters(text.text);
  if (keeps_text(language_model.config.data)) {
    encoded.characters = characters - count_characters(first_piece(side, text.text));
  }
  const auto unknown =
      std::count(encoded.ids.begin(), encoded.ids.end(), data::Vocabulary::unknown);
  const auto tokens = static_cast<double>(encoded.ids.size());
  log::info("data", "{}: {} tokens, {} characters, {:.2f}% unknown", encoded.name,
            encoded.ids.size(), characters, 100.0 * static_cast<double>(unknown) / tokens);
  return encoded;
}

Tensor input_of(const data::WindowBatch& batch) {
  return Tensor::from_vector(batch.input, {batch.rows, batch.width});
}
Tensor output_of(const data::WindowBatch& batch) {
  return Tensor::from_vector(batch.output, {batch.rows, batch.width});
}

std::optional<double> TextLoss::bits_per_character() const {
  if (!characters) {
    return std::nullopt;
  }
  return nll / static_cast<double>(std::max<int64_t>(*characters, 1)) / std::numbers::ln2;
}

TextLoss text_loss(LanguageModel& language_model, const EncodedText& text) {
  const nn::EvaluationScope evaluation(*language_model.model);
  const Config& config = language_model.config;
  const CrossEntropyOptions options{config.train.label_smoothing, data::Vocabulary::padding};
  const auto starts =
      data::sequential_windows(static_cast<int64_t>(text.ids.size()), config.model.context);
  TextLoss total;
  total.characters = text.characters;
  const auto rows = static_cast<size_t>(config.decode.batch_size);
  for (size_t begin = 0; begin < starts.size(); begin += rows) {
    check_stop();
    const auto first = starts.begin() + static_cast<std::ptrdiff_t>(begin);
    const auto last = first + static_cast<std::ptrdiff_t>(std::min(rows, starts.size() - begin));
    const data::WindowBatch batch =
        data::make_window_batch(text.ids, {first, last}, config.model.context);
    const CrossEntropy sums =
        cross_entropy(language_model.model->forward(input_of(batch)), output_of(batch), options);
    total.loss += sums.loss.item();
    total.nll += sums.nll.item();
    total.tokens += batch.tokens;
  }
  return total;
}

}  // namespace heed::train
