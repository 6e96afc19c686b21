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
#include "train/wording.h"

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
std::string first_piece(const TextSide& side, std::string_view first_line) {
  const std::vector<std::string> pieces = side.tokenizer->encode(first_line);
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

HeldOutText load_held_out_text(const Config& config, const CorpusName& name) {
  HEED_CHECK_INPUT(name.size() == 1, "data", "a language model reads one text, {} were given",
                   name.size());
  HEED_CHECK_INPUT(!data::is_generator(name.front()), "data",
                   "{} makes pairs of sentences, a language model reads one text", name.front());
  const data::InvalidUtf8 policy = invalid_utf8_policy(config.data);
  if (name != tail_of_train) {
    return {data::RunningText::load(name.front(), policy), std::nullopt};
  }
  const std::string& train = config.data.train.front();
  HEED_CHECK_INPUT(
      config.data.validation == tail_of_train, "data",
      "the tail of {} was learned from: data.validation held out {}; name another text", train,
      config.data.validation.empty() ? "nothing" : config.data.validation.front());
  const auto [learned, held_out] =
      data::RunningText::load(train, policy).split_tail(config.data.validation_share);
  return {held_out.renamed("the tail of " + train), learned.renamed(train + " without its tail")};
}

TrainingTexts load_training_texts(const Config& config) {
  const CorpusName& validation = config.data.validation;
  if (validation == tail_of_train) {
    const HeldOutText held_out = load_held_out_text(config, validation);
    return {*held_out.learned, held_out.text};
  }
  TrainingTexts texts{
      data::RunningText::load(config.data.train.front(), invalid_utf8_policy(config.data)),
      std::nullopt};
  if (!validation.empty()) {
    texts.validation = load_held_out_text(config, validation).text;
  }
  return texts;
}

TextSide build_text_side(const Config& config, const data::RunningText& train) {
  TextSide side;
  side.tokenizer = data::make_text_tokenizer(
      {config.data.tokenizer, config.data.lowercase, config.data.subword_size}, train);
  side.vocabulary = data::build_text_vocabulary(*side.tokenizer, train, config.data.min_count,
                                                config.data.max_vocabulary);
  check_vocabulary(side, config.data, train.name());
  log::info("data", "vocabulary: {}", side.vocabulary.size());
  return side;
}

EncodedText encode_running_text(const LanguageModel& language_model,
                                const data::RunningText& text) {
  const TextSide& side = language_model.text;
  EncodedText encoded{text.name(), {text.name(), side.vocabulary.size()}, {}};
  int64_t characters = 0;
  int64_t first_characters = 0;
  int64_t unknown = 0;
  text.for_each_line([&](const data::RunningText::Line& line) {
    if (characters == 0) {
      first_characters = count_characters(first_piece(side, line.text));
    }
    characters += count_characters(line.text) + (line.has_newline ? 1 : 0);
    const auto ids = data::encode_line(*side.tokenizer, side.vocabulary, line);
    unknown += std::count(ids.begin(), ids.end(), data::Vocabulary::unknown);
    encoded.ids.append(ids);
  });
  const int64_t tokens = encoded.ids.size();
  HEED_CHECK_INPUT(tokens >= 2, "data",
                   "{} has {}, at least 2 are needed: one to read, one to predict", encoded.name,
                   counted(tokens, "token"));
  if (keeps_text(language_model.config.data)) {
    encoded.characters = characters - first_characters;
  }
  log::info("data", "{}: {} tokens, {} characters, {:.2f}% unknown", encoded.name, tokens,
            characters, 100.0 * static_cast<double>(unknown) / static_cast<double>(tokens));
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
  const int64_t context = config.model.context;
  const data::SequentialWindows windows(text.ids.size(), context, config.decode.batch_size);
  TextLoss total;
  total.characters = text.characters;
  for (int64_t i = 0; i < windows.batches(); ++i) {
    check_stop();
    const data::WindowBatch batch = data::make_window_batch(text.ids, windows.starts(i), context);
    const CrossEntropy sums =
        cross_entropy(language_model.model->forward(input_of(batch)), output_of(batch), options);
    total.loss += sums.loss.item();
    total.nll += sums.nll.item();
    total.tokens += batch.tokens;
  }
  return total;
}

}  // namespace heed::train
