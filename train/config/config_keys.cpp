#include <algorithm>
#include <array>
#include <iterator>

#include "train/config/config_table.h"

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
constexpr double widest_beam = 1000;
constexpr double longest = 1e6;

std::vector<Key> run_keys() {
  using R = RunConfig;
  constexpr auto run = &Config::run;
  return {
      key<run, &R::name>("run.name", "the run's folder is runs/NAME; \"\" = the config file's name")
          .may_change(),
      key<run, &R::seed>("run.seed", "seed of every random choice").from(0).fixed(),
      key<run, &R::device>("run.device", "the processor or the graphics card")
          .one_of({"cpu", "cuda"}),
      key<run, &R::precision>(
          "run.precision", "what products round their f32 operands to; weights and sums stay f32")
          .one_of({"float32", "tf32", "bf16"})
          .only("run.device", {"cuda"}),
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
          .one_of({"translation", "language_model"})
          .fixed(),
      key<data, &D::train>("data.train",
                           "the corpus to learn from; of a language model a text file, or "
                           "\"sources\": heed's own"),
      key<data, &D::validation>("data.validation",
                                "held out to choose the best checkpoint by; of a language model "
                                "\"tail\" = the last part of data.train. Unless given: none beside "
                                "files of pairs, 500 more of a generator"),
      key<data, &D::test>("data.test",
                          "held out for `heed evaluate`; unless given the same as data.validation "
                          "for a language model, none beside files of pairs, 1,000 of a generator")
          .may_change(),
      key<data, &D::validation_share>("data.validation_share", "how much of data.train the tail is")
          .above(0)
          .below(1)
          .only("data.validation", {"tail"}),
      key<data, &D::tokenizer>(
          "data.tokenizer",
          "words and marks, what stands between spaces, code points, or SentencePiece")
          .one_of({"word", "space", "character", "subword"})
          .fixed(),
      key<data, &D::lowercase>("data.lowercase", "lower-case every text first").fixed(),
      key<data, &D::subword_size>("data.subword_size", "pieces in each subword vocabulary")
          .from(16)
          .to(1e6)
          .only("data.tokenizer", {"subword"})
          .fixed(),
      key<data, &D::min_count>("data.min_count", "rarer tokens become <unk>")
          .from(1)
          .unless("data.tokenizer", {"subword"})
          .fixed(),
      key<data, &D::max_vocabulary>("data.max_vocabulary",
                                    "keep the most frequent tokens; 0 = unlimited")
          .from(0)
          .unless("data.tokenizer", {"subword"})
          .fixed(),
      key<data, &D::shared_vocabulary>("data.shared_vocabulary",
                                       "one tokenizer and vocabulary for both languages")
          .only("data.task", {"translation"})
          .fixed(),
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
          .from(0)
          .to(1e9)
          .only("data.task", {"translation"}),
      key<data, &D::sort_batches>("data.sort_batches",
                                  "batches sorted by length together: many pad little, 1 = none "
                                  "sorted, so that each batch holds all lengths")
          .from(1)
          .to(1e6)
          .only("data.task", {"translation"}),
      key<data, &D::windows>("data.windows",
                             "pieces of model.context tokens that an epoch shows: as many as the "
                             "text holds from anywhere, or cut one after another and shuffled")
          .one_of({"random", "sequential"})
          .only("data.task", {"language_model"}),
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
  const std::vector<std::string_view> recurrent(recurrent_kinds.begin(), recurrent_kinds.end());
  const std::vector<std::string_view> transformers = {"transformer", "causal_lm"};
  return {
      key<model, &M::kind>("model.kind", "the architecture")
          .one_of({"rnnsearch", "rnnencdec", "transformer", "causal_lm"})
          .fixed(),
      key<model, &M::width>("model.width", "hidden units").from(1).to(widest).fixed(),
      key<model, &M::embedding_width>("model.embedding_width",
                                      "width of a word's vector; 0 = as width")
          .from(0)
          .to(widest)
          .only("model.kind", recurrent)
          .fixed(),
      key<model, &M::layers>("model.layers", "layers; of a translator, of encoder and decoder each")
          .from(1)
          .to(1000)
          .fixed(),
      key<model, &M::attention_width>("model.attention_width",
                                      "hidden units of the alignment network; 0 = as width")
          .from(0)
          .to(widest)
          .only("model.kind", {"rnnsearch"})
          .fixed(),
      key<model, &M::readout>("model.readout",
                              "the layer before the logits: maxout over pairs, or linear and tanh")
          .one_of({"maxout", "linear"})
          .only("model.kind", recurrent)
          .fixed(),
      key<model, &M::heads>("model.heads", "attention heads")
          .from(1)
          .to(1024)
          .only("model.kind", transformers)
          .fixed(),
      key<model, &M::ffn_width>("model.ffn_width",
                                "hidden units of the feed-forward part; 0 = 4 times width")
          .from(0)
          .to(widest * 4)
          .only("model.kind", transformers)
          .fixed(),
      key<model, &M::dropout>("model.dropout", "share of activations dropped in training")
          .from(0)
          .below(1),
      key<model, &M::context>(
          "model.context",
          "tokens in a language model's window; the longest sentence where positions "
          "are learned")
          .from(1)
          .to(1e6)
          .only("model.kind", transformers)
          .fixed(),
      key<model, &M::tie_embeddings>("model.tie_embeddings",
                                     "the output layer shares the target embedding, and with "
                                     "data.shared_vocabulary a transformer's source embedding")
          .fixed(),
      key<model, &M::embedding_scale>("model.embedding_scale",
                                      "multiplies embeddings before positions are added; 0 = "
                                      "sqrt(width)")
          .from(0)
          .only("model.kind", {"transformer"})
          .fixed(),
      key<model, &M::bias>("model.bias", "biases in linear layers and norms")
          .only("model.kind", transformers)
          .fixed(),
      key<model, &M::positions>("model.positions", "how a model knows the order of its tokens")
          .one_of({"none", "sinusoidal", "learned", "rotary"})
          .only("model.kind", transformers)
          .fixed(),
      key<model, &M::rotary_pairing>("model.rotary_pairing",
                                     "dimensions that turn together: (2i, 2i + 1), or (i, i + d/2)")
          .one_of({"interleaved", "half"})
          .only("model.positions", {"rotary"})
          .fixed(),
      key<model, &M::norm>("model.norm", "LayerNorm, or RMSNorm")
          .one_of({"layer", "rms"})
          .only("model.kind", transformers)
          .fixed(),
      key<model, &M::norm_placement>("model.norm_placement",
                                     "norms before each sub-layer, or after its residual sum")
          .one_of({"pre", "post"})
          .only("model.kind", transformers)
          .fixed(),
      key<model, &M::activation>("model.activation",
                                 "of the feed-forward part; gelu_tanh is the approximation, swiglu "
                                 "and geglu are silu and gelu with a gate")
          .one_of({"relu", "gelu", "gelu_tanh", "silu", "swiglu", "geglu"})
          .only("model.kind", transformers)
          .fixed(),
      key<model, &M::initialization>("model.initialization",
                                     "first weights; paper = Bahdanau et al. 2015, appendix B.1")
          .one_of({"default", "paper", "xavier"})
          .only("model.kind", recurrent),
  };
}

std::vector<Key> train_keys() {
  using T = TrainConfig;
  constexpr auto train = &Config::train;
  return {
      key<train, &T::steps>("train.steps", "updates to make; 0 = as many as epochs say")
          .from(0)
          .to(1e12)
          .may_change(),
      key<train, &T::epochs>(
          "train.epochs",
          "passes over the corpus; 0 = as many as steps say, as when only those are given")
          .from(0)
          .to(1e6)
          .may_change(),
      key<train, &T::optimizer>("train.optimizer", "the rule of an update")
          .one_of({"sgd", "adam", "adamw", "adadelta"}),
      key<train, &T::learning_rate>(
          "train.learning_rate",
          "size of an update; 0 = the usual (adam, adamw 0.001; sgd 0.1; adadelta, noam 1)")
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
      key<train, &T::decay_vectors>("train.decay_vectors",
                                    "weight_decay pulls biases and norm weights as well"),
      key<train, &T::schedule>("train.schedule",
                               "how the learning rate moves; noam = learning_rate * width^-0.5 * "
                               "min(step^-0.5, step * warmup_steps^-1.5)")
          .one_of({"constant", "inverse_sqrt", "noam", "cosine", "plateau"}),
      key<train, &T::warmup_steps>("train.warmup_steps", "updates of linear rise at the start")
          .from(0),
      key<train, &T::min_learning_rate>("train.min_learning_rate", "the rate falls no lower")
          .from(0)
          .only("train.schedule", {"cosine", "plateau"}),
      key<train, &T::plateau_factor>("train.plateau_factor",
                                     "the rate is multiplied by this when validation stalls")
          .above(0)
          .below(1)
          .only("train.schedule", {"plateau"}),
      key<train, &T::plateau_patience>("train.plateau_patience",
                                       "validations without gain after which the rate falls")
          .from(1)
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
          .to(1e6)
          .may_change(),
      key<train, &T::save_failure>("train.save_failure",
                                   "when the disk takes no checkpoint, stop, or warn and go on to "
                                   "the next one")
          .one_of({"stop", "continue"})
          .may_change(),
      key<train, &T::patience>("train.patience",
                               "stop after this many validations without gain; 0 = never")
          .from(0)
          .unless("data.validation", {"none"})
          .may_change(),
      key<train, &T::validation_samples>("train.validation_samples",
                                         "translations or texts shown at a validation")
          .from(0)
          .unless("data.validation", {"none"})
          .may_change(),
      key<train, &T::best_by>(
          "train.best_by",
          "what the best checkpoint has: the highest validation BLEU (below 5 it "
          "is noise; of equal ones the lowest nll), or the lowest validation nll "
          "(the loss without smoothing), as of a language model always")
          .one_of({"bleu", "loss"})
          .only("data.task", {"translation"}),
      key<train, &T::nonfinite>(
          "train.nonfinite", "at a NaN or inf in the loss or a gradient, stop or skip the update")
          .one_of({"stop", "skip"})
          .may_change(),
      key<train, &T::nonfinite_limit>("train.nonfinite_limit",
                                      "updates in a row that may be skipped; one more stops")
          .from(1)
          .only("train.nonfinite", {"skip"})
          .may_change(),
  };
}

std::vector<Key> decode_keys() {
  using D = DecodeConfig;
  constexpr auto decode = &Config::decode;
  std::vector<Key> keys = {
      key<decode, &D::beam_size>("decode.beam_size", "hypotheses kept; 1 = greedy")
          .from(1)
          .to(widest_beam)
          .only("data.task", {"translation"}),
      key<decode, &D::length_penalty>("decode.length_penalty",
                                      "alpha: scores are divided by ((5 + length) / 6)^alpha")
          .from(0)
          .to(10)
          .only("data.task", {"translation"}),
      key<decode, &D::max_length>("decode.max_length",
                                  "longest output, in tokens; 0 = twice the source + 10")
          .from(0)
          .to(longest)
          .only("data.task", {"translation"}),
      key<decode, &D::min_length>("decode.min_length", "shortest output, in tokens")
          .from(0)
          .to(longest)
          .only("data.task", {"translation"}),
      key<decode, &D::n_best>("decode.n_best", "outputs for each input")
          .from(1)
          .to(widest_beam)
          .only("data.task", {"translation"}),
      key<decode, &D::temperature>("decode.temperature",
                                   "logits are divided by it; 0 = always the likeliest token")
          .from(0)
          .to(100)
          .only("data.task", {"language_model"}),
      key<decode, &D::top_k>("decode.top_k", "draw among this many likeliest tokens; 0 = all")
          .from(0)
          .only("data.task", {"language_model"}),
      key<decode, &D::top_p>("decode.top_p",
                             "draw among the likeliest tokens that hold this much probability")
          .above(0)
          .to(1)
          .only("data.task", {"language_model"}),
      key<decode, &D::on_overflow>("decode.on_overflow",
                                   "when a text outgrows model.context, go on with its latter "
                                   "half in view, or refuse")
          .one_of({"slide", "refuse"})
          .only("data.task", {"language_model"}),
      key<decode, &D::batch_size>("decode.batch_size", "sentences or windows computed together")
          .from(1)
          .to(1e6),
  };
  for (Key& each : keys) {
    each.resumable = true;
  }
  return keys;
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

}  // namespace heed::train
