#include "train/config/config_rules.h"

#include <fmt/format.h>

#include "train/config/config_table.h"

namespace heed::train {
namespace {

bool recurrent(const Config& config) {
  return config.model.kind == "rnnsearch" || config.model.kind == "rnnencdec";
}

std::string run_name(const Config& config) {
  const std::string& name = config.run.name;
  const bool plain = name.find('/') == std::string::npos && name != "." && name != "..";
  return plain ? ""
               : fmt::format("run.name is {}, a folder name without '/' is expected",
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
  return recurrent(config) || model.width % model.heads == 0
             ? ""
             : fmt::format("model.width = {} is no multiple of model.heads = {}", model.width,
                           model.heads);
}

std::string paper_initialization(const Config& config) {
  return config.model.initialization != "paper" || recurrent(config)
             ? ""
             : fmt::format(
                   "model.initialization = \"paper\" is meant for recurrent models, model.kind is "
                   "{}",
                   toml_string(config.model.kind));
}

std::string something_to_do(const Config& config) {
  return config.train.steps == 0 && config.train.epochs == 0
             ? "train.steps and train.epochs are both 0, one of them has to say when to stop"
             : "";
}

std::string plateau_and_validation(const Config& config) {
  return config.train.schedule != "plateau" || !config.data.validation.empty()
             ? ""
             : "train.schedule = \"plateau\" needs a validation corpus, data.validation is "
               "\"none\"";
}

std::string least_learning_rate(const Config& config) {
  const TrainConfig& train = config.train;
  return train.learning_rate == 0 || train.min_learning_rate <= train.learning_rate
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

double usual_learning_rate(const std::string& optimizer) {
  return optimizer == "sgd" ? 0.1 : optimizer == "adadelta" ? 1.0 : 1e-3;
}

}  // namespace

std::span<const Rule> config_rules() {
  static const std::vector<Rule> rules = {
      {{"run.name"}, run_name},
      {{"model.kind", "data.task"}, task_and_kind},
      {{"data.train"}, train_corpus},
      {{"data.max_ratio"}, length_ratio},
      {{"model.width", "model.heads", "model.kind"}, width_and_heads},
      {{"model.initialization", "model.kind"}, paper_initialization},
      {{"train.epochs", "train.steps"}, something_to_do},
      {{"train.schedule", "data.validation"}, plateau_and_validation},
      {{"train.min_learning_rate", "train.learning_rate"}, least_learning_rate},
      {{"decode.min_length", "decode.max_length"}, output_lengths},
      {{"decode.n_best", "decode.beam_size"}, n_best_and_beam},
  };
  return rules;
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
  if (recurrent(config)) {
    fill(model.embedding_width, model.width);
  } else {
    fill(model.ffn_width, 4 * model.width);
  }
  if (model.kind == "rnnsearch") {
    fill(model.attention_width, model.width);
  }
  fill(train.learning_rate, usual_learning_rate(train.optimizer));
  if (train.optimizer != "sgd") {
    fill(train.epsilon, train.optimizer == "adadelta" ? 1e-6 : 1e-8);
  }
}

}  // namespace heed::train
