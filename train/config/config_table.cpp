#include "train/config/config_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace heed::train {
namespace {

template <auto Group, auto Member>
Key key(std::string_view name, std::string_view help) {
  Key made;
  made.name = name;
  made.help = help;
  made.value = [](Config& config) -> Value { return &(config.*Group.*Member); };
  return made;
}

// Anything larger is a slip of the keyboard rather than a model.
constexpr double widest = 65536;

std::vector<Key> run_keys() {
  using R = RunConfig;
  constexpr auto run = &Config::run;
  return {
      key<run, &R::name>("run.name", "the run's folder is runs/NAME; \"\" = the config file's name")
          .may_change(),
      key<run, &R::seed>("run.seed", "seed of every random choice").from(0),
      key<run, &R::device>("run.device", "the processor or the graphics card")
          .one_of({"cpu", "cuda"}),
      key<run, &R::threads>("run.threads", "threads; 0 = the cores this process may use")
          .from(0)
          .to(4096),
      key<run, &R::fused>("run.fused", "false computes by the composed twins of fused kernels"),
      key<run, &R::check_finite>("run.check_finite", "search the first op that made a NaN or inf")
          .may_change(),
      key<run, &R::log_every>("run.log_every", "updates between two log lines")
          .from(1)
          .may_change(),
  };
}

std::vector<Key> data_keys() {
  using D = DataConfig;
  constexpr auto data = &Config::data;
  return {
      key<data, &D::task>("data.task", "pairs of sentences, or one running text")
          .one_of({"translation", "language_model"}),
      key<data, &D::train>("data.train", "the corpus to learn from"),
      key<data, &D::validation>("data.validation", "held out to choose the best checkpoint by"),
      key<data, &D::test>("data.test", "held out for `heed evaluate`").may_change(),
      key<data, &D::tokenizer>(
          "data.tokenizer",
          "words and marks, what stands between spaces, code points, or SentencePiece")
          .one_of({"word", "space", "character", "subword"}),
      key<data, &D::lowercase>("data.lowercase", "lower-case every text first"),
      key<data, &D::subword_size>("data.subword_size", "pieces in each subword vocabulary")
          .from(16)
          .to(1e6)
          .only("data.tokenizer", {"subword"}),
      key<data, &D::min_count>("data.min_count", "rarer tokens become <unk>")
          .from(1)
          .unless("data.tokenizer", {"subword"}),
      key<data, &D::max_vocabulary>("data.max_vocabulary",
                                    "keep the most frequent tokens; 0 = unlimited")
          .from(0)
          .unless("data.tokenizer", {"subword"}),
      key<data, &D::max_length>("data.max_length", "leave out longer sentences, in tokens")
          .from(1)
          .only("data.task", {"translation"}),
      key<data, &D::max_ratio>("data.max_ratio",
                               "leave out pairs whose lengths differ by this factor; 0 = off")
          .from(0)
          .only("data.task", {"translation"}),
      key<data, &D::batch_size>("data.batch_size", "sentences or windows in a batch")
          .from(1)
          .to(1e6)
          .only("data.batch_tokens", {"0"}),
      key<data, &D::batch_tokens>("data.batch_tokens",
                                  "tokens in a batch, padding included; 0 = by batch_size")
          .from(0),
      key<data, &D::invalid_utf8>("data.invalid_utf8",
                                  "stop at bytes that are no UTF-8, or read U+FFFD")
          .one_of({"error", "replace"}),
      key<data, &D::empty>("data.empty", "pairs with an empty side are left out, or stop the run")
          .one_of({"drop", "error"})
          .only("data.task", {"translation"}),
      key<data, &D::reverse_source>("data.reverse_source", "feed the source backwards")
          .only("data.task", {"translation"}),
      key<data, &D::source_end>("data.source_end", "append </s> to the source")
          .only("data.task", {"translation"}),
  };
}

std::vector<Key> model_keys() {
  using M = ModelConfig;
  constexpr auto model = &Config::model;
  const std::vector<std::string_view> recurrent = {"rnnsearch", "rnnencdec"};
  const std::vector<std::string_view> transformers = {"transformer", "causal_lm"};
  return {
      key<model, &M::kind>("model.kind", "the architecture")
          .one_of({"rnnsearch", "rnnencdec", "transformer", "causal_lm"}),
      key<model, &M::width>("model.width", "hidden units").from(1).to(widest),
      key<model, &M::embedding_width>("model.embedding_width",
                                      "width of a word's vector; 0 = as width")
          .from(0)
          .to(widest)
          .only("model.kind", recurrent),
      key<model, &M::layers>("model.layers", "layers of the encoder and of the decoder")
          .from(1)
          .to(1000),
      key<model, &M::attention_width>("model.attention_width",
                                      "hidden units of the alignment network; 0 = as width")
          .from(0)
          .to(widest)
          .only("model.kind", {"rnnsearch"}),
      key<model, &M::readout>("model.readout",
                              "the layer before the logits: maxout over pairs, or linear and tanh")
          .one_of({"maxout", "linear"})
          .only("model.kind", recurrent),
      key<model, &M::heads>("model.heads", "attention heads")
          .from(1)
          .to(1024)
          .only("model.kind", transformers),
      key<model, &M::ffn_width>("model.ffn_width",
                                "hidden units of the feed-forward part; 0 = 4 times width")
          .from(0)
          .to(widest * 4)
          .only("model.kind", transformers),
      key<model, &M::dropout>("model.dropout", "share of activations dropped in training")
          .from(0)
          .below(1),
      key<model, &M::context>("model.context", "tokens a position can see; longest input")
          .from(1)
          .to(1e6)
          .only("model.kind", transformers),
      key<model, &M::tie_embeddings>("model.tie_embeddings",
                                     "the output layer shares the target embedding"),
      key<model, &M::initialization>("model.initialization",
                                     "first weights; paper = Bahdanau et al. 2015, appendix B.1")
          .one_of({"default", "paper", "xavier"}),
  };
}

std::vector<Key> train_keys() {
  using T = TrainConfig;
  constexpr auto train = &Config::train;
  return {
      key<train, &T::steps>("train.steps", "updates to make; 0 = as many as epochs say")
          .from(0)
          .may_change(),
      key<train, &T::epochs>(
          "train.epochs",
          "passes over the corpus; 0 = as many as steps say, as when only those are given")
          .from(0)
          .may_change(),
      key<train, &T::optimizer>("train.optimizer", "the rule of an update")
          .one_of({"sgd", "adam", "adamw", "adadelta"}),
      key<train, &T::learning_rate>(
          "train.learning_rate",
          "size of an update; 0 = the usual (adam, adamw 0.001; sgd 0.1; adadelta 1)")
          .from(0),
      key<train, &T::momentum>("train.momentum", "share of the last update that is kept")
          .from(0)
          .below(1)
          .only("train.optimizer", {"sgd"}),
      key<train, &T::beta1>("train.beta1", "decay of the mean gradient")
          .from(0)
          .below(1)
          .only("train.optimizer", {"adam", "adamw"}),
      key<train, &T::beta2>("train.beta2", "decay of the mean squared gradient")
          .from(0)
          .below(1)
          .only("train.optimizer", {"adam", "adamw"}),
      key<train, &T::rho>("train.rho", "decay of both mean squares")
          .from(0)
          .below(1)
          .only("train.optimizer", {"adadelta"}),
      key<train, &T::epsilon>("train.epsilon",
                              "keeps a division finite; 0 = the usual (1e-8; adadelta 1e-6)")
          .from(0)
          .unless("train.optimizer", {"sgd"}),
      key<train, &T::weight_decay>("train.weight_decay",
                                   "pull towards 0; apart from the gradient in adamw alone")
          .from(0),
      key<train, &T::schedule>("train.schedule", "how the learning rate moves")
          .one_of({"constant", "inverse_sqrt", "cosine", "plateau"}),
      key<train, &T::warmup_steps>("train.warmup_steps", "updates of linear rise at the start")
          .from(0)
          .only("train.schedule", {"inverse_sqrt", "cosine"}),
      key<train, &T::min_learning_rate>("train.min_learning_rate", "the rate falls no lower")
          .from(0)
          .only("train.schedule", {"cosine", "plateau"}),
      key<train, &T::plateau_factor>("train.plateau_factor",
                                     "the rate is multiplied by this when validation stalls")
          .above(0)
          .below(1)
          .only("train.schedule", {"plateau"}),
      key<train, &T::plateau_patience>("train.plateau_patience",
                                       "validations without gain that are waited for")
          .from(0)
          .only("train.schedule", {"plateau"}),
      key<train, &T::clip_norm>("train.clip_norm", "largest norm of all gradients; 0 = off")
          .from(0),
      key<train, &T::label_smoothing>("train.label_smoothing",
                                      "share of the target spread over the vocabulary")
          .from(0)
          .below(1),
      key<train, &T::accumulate>("train.accumulate", "batches that make one update")
          .from(1)
          .to(1e6),
      key<train, &T::validate_every>("train.validate_every",
                                     "updates between two validations; 0 = every epoch")
          .from(0)
          .unless("data.validation", {"none"}),
      key<train, &T::checkpoint_every>("train.checkpoint_every",
                                       "updates between two checkpoints; 0 = with validation")
          .from(0)
          .may_change(),
      key<train, &T::keep_checkpoints>("train.keep_checkpoints",
                                       "newest checkpoints kept besides the best")
          .from(1)
          .may_change(),
      key<train, &T::patience>("train.patience",
                               "stop after this many validations without gain; 0 = never")
          .from(0)
          .unless("data.validation", {"none"})
          .may_change(),
      key<train, &T::validation_samples>("train.validation_samples",
                                         "translations shown at a validation")
          .from(0)
          .unless("data.validation", {"none"})
          .may_change(),
      key<train, &T::best_by>("train.best_by",
                              "what the best checkpoint has: the highest validation BLEU, or the "
                              "lowest validation loss")
          .one_of({"bleu", "loss"}),
      key<train, &T::nonfinite>(
          "train.nonfinite", "at a NaN or inf in the loss or a gradient, stop or skip the update")
          .one_of({"stop", "skip"}),
  };
}

std::vector<Key> decode_keys() {
  using D = DecodeConfig;
  constexpr auto decode = &Config::decode;
  return {
      key<decode, &D::beam_size>("decode.beam_size", "hypotheses kept; 1 = greedy")
          .from(1)
          .to(1000)
          .may_change(),
      key<decode, &D::length_penalty>("decode.length_penalty",
                                      "alpha: scores are divided by ((5 + length) / 6)^alpha")
          .from(0)
          .to(10)
          .may_change(),
      key<decode, &D::max_length>("decode.max_length",
                                  "longest output, in tokens; 0 = twice the source + 10")
          .from(0)
          .may_change(),
      key<decode, &D::min_length>("decode.min_length", "shortest output, in tokens")
          .from(0)
          .may_change(),
      key<decode, &D::n_best>("decode.n_best", "outputs for each input").from(1).may_change(),
      key<decode, &D::batch_size>("decode.batch_size", "sentences decoded together")
          .from(1)
          .to(1e6)
          .may_change(),
  };
}

// What a condition's values are compared with: texts without quotes.
std::string plain(const Value& value, std::string toml) {
  if (const auto* text = std::get_if<std::string*>(&value)) {
    return **text;
  }
  const auto* corpus = std::get_if<CorpusName*>(&value);
  return corpus != nullptr && (*corpus)->empty() ? "none" : toml;
}

std::string number(double x) {
  std::string text = fmt::format("{}", x);
  const bool integer = text.find_first_not_of("-0123456789") == std::string::npos;
  return integer ? text + ".0" : text;
}

}  // namespace

