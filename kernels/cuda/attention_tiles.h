#pragma once

#include <type_traits>

#include "kernels/cuda/attention_call.h"
#include "kernels/cuda/reduction.h"

// The two products that attention is made of, on tiles of 64 queries by 64 keys. A block has 16 x
// 16 threads; thread (x, y) holds rows y + 16 i and columns x + 16 j of a result in registers, so
// that neighbouring threads read neighbouring words of shared memory and a row lies in 16 lanes.
namespace heed::kernels::cuda {

constexpr int tile = 64;
constexpr int slice = 16;  // of the summed dimension, at a time
constexpr int side = 16;   // of a block of threads
constexpr int held = tile / side;
constexpr int block_threads = side * side;

template <typename T>
struct TileMemory {
  struct Sides {
    T left[tile][slice + 1];
    T right[tile][slice + 1];
  };
  union {
    Sides sides;
    T factors[slice][2 * tile];
  };
  T weights[tile][tile + 1];
  bool kept[tile][tile];  // by dropout
};

__device__ inline int own_row(int i) { return static_cast<int>(threadIdx.y) + side * i; }
__device__ inline int own_column(int j) { return static_cast<int>(threadIdx.x) + side * j; }
__device__ inline int own_number() {
  return static_cast<int>(threadIdx.y) * side + static_cast<int>(threadIdx.x);
}

// result = a b^T for a (64, width) and b (64, width), of which a_rows and b_rows exist.
template <typename T>
__device__ void product_of_rows(const Rows<const T>& a, int64_t a_rows, const Rows<const T>& b,
                                int64_t b_rows, int64_t width, TileMemory<T>& memory,
                                T (&result)[held][held]) {
  HEED_UNROLL
  for (int i = 0; i < held; ++i) {
    HEED_UNROLL
    for (int j = 0; j < held; ++j) {
      result[i][j] = 0;
    }
  }
  for (int64_t begin = 0; begin < width; begin += slice) {
    __syncthreads();
    HEED_UNROLL
    for (int e = own_number(); e < tile * slice; e += block_threads) {
      const int row = e / slice;
      const int column = e % slice;
      const bool inside = begin + column < width;
      memory.sides.left[row][column] = inside && row < a_rows ? a.at(row, begin + column) : T{0};
      memory.sides.right[row][column] = inside && row < b_rows ? b.at(row, begin + column) : T{0};
    }
    __syncthreads();
    HEED_UNROLL
    for (int k = 0; k < slice; ++k) {
      T left[held];
      T right[held];
      HEED_UNROLL
      for (int i = 0; i < held; ++i) {
        left[i] = memory.sides.left[own_row(i)][k];
        right[i] = memory.sides.right[own_column(i)][k];
      }
      HEED_UNROLL
      for (int i = 0; i < held; ++i) {
        HEED_UNROLL
        for (int j = 0; j < held; ++j) {
          result[i][j] += left[i] * right[j];
        }
      }
    }
  }
}

// result += w x for the weights w (64, 64) in shared memory, or their transpose, and x (64, W), of
// which rows and columns exist. inf or NaN in x does not get past a weight of 0.
template <bool transposed, int W, typename T>
__device__ void add_product(const Rows<const T>& x, int64_t rows, int64_t columns,
                            TileMemory<T>& memory, T (&result)[held][W / side]) {
  for (int begin = 0; begin < tile && begin < rows; begin += slice) {
    __syncthreads();
    bool finite = true;
    HEED_UNROLL
    for (int e = own_number(); e < slice * W; e += block_threads) {
      const int row = e / W;
      const int column = e % W;
      const T value = begin + row < rows && column < columns ? x.at(begin + row, column) : T{0};
      finite = finite && value - value == 0;
      memory.factors[row][column] = value;
    }
    const bool guarded = __syncthreads_or(!finite) != 0;
    HEED_UNROLL
    for (int k = 0; k < slice; ++k) {
      HEED_UNROLL
      for (int i = 0; i < held; ++i) {
        const T weight = transposed ? memory.weights[begin + k][own_row(i)]
                                    : memory.weights[own_row(i)][begin + k];
        if (guarded && weight == 0) {
          continue;
        }
        HEED_UNROLL
        for (int j = 0; j < W / side; ++j) {
          result[i][j] += weight * memory.factors[k][own_column(j)];
        }
      }
    }
  }
}

template <int W, typename T>
__device__ void clear(T (&result)[held][W / side]) {
  HEED_UNROLL
  for (int i = 0; i < held; ++i) {
    HEED_UNROLL
    for (int j = 0; j < W / side; ++j) {
      result[i][j] = 0;
    }
  }
}

// to = scale * result, where rows and columns exist.
template <int W, typename T>
__device__ void write(const T (&result)[held][W / side], T scale, const Rows<T>& to, int64_t rows,
                      int64_t columns) {
  HEED_UNROLL
  for (int i = 0; i < held; ++i) {
    HEED_UNROLL
    for (int j = 0; j < W / side; ++j) {
      if (own_row(i) < rows && own_column(j) < columns) {
        to.at(own_row(i), own_column(j)) = scale * result[i][j];
      }
    }
  }
}

// Calls f with how many columns of a result a block makes, as a type's value: 64, or, where they
// fit the registers, 128. More columns are other blocks' work.
template <typename T, typename F>
void with_chunk(int64_t columns, F f) {
  if constexpr (sizeof(T) == 4) {
    if (columns > tile) {
      return f(std::integral_constant<int, 2 * tile>());
    }
  }
  f(std::integral_constant<int, tile>());
}

// One block for each of `tiles` tiles of every head, one more for each chunk of columns.
inline LaunchConfig tile_grid(int64_t heads, int64_t tiles, int64_t chunks, size_t shared_bytes) {
  return {dim3(static_cast<unsigned>(heads * tiles), static_cast<unsigned>(chunks)),
          dim3(side, side), shared_bytes};
}

}  // namespace heed::kernels::cuda
