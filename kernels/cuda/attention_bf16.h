#pragma once

#include "kernels/cuda/attention_call.h"

// Attention on tensor cores, for heads of up to 128 numbers; others are left to attention_tiles.h.
namespace heed::kernels::cuda {

inline bool fits_bf16(const AttentionCall<float>& call) {
  return call.width <= 128 && call.value_width <= 128;
}

void attention_bf16(const AttentionCall<float>& call, const Heads<float>& y, float* log_sum);
void attention_backward_bf16(const AttentionCall<float>& call,
                             const AttentionGradients<float>& gradients);

}  // namespace heed::kernels::cuda