std::span<const Section> config_sections() {
  static constexpr std::array<Section, 5> sections = {{
      {"run", "the run as a whole"},
      {"data", "text and batches; a corpus is a path, two paths, a generator or \"none\""},
      {"model", "the network"},
      {"train", "optimization, validation and checkpoints"},
      {"decode", "translating and generating"},
  }};
  return sections;
}

std::span<const Key> config_table() {
  static const std::vector<Key> table = [] {
    std::vector<Key> keys;
    for (auto* group : {run_keys, data_keys, model_keys, train_keys, decode_keys}) {
      std::ranges::move(group(), std::back_inserter(keys));
    }
    return keys;
  }();
  return table;
}

const Key* find_key(std::string_view name) {
  const auto table = config_table();
  const auto found = std::ranges::find(table, name, &Key::name);
  return found == table.end() ? nullptr : &*found;
}

bool Range::contains(double x) const {
  return (low_open ? x > low : x >= low) && (high_open ? x < high : x <= high);
}

std::string Range::text() const {
  const bool bounded_below = low > -std::numeric_limits<double>::infinity();
  const bool bounded_above = high < std::numeric_limits<double>::infinity();
  if (bounded_below && bounded_above && !low_open && !high_open) {
    return fmt::format("from {} to {}", low, high);
  }
  std::string text;
  if (bounded_below) {
    text = fmt::format("{} {}", low_open ? "above" : "at least", low);
  }
  if (bounded_above) {
    text +=
        fmt::format("{}{} {}", text.empty() ? "" : " and ", high_open ? "below" : "at most", high);
  }
  return text;
}

