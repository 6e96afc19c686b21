#include "kernels/cuda/attention_bf16.h"

#include <cmath>

#include "kernels/cuda/attention_bf16_tiles.h"
#include "kernels/cuda/reduction.h"

namespace heed::kernels::cuda {

template <int W>
struct ForwardMemory {
  Bf16Tile<bf16_tile, W> query;
  Bf16Tile<bf16_passed, W> key;
  Bf16Tile<bf16_passed, W> value;
  float spoilt[bf16_passed];
  bool kept[bf16_tile][bf16_passed];  // by dropout
};

// attention_kernel on tensor cores: Dao 2023 (FlashAttention-2), where a warp owns its rows, so
// that weights pass from one product to the next in registers. A row lies in four lanes.
template <int W>
__global__ void __launch_bounds__(bf16_threads, 1)
    attention_bf16_kernel(AttentionCall<float> call, Heads<float> y, float* log_sum) {
  ForwardMemory<W>& memory = *dynamic_shared<ForwardMemory<W>>();
  const int64_t tiles = (call.queries + bf16_tile - 1) / bf16_tile;
  const int64_t head = blockIdx.x / tiles;
  const int64_t l = blockIdx.x % tiles * bf16_tile;
  const int64_t rows = smaller(bf16_tile, call.queries - l);
  float output[W / 8][4];
  float maximum[2] = {lowest<float>(), lowest<float>()};
  float sum[2] = {0, 0};
  clear(output);
  load_bf16(call.query.from(head, l), rows, call.width, memory.query);
  const int64_t seen = call.limit(l + rows - 1);
  for (int64_t s = 0; s < seen; s += bf16_passed) {
    const int64_t keys = smaller(bf16_passed, call.keys - s);
    __syncthreads();
    load_bf16(call.key.from(head, s), keys, call.width, memory.key);
    draw_kept(call, head, l, s, memory.kept);
    const bool finite = load_bf16(call.value.from(head, s), keys, call.value_width, memory.value);
    const bool guarded = __syncthreads_or(!finite) != 0;
    float weights[bf16_passed / 8][4];
    product_of_rows(memory.query, memory.key, weights);
    HEED_UNROLL
    for (int half = 0; half < 2; ++half) {
      const int64_t query = l + result_row(2 * half);
      float largest = maximum[half];
      HEED_UNROLL
      for (int j = 0; j < bf16_passed / 8; ++j) {
        HEED_UNROLL
        for (int e = 2 * half; e < 2 * half + 2; ++e) {
          weights[j][e] = call.score(head, query, s + result_column(j, e), weights[j][e]);
          largest = Larger()(largest, weights[j][e]);
        }
      }
      largest = reduce_lanes(largest, Larger(), 4);
      // A row that has seen nothing yet has the maximum -inf, and nothing to rescale.
      const float shift = largest == lowest<float>() ? 0 : largest;
      const float factor = std::exp(maximum[half] - shift);
      float total = 0;
      HEED_UNROLL
      for (int j = 0; j < bf16_passed / 8; ++j) {
        HEED_UNROLL
        for (int e = 2 * half; e < 2 * half + 2; ++e) {
          const float weight =
              weights[j][e] == lowest<float>() ? 0 : std::exp(weights[j][e] - shift);
          total += weight;
          weights[j][e] =
              weight * call.dropout_factor(memory.kept, result_row(e), result_column(j, e));
        }
      }
      sum[half] = sum[half] * factor + reduce_lanes(total, Plus(), 4);
      maximum[half] = largest;
      HEED_UNROLL
      for (int j = 0; j < W / 8; ++j) {
        output[j][2 * half] *= factor;
        output[j][2 * half + 1] *= factor;
      }
    }
    if (guarded) {
      isolate(weights, memory.value, memory.spoilt);
    }
    add_product(weights, memory.value, output);
  }
  HEED_UNROLL
  for (int half = 0; half < 2; ++half) {
    const float scale = sum[half] == 0 ? 0 : 1 / sum[half];
    HEED_UNROLL
    for (int j = 0; j < W / 8; ++j) {
      output[j][2 * half] *= scale;
      output[j][2 * half + 1] *= scale;
    }
    const int row = result_row(2 * half);
    if (row < rows && threadIdx.x % 4 == 0) {
      log_sum[head * call.queries + l + row] = log_of_sum(maximum[half], sum[half]);
    }
  }
  write(output, 1.0F, y.from(head, l), rows, call.value_width);
}

void attention_bf16(const AttentionCall<float>& call, const Heads<float>& y, float* log_sum) {
  with_bf16_width(std::max(call.width, call.value_width), [&](auto width) {
    launch(attention_bf16_kernel<width.value>,
           bf16_grid(call.heads, call.queries, sizeof(ForwardMemory<width.value>)), call, y,
           log_sum);
  });
}

}  // namespace heed::kernels::cuda
