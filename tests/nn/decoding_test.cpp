#include "nn/decoding.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "autograd/functions.h"
#include "nn/models/rnn_translator.h"
#include "nn/models/transformer.h"
#include "tests/nn/support.h"
#include "tests/support/set_element.h"

namespace heed::nn::test {
namespace {

constexpr int32_t start_id = 2;
constexpr int32_t end_id = 3;
constexpr int32_t vocabulary = 8;  // 4 .. 7 are words

using Sentence = std::vector<int32_t>;

// Ids past a sentence's end are `filler`.
PaddedIds pad(const std::vector<Sentence>& sentences, size_t width = 0, int32_t filler = 0) {
  PaddedIds padded;
  for (const Sentence& sentence : sentences) {
    width = std::max(width, sentence.size());
    padded.lengths.push_back(std::ssize(sentence));
  }
  std::vector<int32_t> ids;
  for (const Sentence& sentence : sentences) {
    ids.insert(ids.end(), sentence.begin(), sentence.end());
    ids.insert(ids.end(), width - sentence.size(), filler);
  }
  padded.ids = Tensor::from_vector(ids, {std::ssize(sentences), static_cast<int64_t>(width)});
  return padded;
}

const std::vector<Sentence> sentences = {{4, 6, 5, 3}, {7, 3}, {5, 5, 6, 7, 4, 3}, {6, 4, 3}};

enum class Kind { rnnsearch, rnnencdec, transformer };
constexpr Kind kinds[] = {Kind::rnnsearch, Kind::rnnencdec, Kind::transformer};

std::unique_ptr<TranslationModel> make_rnn(bool attention) {
  RnnTranslatorOptions options;
  options.source_vocabulary = vocabulary;
  options.target_vocabulary = vocabulary;
  options.width = 5;
  options.embedding_width = 4;
  options.attention_width = 3;
  options.attention = attention;
  Generator generator(1);
  return std::make_unique<RnnTranslator>(options, generator);
}

std::unique_ptr<TranslationModel> make_transformer() {
  TransformerOptions options;
  options.source_vocabulary = vocabulary;
  options.target_vocabulary = vocabulary;
  options.width = 4;
  options.heads = 2;
  options.encoder_layers = 1;
  options.decoder_layers = 2;
  options.dropout = 0.3;  // of which decoding sees nothing
  Generator generator(1);
  return std::make_unique<Transformer>(options, generator);
}

void add_to(const Tensor& x, size_t i, double value) {
  heed::test::set_element(x, static_cast<int64_t>(i), x.to_doubles()[i] + value);
}

// A model whose next words depend on everything before. end_bias adds to the logit of the end.
std::unique_ptr<TranslationModel> make_model(uint64_t seed, Kind kind = Kind::rnnsearch,
                                             double end_bias = 0) {
  auto model = kind == Kind::transformer ? make_transformer() : make_rnn(kind == Kind::rnnsearch);
  model->convert(DType::f64);
  randomize(*model, 1.5, seed);
  std::map<std::string, Tensor> parameters;
  for (const NamedTensor& entry : model->named_parameters()) {
    parameters[entry.name] = entry.tensor;
  }
  if (kind != Kind::transformer) {
    add_to(parameters.at("output.bias"), end_id, end_bias);
    return model;
  }
  // The last norm's bias moves along the end's row of the output.
  const Values row = rows_of(parameters.at("output.weight"))[end_id];
  double length = 0;
  for (const double value : row) {
    length += value * value;
  }
  for (size_t i = 0; i < row.size(); ++i) {
    add_to(parameters.at("decoder.layers.1.norm3.bias"), i, end_bias * row[i] / length);
  }
  return model;
}

// Log-probability of the tokens (and of the end after them), and the attention of each step.
struct Forced {
  double log_probability = 0;
  std::vector<Values> attention;
};

Forced force(TranslationModel& model, const Sentence& source, const Sentence& tokens, bool ended) {
  const EvaluationScope evaluation(model);
  Sentence input = {start_id};
  input.insert(input.end(), tokens.begin(), tokens.end());
  Sentence targets = tokens;
  if (ended) {
    targets.push_back(end_id);
  } else {
    input.pop_back();
  }
  const auto output =
      model.forward(pad({source}), Tensor::from_vector(input, {1, std::ssize(input)}), true);
  const auto log_p = rows_of(log_softmax(output.logits));
  Forced result;
  for (size_t t = 0; t < targets.size(); ++t) {
    result.log_probability += log_p[t][static_cast<size_t>(targets[t])];
  }
  if (output.attention.defined()) {
    result.attention = rows_of(output.attention);
  }
  return result;
}

Hypothesis greedy_by_hand(TranslationModel& model, const Sentence& source) {
  const EvaluationScope evaluation(model);
  Hypothesis result;
  result.ended = false;
  const auto state = model.start(pad({source}));
  int32_t token = start_id;
  for (size_t length = 0; length < 2 * source.size() + 10; ++length) {
    const auto step = model.step(*state, Tensor::from_vector<int32_t>({token}, {1}), false);
    const Values log_p = log_softmax(step.logits).to_doubles();
    token =
        static_cast<int32_t>(std::max_element(log_p.begin() + end_id, log_p.end()) - log_p.begin());
    result.log_probability += log_p[static_cast<size_t>(token)];
    if (token == end_id) {
      result.ended = true;
      break;
    }
    result.tokens.push_back(token);
  }
  return result;
}

DecodingOptions beam(int64_t size, int64_t n_best = 1) {
  DecodingOptions options;
  options.beam_size = size;
  options.n_best = n_best;
  return options;
}

void expect_same(const std::vector<Hypothesis>& found, const std::vector<Hypothesis>& expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(found[i].tokens, expected[i].tokens);
    EXPECT_EQ(found[i].ended, expected[i].ended);
    EXPECT_NEAR(found[i].log_probability, expected[i].log_probability, 1e-9);
    EXPECT_NEAR(found[i].score, expected[i].score, 1e-9);
    EXPECT_EQ(found[i].attention.size(), expected[i].attention.size());
  }
}

TEST(Decode, ABeamOfOneIsGreedy) {
  int ended = 0;
  int cut = 0;
  for (uint64_t seed = 0; seed < 9; ++seed) {
    const auto model = make_model(seed, kinds[seed % 3]);
    const auto found = decode(*model, pad(sentences), beam(1));
    ASSERT_EQ(found.size(), sentences.size());
    for (size_t i = 0; i < sentences.size(); ++i) {
      const Hypothesis expected = greedy_by_hand(*model, sentences[i]);
      ASSERT_EQ(found[i].size(), 1);
      EXPECT_EQ(found[i][0].tokens, expected.tokens);
      EXPECT_EQ(found[i][0].ended, expected.ended);
      EXPECT_NEAR(found[i][0].log_probability, expected.log_probability, 1e-9);
      ++(expected.ended ? ended : cut);
    }
  }
  EXPECT_GT(ended, 2);
  EXPECT_GT(cut, 2);
}

TEST(Decode, ASentenceDoesNotSeeItsNeighbours) {
  for (const Kind kind : kinds) {
    const auto model = make_model(3, kind, 1);
    for (const auto& options : {beam(1), beam(4, 3)}) {
      const auto together = decode(*model, pad(sentences), options);
      const auto padded = decode(*model, pad(sentences, 9, 6), options);
      std::vector<Sentence> reversed(sentences.rbegin(), sentences.rend());
      const auto backwards = decode(*model, pad(reversed), options);
      for (size_t i = 0; i < sentences.size(); ++i) {
        expect_same(decode(*model, pad({sentences[i]}), options)[0], together[i]);
        expect_same(padded[i], together[i]);
        expect_same(backwards[sentences.size() - 1 - i], together[i]);
      }
    }
  }
}

// Every sequence of at most `max_length` tokens (the end counted), best first.
std::vector<Hypothesis> enumerate(TranslationModel& model, const Sentence& source,
                                  size_t max_length, double alpha) {
  std::vector<Hypothesis> all;
  std::vector<Sentence> growing = {{}};
  for (size_t length = 0; length <= max_length; ++length) {
    std::vector<Sentence> longer;
    for (const Sentence& tokens : growing) {
      Hypothesis hypothesis;
      hypothesis.tokens = tokens;
      hypothesis.ended = length < max_length;
      const Forced forced = force(model, source, tokens, hypothesis.ended);
      hypothesis.log_probability = forced.log_probability;
      const double counted = static_cast<double>(std::min(length + 1, max_length));
      hypothesis.score = hypothesis.log_probability / std::pow((5 + counted) / 6, alpha);
      hypothesis.attention.resize(std::min(length + 1, max_length));
      all.push_back(hypothesis);
      for (int32_t word = end_id + 1; word < vocabulary; ++word) {
        longer.push_back(tokens);
        longer.back().push_back(word);
      }
    }
    growing = std::move(longer);
  }
  std::sort(all.begin(), all.end(),
            [](const Hypothesis& a, const Hypothesis& b) { return a.score > b.score; });
  return all;
}

TEST(Decode, AWideBeamFindsTheBestOfAllSequences) {
  const Sentence source = {4, 7, 3};
  for (uint64_t seed = 0; seed < 3; ++seed) {
    const auto model = make_model(seed, seed == 0 ? Kind::rnnsearch : Kind::transformer, 1);
    for (const double alpha : {0.0, 0.6, 1.5, -0.6}) {
      auto expected = enumerate(*model, source, 3, alpha);
      for (const int64_t n_best : {1, 2, 20}) {
        DecodingOptions options = beam(200, n_best);
        options.with_attention = true;
        options.max_length = 3;
        options.length_penalty = alpha;
        const std::vector<Hypothesis> best(expected.begin(), expected.begin() + n_best);
        expect_same(decode(*model, pad({source}), options)[0], best);
      }
    }
  }
}

// The next word depends on the last one alone: rows of probabilities by hand. Words without a row
// share what is left evenly.
class ScriptedModel : public TranslationModel {
 public:
  using Script = std::map<int32_t, std::map<int32_t, double>>;
  explicit ScriptedModel(Script script) : script_(std::move(script)) {}

