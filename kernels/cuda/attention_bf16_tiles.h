#pragma once

#include <cmath>
#include <type_traits>

#include "kernels/cuda/attention_call.h"
#include "kernels/cuda/mma.h"

// The two products that attention is made of, on tensor cores. f32 is rounded to bf16 on its way to
// shared memory. A block has four warps, each with 16 rows of every result in registers, as mma
// lays them out: result[j] holds columns 8 j to 8 j + 7.
namespace heed::kernels::cuda {

constexpr int bf16_warps = 4;
constexpr int bf16_threads = 32 * bf16_warps;
constexpr int bf16_tile = 16 * bf16_warps;  // rows that a block owns
constexpr int bf16_passed = 32;             // rows of a tile that it passes over

// R rows of W numbers, two a word. Four words more a row keep what a warp reads at once in
// different banks, rows or columns.
template <int R, int W>
struct Bf16Tile {
  uint32_t words[R][W / 2 + 4];
};

// Where this thread's element e of result[j] lies.
__device__ inline int result_row(int e) {
  return static_cast<int>(threadIdx.y * 16 + threadIdx.x / 4) + e / 2 * 8;
}
__device__ inline int result_column(int j, int e) {
  return j * 8 + static_cast<int>(threadIdx.x % 4) * 2 + e % 2;
}

// x, of which rows and columns exist, into a tile, 0 elsewhere. False when this thread saw inf or
// NaN.
template <int R, int W>
__device__ bool load_bf16(const Rows<const float>& x, int64_t rows, int64_t columns,
                          Bf16Tile<R, W>& tile) {
  bool finite = true;
  const int own = static_cast<int>(threadIdx.y * 32 + threadIdx.x);
  for (int e = own; e < R * W / 2; e += bf16_threads) {
    const int row = e / (W / 2);
    const int word = e % (W / 2);
    const auto number = [&](int column) {
      return row < rows && column < columns ? x.at(row, column) : 0.0F;
    };
    const uint32_t pair = bf16_pair(number(2 * word), number(2 * word + 1));
    finite = finite && is_finite_pair(pair);
    tile.words[row][word] = pair;
  }
  return finite;
}

template <int N>
__device__ void clear(float (&result)[N][4]) {
  HEED_UNROLL
  for (int j = 0; j < N; ++j) {
    HEED_UNROLL
    for (int e = 0; e < 4; ++e) {
      result[j][e] = 0;
    }
  }
}

// result = a b^T for a (64, W) and b (8 N, W).
template <int N, int W>
__device__ void product_of_rows(const Bf16Tile<bf16_tile, W>& a, const Bf16Tile<8 * N, W>& b,
                                float (&result)[N][4]) {
  clear(result);
  const auto group = threadIdx.x / 4;
  HEED_UNROLL
  for (int k = 0; k < W / 2; k += 8) {
    const uint32_t* upper = a.words[result_row(0)] + k + threadIdx.x % 4;
    const uint32_t* lower = a.words[result_row(2)] + k + threadIdx.x % 4;
    const uint32_t left[4] = {upper[0], lower[0], upper[4], lower[4]};
    HEED_UNROLL
    for (int j = 0; j < N; ++j) {
      const uint32_t* row = b.words[8 * j + group] + k + threadIdx.x % 4;
      const uint32_t right[2] = {row[0], row[4]};
      mma(result[j], left, right);
    }
  }
}

// Rows `row` and row + 1 of a column.
template <int R, int W>
__device__ uint32_t pair_of_column(const Bf16Tile<R, W>& tile, unsigned row, unsigned column) {
  const uint32_t first = tile.words[row][column / 2];
  const uint32_t second = tile.words[row + 1][column / 2];
  return column % 2 == 0 ? (first & 0xffff) | second << 16 : first >> 16 | (second & 0xffff0000);
}

// result += w x for weights w (64, 8 N) and x (8 N, W). What mma has given, it takes for a left
// side as it lies, rounded.
template <int N, int W>
__device__ void add_product(const float (&w)[N][4], const Bf16Tile<8 * N, W>& x,
                            float (&result)[W / 8][4]) {
  const unsigned group = threadIdx.x / 4;
  HEED_UNROLL
  for (int k = 0; k < N; k += 2) {
    const uint32_t left[4] = {bf16_pair(w[k][0], w[k][1]), bf16_pair(w[k][2], w[k][3]),
                              bf16_pair(w[k + 1][0], w[k + 1][1]),
                              bf16_pair(w[k + 1][2], w[k + 1][3])};
    const unsigned row = 8 * k + threadIdx.x % 4 * 2;
    HEED_UNROLL
    for (int j = 0; j < W / 8; ++j) {
      const uint32_t right[2] = {pair_of_column(x, row, 8 * j + group),
                                 pair_of_column(x, row + 8, 8 * j + group)};
      mma(result[j], left, right);
    }
  }
}

// For the whole block, where x is not finite: 0 * NaN is NaN, but inf or NaN is to get past no
// weight of 0. So the rows of x that have it become 0, their weights, unless 0, NaN.
template <int N, int W>
__device__ void isolate(float (&w)[N][4], Bf16Tile<8 * N, W>& x, float (&spoilt)[8 * N]) {
  __syncthreads();
  for (int row = static_cast<int>(threadIdx.y * 32 + threadIdx.x); row < 8 * N;
       row += bf16_threads) {
    spoilt[row] = 0;
    for (int i = 0; i < W / 2; ++i) {
      if (!is_finite_pair(x.words[row][i])) {
        x.words[row][i] = 0;
        spoilt[row] = NAN;
      }
    }
  }
  __syncthreads();
  HEED_UNROLL
  for (int j = 0; j < N; ++j) {
    HEED_UNROLL
    for (int e = 0; e < 4; ++e) {
      w[j][e] = w[j][e] == 0 ? 0 : w[j][e] + spoilt[result_column(j, e)];
    }
  }
}

// to = scale * result, where rows and columns exist.
template <int N>
__device__ void write(const float (&result)[N][4], float scale, const Rows<float>& to, int64_t rows,
                      int64_t columns) {
  HEED_UNROLL
  for (int j = 0; j < N; ++j) {
    HEED_UNROLL
    for (int e = 0; e < 4; ++e) {
      if (result_row(e) < rows && result_column(j, e) < columns) {
        to.at(result_row(e), result_column(j, e)) = scale * result[j][e];
      }
    }
  }
}

// Calls f with the width of the tiles that hold as many columns, as a type's value.
template <typename F>
void with_bf16_width(int64_t columns, F f) {
  if (columns <= 32) {
    f(std::integral_constant<int, 32>());
  } else if (columns <= 64) {
    f(std::integral_constant<int, 64>());
  } else {
    f(std::integral_constant<int, 128>());
  }
}

// A block for each of `tiles` tiles of every head.
inline LaunchConfig bf16_grid(int64_t heads, int64_t rows, size_t shared_bytes) {
  return {dim3(static_cast<unsigned>(heads * divide_up(rows, bf16_tile))), dim3(32, bf16_warps),
          shared_bytes};
}

}  // namespace heed::kernels::cuda
