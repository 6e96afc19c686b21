#include <algorithm>

#include "kernels/cuda/attention_bf16.h"
#include "kernels/cuda/attention_bf16_tiles.h"

namespace heed::kernels::cuda {

// The two sides of a product of rows: the block's own, and what it passes over.
template <int W>
struct Sides {
  Bf16Tile<bf16_tile, W> own;
  Bf16Tile<bf16_passed, W> other;
};

// For tiles of L queries and S keys.
template <int W, int L, int S>
struct BackwardMemory {
  Sides<W> scores;    // query and key
  Sides<W> dweights;  // dy and value
  float spoilt[bf16_passed];
  bool kept[L][S];  // by dropout
};

template <int W>
using KeyMemory = BackwardMemory<W, bf16_passed, bf16_tile>;
template <int W>
using QueryMemory = BackwardMemory<W, bf16_tile, bf16_passed>;

// The passes of attention_backward.cu on tensor cores. Here the scores are transposed, so that what
// multiplies dy and query comes out of a product as the next one takes it.
template <int W>
__global__ void __launch_bounds__(bf16_threads, 1)
    key_gradients_bf16(AttentionCall<float> call, AttentionGradients<float> gradients) {
  KeyMemory<W>& memory = *dynamic_shared<KeyMemory<W>>();
  const int64_t tiles = (call.keys + bf16_tile - 1) / bf16_tile;
  const int64_t head = blockIdx.x / tiles;
  const int64_t s = blockIdx.x % tiles * bf16_tile;
  const int64_t keys = smaller(bf16_tile, call.keys - s);
  float dkey[W / 8][4];
  float dvalue[W / 8][4];
  clear(dkey);
  clear(dvalue);
  load_bf16(call.key.from(head, s), keys, call.width, memory.scores.own);
  load_bf16(call.value.from(head, s), keys, call.value_width, memory.dweights.own);
  for (int64_t l = call.first(s) / bf16_passed * bf16_passed; l < call.queries; l += bf16_passed) {
    const int64_t rows = smaller(bf16_passed, call.queries - l);
    __syncthreads();
    draw_kept(call, head, l, s, memory.kept);
    const bool queries_finite =
        load_bf16(call.query.from(head, l), rows, call.width, memory.scores.other);
    const bool dy_finite =
        load_bf16(gradients.dy.from(head, l), rows, call.value_width, memory.dweights.other);
    const bool guarded = __syncthreads_or(!queries_finite || !dy_finite) != 0;
    float weights[bf16_passed / 8][4];
    float dscores[bf16_passed / 8][4];
    product_of_rows(memory.scores.own, memory.scores.other, weights);
    product_of_rows(memory.dweights.own, memory.dweights.other, dscores);
    HEED_UNROLL
    for (int j = 0; j < bf16_passed / 8; ++j) {
      HEED_UNROLL
      for (int e = 0; e < 4; ++e) {
        const int64_t query = l + result_column(j, e);
        const float factor = call.dropout_factor(memory.kept, result_column(j, e), result_row(e));
        weight_gradients(call, head, query, s + result_row(e), gradients.row(call, head, query),
                         factor, weights[j][e], dscores[j][e]);
      }
    }
    if (guarded) {
      isolate(weights, memory.dweights.other, memory.spoilt);
      isolate(dscores, memory.scores.other, memory.spoilt);
    }
    add_product(weights, memory.dweights.other, dvalue);
    add_product(dscores, memory.scores.other, dkey);
  }
  write(dkey, call.scale, gradients.dkey.from(head, s), keys, call.width);
  write(dvalue, 1.0F, gradients.dvalue.from(head, s), keys, call.value_width);
}

template <int W>
__global__ void __launch_bounds__(bf16_threads, 1)
    query_gradients_bf16(AttentionCall<float> call, AttentionGradients<float> gradients) {
  QueryMemory<W>& memory = *dynamic_shared<QueryMemory<W>>();
  const int64_t tiles = (call.queries + bf16_tile - 1) / bf16_tile;
  const int64_t head = blockIdx.x / tiles;
  const int64_t l = blockIdx.x % tiles * bf16_tile;
  const int64_t rows = smaller(bf16_tile, call.queries - l);
  float dquery[W / 8][4];
  clear(dquery);
  load_bf16(call.query.from(head, l), rows, call.width, memory.scores.own);
  load_bf16(gradients.dy.from(head, l), rows, call.value_width, memory.dweights.own);
  const RowSums<float> sums[2] = {gradients.row(call, head, l + result_row(0)),
                                  gradients.row(call, head, l + result_row(2))};
  const int64_t seen = call.limit(l + rows - 1);
  for (int64_t s = 0; s < seen; s += bf16_passed) {
    const int64_t keys = smaller(bf16_passed, call.keys - s);
    __syncthreads();
    draw_kept(call, head, l, s, memory.kept);
    const bool finite = load_bf16(call.key.from(head, s), keys, call.width, memory.scores.other);
    load_bf16(call.value.from(head, s), keys, call.value_width, memory.dweights.other);
    const bool guarded = __syncthreads_or(!finite) != 0;
    float weights[bf16_passed / 8][4];
    float dscores[bf16_passed / 8][4];
    product_of_rows(memory.scores.own, memory.scores.other, weights);
    product_of_rows(memory.dweights.own, memory.dweights.other, dscores);
    HEED_UNROLL
    for (int j = 0; j < bf16_passed / 8; ++j) {
      HEED_UNROLL
      for (int e = 0; e < 4; ++e) {
        weight_gradients(call, head, l + result_row(e), s + result_column(j, e), sums[e / 2],
                         call.dropout_factor(memory.kept, result_row(e), result_column(j, e)),
                         weights[j][e], dscores[j][e]);
      }
    }
    if (gradients.dbias.data != nullptr) {
      write(dscores, 1.0F, gradients.dbias.from(head, l, s), rows, keys);
    }
    if (guarded) {
      isolate(dscores, memory.scores.other, memory.spoilt);
    }
    add_product(dscores, memory.scores.other, dquery);
  }
  write(dquery, call.scale, gradients.dquery.from(head, l), rows, call.width);
}

void attention_backward_bf16(const AttentionCall<float>& call,
                             const AttentionGradients<float>& gradients) {
  with_bf16_width(std::max(call.width, call.value_width), [&](auto width) {
    launch(key_gradients_bf16<width.value>,
           bf16_grid(call.heads, call.keys, sizeof(KeyMemory<width.value>)), call, gradients);
    launch(query_gradients_bf16<width.value>,
           bf16_grid(call.heads, call.queries, sizeof(QueryMemory<width.value>)), call, gradients);
  });
}

}  // namespace heed::kernels::cuda
