#include "nn/additive_attention.h"

#include <cmath>

#include "nn/init.h"
#include "nn/sequence.h"

namespace heed::nn {

AdditiveAttention::AdditiveAttention(int64_t query_width, int64_t annotation_width, int64_t width,
                                     Generator& generator)
    : query(query_width, width, generator, false),
      key(annotation_width, width, generator),
      score(register_parameter("score", Tensor::empty({width}))) {
  register_module("query", query);
  register_module("key", key);
  const double bound = 1.0 / std::sqrt(static_cast<double>(width));
  init_uniform(score, -bound, bound, generator);
}

AttentionMemory AdditiveAttention::prepare(const Tensor& annotations, const Tensor& mask) const {
  const Tensor values = clear_padding(annotations, mask);
  return {key.forward(values), values, mask};
}

AdditiveAttentionResult AdditiveAttention::forward(const Tensor& query_state,
                                                   const AttentionMemory& memory) const {
  return additive_attention(query.forward(query_state), memory.keys, memory.values, score,
                            memory.mask);
}

}  // namespace heed::nn
