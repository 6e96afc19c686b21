#include "nn/attention.h"

#include <cmath>
#include <map>
#include <numeric>
#include <string>
#include <vector>

#include "autograd/functions.h"
#include "tests/nn/support.h"

namespace heed::nn::test {
namespace {

MultiHeadAttentionOptions sized(int64_t width, int64_t heads, int64_t key_width = 0,
                                int64_t value_width = 0) {
  MultiHeadAttentionOptions options;
  options.width = width;
  options.heads = heads;
  options.key_width = key_width;
  options.value_width = value_width;
  return options;
}

// A layer in f64 with lively weights.
struct Layer : MultiHeadAttention {
  explicit Layer(const MultiHeadAttentionOptions& options, Generator generator = Generator(4))
      : MultiHeadAttention(options, generator) {
    convert(DType::f64);
    randomize(*this, 1);
  }
};

struct ByHand {
  std::vector<Values> output;                // of each query
  std::vector<std::vector<Values>> weights;  // of each head and query
};

// Attention of one sentence in plain loops: projections, scores, softmax, context, output.
ByHand attend_by_hand(const Module& layer, size_t heads, const std::vector<Values>& query,
                      const std::vector<Values>& key, const std::vector<Values>& value,
                      const std::vector<std::vector<bool>>& allowed) {
  std::map<std::string, Values> p;
  for (const NamedTensor& entry : layer.named_parameters()) {
    p[entry.name] = entry.tensor.to_doubles();
  }
  const size_t width = p.at("out_proj.bias").size();
  const Values& bias = p.at("in_proj_bias");
  const auto project = [&](const char* separate, size_t part, const std::vector<Values>& rows) {
    Values weight = p[separate];
    if (p.contains("in_proj_weight")) {
      const auto begin = p["in_proj_weight"].begin() + static_cast<int64_t>(part * width * width);
      weight = Values(begin, begin + static_cast<int64_t>(width * width));
    }
    const auto first = bias.begin() + static_cast<int64_t>(part * width);
    std::vector<Values> projected;
    for (const Values& row : rows) {
      projected.push_back(
          affine_by_hand(weight, Values(first, first + static_cast<int64_t>(width)), row));
    }
    return projected;
  };
  const auto q = project("q_proj_weight", 0, query);
  const auto k = project("k_proj_weight", 1, key);
  const auto v = project("v_proj_weight", 2, value);
  const size_t d = width / heads;
  ByHand result;
  result.weights.resize(heads);
  for (size_t l = 0; l < q.size(); ++l) {
    Values context(width, 0.0);
    for (size_t h = 0; h < heads; ++h) {
      Values weights(k.size(), 0.0);
      double total = 0;
      for (size_t s = 0; s < k.size(); ++s) {
        double score = 0;
        for (size_t i = h * d; i < (h + 1) * d; ++i) {
          score += q[l][i] * k[s][i];
        }
        weights[s] = allowed[l][s] ? std::exp(score / std::sqrt(static_cast<double>(d))) : 0;
        total += weights[s];
      }
      for (size_t s = 0; s < k.size(); ++s) {
        weights[s] = total > 0 ? weights[s] / total : 0;
        for (size_t i = h * d; i < (h + 1) * d; ++i) {
          context[i] += weights[s] * v[s][i];
        }
      }
      result.weights[h].push_back(weights);
    }
    result.output.push_back(
        affine_by_hand(p.at("out_proj.weight"), p.at("out_proj.bias"), context));
  }
  return result;
}

std::vector<Values> sentence(const Tensor& x, int64_t b) {
  return rows_of(contiguous(slice(x, 0, b, b + 1)));
}

std::vector<std::vector<bool>> all_allowed(int64_t queries, int64_t keys) {
  return {static_cast<size_t>(queries), std::vector<bool>(static_cast<size_t>(keys), true)};
}

void expect_by_hand(const MultiHeadOutput& found, const std::vector<ByHand>& expected) {
  const auto outputs = rows_of(found.output);
  const auto weights = rows_of(contiguous(found.weights));
  size_t row = 0;
  size_t weight_row = 0;
  for (const ByHand& one : expected) {
    for (const Values& output : one.output) {
      expect_close(outputs[row++], output, 1e-12);
    }
    for (const auto& head : one.weights) {
      for (const Values& of_query : head) {
        expect_close(weights[weight_row++], of_query, 1e-12);
      }
    }
  }
  EXPECT_EQ(row, outputs.size());
  EXPECT_EQ(weight_row, weights.size());
}

// B = 2, T = 3, d = 8, h = 2, each step in plain loops.
TEST(MultiHeadAttention, FollowsItsFormulaStepByStep) {
  const Layer layer(sized(8, 2));
  const Tensor x = random_tensor({2, 3, 8}, DType::f64, 1);
  const auto found = layer.forward(x, {}, true);
  EXPECT_EQ(found.output.shape(), Shape({2, 3, 8}));
  EXPECT_EQ(found.weights.shape(), Shape({2, 2, 3, 3}));
  std::vector<ByHand> expected;
  for (int64_t b = 0; b < 2; ++b) {
    const auto rows = sentence(x, b);
    expected.push_back(attend_by_hand(layer, 2, rows, rows, rows, all_allowed(3, 3)));
  }
  expect_by_hand(found, expected);
  const auto without_weights = layer.forward(x);
  EXPECT_FALSE(without_weights.weights.defined());
  expect_close(without_weights.output, found.output, 1e-12);
}

TEST(MultiHeadAttention, AttendsAcrossWithWidthsOfTheirOwn) {
  for (const auto& [key_width, value_width] : {std::pair{4, 6}, {4, 4}, {3, 4}}) {
    const Layer layer(sized(4, 2, key_width, value_width));
    const Tensor query = random_tensor({2, 3, 4}, DType::f64, 1);
    const Tensor key = random_tensor({2, 5, key_width}, DType::f64, 2);
    const Tensor value = random_tensor({2, 5, value_width}, DType::f64, 3);
    const auto found = layer.forward(query, key, value, {}, true);
    EXPECT_EQ(found.output.shape(), Shape({2, 3, 4}));
    EXPECT_EQ(found.weights.shape(), Shape({2, 2, 3, 5}));
    std::vector<ByHand> expected;
    for (int64_t b = 0; b < 2; ++b) {
      expected.push_back(attend_by_hand(layer, 2, sentence(query, b), sentence(key, b),
                                        sentence(value, b), all_allowed(3, 5)));
    }
    expect_by_hand(found, expected);
    const KeysValues memory = layer.project(key, value);
    expect_close(layer.forward(query, memory).output, found.output, 1e-12);
  }
}

TEST(MultiHeadAttention, OneSourceForKeysAndValuesIsOneProduct) {
  const Layer layer(sized(4, 2));
  const Tensor query = random_tensor({2, 3, 4}, DType::f64, 1);
  const Tensor source = random_tensor({2, 5, 4}, DType::f64, 2);
  const KeysValues shared = layer.project(source, source);
  EXPECT_TRUE(shared.keys.shares_storage(shared.values));
  expect_close(layer.forward(query, source, source).output,
               layer.forward(query, source, source.clone()).output, 1e-12);
  // Self-attention reads queries, keys and values from one product.
  expect_close(layer.forward(query, query, query).output, layer.forward(query).output, 0);
  expect_close(layer.forward(query, query.clone(), query.clone()).output,
               layer.forward(query).output, 1e-12);
}

TEST(MultiHeadAttention, MasksAreObeyed) {
  const Layer layer(sized(4, 2));
  const Tensor x = random_tensor({2, 3, 4}, DType::f64, 1);
  const Mask mask = Mask::causal() & Mask::padding({3, 2}, 3) &
                    Mask::allowing(Tensor::from_vector<bool>(
                        {true, true, true, false, true, true, true, true, true}, {3, 3}));
  const auto found = layer.forward(x, mask, true);
  const auto first = sentence(x, 0);
  const auto second = sentence(mask.clear_padding(x), 1);
  expect_by_hand(
      found, {attend_by_hand(layer, 2, first, first, first,
                             {{true, false, false}, {false, true, false}, {true, true, true}}),
              attend_by_hand(layer, 2, second, second, second,
                             {{true, false, false}, {false, true, false}, {true, true, false}})});
}

TEST(MultiHeadAttention, AnEmptySourceGivesTheOutputBiasAndNoGradient) {
  const Layer layer(sized(4, 2));
  const Tensor query = random_tensor({2, 3, 4}, DType::f64, 1);
  const Tensor source = random_tensor({2, 5, 4}, DType::f64, 2);
  set_requires_grad(source);
  const auto found = layer.forward(query, source, source, Mask::padding({5, 0}, 5), true);
  for (const Values& row : sentence(found.output, 1)) {
    EXPECT_EQ(row, layer.named_parameters().back().tensor.to_doubles());
  }
  EXPECT_EQ(slice(found.weights, 0, 1, 2).to_doubles(), Values(30, 0.0));
  backward(sum(found.output * random_tensor({2, 3, 4}, DType::f64, 3)));
  EXPECT_EQ(slice(gradient(source), 0, 1, 2).to_doubles(), Values(20, 0.0));
}

TEST(MultiHeadAttention, NothingPaddedReachesAnything) {
  const Layer layer(sized(4, 2));
  const Tensor x = random_tensor({2, 3, 4}, DType::f64, 1);
  const Mask mask = Mask::padding({1, 3}, 3);
  const auto run = [&](double filler) {
    layer.clear_gradients();
    const Tensor source =
        where(unsqueeze(padding_mask({1, 3}, 3), -1), x, Tensor::scalar(filler, DType::f64));
    set_requires_grad(source);
    const Tensor own = layer.forward(source, mask).output;
    const Tensor across = layer.forward(x, source, source, mask).output;
    backward(sum((own + across) * random_tensor({2, 3, 4}, DType::f64, 3)));
    auto found = gradients_of(layer);
    found["source"] = gradient(source).to_doubles();
    found["across"] = across.to_doubles();
    found["own"] = own.to_doubles();
    return found;
  };
  expect_close(run(nan), run(0.5), 0);
  const ComposedScope composed;
  expect_close(run(nan), run(0.5), 0);
}

// Without positions and masks attention knows no order.
TEST(MultiHeadAttention, CommutesWithPermutations) {
  const Layer layer(sized(6, 3));
  const Tensor x = random_tensor({1, 7, 6}, DType::f64, 1);
  std::vector<int32_t> order(7);
  std::iota(order.begin(), order.end(), 0);
  Generator generator(8);
  for (int trial = 0; trial < 3; ++trial) {
    generator.shuffle(order);
    const auto permuted = [&](const Tensor& rows) {
      return reshape(select_rows(reshape(rows, {7, 6}), order), {1, 7, 6});
    };
    expect_close(layer.forward(permuted(x)).output, permuted(layer.forward(x).output), 1e-13);
  }
}

// 200 x 200 scores: the variance is known to about 4%.
TEST(MultiHeadAttention, ScaledScoresOfUnitNormalsHaveUnitVariance) {
  Generator generator(6);
  for (const int64_t width : {4, 16, 64, 256}) {
    const Tensor query = Tensor::empty({1, 200, width}, DType::f64);
    const Tensor key = Tensor::empty({1, 200, width}, DType::f64);
    init_normal(query, 1, generator);
    init_normal(key, 1, generator);
    // The logarithm of the weights is the scores up to a constant for each query.
    const Tensor value = Tensor::zeros({1, 200, 1}, DType::f64);
    const Tensor scores = logarithm(attention_with_weights(query, key, value).weights);
    const Tensor centred = scores - mean(scores, {-1}, true);
    EXPECT_NEAR(mean(square(centred)).item() * 200 / 199, 1, 0.1) << width;
  }
}

TEST(MultiHeadAttention, ACacheContinuesWhereItStands) {
  for (const auto& rotary :
       {std::optional<Rotary>(), std::optional(Rotary{RotaryPairing::interleaved}),
        std::optional(Rotary{RotaryPairing::half})}) {
    auto options = sized(8, 2);
    options.rotary = rotary;
    const Layer layer(options);
    const Tensor x = random_tensor({2, 40, 8}, DType::f64, 1);
    const NoGradScope no_grad;
    const auto whole = layer.forward(x, Mask::causal(), true);
    KeyValueCache cache;
    int64_t begin = 0;
    for (const int64_t count : {5, 1, 30, 1, 3}) {
      const auto found =
          layer.forward(slice(x, 1, begin, begin + count), Mask::causal(), true, &cache);
      expect_close(found.output, slice(whole.output, 1, begin, begin + count), 1e-13);
      const Tensor rows = slice(whole.weights, 2, begin, begin + count);
      expect_close(found.weights, slice(rows, 3, 0, begin + count), 1e-13);
      begin += count;
      EXPECT_EQ(cache.length(), begin);
    }
  }
}

TEST(MultiHeadAttention, RotaryPositionsAreRelative) {
  auto options = sized(8, 2);
  options.rotary = Rotary{};
  const Layer layer(options);
  const Tensor x = random_tensor({1, 4, 8}, DType::f64, 1);
  const Tensor shifted = concat({random_tensor({1, 3, 8}, DType::f64, 2), x}, 1);
  const Mask last_four =
      Mask::allowing(Tensor::from_vector<bool>({false, false, false, true, true, true, true}, {7}));
  expect_close(slice(layer.forward(shifted, last_four).output, 1, 3, 7), layer.forward(x).output,
               1e-12);
  // And they tell an order.
  const Tensor swapped = concat({slice(x, 1, 1, 2), slice(x, 1, 0, 1), slice(x, 1, 2, 4)}, 1);
  EXPECT_FALSE(close(slice(layer.forward(swapped).output, 1, 2, 4).to_doubles(),
                     slice(layer.forward(x).output, 1, 2, 4).to_doubles(), 1e-3));
}

TEST(MultiHeadAttention, DropsWeightsInTraining) {
  auto options = sized(8, 2);
  options.dropout = 0.5;
  Layer layer(options);
  const Tensor x = random_tensor({4, 10, 8}, DType::f64, 1);
  const auto share_of_zeros = [&] {
    int64_t zeros = 0;
    const Values weights = layer.forward(x, {}, true).weights.to_doubles();
    for (const double weight : weights) {
      zeros += weight == 0 ? 1 : 0;
    }
    return static_cast<double>(zeros) / static_cast<double>(weights.size());
  };
  EXPECT_NEAR(share_of_zeros(), 0.5, 0.08);  // 4 standard errors of 800 weights
  EXPECT_NE(layer.forward(x).output.to_doubles(), layer.forward(x).output.to_doubles());
  const EvaluationScope evaluation(layer);
  EXPECT_EQ(share_of_zeros(), 0);
  EXPECT_EQ(layer.forward(x).output.to_doubles(), layer.forward(x).output.to_doubles());
}

TEST(MultiHeadAttention, PassesGradcheckFusedAndComposed) {
  const Layer own(sized(4, 2));
  const Layer across(sized(4, 2, 3, 5));
  auto options = sized(4, 1);
  options.rotary = Rotary{};
  options.bias = false;
  const Layer turned(options);
  const Tensor x = random_tensor({2, 3, 4}, DType::f64, 1);
  const Tensor key = random_tensor({2, 2, 3}, DType::f64, 2);
  const Tensor value = random_tensor({2, 2, 5}, DType::f64, 3);
  const auto check = [&] {
    const Mask mask = Mask::causal() & Mask::padding({3, 2}, 3);
    for (const Layer* layer : {&own, &turned}) {
      EXPECT_THAT(gradcheck_module(*layer,
                                   [&](const std::vector<Tensor>& in) {
                                     return layer->forward(in[0], mask).output;
                                   },
                                   {x}),
                  PassesGradcheck());
    }
    EXPECT_THAT(gradcheck_module(
                    own,
                    [&](const std::vector<Tensor>& in) {
                      const auto found = own.forward(in[0], mask, true);
                      return concat({reshape(found.output, {-1}), reshape(found.weights, {-1})}, 0);
                    },
                    {x}),
                PassesGradcheck());
    EXPECT_THAT(gradcheck_module(
                    across,
                    [&](const std::vector<Tensor>& in) {
                      return across.forward(in[0], in[1], in[2], Mask::padding({2, 1}, 2)).output;
                    },
                    {x, key, value}),
                PassesGradcheck());
  };
  check();
  const ComposedScope composed;
  check();
}

std::vector<std::string> parameters_of(const Module& module) {
  std::vector<std::string> found;
  for (const NamedTensor& entry : module.named_parameters()) {
    found.push_back(entry.name + " " + entry.tensor.shape().to_string());
  }
  return found;
}

TEST(MultiHeadAttention, NamesAndCountsItsParameters) {
  Generator generator(1);
  const MultiHeadAttention own(sized(8, 2), generator);
  EXPECT_EQ(own.parameter_count(), 288);  // 4 d^2 + 4 d
  EXPECT_EQ(parameters_of(own),
            (std::vector<std::string>{"in_proj_weight (24, 8)", "in_proj_bias (24)",
                                      "out_proj.weight (8, 8)", "out_proj.bias (8)"}));
  const MultiHeadAttention across(sized(4, 2, 4, 6), generator);
  EXPECT_EQ(parameters_of(across),
            (std::vector<std::string>{"q_proj_weight (4, 4)", "k_proj_weight (4, 4)",
                                      "v_proj_weight (4, 6)", "in_proj_bias (12)",
                                      "out_proj.weight (4, 4)", "out_proj.bias (4)"}));
  auto options = sized(8, 4);
  options.bias = false;
  EXPECT_EQ(MultiHeadAttention(options, generator).parameter_count(), 256);
}

TEST(MultiHeadAttention, StartsAsPyTorchs) {
  Generator generator(1);
  const MultiHeadAttention layer(sized(64, 4), generator);
  for (const auto& [name, parameter] : layer.named_parameters()) {
    const Values values = parameter.to_doubles();
    double largest = 0;
    for (const double value : values) {
      largest = std::max(largest, std::abs(value));
    }
    if (parameter.rank() == 1) {
      EXPECT_EQ(largest, 0) << name;
    } else {
      const double bound = name == "in_proj_weight" ? std::sqrt(6.0 / (4 * 64)) : 1.0 / 8;
      EXPECT_LE(largest, bound) << name;
      EXPECT_GT(largest, 0.99 * bound) << name;
    }
  }
}

TEST(MultiHeadAttention, RefusesSizesThatDoNotFit) {
  Generator generator(1);
  const auto refusal = [&](const MultiHeadAttentionOptions& options) {
    return error_of([&] { MultiHeadAttention(options, generator); });
  };
  EXPECT_EQ(refusal(sized(10, 4)), "[attention] the width 10 is not divisible by 4 heads");
  EXPECT_EQ(refusal(sized(0, 4)),
            "[attention] sizes are positive: width 0, heads 4, key width 0, value width 0");
  auto options = sized(6, 2);
  options.rotary = Rotary{};
  EXPECT_EQ(refusal(options),
            "[attention] rotary positions turn pairs: a head's width 3 (6 / 2 heads) is odd");
  options = sized(4, 2);
  options.dropout = 1;
  EXPECT_EQ(refusal(options), "[attention] the dropout 1 is not in [0, 1)");
}

TEST(MultiHeadAttention, RefusesInputsThatDoNotFit) {
  const Layer layer(sized(4, 2, 4, 6));
  const Tensor x = random_tensor({2, 3, 4}, DType::f64, 1);
  const Tensor value = random_tensor({2, 3, 6}, DType::f64, 1);
  EXPECT_EQ(error_of([&] { layer.forward(x); }),
            "[attention] self-attention wants keys and values of width 4, these have 4 and 6");
  EXPECT_EQ(error_of([&] { layer.forward(x, x, x); }),
            "[attention] value (B, T, 6) is expected, not (2, 3, 4)");
  EXPECT_EQ(error_of([&] { layer.forward(value, x, value); }),
            "[attention] query (B, T, 4) is expected, not (2, 3, 6)");
  EXPECT_EQ(error_of([&] { layer.forward(x, {}, value); }), "[attention] key is undefined");
  auto options = sized(4, 2);
  options.rotary = Rotary{};
  const Layer turned(options);
  EXPECT_EQ(error_of([&] { turned.forward(x, x.clone(), x); }),
            "[attention] rotary positions are for self-attention");
  EXPECT_EQ(error_of([&] {
              turned.forward(x, Mask::padding({1, 2}, 4));
            }),
            "[mask] padding of 2 rows of 4 keys does not fit x (2, 3, 4)");
}

}  // namespace
}  // namespace heed::nn::test
