#include <algorithm>
#include <type_traits>

#include "kernels/cuda/attention_bf16.h"
#include "kernels/cuda/attention_tiles.h"
#include "kernels/cuda/context.h"
#include "kernels/cuda/cuda_backend.h"

namespace heed::kernels {
namespace cuda {

// delta[row] = sum over y dy: a warp a row.
template <typename T>
__global__ void delta_kernel(int64_t queries, int64_t value_width, Heads<const T> y,
                             Heads<const T> dy, T* delta) {
  const int64_t row = blockIdx.x;
  const Rows<const T> a = y.from(row / queries, row % queries);
  const Rows<const T> b = dy.from(row / queries, row % queries);
  const T sum =
      reduce_items(value_width, T{0}, Plus(), [&](int64_t i) { return a.at(0, i) * b.at(0, i); });
  if (threadIdx.x == 0) {
    delta[row] = sum;
  }
}

// P (times f) of the tile at (l, s) into `weights`, dS into `dscores`.
template <typename T>
__device__ void tile_gradients(const AttentionCall<T>& call, const AttentionGradients<T>& gradients,
                               int64_t head, int64_t l, int64_t s, TileMemory<T>& memory,
                               T (&weights)[held][held], T (&dscores)[held][held]) {
  const int64_t rows = smaller(tile, call.queries - l);
  const int64_t keys = smaller(tile, call.keys - s);
  draw_kept(call, head, l, s, memory.kept);
  product_of_rows(call.query.from(head, l), rows, call.key.from(head, s), keys, call.width, memory,
                  weights);
  product_of_rows(gradients.dy.from(head, l), rows, call.value.from(head, s), keys,
                  call.value_width, memory, dscores);
  HEED_UNROLL
  for (int i = 0; i < held; ++i) {
    const RowSums<T> row = gradients.row(call, head, l + own_row(i));
    HEED_UNROLL
    for (int j = 0; j < held; ++j) {
      weight_gradients(call, head, l + own_row(i), s + own_column(j), row,
                       call.dropout_factor(memory.kept, own_row(i), own_column(j)), weights[i][j],
                       dscores[i][j]);
    }
  }
}

// A tile of results into shared memory, once nobody reads what is there.
template <typename T>
__device__ void share(const T (&values)[held][held], TileMemory<T>& memory) {
  __syncthreads();
  HEED_UNROLL
  for (int i = 0; i < held; ++i) {
    HEED_UNROLL
    for (int j = 0; j < held; ++j) {
      memory.weights[own_row(i)][own_column(j)] = values[i][j];
    }
  }
}

template <int W, typename T>
__global__ void __launch_bounds__(block_threads, 1)
    attention_key_gradients(AttentionCall<T> call, AttentionGradients<T> gradients) {
  TileMemory<T>& memory = *dynamic_shared<TileMemory<T>>();
  const int64_t tiles = (call.keys + tile - 1) / tile;
  const int64_t head = blockIdx.x / tiles;
  const int64_t s = blockIdx.x % tiles * tile;
  const int64_t column = int64_t{blockIdx.y} * W;
  const int64_t keys = smaller(tile, call.keys - s);
  T dkey[held][W / side];
  T dvalue[held][W / side];
  clear<W>(dkey);
  clear<W>(dvalue);
  for (int64_t l = call.first(s) / tile * tile; l < call.queries; l += tile) {
    const int64_t rows = smaller(tile, call.queries - l);
    T weights[held][held];
    T dscores[held][held];
    tile_gradients(call, gradients, head, l, s, memory, weights, dscores);
    share(weights, memory);
    add_product<true, W>(gradients.dy.from(head, l, column), rows, call.value_width - column,
                         memory, dvalue);
    share(dscores, memory);
    add_product<true, W>(call.query.from(head, l, column), rows, call.width - column, memory, dkey);
  }
  write<W>(dkey, call.scale, gradients.dkey.from(head, s, column), keys, call.width - column);
  write<W>(dvalue, T{1}, gradients.dvalue.from(head, s, column), keys, call.value_width - column);
}

template <int W, typename T>
__global__ void __launch_bounds__(block_threads, 1)
    attention_query_gradients(AttentionCall<T> call, AttentionGradients<T> gradients) {
  TileMemory<T>& memory = *dynamic_shared<TileMemory<T>>();
  const int64_t tiles = (call.queries + tile - 1) / tile;
  const int64_t head = blockIdx.x / tiles;
  const int64_t l = blockIdx.x % tiles * tile;
  const int64_t column = int64_t{blockIdx.y} * W;
  const int64_t rows = smaller(tile, call.queries - l);
  T dquery[held][W / side];
  clear<W>(dquery);
  const int64_t seen = call.limit(l + rows - 1);
  for (int64_t s = 0; s < seen; s += tile) {
    const int64_t keys = smaller(tile, call.keys - s);
    T weights[held][held];
    T dscores[held][held];
    tile_gradients(call, gradients, head, l, s, memory, weights, dscores);
    if (gradients.dbias.data != nullptr && column == 0) {
      write<tile>(dscores, T{1}, gradients.dbias.from(head, l, s), rows, keys);
    }
    share(dscores, memory);
    add_product<false, W>(call.key.from(head, s, column), keys, call.width - column, memory,
                          dquery);
  }
  write<W>(dquery, call.scale, gradients.dquery.from(head, l, column), rows, call.width - column);
}

template <int W, typename T>
void attention_backward_for(const AttentionCall<T>& call, const AttentionGradients<T>& gradients) {
  const auto chunks = [](int64_t columns) { return std::max<int64_t>(1, divide_up(columns, W)); };
  launch(attention_key_gradients<W, T>,
         tile_grid(call.heads, divide_up(call.keys, tile),
                   chunks(std::max(call.width, call.value_width)), sizeof(TileMemory<T>)),
         call, gradients);
  launch(attention_query_gradients<W, T>,
         tile_grid(call.heads, divide_up(call.queries, tile), chunks(call.width),
                   sizeof(TileMemory<T>)),
         call, gradients);
}

}  // namespace cuda

void CudaBackend::attention_backward(const Tensor& query, const Tensor& key, const Tensor& value,
                                     const Tensor& mask, const Tensor& bias,
                                     const AttentionRule& rule, const Tensor& y,
                                     const Tensor& log_sum, const Tensor& dy, const Tensor& dquery,
                                     const Tensor& dkey, const Tensor& dvalue,
                                     const Tensor& dbias) {
  dispatch_floating("attention_backward", query.dtype(), [&]<typename T>(T) {
    const cuda::AttentionCall<T> call(query, key, value, mask, bias, rule);
    const cuda::Scratch<T> delta(call.heads * call.queries);
    cuda::launch(cuda::delta_kernel<T>,
                 {dim3(static_cast<unsigned>(call.heads * call.queries)), dim3(32)}, call.queries,
                 call.value_width, cuda::Heads<const T>(y), cuda::Heads<const T>(dy), delta.data());
    const cuda::AttentionGradients<T> gradients{
        cuda::Heads<const T>(dy), log_sum.data<T>(),    delta.data(),
        cuda::Heads<T>(dquery),   cuda::Heads<T>(dkey), cuda::Heads<T>(dvalue),
        cuda::Heads<T>(dbias)};
    if constexpr (std::is_same_v<T, float>) {
      if (precision_ == Precision::bf16 && cuda::fits_bf16(call)) {
        return cuda::attention_backward_bf16(call, gradients);
      }
    }
    cuda::with_chunk<T>(std::max(call.width, call.value_width), [&](auto chunk) {
      cuda::attention_backward_for<chunk.value>(call, gradients);
    });
  });
}

}  // namespace heed::kernels
