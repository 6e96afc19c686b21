#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "autograd/functions.h"
#include "core/export.h"
#include "nn/key_value_cache.h"
#include "nn/layers.h"
#include "nn/mask.h"

namespace heed::nn {

struct Rotary {
  RotaryPairing pairing = RotaryPairing::interleaved;
  double base = 10000;
};

struct MultiHeadAttentionOptions {
  int64_t width = 0;  // of queries and of the output; a multiple of heads
  int64_t heads = 1;
  int64_t key_width = 0;    // 0: width
  int64_t value_width = 0;  // 0: width
  double dropout = 0;       // of the weights
  bool bias = true;
  std::optional<Rotary> rotary;  // turns queries and keys of self-attention by their positions
};

struct MultiHeadOutput {
  Tensor output;   // (B, L, width)
  Tensor weights;  // (B, H, L, S) after dropout; undefined unless asked for
};

// Vaswani et al. 2017, 3.2.2. PyTorch's parameters and initialisation: in_proj_weight (3d, d), or
// q_proj_weight (d, d), k_proj_weight (d, K), v_proj_weight (d, V) when keys or values have a width
// of their own; in_proj_bias (3d); out_proj. Matrices Xavier uniform, out_proj.weight uniform in
// +-1 / sqrt(d), biases 0.
class HEED_EXPORT MultiHeadAttention : public Module {
 public:
  // Throws Error for sizes that do not fit.
  MultiHeadAttention(const MultiHeadAttentionOptions& options, Generator& generator);

  // Self-attention, x (B, T, d): queries, keys and values are one product. With a cache, the keys
  // and values of x follow those it holds, and x attends to all of them (S = cached + T).
  MultiHeadOutput forward(const Tensor& x, const Mask& mask = {}, bool with_weights = false,
                          KeyValueCache* cache = nullptr) const;
  // query (B, L, d), key (B, S, K), value (B, S, V).
  MultiHeadOutput forward(const Tensor& query, const Tensor& key, const Tensor& value,
                          const Mask& mask = {}, bool with_weights = false) const;

  // The same in two parts, so that a source is projected once for all steps of a decoder.
  KeysValues project(const Tensor& key, const Tensor& value, const Mask& mask = {}) const;
  MultiHeadOutput forward(const Tensor& query, const KeysValues& memory, const Mask& mask = {},
                          bool with_weights = false) const;

  int64_t heads() const { return options_.heads; }

 private:
  bool one_width() const { return in_proj_weight_.defined(); }
  // Projections begin .. end - 1 of query (0), key (1), value (2), as heads (B, H, T, D) that are
  // views of one product where the weights are one tensor.
  std::vector<Tensor> heads_of(const Tensor& x, int64_t begin, int64_t end) const;
  MultiHeadOutput attend(const Tensor& query, const KeysValues& memory, const Mask& mask,
                         bool with_weights) const;

  MultiHeadAttentionOptions options_;
  Tensor in_proj_weight_;
  std::vector<Tensor> separate_weights_;  // of query, key, value
  Tensor in_proj_bias_;
  Linear out_proj_;
};

}  // namespace heed::nn
