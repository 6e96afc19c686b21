#include "nn/attention.h"

#include "core/error.h"
#include "nn/init.h"

namespace heed::nn {
namespace {

MultiHeadAttentionOptions checked(MultiHeadAttentionOptions options) {
  const auto& [width, heads, key_width, value_width, dropout, bias, rotary] = options;
  HEED_CHECK(width > 0 && heads > 0 && key_width >= 0 && value_width >= 0, "attention",
             "sizes are positive: width {}, heads {}, key width {}, value width {}", width, heads,
             key_width, value_width);
  HEED_CHECK(width % heads == 0, "attention", "the width {} is not divisible by {} heads", width,
             heads);
  HEED_CHECK(dropout >= 0 && dropout < 1, "attention", "the dropout {} is not in [0, 1)", dropout);
  HEED_CHECK(!rotary || width / heads % 2 == 0, "attention",
             "rotary positions turn pairs: a head's width {} ({} / {} heads) is odd", width / heads,
             width, heads);
  options.key_width = key_width == 0 ? width : key_width;
  options.value_width = value_width == 0 ? width : value_width;
  return options;
}

void check_input(const char* name, const Tensor& x, int64_t width) {
  HEED_CHECK(x.defined(), "attention", "{} is undefined", name);
  HEED_CHECK(x.rank() == 3 && x.dim(2) == width, "attention", "{} (B, T, {}) is expected, not {}",
             name, width, x.shape().to_string());
}

}  // namespace

MultiHeadAttention::MultiHeadAttention(const MultiHeadAttentionOptions& options,
                                       Generator& generator)
    : options_(checked(options)), out_proj_(options.width, options.width, generator, options.bias) {
  const int64_t width = options_.width;
  if (options_.key_width == width && options_.value_width == width) {
    in_proj_weight_ = register_parameter("in_proj_weight", Tensor::empty({3 * width, width}));
    init_xavier(in_proj_weight_, generator);
  } else {
    const auto add = [&](const char* name, int64_t in) {
      separate_weights_.push_back(register_parameter(name, Tensor::empty({width, in})));
      init_xavier(separate_weights_.back(), generator);
    };
    add("q_proj_weight", width);
    add("k_proj_weight", options_.key_width);
    add("v_proj_weight", options_.value_width);
  }
  if (options_.bias) {
    in_proj_bias_ = register_parameter("in_proj_bias", Tensor::zeros({3 * width}));
    init_constant(out_proj_.bias, 0);
  }
  register_module("out_proj", out_proj_);
}

std::vector<Tensor> MultiHeadAttention::heads_of(const Tensor& x, int64_t begin,
                                                 int64_t end) const {
  const int64_t width = options_.width;
  const int64_t parts = end - begin;
  const auto rows = [&](const Tensor& whole) {
    return !whole.defined() || parts == 3 ? whole : slice(whole, 0, begin * width, end * width);
  };
  const Tensor weight =
      one_width() ? rows(in_proj_weight_) : separate_weights_[static_cast<size_t>(begin)];
  const Tensor projected =
      reshape(linear(x, weight, rows(in_proj_bias_)),
              {x.dim(0), x.dim(1), parts, options_.heads, width / options_.heads});
  std::vector<Tensor> heads;
  for (const Tensor& part : unstack(projected, 2)) {
    heads.push_back(transpose(part, 1, 2));
  }
  return heads;
}

MultiHeadOutput MultiHeadAttention::attend(const Tensor& query, const KeysValues& memory,
                                           const Mask& mask, bool with_weights) const {
  AttentionOptions options;
  options.mask = mask.allowed();
  options.causal = mask.is_causal();
  options.dropout = training() ? options_.dropout : 0;
  AttentionWithWeights found;
  if (with_weights) {
    found = attention_with_weights(query, memory.keys, memory.values, options);
  } else {
    found.output = scaled_dot_product_attention(query, memory.keys, memory.values, options);
  }
  const Tensor merged =
      reshape(transpose(found.output, 1, 2), {query.dim(0), query.dim(2), options_.width});
  return {out_proj_.forward(merged), found.weights};
}

MultiHeadOutput MultiHeadAttention::forward(const Tensor& x, const Mask& mask, bool with_weights,
                                            KeyValueCache* cache) const {
  check_input("x", x, options_.width);
  HEED_CHECK(one_width(), "attention",
             "self-attention wants keys and values of width {}, these have {} and {}",
             options_.width, options_.key_width, options_.value_width);
  auto heads = heads_of(mask.clear_padding(x), 0, 3);
  if (options_.rotary) {
    const auto [pairing, base] = *options_.rotary;
    const int64_t first = cache == nullptr ? 0 : cache->length();
    heads[0] = rotary(heads[0], first, base, pairing);
    heads[1] = rotary(heads[1], first, base, pairing);
  }
  const KeysValues own = {heads[1], heads[2]};
  return attend(heads[0], cache == nullptr ? own : cache->append(own), mask, with_weights);
}

MultiHeadOutput MultiHeadAttention::forward(const Tensor& query, const Tensor& key,
                                            const Tensor& value, const Mask& mask,
                                            bool with_weights) const {
  if (one_width() && query.same(key) && key.same(value)) {
    return forward(query, mask, with_weights);
  }
  return forward(query, project(key, value, mask), mask, with_weights);
}

KeysValues MultiHeadAttention::project(const Tensor& key, const Tensor& value,
                                       const Mask& mask) const {
  check_input("key", key, options_.key_width);
  check_input("value", value, options_.value_width);
  HEED_CHECK(!options_.rotary, "attention", "rotary positions are for self-attention");
  if (one_width() && key.same(value)) {
    const auto heads = heads_of(mask.clear_padding(key), 1, 3);
    return {heads[0], heads[1]};
  }
  return {heads_of(mask.clear_padding(key), 1, 2)[0], heads_of(mask.clear_padding(value), 2, 3)[0]};
}

MultiHeadOutput MultiHeadAttention::forward(const Tensor& query, const KeysValues& memory,
                                            const Mask& mask, bool with_weights) const {
  check_input("query", query, options_.width);
  return attend(heads_of(query, 0, 1)[0], memory, mask, with_weights);
}

}  // namespace heed::nn
