#pragma once

#include "autograd/functions.h"
#include "core/export.h"
#include "nn/layers.h"

namespace heed::nn {

// What attention reads of the source, prepared once a sentence.
struct AttentionMemory {
  Tensor keys;    // (B, S, A): the annotations projected
  Tensor values;  // (B, S, C): the annotations, 0 at padding
  Tensor mask;    // (B, S), true = may attend; undefined: all
};

// Additive attention (Bahdanau et al. 2015, section 3.1 and A.1.2):
// e = tanh(q W_q + k W_k + b) w_a, weights = softmax(e), context = weights . annotations.
// Parameters: query.weight (A, Q), key.weight (A, C), key.bias (A), score (A).
class HEED_EXPORT AdditiveAttention : public Module {
 public:
  AdditiveAttention(int64_t query_width, int64_t annotation_width, int64_t width,
                    Generator& generator);

  // annotations (B, S, C); mask (B, S) or undefined. What stands at masked positions, NaN
  // included, reaches nothing.
  AttentionMemory prepare(const Tensor& annotations, const Tensor& mask) const;
  AdditiveAttentionResult forward(const Tensor& query, const AttentionMemory& memory) const;

  Linear query;
  Linear key;
  Tensor score;
};

}  // namespace heed::nn
