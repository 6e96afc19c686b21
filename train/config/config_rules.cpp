#include "train/config/config_rules.h"

#include <fmt/format.h>

#include <string_view>

#include "data/corpus.h"
#include "data/text_corpus.h"
#include "train/config/config_table.h"

namespace heed::train {
namespace {

std::string run_name(const Config& config) {
  const std::string& name = config.run.name;
  constexpr std::string_view forbidden("/\0", 2);
  const bool plain =
      name.find_first_of(forbidden) == std::string::npos && name != "." && name != "..";
  return plain ? ""
               : fmt::format("run.name is {}, a folder name without '/' or NUL is expected",
                             toml_string(name));
}

std::string task_and_kind(const Config& config) {
  const bool language_model = config.model.kind == "causal_lm";
  const std::string task = language_model ? "language_model" : "translation";
  return config.data.task == task ? ""
                                  : fmt::format("model.kind = {} needs data.task = {}, which is {}",
                                                toml_string(config.model.kind), toml_string(task),
                                                toml_string(config.data.task));
}

std::string train_corpus(const Config& config) {
  return config.data.train.empty() ? "data.train is \"none\", there is nothing to learn from" : "";
}

std::string length_ratio(const Config& config) {
  const double ratio = config.data.max_ratio;
  return ratio > 0 && ratio < 1
             ? fmt::format("data.max_ratio is {}, 0 or at least 1 is expected", ratio)
             : "";
}

std::string width_and_heads(const Config& config) {
  const ModelConfig& model = config.model;
  return is_recurrent(config.model) || model.width % model.heads == 0
             ? ""
             : fmt::format("model.width = {} is no multiple of model.heads = {}", model.width,
                           model.heads);
}

std::string rotary_width(const Config& config) {
  const ModelConfig& model = config.model;
  if (is_recurrent(config.model) || model.positions != "rotary" || model.width % model.heads != 0 ||
      model.width / model.heads % 2 == 0) {
    return "";
  }
  return fmt::format(
      "model.positions = \"rotary\" turns pairs of dimensions, a head has {} "
      "(model.width = {} / model.heads = {})",
      model.width / model.heads, model.width, model.heads);
}

std::string sinusoidal_width(const Config& config) {
  const ModelConfig& model = config.model;
  return is_recurrent(config.model) || model.positions != "sinusoidal" || model.width % 2 == 0
             ? ""
             : fmt::format(
                   "model.positions = \"sinusoidal\" needs an even width, model.width is {}",
                   model.width);
}

std::string sentences_and_context(const Config& config) {
  const ModelConfig& model = config.model;
  const int64_t longest = config.data.max_length + 1;
  return model.kind != "transformer" || model.positions != "learned" || longest <= model.context
             ? ""
             : fmt::format(
                   "data.max_length = {} and the end of a sentence do not fit into "
                   "model.context = {}, the positions that are learned",
                   config.data.max_length, model.context);
}

std::string context_and_positions(const Config& config) {
  const ModelConfig& model = config.model;
  return model.kind != "transformer" || model.positions == "learned" ||
                 model.context == ModelConfig().context
             ? ""
             : fmt::format(
                   "model.context has no effect with model.kind = \"transformer\" and "
                   "model.positions = {}",
                   toml_string(model.positions));
}

// What a corpus may be follows from the task.
std::string corpora_and_task(const Config& config) {
  const DataConfig& data = config.data;
  if (!task_and_kind(config).empty()) {
    return "";  // which of the two was meant is not known
  }
  const std::pair<const char*, const CorpusName&> corpora[] = {
      {"data.train", data.train}, {"data.validation", data.validation}, {"data.test", data.test}};
  for (const auto& [key, name] : corpora) {
    if (name.empty()) {
      continue;
    }
    const std::string& word = name.front();
    const bool text_only = word == data::own_sources || word == tail;
    if (data.task == "translation" && name.size() == 1 && text_only) {
      return fmt::format(
          "{} = {} is a running text, data.task = \"translation\" needs pairs of "
          "sentences",
          key, toml_string(word));
    }
    if (data.task == "language_model" && (name.size() == 2 || data::is_generator(word))) {
      return fmt::format(
          "{} holds pairs of sentences, data.task = \"language_model\" needs one "
          "running text",
          key);
    }
  }
  return "";
}

std::string tail_of_the_text(const Config& config) {
  const DataConfig& data = config.data;
  if (data.task != "language_model") {
    return "";
  }
  const CorpusName tail_of_train = {std::string(tail)};
  if (data.train == tail_of_train) {
    return "data.train = \"tail\" names no text";
  }
  return data.test == tail_of_train && data.validation != tail_of_train
             ? "data.test = \"tail\" needs data.validation = \"tail\", or it would be learned from"
             : "";
}

std::string noam_warmup(const Config& config) {
  return config.train.schedule != "noam" || config.train.warmup_steps > 0
             ? ""
             : "train.schedule = \"noam\" needs train.warmup_steps, such as 4000";
}

std::string one_end(const Config& config) {
  const TrainConfig& train = config.train;
  if (train.steps == 0 && train.epochs == 0) {
    return "train.steps and train.epochs are both 0, one of them has to say when to stop";
  }
  return train.steps == 0 || train.epochs == 0
             ? ""
             : fmt::format(
                   "train.steps = {} and train.epochs = {} both say when to stop, leave one out",
                   train.steps, train.epochs);
}

std::string plateau_and_validation(const Config& config) {
  return config.train.schedule != "plateau" || !config.data.validation.empty()
             ? ""
             : "train.schedule = \"plateau\" needs a validation corpus, data.validation is "
               "\"none\"";
}

std::string least_learning_rate(const Config& config) {
  const TrainConfig& train = config.train;
  return train.min_learning_rate <= train.learning_rate
             ? ""
             : fmt::format("train.min_learning_rate = {} is above train.learning_rate = {}",
                           train.min_learning_rate, train.learning_rate);
}

std::string output_lengths(const Config& config) {
  const DecodeConfig& decode = config.decode;
  return decode.max_length == 0 || decode.min_length <= decode.max_length
             ? ""
             : fmt::format("decode.min_length = {} is above decode.max_length = {}",
                           decode.min_length, decode.max_length);
}

std::string n_best_and_beam(const Config& config) {
  const DecodeConfig& decode = config.decode;
  return decode.n_best <= decode.beam_size
             ? ""
             : fmt::format("decode.n_best = {} is above decode.beam_size = {}", decode.n_best,
                           decode.beam_size);
}

double usual_learning_rate(const TrainConfig& train) {
  if (train.schedule == "noam" || train.optimizer == "adadelta") {
    return 1;
  }
  return train.optimizer == "sgd" ? 0.1 : 1e-3;
}

}  // namespace

std::span<const Rule> config_rules() {
  constexpr bool essential = true;
  static const std::vector<Rule> rules = {
      {{"run.name"}, run_name},
      {{"model.kind", "data.task"}, task_and_kind, essential},
      {{"data.train"}, train_corpus, essential},
      {{"data.max_ratio"}, length_ratio},
      {{"model.width", "model.heads", "model.kind"}, width_and_heads, essential},
      {{"model.positions", "model.width", "model.heads"}, rotary_width, essential},
      {{"model.positions", "model.width"}, sinusoidal_width, essential},
      {{"data.max_length", "model.context", "model.positions"}, sentences_and_context},
      {{"model.context", "model.positions"}, context_and_positions},
      {{"data.train", "data.validation", "data.test"}, corpora_and_task},
      {{"data.test", "data.train"}, tail_of_the_text},
      {{"train.schedule"}, noam_warmup},
      {{"train.epochs", "train.steps"}, one_end},
      {{"train.schedule", "data.validation"}, plateau_and_validation},
      {{"train.min_learning_rate", "train.learning_rate"}, least_learning_rate},
      {{"decode.min_length", "decode.max_length"}, output_lengths},
      {{"decode.n_best", "decode.beam_size"}, n_best_and_beam},
  };
  return rules;
}

// Vaswani et al. 2017 and GPT-2 (Radford et al. 2019), at sizes for a few cores.
Config default_config(std::string_view kind) {
  Config config;
  ModelConfig& model = config.model;
  TrainConfig& train = config.train;
  model.kind = kind;
  if (kind == "transformer") {
    model.layers = 3;
    model.heads = 8;
    model.dropout = 0.1;
    train.schedule = "inverse_sqrt";
    train.warmup_steps = 400;
    train.beta2 = 0.98;
    train.label_smoothing = 0.1;
  } else if (kind == "causal_lm") {
    config.data.task = "language_model";
    config.data.train = {std::string(data::own_sources)};
    config.data.validation = config.data.test = {std::string(tail)};
    config.data.tokenizer = "character";
    config.data.batch_size = 32;
    model.width = 128;
    model.layers = 4;
    model.context = 64;
    model.tie_embeddings = true;
    model.positions = "learned";
    model.norm_placement = "pre";
    model.activation = "gelu";
    train.optimizer = "adamw";
    train.schedule = "cosine";
    train.warmup_steps = 100;
    train.beta2 = 0.99;
    train.weight_decay = 0.1;
    train.decay_vectors = false;
    train.validation_samples = 1;
    train.best_by = "loss";
  }
  return config;
}

void take_defaults(Config& config, const std::function<bool(std::string_view)>& given) {
  if (config.data.task == "language_model" && !given("model.kind")) {
    config.model.kind = "causal_lm";
  }
  Config usual = default_config(config.model.kind);
  for (const Key& key : config_table()) {
    if (!given(key.name) && key.name != "model.kind") {
      key.copy(usual, config);
    }
  }
  if (config.train.steps > 0 && !given("train.epochs")) {
    config.train.epochs = 0;
  }
  DataConfig& data = config.data;
  const bool language_model = data.task == "language_model";
  if (language_model && !given("data.test")) {
    data.test = data.validation;
  }
  if (!language_model && !data.train.empty()) {
    // Sentences of another language say nothing of a model: none, or of the same generator.
    const std::string& train = data.train.front();
    const std::string generator = train.substr(0, train.find(':'));
    const auto beside = [&](std::string_view key, const char* count, CorpusName& corpus) {
      if (!given(key)) {
        corpus = data::is_generator(train) ? CorpusName{generator + ":" + count} : CorpusName{};
      }
    };
    beside("data.validation", "500", data.validation);
    beside("data.test", "1000", data.test);
  }
}

void resolve(Config& config, const std::string& stem) {
  const auto fill = [](auto& value, auto derived) {
    if (value == 0) {
      value = derived;
    }
  };
  ModelConfig& model = config.model;
  TrainConfig& train = config.train;
  if (config.run.name.empty()) {
    config.run.name = stem;
  }
  if (is_recurrent(config.model)) {
    fill(model.embedding_width, model.width);
  } else {
    fill(model.ffn_width, 4 * model.width);
  }
  if (model.kind == "rnnsearch") {
    fill(model.attention_width, model.width);
  }
  fill(train.learning_rate, usual_learning_rate(train));
  if (train.optimizer != "sgd") {
    fill(train.epsilon, train.optimizer == "adadelta" ? 1e-6 : 1e-8);
  }
}

}  // namespace heed::train
