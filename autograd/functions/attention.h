#pragma once

#include <optional>

#include "core/export.h"
#include "core/tensor.h"

namespace heed {

struct AttentionOptions {
  // Boolean, true = may attend; broadcasts to (B, H, L, S). Undefined: everything may.
  Tensor mask;
  // Added to the scores; dtype of the query, broadcasts to (B, H, L, S), differentiable.
  Tensor bias;
  // Query l sees keys s <= l + S - L: aligned bottom-right, so that the last query sees all keys.
  bool causal = false;
  // Of the weights, in [0, 1), from default_generator(): pass 0 outside training. Element
  // (b, h, l, s), row-major, takes the number of its index, on every path.
  double dropout = 0;
  // Of the scores; 1 / sqrt(D) unless given.
  std::optional<double> scale;
};

// softmax(scale query key^T + bias) value (Vaswani et al. 2017, 3.2.1):
// query (B, H, L, D), key (B, H, S, D), value (B, H, S, E) -> (B, H, L, E), or all without H.
// A row that may attend to nothing gives output 0 and gradients exactly 0. Keys and values that a
// query may not attend to, NaN included, reach neither its output nor any gradient through it.
// Throws Error for ranks, sizes, dtypes, masks or biases that do not fit.
HEED_EXPORT Tensor scaled_dot_product_attention(const Tensor& query, const Tensor& key,
                                                const Tensor& value,
                                                const AttentionOptions& options = {});

struct AttentionWithWeights {
  Tensor output;   // (B, H, L, E)
  Tensor weights;  // (B, H, L, S), after dropout
};
// The same with the weights it used, by the composed path: memory grows with L * S.
HEED_EXPORT AttentionWithWeights attention_with_weights(const Tensor& query, const Tensor& key,
                                                        const Tensor& value,
                                                        const AttentionOptions& options = {});

namespace composed {
HEED_EXPORT Tensor scaled_dot_product_attention(const Tensor& query, const Tensor& key,
                                                const Tensor& value,
                                                const AttentionOptions& options = {});
}  // namespace composed

}  // namespace heed
