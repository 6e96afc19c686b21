#include "nn/models/rnn_translator.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <map>
#include <string>
#include <vector>

#include "autograd/functions.h"
#include "tests/nn/models/tiny_models.h"
#include "tests/nn/support.h"

namespace heed::nn::test {
namespace {

class RnnTranslatorTest : public testing::TestWithParam<Named<RnnTranslatorOptions>> {
 protected:
  RnnTranslatorTest() { randomize(model_, 0.8); }

  Generator generator_{1};
  RnnTranslator model_{GetParam().options, generator_};
};

INSTANTIATE_TEST_SUITE_P(All, RnnTranslatorTest, testing::ValuesIn(rnn_translators()),
                         [](const auto& given) { return given.param.name; });

Values joined(std::initializer_list<Values> parts) {
  Values all;
  for (const Values& part : parts) {
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}

Values tanh_of(Values values) {
  for (double& value : values) {
    value = std::tanh(value);
  }
  return values;
}

Values gru_by_hand(const Values& a, const Values& b, const Values& h) {
  const auto logistic = [](double x) { return 1 / (1 + std::exp(-x)); };
  const size_t width = h.size();
  Values next(width);
  for (size_t i = 0; i < width; ++i) {
    const double r = logistic(a[i] + b[i]);
    const double z = logistic(a[width + i] + b[width + i]);
    next[i] = (1 - z) * std::tanh(a[2 * width + i] + r * b[2 * width + i]) + z * h[i];
  }
  return next;
}

// Two steps for one sentence from the parameters' names; the encoder and the attention, held to
// their formulas by tests of their own, are modules with the same weights.
TEST_P(RnnTranslatorTest, FollowsThePaper) {
  model_.convert(DType::f64);
  const RnnTranslatorOptions options = GetParam().options;
  std::map<std::string, Values> p;
  std::vector<NamedTensor> encoder_weights;
  std::vector<NamedTensor> attention_weights;
  std::map<std::string, Tensor> tensors;
  for (const auto& [name, tensor] : model_.named_parameters()) {
    tensors[name] = tensor;
    p[name] = tensor.to_doubles();
    if (name.starts_with("encoder.")) {
      encoder_weights.push_back({name.substr(8), tensor});
    } else if (name.starts_with("attention.")) {
      attention_weights.push_back({name.substr(10), tensor});
    }
  }
  for (const auto& [alias, name] : model_.aliases()) {
    p[alias] = p[name];
  }
  const auto layer = [&](const std::string& name, const Values& x) {
    return affine_by_hand(p.at(name + ".weight"), p[name + ".bias"], x);
  };
  Gru encoder(3, 4, {options.layers, true, 0}, generator_);
  encoder.convert(DType::f64);
  encoder.load_parameters(encoder_weights, "encoder");
  AdditiveAttention attention(4, 8, 5, generator_);
  attention.convert(DType::f64);
  if (options.attention) {
    attention.load_parameters(attention_weights, "attention");
  }

  const Tensor source_words = embedding(Tensor::from_vector<int32_t>({4, 6, 3}, {1, 3}),
                                        tensors.at("source_embedding.weight"));
  const GruOutput read = encoder.forward(source_words, {});
  const Values first = read.last.back().to_doubles();
  const Values last = read.last[read.last.size() - 2].to_doubles();
  std::vector<Values> states;
  for (int64_t l = 0; l < options.layers; ++l) {
    states.push_back(tanh_of(layer(fmt::format("bridge{}", l), first)));
  }
  std::vector<Values> expected;
  for (const size_t word : {2, 4}) {
    const Values embedded = rows_of(tensors.at("target_embedding.weight"))[word];
    const Values context = options.attention
                               ? attention
                                     .forward(Tensor::from_vector(states.back(), {1, 4}),
                                              attention.prepare(read.states, {}))
                                     .context.to_doubles()
                               : tanh_of(layer("summary", joined({last, first})));
    Values gates = layer("word_gates", embedded);
    const Values from_context = layer("context_gates", context);
    for (size_t i = 0; i < gates.size(); ++i) {
      gates[i] += from_context[i];
    }
    states[0] = gru_by_hand(gates, layer("recurrent", states[0]), states[0]);
    if (options.layers == 2) {
      states[1] = gru_by_hand(affine_by_hand(p["upper1.weight_ih"], p["upper1.bias_ih"], states[0]),
                              affine_by_hand(p["upper1.weight_hh"], p["upper1.bias_hh"], states[1]),
                              states[1]);
    }
    const Values mixed = layer("readout", joined({states.back(), embedded, context}));
    Values features = tanh_of(mixed);
    if (options.readout == Readout::maxout) {
      features.clear();
      for (size_t i = 0; i < mixed.size(); i += 2) {
        features.push_back(std::max(mixed[i], mixed[i + 1]));
      }
    }
    expected.push_back(layer("output", features));
  }
  const PaddedIds source = {Tensor::from_vector<int32_t>({4, 6, 3}, {1, 3}), {3}};
  const Tensor logits =
      model_.forward(source, Tensor::from_vector<int32_t>({2, 4}, {1, 2}), false).logits;
  expect_close(logits.to_doubles(), joined({expected[0], expected[1]}), 1e-12);
}

TEST_P(RnnTranslatorTest, TiedEmbeddingsAreOneParameter) {
  std::map<std::string, std::string> expected;
  if (GetParam().options.tie_embeddings) {
    expected["output.weight"] = "target_embedding.weight";
  }
  EXPECT_EQ(model_.aliases(), expected);
}

TEST(RnnTranslator, NamesItsParameters) {
  Generator generator(1);
  RnnTranslatorOptions options = tiny_rnn_translator();
  options.layers = 2;
  const auto shapes = [](const Module& model) {
    std::vector<std::string> found;
    for (const NamedTensor& entry : model.named_parameters()) {
      if (!entry.name.starts_with("encoder.")) {
        found.push_back(entry.name + " " + entry.tensor.shape().to_string());
      }
    }
    return found;
  };
  const std::vector<std::string> search = {"recurrent.weight (12, 4)",
                                           "recurrent.bias (12)",
                                           "source_embedding.weight (7, 3)",
                                           "bridge0.weight (4, 4)",
                                           "bridge0.bias (4)",
                                           "bridge1.weight (4, 4)",
                                           "bridge1.bias (4)",
                                           "target_embedding.weight (6, 3)",
                                           "attention.score (5)",
                                           "attention.query.weight (5, 4)",
                                           "attention.key.weight (5, 8)",
                                           "attention.key.bias (5)",
                                           "word_gates.weight (12, 3)",
                                           "word_gates.bias (12)",
                                           "context_gates.weight (12, 8)",
                                           "upper1.weight_ih (12, 4)",
                                           "upper1.weight_hh (12, 4)",
                                           "upper1.bias_ih (12)",
                                           "upper1.bias_hh (12)",
                                           "readout.weight (8, 15)",
                                           "readout.bias (8)",
                                           "output.weight (6, 4)",
                                           "output.bias (6)"};
  EXPECT_EQ(shapes(RnnTranslator(options, generator)), search);
  options.attention = false;
  options.layers = 1;
  options.readout = Readout::linear;
  const std::vector<std::string> fixed = {"recurrent.weight (12, 4)",
                                          "recurrent.bias (12)",
                                          "source_embedding.weight (7, 3)",
                                          "bridge0.weight (4, 4)",
                                          "bridge0.bias (4)",
                                          "target_embedding.weight (6, 3)",
                                          "summary.weight (4, 8)",
                                          "summary.bias (4)",
                                          "word_gates.weight (12, 3)",
                                          "word_gates.bias (12)",
                                          "context_gates.weight (12, 4)",
                                          "readout.weight (4, 11)",
                                          "readout.bias (4)",
                                          "output.weight (6, 4)",
                                          "output.bias (6)"};
  EXPECT_EQ(shapes(RnnTranslator(options, generator)), fixed);
}

double deviation(const Values& values) {
  double squares = 0;
  for (const double value : values) {
    squares += value * value;
  }
  return std::sqrt(squares / static_cast<double>(values.size()));
}

// Each block of `columns` rows times its transpose is the identity.
void expect_orthogonal_blocks(const Tensor& matrix, const std::string& name) {
  const auto rows = rows_of(matrix);
  const auto columns = static_cast<size_t>(matrix.dim(1));
  double worst = 0;
  for (size_t i = 0; i < rows.size(); ++i) {
    for (size_t j = i / columns * columns; j <= i; ++j) {
      double product = i == j ? -1 : 0;
      for (size_t k = 0; k < columns; ++k) {
        product += rows[i][k] * rows[j][k];
      }
      worst = std::max(worst, std::abs(product));
    }
  }
  EXPECT_LT(worst, 1e-6) << name;
}

bool is_recurrent(const std::string& name) {
  return name == "recurrent.weight" || name.find("weight_hh") != std::string::npos;
}

RnnTranslatorOptions wide(RnnInitialization initialization) {
  RnnTranslatorOptions options = tiny_rnn_translator();
  options.source_vocabulary = 200;
  options.target_vocabulary = 150;
  options.width = 40;
  options.embedding_width = 50;
  options.attention_width = 45;
  options.layers = 2;
  options.initialization = initialization;
  return options;
}

// Every matrix has at least 1,600 numbers: a deviation is known to about 2%.
TEST(RnnTranslator, StartsAsThePaperSays) {
  Generator generator(1);
  const RnnTranslator model(wide(RnnInitialization::paper), generator);
  int recurrent = 0;
  for (const auto& [name, parameter] : model.named_parameters()) {
    const Values values = parameter.to_doubles();
    if (parameter.rank() == 1) {
      EXPECT_EQ(values, Values(values.size(), 0.0)) << name;
    } else if (is_recurrent(name)) {
      ++recurrent;
      expect_orthogonal_blocks(parameter, name);
    } else {
      const double expected = name.starts_with("attention.") ? 0.001 : 0.01;
      EXPECT_NEAR(deviation(values), expected, 0.08 * expected) << name;
    }
  }
  EXPECT_EQ(recurrent, 6);
}

TEST(RnnTranslator, StartsByXavierWithOrthogonalRecurrence) {
  Generator generator(1);
  const RnnTranslator model(wide(RnnInitialization::xavier), generator);
  for (const auto& [name, parameter] : model.named_parameters()) {
    const Values values = parameter.to_doubles();
    if (name == "attention.score") {
      EXPECT_GT(deviation(values), 0.05);
    } else if (parameter.rank() == 1) {
      EXPECT_EQ(values, Values(values.size(), 0.0)) << name;
    } else if (is_recurrent(name)) {
      expect_orthogonal_blocks(parameter, name);
    } else {
      const double fans = static_cast<double>(parameter.dim(0) + parameter.dim(1));
      EXPECT_NEAR(deviation(values), std::sqrt(2 / fans), 0.08 * std::sqrt(2 / fans)) << name;
    }
  }
}

TEST(RnnTranslator, StandardStartsWithinTheInverseRootOfTheWidth) {
  Generator generator(1);
  RnnTranslatorOptions options = wide(RnnInitialization::standard);
  options.tie_embeddings = true;
  const RnnTranslator model(options, generator);
  for (const auto& [name, parameter] : model.named_parameters()) {
    const Values values = parameter.to_doubles();
    if (name == "target_embedding.weight") {
      EXPECT_NEAR(deviation(values), 1 / std::sqrt(50.0), 0.01) << "logits of unit scale";
    } else if (name == "source_embedding.weight") {
      EXPECT_NEAR(deviation(values), 1, 0.05);
    } else if (name.starts_with("recurrent.")) {
      const auto [low, high] = std::minmax_element(values.begin(), values.end());
      EXPECT_GE(*low, -1 / std::sqrt(40.0));
      EXPECT_LE(*high, 1 / std::sqrt(40.0));
      EXPECT_GT(deviation(values), 0.08);
    }
  }
}

TEST(RnnTranslator, PaddingStartsAsZerosHoweverItStarts) {
  for (const auto initialization :
       {RnnInitialization::standard, RnnInitialization::paper, RnnInitialization::xavier}) {
    for (const bool tied : {false, true}) {
      Generator generator(1);
      RnnTranslatorOptions options = wide(initialization);
      options.tie_embeddings = tied;
      const RnnTranslator model(options, generator);
      for (const auto& [name, parameter] : model.named_parameters()) {
        if (name.ends_with("embedding.weight")) {
          EXPECT_EQ(rows_of(parameter)[0], Values(50, 0.0)) << name;
          EXPECT_NE(rows_of(parameter)[1], Values(50, 0.0)) << name;
        }
      }
    }
  }
}

TEST(RnnTranslator, DropoutActsInTrainingOnly) {
  Generator generator(1);
  RnnTranslatorOptions options = tiny_rnn_translator();
  options.dropout = 0.5;
  RnnTranslator model(options, generator);
  const PaddedIds source = {Tensor::from_vector<int32_t>({4, 5}, {1, 2}), {2}};
  const Tensor input = Tensor::from_vector<int32_t>({2, 4}, {1, 2});
  const auto logits = [&] { return model.forward(source, input, false).logits.to_doubles(); };
  EXPECT_NE(logits(), logits());
  const EvaluationScope evaluation(model);
  EXPECT_EQ(logits(), logits());
}

}  // namespace
}  // namespace heed::nn::test
