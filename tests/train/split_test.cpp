#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "autograd/functions.h"
#include "core/random.h"
#include "data/vocabulary.h"
#include "data/windows.h"
#include "train/language_model.h"
#include "train/translator.h"

// However a batch is split, the sums of its parts give the same loss and gradient (in f64, to
// 1e-12): losses are sums over tokens until the update, and padding takes part in nothing.
namespace heed::train {
namespace {

constexpr int32_t vocabulary_size = 13;

struct Sums {
  double loss = 0;
  double nll = 0;
  int64_t tokens = 0;
};

// The summed loss of some rows, differentiated.
using LossOf = std::function<Sums(const std::vector<uint32_t>& rows)>;

Sums taken(const CrossEntropy& sums, int64_t tokens) {
  backward(sums.loss);
  return {sums.loss.item(), sums.nll.item(), tokens};
}

std::map<std::string, std::vector<double>> gradients(const nn::Module& module) {
  std::map<std::string, std::vector<double>> all;
  for (const NamedTensor& parameter : module.named_parameters()) {
    const Tensor grad = gradient(parameter.tensor);
    all[parameter.name] = grad.defined() ? grad.to_doubles() : std::vector<double>();
  }
  module.clear_gradients();
  return all;
}

void expect_any_split_is_the_same(const nn::Module& module, size_t rows, const LossOf& loss_of) {
  std::vector<uint32_t> order(rows);
  std::iota(order.begin(), order.end(), 0U);
  const Sums whole = loss_of(order);
  const auto expected = gradients(module);
  Generator generator(7);
  for (size_t parts = 2; parts <= rows; ++parts) {
    generator.shuffle(order);
    std::vector<std::vector<uint32_t>> split(parts);
    for (size_t i = 0; i < rows; ++i) {  // each part has a row, the others fall anywhere
      split[i < parts ? i : generator.below(parts)].push_back(order[i]);
    }
    Sums sum;
    for (const std::vector<uint32_t>& part : split) {
      const Sums of_part = loss_of(part);
      sum.loss += of_part.loss;
      sum.nll += of_part.nll;
      sum.tokens += of_part.tokens;
    }
    EXPECT_EQ(sum.tokens, whole.tokens);
    EXPECT_NEAR(sum.loss / whole.loss, 1, 1e-12) << parts;
    EXPECT_NEAR(sum.nll / whole.nll, 1, 1e-12) << parts;
    const auto tokens = static_cast<double>(whole.tokens);
    for (const auto& [name, actual] : gradients(module)) {
      const std::vector<double>& values = expected.at(name);
      ASSERT_EQ(actual.size(), values.size()) << name;
      for (size_t i = 0; i < values.size(); ++i) {
        EXPECT_NEAR(actual[i] / tokens, values[i] / tokens, 1e-12) << name << " in " << parts;
      }
    }
  }
}

// Ragged on both sides; some targets are empty but for their end.
data::PairStore ragged_pairs() {
  Generator generator(5);
  data::PairStore pairs("ragged", vocabulary_size);
  for (const auto& [source, target] :
       {std::pair(1, 0), {7, 3}, {2, 9}, {4, 0}, {1, 1}, {9, 5}, {3, 2}, {5, 12}}) {
    data::PairExample pair;
    for (auto [length, ids] : {std::pair(source, &pair.source), {target, &pair.target}}) {
      for (int i = 0; i < length; ++i) {
        ids->push_back(static_cast<int32_t>(4 + generator.below(vocabulary_size - 4)));
      }
    }
    pairs.append(pair);
  }
  return pairs;
}

class TranslationSplit : public testing::TestWithParam<std::vector<std::string>> {};

TEST_P(TranslationSplit, GivesTheSameGradient) {
  std::vector<std::string> overrides = GetParam();
  overrides.insert(overrides.end(), {"model.width=8", "model.dropout=0"});
  Translator translator;
  translator.config = parse_config("", "split", overrides);
  translator.text = build_text(
      translator.config, load_corpus(translator.config, {"grammar:20:3-6"}, data::Split::train));
  Generator generator(3);
  translator.model = make_translation_model(translator.config, translator.text, generator);
  translator.model->convert(DType::f64);
  const data::PairStore pairs = ragged_pairs();
  for (const double smoothing : {0.0, 0.1}) {
    expect_any_split_is_the_same(
        *translator.model, pairs.size(), [&](const std::vector<uint32_t>& rows) {
          const data::PairBatch batch = data::make_batch(pairs, rows);
          const auto output =
              translator.model->forward(source_of(batch), target_input_of(batch), false);
          return taken(cross_entropy(output.logits, target_output_of(batch),
                                     {smoothing, data::Vocabulary::padding}),
                       batch.target_tokens);
        });
  }
}

INSTANTIATE_TEST_SUITE_P(
    Models, TranslationSplit,
    testing::Values(
        std::vector<std::string>{"model.kind=rnnsearch"},
        std::vector<std::string>{"model.kind=rnnencdec"},
        std::vector<std::string>{"model.kind=transformer", "model.heads=2", "model.layers=2"},
        std::vector<std::string>{"model.kind=transformer", "model.heads=2", "model.layers=1",
                                 "model.positions=rotary", "run.fused=false"}));

// Windows of different lengths at the end of a text.
TEST(LanguageModelSplit, GivesTheSameGradient) {
  const Config config =
      parse_config("", "split",
                   {"model.kind=causal_lm", "data.task=language_model", "model.width=8",
                    "model.heads=2", "model.layers=2", "model.context=6"});
  Generator generator(3);
  const auto model = make_causal_lm(config, vocabulary_size, generator);
  model->convert(DType::f64);
  data::IdStore ids("text", vocabulary_size);
  for (int i = 0; i < 30; ++i) {
    ids.append(std::vector{static_cast<int32_t>(4 + generator.below(vocabulary_size - 4))});
  }
  const std::vector<int64_t> starts = {0, 28, 5, 25, 17, 27, 11};
  for (const double smoothing : {0.0, 0.1}) {
    expect_any_split_is_the_same(*model, starts.size(), [&](const std::vector<uint32_t>& rows) {
      std::vector<int64_t> chosen;
      for (const uint32_t row : rows) {
        chosen.push_back(starts[row]);
      }
      const data::WindowBatch batch = data::make_window_batch(ids, chosen, 6);
      return taken(cross_entropy(model->forward(input_of(batch)), output_of(batch),
                                 {smoothing, data::Vocabulary::padding}),
                   batch.tokens);
    });
  }
}

// Padding alone costs nothing and moves nothing.
TEST(EmptyLoss, IsZeroWithZeroGradient) {
  for (const double smoothing : {0.0, 0.1}) {
    const Tensor logits = Tensor::from_vector<double>({1, -2, 3, 0.5, 7, -1}, {2, 3});
    set_requires_grad(logits);
    const CrossEntropy sums = cross_entropy(logits, Tensor::from_vector<int32_t>({0, 0}, {2}),
                                            {smoothing, data::Vocabulary::padding});
    backward(sums.loss);
    EXPECT_EQ(sums.loss.item(), 0);
    EXPECT_EQ(sums.nll.item(), 0);
    EXPECT_EQ(gradient(logits).to_doubles(), std::vector<double>(6, 0.0));
  }
}

}  // namespace
}  // namespace heed::train
