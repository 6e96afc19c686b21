#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/export.h"

namespace heed::train {

// What a corpus key names: one path, generator or word of its own, two paths (source, target), or
// nothing.
using CorpusName = std::vector<std::string>;

// The corpus name that stands for the last part of a language model's training text.
inline constexpr std::string_view tail = "tail";

// The meaning, range and default of each key stand in config_keys.cpp; `heed config` prints them.
struct RunConfig {
  std::string name;
  int64_t seed = 1;
  std::string device = "cpu";
  std::string precision = "float32";
  int64_t threads = 0;
  bool fused = true;
  bool check_finite = false;
  int64_t log_every = 50;
};

struct DataConfig {
  std::string task = "translation";
  CorpusName train = {"grammar:20000"};
  CorpusName validation = {"grammar:500"};
  CorpusName test = {"grammar:1000"};
  double validation_share = 0.1;
  std::string tokenizer = "word";
  bool lowercase = false;
  int64_t subword_size = 8000;
  int64_t min_count = 1;
  int64_t max_vocabulary = 0;
  bool shared_vocabulary = false;
  int64_t max_length = 50;
  double max_ratio = 0;
  int64_t batch_size = 64;
  int64_t batch_tokens = 0;
  int64_t sort_batches = 100;
  std::string windows = "random";
  std::string invalid_utf8 = "error";
  std::string empty = "drop";
  bool reverse_source = false;
  bool source_end = true;
};

// The kinds of model that are built of recurrent layers.
inline constexpr std::array<std::string_view, 2> recurrent_kinds = {"rnnsearch", "rnnencdec"};

struct ModelConfig {
  std::string kind = "rnnsearch";
  int64_t width = 256;
  int64_t embedding_width = 0;
  int64_t layers = 1;
  int64_t attention_width = 0;
  std::string readout = "maxout";
  int64_t heads = 4;
  int64_t ffn_width = 0;
  double dropout = 0;
  int64_t context = 256;
  bool tie_embeddings = false;
  double embedding_scale = 0;
  bool bias = true;
  std::string positions = "sinusoidal";
  std::string rotary_pairing = "interleaved";
  std::string norm = "layer";
  std::string norm_placement = "post";
  std::string activation = "relu";
  std::string initialization = "default";
};

inline bool is_recurrent(const ModelConfig& model) {
  return std::ranges::find(recurrent_kinds, model.kind) != recurrent_kinds.end();
}

struct TrainConfig {
  int64_t steps = 0;
  int64_t epochs = 10;
  std::string optimizer = "adam";
  double learning_rate = 0;
  double momentum = 0;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double rho = 0.95;
  double epsilon = 0;
  double weight_decay = 0;
  bool decay_vectors = true;
  std::string schedule = "constant";
  int64_t warmup_steps = 0;
  double min_learning_rate = 0;
  double plateau_factor = 0.5;
  int64_t plateau_patience = 2;
  double clip_norm = 1;
  double label_smoothing = 0;
  int64_t accumulate = 1;
  int64_t validate_every = 0;
  int64_t checkpoint_every = 0;
  int64_t keep_checkpoints = 2;
  std::string save_failure = "stop";
  int64_t patience = 0;
  int64_t validation_samples = 5;
  std::string best_by = "bleu";
  std::string nonfinite = "stop";
  int64_t nonfinite_limit = 10;
};

struct DecodeConfig {
  int64_t beam_size = 1;
  double length_penalty = 0.6;
  int64_t max_length = 0;
  int64_t min_length = 0;
  int64_t n_best = 1;
  double temperature = 1;
  int64_t top_k = 0;
  double top_p = 1;
  std::string on_overflow = "slide";
  int64_t batch_size = 64;
};

struct Config {
  RunConfig run;
  DataConfig data;
  ModelConfig model;
  TrainConfig train;
  DecodeConfig decode;
};

// The defaults of a kind of model, as `heed config` lists them.
HEED_EXPORT Config default_config(std::string_view kind);

// Reads a TOML file, then the overrides ("train.steps=100", later ones win). Keys that are not
// given have the default of model.kind, which itself follows from data.task. Then what follows from
// other keys is resolved: run.name, the widths left 0, train.epochs where train.steps is given,
// train.learning_rate and epsilon. Throws one InputError that holds a line for every mistake.
HEED_EXPORT Config load_config(const std::string& path,
                               const std::vector<std::string>& overrides = {});

// The same from text; `source` stands for the file's name in messages.
HEED_EXPORT Config parse_config(std::string_view toml, const std::string& source,
                                const std::vector<std::string>& overrides = {});

// What write_toml wrote into a checkpoint: checked for what heed needs to work with it (keys,
// types, ranges, the few contradictions it cannot compute with), not for what a person is told
// beyond that, so that a run stays readable when heed becomes stricter there.
HEED_EXPORT Config parse_saved_config(std::string_view toml, const std::string& source);

// Complete commented TOML. parse_config gives the same config back. Keys that have no effect under
// this config (heads of a recurrent model, say) are written as comments.
HEED_EXPORT std::string write_toml(const Config& config);

// The keys, types, defaults and meanings, for a person.
HEED_EXPORT std::string describe_config();

// A key on which two configs differ. What is not resumable may not change when a run is continued;
// what is fixed not even in a branch of it, since weights or vocabulary are made for it.
struct HEED_EXPORT ConfigDifference {
  std::string key;  // "train.steps"
  std::string before, after;
  bool resumable = false;
  bool fixed = false;

  std::string text() const;  // "train.steps was 10, now 20"
};
HEED_EXPORT std::vector<ConfigDifference> config_differences(const Config& before,
                                                             const Config& after);

// How a config differs from the defaults of its kind, without what follows from its other keys.
HEED_EXPORT std::vector<ConfigDifference> chosen_keys(const Config& config);

}  // namespace heed::train