  Output forward(const PaddedIds&, const Tensor&, bool) const override { return {}; }
  std::unique_ptr<DecoderState> start(const PaddedIds&) const override {
    return std::make_unique<State>();
  }
  Step step(DecoderState&, const Tensor& tokens, bool) const override {
    evaluated = evaluated && !training() && !recording();
    Values logits;
    for (const int32_t token : tokens.to_vector<int32_t>()) {
      const auto& row = script_.at(token);
      double rest = 1;
      for (const auto& [next, probability] : row) {
        rest -= probability;
      }
      for (int32_t next = 0; next < vocabulary; ++next) {
        const auto found = row.find(next);
        logits.push_back(std::log(found != row.end()
                                      ? found->second
                                      : rest / static_cast<double>(vocabulary - std::ssize(row))));
      }
    }
    return {Tensor::from_vector(logits, {tokens.dim(0), vocabulary}), {}};
  }
  int64_t target_vocabulary() const override { return vocabulary; }

  mutable bool evaluated = true;

 private:
  struct State : DecoderState {
    void select(const std::vector<int32_t>&) override {}
  };
  Script script_;
};

TEST(Decode, ABeamKeepsTheBestOfAllItsHypotheses) {
  // 4 is the likelier first word, but what follows it is not.
  ScriptedModel model({{start_id, {{4, 0.55}, {5, 0.4}}},
                       {4, {{4, 0.3}, {5, 0.3}, {6, 0.3}}},
                       {5, {{end_id, 0.9}}},
                       {6, {{end_id, 0.9}}}});
  DecodingOptions options = beam(2);
  options.max_length = 3;
  options.length_penalty = 0;
  const Hypothesis best = decode(model, pad({{4, 3}}), options)[0][0];
  EXPECT_EQ(best.tokens, Sentence{5});
  EXPECT_NEAR(best.log_probability, std::log(0.4 * 0.9), 1e-12);
  options.beam_size = 1;
  EXPECT_EQ(decode(model, pad({{4, 3}}), options)[0][0].tokens.front(), 4);
}

TEST(Decode, SearchesOnWhileALongerHypothesisCanStillWin) {
  DecodingOptions options = beam(2);
  options.max_length = 10;
  options.length_penalty = 1.5;
  ScriptedModel lengthy({{start_id, {{end_id, 0.6}, {4, 0.39}}}, {4, {{4, 0.999}}}});
  EXPECT_EQ(decode(lengthy, pad({{4, 3}}), options)[0][0].tokens, Sentence(10, 4));
  options.length_penalty = 0;
  EXPECT_EQ(decode(lengthy, pad({{4, 3}}), options)[0][0].tokens, Sentence{});
  options.length_penalty = -1;  // short ones are preferred
  options.max_length = 30;
  ScriptedModel brief({{start_id, {{end_id, 0.3}, {4, 0.69}}}, {4, {{end_id, 0.999}}}});
  EXPECT_EQ(decode(brief, pad({{4, 3}}), options)[0][0].tokens, Sentence{4});
}

TEST(Decode, TheNBestAreDistinctAndSorted) {
  const auto model = make_model(5, Kind::rnnsearch, 1);
  for (const auto& row : decode(*model, pad(sentences), beam(6, 6))) {
    ASSERT_EQ(row.size(), 6);
    std::set<std::pair<Sentence, bool>> seen;
    for (size_t i = 0; i < row.size(); ++i) {
      EXPECT_TRUE(seen.insert({row[i].tokens, row[i].ended}).second);
      EXPECT_TRUE(i == 0 || row[i - 1].score >= row[i].score);
      const int64_t length = std::ssize(row[i].tokens) + (row[i].ended ? 1 : 0);
      EXPECT_NEAR(row[i].score, row[i].log_probability / length_penalty(length, 0.6), 1e-12);
    }
  }
}

TEST(Decode, LogProbabilitiesAndAttentionAreThoseOfForcedDecoding) {
  for (const Kind kind : kinds) {
    const auto model = make_model(5, kind, 1);
    DecodingOptions options = beam(4, 4);
    options.with_attention = true;
    const auto found = decode(*model, pad(sentences), options);
    for (size_t i = 0; i < sentences.size(); ++i) {
      for (const Hypothesis& hypothesis : found[i]) {
        const Forced forced = force(*model, sentences[i], hypothesis.tokens, hypothesis.ended);
        EXPECT_NEAR(hypothesis.log_probability, forced.log_probability, 1e-9);
        ASSERT_EQ(hypothesis.attention.size(), forced.attention.size());
        for (size_t t = 0; t < forced.attention.size(); ++t) {
          const Values row(hypothesis.attention[t].begin(), hypothesis.attention[t].end());
          expect_close(row, forced.attention[t], 1e-6);
        }
      }
    }
  }
}

TEST(Decode, HasOneRowOfAttentionForEachTokenAndTheEnd) {
  const auto model = make_model(5, Kind::rnnsearch, 1);
  DecodingOptions options = beam(4, 4);
  options.with_attention = true;
  const auto found = decode(*model, pad(sentences, 9), options);
  for (size_t i = 0; i < sentences.size(); ++i) {
    for (const Hypothesis& hypothesis : found[i]) {
      EXPECT_EQ(hypothesis.attention.size(), hypothesis.tokens.size() + (hypothesis.ended ? 1 : 0));
      for (const auto& row : hypothesis.attention) {
        EXPECT_EQ(row.size(), sentences[i].size());
        double total = 0;
        for (const float weight : row) {
          total += static_cast<double>(weight);
        }
        EXPECT_NEAR(total, 1, 1e-5);
      }
    }
  }
}

TEST(Decode, GivesAttentionOnlyWhenAsked) {
  for (const Kind kind : kinds) {
    const auto model = make_model(5, kind, 1);
    DecodingOptions options = beam(3, 3);
    const auto silent = decode(*model, pad(sentences), options);
    options.with_attention = true;
    const auto attended = decode(*model, pad(sentences), options);
    for (size_t i = 0; i < sentences.size(); ++i) {
      for (size_t n = 0; n < 3; ++n) {
        EXPECT_TRUE(silent[i][n].attention.empty());
        EXPECT_EQ(attended[i][n].attention.empty(), kind == Kind::rnnencdec);
        EXPECT_EQ(silent[i][n].tokens, attended[i][n].tokens);
        EXPECT_NEAR(silent[i][n].score, attended[i][n].score, 1e-12);
      }
    }
  }
}

TEST(Decode, KeepsTheLengthsItIsGiven) {
  const auto eager = make_model(4, Kind::rnnsearch, 20);  // ends at once unless kept from it
  for (const int64_t size : {1, 3}) {
    DecodingOptions options = beam(size, size);
    options.min_length = 3;
    options.max_length = 5;
    for (const auto& row : decode(*eager, pad(sentences), options)) {
      ASSERT_EQ(std::ssize(row), size);
      EXPECT_EQ(row[0].tokens.size(), 3);
      for (const Hypothesis& hypothesis : row) {
        EXPECT_GE(hypothesis.tokens.size(), 3);
        EXPECT_LE(hypothesis.tokens.size() + (hypothesis.ended ? 1 : 0), 5);
      }
    }
  }
  DecodingOptions least = beam(1);
  least.min_length = 30;  // beyond twice the source and 10
  for (const auto& row : decode(*eager, pad(sentences), least)) {
    EXPECT_EQ(row[0].tokens.size(), 30);
    EXPECT_TRUE(row[0].ended);
  }
  const auto endless = make_model(4, Kind::rnnsearch, -50);
  for (const auto& row : decode(*endless, pad(sentences), beam(2))) {
    EXPECT_FALSE(row[0].ended);
  }
  const auto by_default = decode(*endless, pad(sentences), beam(2));
  DecodingOptions options = beam(2);
  options.max_length = 4;
  const auto cut = decode(*endless, pad(sentences), options);
  for (size_t i = 0; i < sentences.size(); ++i) {
    EXPECT_EQ(by_default[i][0].tokens.size(), 2 * sentences[i].size() + 10);
    EXPECT_EQ(cut[i][0].tokens.size(), 4);
    EXPECT_FALSE(cut[i][0].ended);
  }
}

TEST(Decode, NeverProducesWhatIsForbidden) {
  const auto model = make_model(6);
  DecodingOptions options = beam(3, 3);
  options.never = {0, 1, 2, 5, 7};
  for (const auto& row : decode(*model, pad(sentences), options)) {
    for (const Hypothesis& hypothesis : row) {
      for (const int32_t token : hypothesis.tokens) {
        EXPECT_TRUE(token == 4 || token == 6) << token;
      }
    }
  }
}

TEST(Decode, EvaluatesAndGivesTrainingAndRecordingBack) {
  ScriptedModel model({{start_id, {{end_id, 0.6}}}});
  decode(model, pad(sentences), beam(1));
  EXPECT_TRUE(model.evaluated);
  EXPECT_TRUE(model.training());
  EXPECT_TRUE(recording());
}

TEST(Decode, OfNoSentencesIsNothing) {
  const auto model = make_model(1);
  EXPECT_TRUE(decode(*model, {Tensor::zeros({0, 3}, DType::i32), {}}, beam(2)).empty());
}

TEST(Decode, RefusesImpossibleBeams) {
  const auto model = make_model(1);
  const auto refusal = [&](const DecodingOptions& options) {
    EXPECT_THROW(decode(*model, pad(sentences), options), InputError);
    return error_of([&] { decode(*model, pad(sentences), options); });
  };
  EXPECT_EQ(refusal(beam(0)), "[decode] beam size 0 is not positive");
  EXPECT_EQ(refusal(beam(2, 3)), "[decode] 3 best hypotheses cannot come from a beam of 2");
  EXPECT_EQ(refusal(beam(2, 0)), "[decode] 0 best hypotheses cannot come from a beam of 2");
}

TEST(LengthPenalty, IsThatOfWu) {
  EXPECT_DOUBLE_EQ(length_penalty(1, 0.6), 1);
  EXPECT_DOUBLE_EQ(length_penalty(7, 1), 2);
  EXPECT_DOUBLE_EQ(length_penalty(19, 0.5), 2);
  EXPECT_DOUBLE_EQ(length_penalty(100, 0), 1);
}

}  // namespace
}  // namespace heed::nn::test
