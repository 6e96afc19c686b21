#include <algorithm>
#include <cmath>
#include <type_traits>

#include "kernels/cuda/attention_bf16.h"
#include "kernels/cuda/attention_tiles.h"
#include "kernels/cuda/cuda_backend.h"

namespace heed::kernels {
namespace cuda {

// Dao et al. 2022 (FlashAttention), algorithm 1: a tile of queries passes over the keys with a
// running maximum and sum. Block (head and tile, chunk of W columns of y).
template <int W, typename T>
__global__ void __launch_bounds__(block_threads, 1)
    attention_kernel(AttentionCall<T> call, Heads<T> y, T* log_sum) {
  TileMemory<T>& memory = *dynamic_shared<TileMemory<T>>();
  const int64_t tiles = (call.queries + tile - 1) / tile;
  const int64_t head = blockIdx.x / tiles;
  const int64_t l = blockIdx.x % tiles * tile;
  const int64_t column = int64_t{blockIdx.y} * W;
  const int64_t rows = smaller(tile, call.queries - l);
  T output[held][W / side];
  T maximum[held];
  T sum[held];
  clear<W>(output);
  HEED_UNROLL
  for (int i = 0; i < held; ++i) {
    maximum[i] = lowest<T>();
    sum[i] = 0;
  }
  const int64_t seen = call.limit(l + rows - 1);
  for (int64_t s = 0; s < seen; s += tile) {
    const int64_t keys = smaller(tile, call.keys - s);
    T scores[held][held];
    draw_kept(call, head, l, s, memory.kept);
    product_of_rows(call.query.from(head, l), rows, call.key.from(head, s), keys, call.width,
                    memory, scores);
    __syncthreads();
    HEED_UNROLL
    for (int i = 0; i < held; ++i) {
      T largest = maximum[i];
      HEED_UNROLL
      for (int j = 0; j < held; ++j) {
        scores[i][j] = call.score(head, l + own_row(i), s + own_column(j), scores[i][j]);
        largest = Larger()(largest, scores[i][j]);
      }
      largest = reduce_lanes(largest, Larger(), side);
      // A row that has seen nothing yet has the maximum -inf, and nothing to rescale.
      const T shift = largest == lowest<T>() ? T{0} : largest;
      const T factor = std::exp(maximum[i] - shift);
      T total = 0;
      HEED_UNROLL
      for (int j = 0; j < held; ++j) {
        // Masked stays 0 whatever the shift: a spoilt query spoils no other key.
        const T weight = scores[i][j] == lowest<T>() ? T{0} : std::exp(scores[i][j] - shift);
        total += weight;
        memory.weights[own_row(i)][own_column(j)] =
            weight * call.dropout_factor(memory.kept, own_row(i), own_column(j));
      }
      sum[i] = sum[i] * factor + reduce_lanes(total, Plus(), side);
      maximum[i] = largest;
      HEED_UNROLL
      for (int j = 0; j < W / side; ++j) {
        output[i][j] *= factor;
      }
    }
    add_product<false, W>(call.value.from(head, s, column), keys, call.value_width - column, memory,
                          output);
  }
  HEED_UNROLL
  for (int i = 0; i < held; ++i) {
    const T scale = sum[i] == 0 ? T{0} : 1 / sum[i];
    HEED_UNROLL
    for (int j = 0; j < W / side; ++j) {
      output[i][j] *= scale;
    }
    if (own_row(i) < rows && threadIdx.x == 0 && column == 0) {
      log_sum[head * call.queries + l + own_row(i)] = log_of_sum(maximum[i], sum[i]);
    }
  }
  write<W>(output, T{1}, y.from(head, l, column), rows, call.value_width - column);
}

template <int W, typename T>
void attention_for(const AttentionCall<T>& call, const Tensor& y, const Tensor& log_sum) {
  const int64_t chunks = std::max<int64_t>(1, divide_up(call.value_width, W));
  launch(attention_kernel<W, T>,
         tile_grid(call.heads, divide_up(call.queries, tile), chunks, sizeof(TileMemory<T>)), call,
         Heads<T>(y), log_sum.data<T>());
}

}  // namespace cuda

void CudaBackend::attention(const Tensor& query, const Tensor& key, const Tensor& value,
                            const Tensor& mask, const Tensor& bias, const AttentionRule& rule,
                            const Tensor& y, const Tensor& log_sum) {
  dispatch_floating("attention", query.dtype(), [&]<typename T>(T) {
    const cuda::AttentionCall<T> call(query, key, value, mask, bias, rule);
    if constexpr (std::is_same_v<T, float>) {
      if (precision_ == Precision::bf16 && cuda::fits_bf16(call)) {
        return cuda::attention_bf16(call, cuda::Heads<T>(y), log_sum.data<T>());
      }
    }
    cuda::with_chunk<T>(call.value_width,
                        [&](auto chunk) { cuda::attention_for<chunk.value>(call, y, log_sum); });
  });
}

}  // namespace heed::kernels