bool Condition::holds(Config& config) const {
  if (key.empty()) {
    return true;
  }
  const Key& other = *find_key(key);
  const std::string now = plain(other.value(config), other.text(config));
  return (std::ranges::find(values, now) != values.end()) != negated;
}

std::string Condition::text() const {
  if (key.empty()) {
    return "";
  }
  const bool numeric = values.front() == "0";
  return fmt::format("{} {} = {}", negated ? "not with" : "only with", key,
                     numeric ? "0" : alternatives(values, " | "));
}

std::string Key::text(Config& config) const {
  struct Writer {
    std::string operator()(const bool* x) const { return *x ? "true" : "false"; }
    std::string operator()(const int64_t* x) const { return fmt::format("{}", *x); }
    std::string operator()(const double* x) const { return number(*x); }
    std::string operator()(const std::string* x) const { return toml_string(*x); }
    std::string operator()(const CorpusName* x) const {
      if (x->empty()) {
        return toml_string("none");
      }
      return x->size() == 1
                 ? toml_string(x->front())
                 : fmt::format("[{}, {}]", toml_string(x->front()), toml_string(x->back()));
    }
  };
  return std::visit(Writer{}, value(config));
}

std::string toml_string(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      result += '\\';
      result += c;
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      result += fmt::format("\\u{:04X}", static_cast<unsigned char>(c));
    } else {
      result += c;
    }
  }
  return result + '"';
}

std::string alternatives(const std::vector<std::string_view>& words, std::string_view separator) {
  std::string text;
  for (const std::string_view word : words) {
    text += fmt::format("{}{}", text.empty() ? "" : separator, toml_string(word));
  }
  return text;
}

}  // namespace heed::train
