#pragma once

#include <cstdint>

#include "core/export.h"
#include "core/tensor.h"

// The functions networks are made of. Those with a composed twin (namespace composed, same
// signature, built from other ops) use it when kernels::fused_kernels() is false.
namespace heed {

// ids (...) i32 within [0, V), table (V, C) -> (..., C). Rows of id `padding` (-1: none) give no
// gradient to the table. Throws Error naming the first id out of range.
HEED_EXPORT Tensor embedding(const Tensor& ids, const Tensor& table, int64_t padding = -1);

// Over the last dimension. mask (boolean, true = takes part) broadcasts to x, or is undefined.
// Masked entries, NaN included, take no part and get gradient 0; a row without any entry gives
// zeros (log_softmax: -inf) and gradient 0.
HEED_EXPORT Tensor softmax(const Tensor& x, const Tensor& mask = {});
HEED_EXPORT Tensor log_softmax(const Tensor& x, const Tensor& mask = {});

struct CrossEntropyOptions {
  double label_smoothing = 0;  // eps / V on every class, the target's included
  int64_t ignore_index = -100;
};
struct CrossEntropy {
  Tensor loss;  // scalar: the sum over rows, smoothing included
  Tensor nll;   // scalar: the sum without smoothing; carries no gradient
};
// logits (..., V), targets (...) i32 in [0, V) or ignore_index. Sums, not means: divide by the
// token count at the very update. Ignored rows give 0 and gradient 0 whatever their logits.
HEED_EXPORT CrossEntropy cross_entropy(const Tensor& logits, const Tensor& targets,
                                       const CrossEntropyOptions& options = {});

// (x - mean) / sqrt(var + epsilon) * weight + bias over the last dimension (Ba et al. 2016);
// weight, bias (C); bias may be undefined.
HEED_EXPORT Tensor layer_norm(const Tensor& x, const Tensor& weight, const Tensor& bias,
                              double epsilon = 1e-5);

// x / sqrt(mean(x^2) + epsilon) * weight over the last dimension (Zhang & Sennrich 2019);
// weight (C).
HEED_EXPORT Tensor rms_norm(const Tensor& x, const Tensor& weight, double epsilon = 1e-6);

// Which elements of a vector turn together: (2i, 2i + 1), or (i, i + D/2).
enum class RotaryPairing : uint8_t { interleaved, half };
// Turns pair i of x (..., T, D), D even, at position p by the angle p / base^(2i/D) (Su et al.
// 2021, RoFormer 3.2.2). positions i32, broadcasting to x without its last dimension; or
// offset, offset + 1, ... along T.
HEED_EXPORT Tensor rotary(const Tensor& x, const Tensor& positions, double base = 10000,
                          RotaryPairing pairing = RotaryPairing::interleaved);
HEED_EXPORT Tensor rotary(const Tensor& x, int64_t offset = 0, double base = 10000,
                          RotaryPairing pairing = RotaryPairing::interleaved);

// One GRU step from projected gates, ordered r, z, n (docs/numerics.md):
// gates_x = x W_ih^T + b_ih, gates_h = h W_hh^T + b_hh (B, 3H), h (B, H) -> (B, H).
// Rows whose mask (B) is false keep h.
HEED_EXPORT Tensor gru_cell(const Tensor& gates_x, const Tensor& gates_h, const Tensor& h,
                            const Tensor& mask = {});

// Bahdanau et al. 2015, A.1.2: e[b, s] = weight . tanh(query[b] + keys[b, s]); query (B, A) is the
// projected decoder state, keys (B, S, A) the annotations projected once a sentence, weight (A).
HEED_EXPORT Tensor additive_score(const Tensor& query, const Tensor& keys, const Tensor& weight);

struct AdditiveAttentionResult {
  Tensor context;  // (B, C)
  Tensor weights;  // (B, S); rows sum to 1, or are 0 where nothing may be attended
};
// weights = softmax of these scores over the positions whose mask (B, S) is true, all when it is
// undefined; context[b] = sum_s weights[b, s] values[b, s], values (B, S, C). A sentence without
// any such position gives 0. Nothing passes the mask, inf and NaN included.
HEED_EXPORT AdditiveAttentionResult additive_attention(const Tensor& query, const Tensor& keys,
                                                       const Tensor& values, const Tensor& weight,
                                                       const Tensor& mask = {});

// Maxout over pairs (Goodfellow et al. 2013): (..., 2C) -> (..., C), max of x[2i], x[2i + 1].
HEED_EXPORT Tensor max_pairs(const Tensor& x);

namespace composed {
HEED_EXPORT CrossEntropy cross_entropy(const Tensor& logits, const Tensor& targets,
                                       const CrossEntropyOptions& options = {});
HEED_EXPORT Tensor layer_norm(const Tensor& x, const Tensor& weight, const Tensor& bias,
                              double epsilon = 1e-5);
HEED_EXPORT Tensor rms_norm(const Tensor& x, const Tensor& weight, double epsilon = 1e-6);
HEED_EXPORT Tensor rotary(const Tensor& x, const Tensor& positions, double base = 10000,
                          RotaryPairing pairing = RotaryPairing::interleaved);
HEED_EXPORT Tensor gru_cell(const Tensor& gates_x, const Tensor& gates_h, const Tensor& h,
                            const Tensor& mask = {});
HEED_EXPORT Tensor additive_score(const Tensor& query, const Tensor& keys, const Tensor& weight);
HEED_EXPORT AdditiveAttentionResult additive_attention(const Tensor& query, const Tensor& keys,
                                                       const Tensor& values, const Tensor& weight,
                                                       const Tensor& mask = {});
}  // namespace composed

}  // namespace heed
