#include <cmath>

#include "autograd/functions/attention.h"
#include "autograd/op_cases/cases.h"

namespace heed::cases {

using reference::build;
using reference::erased;
using reference::inserted;
using reference::with;

namespace {

struct Row {
  std::string note;
  Shape query, key, value;
  std::vector<Input> mask = {};  // none or one
  std::vector<Input> bias = {};  // none or one, differentiated
  AttentionOptions options = {};
  bool with_weights = false;
};

// softmax(scale q k^T + bias) after dropout, rows that may attend to nothing 0: (..., L, S).
Array weights_of(const Array& query, const Array& key, const Array* mask, const Array* bias,
                 const AttentionOptions& options, const RandomState& random) {
  const int64_t width = query.shape.dim(-1);
  const int64_t keys = key.shape.dim(-2);
  const int64_t ahead = keys - query.shape.dim(-2);
  const double scale = options.scale.value_or(1 / std::sqrt(static_cast<double>(width)));
  const Shape shape = with(query.shape, -1, keys);
  const auto term = [&](const Shape& i) {
    const bool seen = !options.causal || i.dim(-1) <= i.dim(-2) + ahead;
    if (!seen || (mask != nullptr && mask->at(i) == 0)) {
      return 0.0;
    }
    double score = bias != nullptr ? bias->at(i) : 0;
    for (int64_t d = 0; d < width; ++d) {
      score += scale * query.at(with(i, -1, d)) * key.at(with(with(i, -2, i.dim(-1)), -1, d));
    }
    return std::exp(score);
  };
  const Array terms = build(shape, term);
  uint64_t index = 0;
  return build(shape, [&](const Shape& i) {
    double total = 0;
    for (int64_t s = 0; s < keys; ++s) {
      total += terms.at(with(i, -1, s));
    }
    const bool kept = options.dropout == 0 || philox_uniform(random, index) >= options.dropout;
    ++index;
    return kept && total > 0 ? terms.at(i) / total / (1 - options.dropout) : 0.0;
  });
}

constexpr RandomState random_state{7, 3, 5};

void add_row(std::vector<OpCase>& cases, const Row& row) {
  std::vector<Input> inputs = {real(row.query), real(row.key), real(row.value)};
  inputs.insert(inputs.end(), row.mask.begin(), row.mask.end());
  inputs.insert(inputs.end(), row.bias.begin(), row.bias.end());
  const bool masked = !row.mask.empty();
  const bool biased = !row.bias.empty();
  GradcheckOptions checks;
  checks.most_elements = 150;  // so that what is larger than a tile is checked along directions
  cases.push_back(make(
      "scaled_dot_product_attention", row.note, inputs,
      [row, masked, biased](const Tensors& in) {
        AttentionOptions options = row.options;
        options.mask = masked ? in[3] : Tensor();
        options.bias = biased ? in.back() : options.bias;
        const RandomState before = default_generator().state();
        default_generator().set_state(random_state);
        Tensors outputs = {scaled_dot_product_attention(in[0], in[1], in[2], options)};
        if (row.with_weights) {
          default_generator().set_state(random_state);
          const AttentionWithWeights both = attention_with_weights(in[0], in[1], in[2], options);
          outputs.insert(outputs.end(), {both.output, both.weights});
        }
        default_generator().set_state(before);
        return outputs;
      },
      [row, masked, biased](const Arrays& in) {
        const Array weights = weights_of(in[0], in[1], masked ? &in[3] : nullptr,
                                         biased ? &in.back() : nullptr, row.options, random_state);
        const Array& value = in[2];
        const Array output = build(with(in[0].shape, -1, value.shape.dim(-1)), [&](const Shape& i) {
          double sum = 0;
          for (int64_t s = 0; s < value.shape.dim(-2); ++s) {
            sum += weights.at(with(i, -1, s)) * value.at(with(i, -2, s));
          }
          return sum;
        });
        return row.with_weights ? Arrays{output, output, weights} : Arrays{output};
      },
      checks));
}

}  // namespace

void add_attention(std::vector<OpCase>& cases) {
  AttentionOptions causal;
  causal.causal = true;
  AttentionOptions scaled;
  scaled.scale = 0.3;
  AttentionOptions dropped;
  dropped.dropout = 0.4;
  AttentionOptions all = causal;
  all.dropout = 0.3;
  const std::vector<bool> some_rows = {true,  false, true, true,  false, false,
                                       false, false, true, false, true,  true};
  const std::vector<Row> rows = {
      {"", {2, 3, 4, 5}, {2, 3, 4, 5}, {2, 3, 4, 5}},
      {"", {2, 3, 4}, {2, 5, 4}, {2, 5, 6}},
      {"", {1, 1, 1, 1}, {1, 1, 1, 1}, {1, 1, 1, 1}},
      {"", {0, 2, 3, 4}, {0, 2, 3, 4}, {0, 2, 3, 4}},
      {"", {1, 2, 0, 3}, {1, 2, 3, 3}, {1, 2, 3, 2}},
      {"", {1, 2, 3, 3}, {1, 2, 0, 3}, {1, 2, 0, 2}},
      {"", {2, 1, 3, 17}, {2, 1, 7, 17}, {2, 1, 7, 1}},
      {"scale 0.3", {1, 2, 3, 2}, {1, 2, 4, 2}, {1, 2, 4, 3}, {}, {}, scaled},
      {"causal", {2, 2, 5, 3}, {2, 2, 5, 3}, {2, 2, 5, 2}, {}, {}, causal},
      {"causal", {1, 2, 3, 3}, {1, 2, 7, 3}, {1, 2, 7, 2}, {}, {}, causal},
      {"causal", {1, 2, 7, 3}, {1, 2, 3, 3}, {1, 2, 3, 2}, {}, {}, causal},
      {"keys", {2, 2, 3, 2}, {2, 2, 5, 2}, {2, 2, 5, 3}, {boolean({2, 1, 1, 5})}},
      {"each its own", {2, 2, 3, 2}, {2, 2, 4, 2}, {2, 2, 4, 3}, {boolean({2, 2, 3, 4})}},
      {"without heads", {2, 3, 2}, {2, 4, 2}, {2, 4, 3}, {boolean({2, 3, 4})}},
      {"a row without keys", {2, 1, 3, 2}, {2, 1, 4, 2}, {2, 1, 4, 3}, {mask(some_rows, {3, 4})}},
      {"nothing", {1, 2, 3, 2}, {1, 2, 4, 2}, {1, 2, 4, 3}, {mask({false}, {})}},
      {"bias", {2, 2, 3, 2}, {2, 2, 4, 2}, {2, 2, 4, 3}, {}, {real({2, 1, 4})}},
      {"bias", {2, 3, 2}, {2, 4, 2}, {2, 4, 3}, {boolean({4})}, {real({2, 3, 4})}, causal},
      {"dropout", {2, 2, 3, 4}, {2, 2, 7, 4}, {2, 2, 7, 3}, {}, {}, dropped},
      {"all", {2, 2, 5, 3}, {2, 2, 6, 3}, {2, 2, 6, 5}, {boolean({5, 6})}, {real({6})}, all},
      {"causal, dropout", {1, 2, 4, 3}, {1, 2, 6, 3}, {1, 2, 6, 4}, {boolean({6})}, {}, all},
      {"weights", {2, 2, 3, 4}, {2, 2, 5, 4}, {2, 2, 5, 3}, {}, {}, causal, true},
      {"weights",
       {2, 3, 4},
       {2, 5, 4},
       {2, 5, 3},
       {boolean({2, 1, 5})},
       {real({5})},
       dropped,
       true},
      // More than a tile of each.
      {"tiles", {1, 1, 53, 1}, {1, 1, 259, 1}, {1, 1, 259, 2}, {boolean({259})}, {}, all},
  };
  for (const Row& row : rows) {
    add_row(cases, row);
  }
}

}  // namespace heed::cases
