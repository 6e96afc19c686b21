#pragma once

#include <algorithm>
#include <cstdint>

// What attention does with tiles of scores in scratch memory, by Google Highway with run-time
// dispatch: small products whose right side is packed, and the passes over the tile between them.
namespace heed::kernels {

// A matrix (rows, columns) with any strides, as the left side of a product reads it.
template <typename T>
struct Strided {
  const T* data;
  int64_t row_stride;
  int64_t column_stride;
};

// A packed matrix, as the right side of a product reads it: panels of `width` columns, each
// row-major, the last one filled up with zeros. Column c of row r is at
// data[c / width * panel_stride + r * width + c % width].
template <typename T>
struct Panels {
  T* data;
  int64_t width;
  int64_t panel_stride;

  Panels from_row(int64_t row) const { return {data + row * width, width, panel_stride}; }
  // The column begins a panel.
  Panels from_column(int64_t column) const {
    return {data + column / width * panel_stride, width, panel_stride};
  }
};

// The scores of `rows` queries and `keys` keys; both may be fewer than there is room for. Row r
// sees the first first_limit + r * limit_step of the keys, clamped to [0, keys].
template <typename T>
struct ScoreTile {
  T* data;
  int64_t leading;  // from row to row, in whole vectors
  int64_t rows;
  int64_t keys;
  int64_t first_limit;
  int64_t limit_step;

  int64_t limit(int64_t row) const {
    return std::clamp<int64_t>(first_limit + row * limit_step, 0, keys);
  }
};

template <typename T>
struct TileKernels {
  int64_t lanes;        // elements of a vector
  int64_t panel_width;  // the widest panel

  // to = scale * x, x (rows, columns) with any strides; false when x holds inf or NaN.
  bool (*pack)(const Strided<T>& x, int64_t rows, int64_t columns, T scale, const Panels<T>& to);
  // to (rows, columns) = scale * x^T, x (columns, rows) with any strides.
  void (*pack_transposed)(const Strided<T>& x, int64_t rows, int64_t columns, T scale,
                          const Panels<T>& to);
  // to = scale * from, the other way round: from has rows in whole vectors, to any strides.
  void (*unpack)(const T* from, int64_t from_leading, int64_t rows, int64_t columns, T scale, T* to,
                 int64_t row_stride, int64_t column_stride);
  // sums[r] = sum_c a[r, c] b[r, c]
  void (*row_products)(const Strided<T>& a, const Strided<T>& b, int64_t rows, int64_t columns,
                       T* sums);
  // sum += sum_r factors[r] x[r], x (rows, columns) with any strides; rows whose factor is 0 are
  // not read.
  void (*add_rows)(const T* factors, const Strided<T>& x, int64_t rows, int64_t columns, T* sum);
  // c (m, n) = a (m, k) b (k, n), or c += a b. Rows of c have room for whole vectors.
  void (*product)(int64_t m, int64_t n, int64_t k, const Strided<T>& a, const Panels<T>& b, T* c,
                  int64_t c_leading, bool add);
  // scores += bias
  void (*add_bias)(const ScoreTile<T>& scores, const Strided<T>& bias);
  // Scores become -inf where the mask is false.
  void (*apply_mask)(const ScoreTile<T>& scores, const Strided<bool>& mask);
  // One step of the online softmax (Milakov & Gimelshein 2018): scores become exp(score - maximum),
  // 0 past the limit; the running maximum and sum of each row are brought up to date, and what was
  // gathered in output (rows, columns) before is scaled to the new maximum.
  void (*online_softmax)(const ScoreTile<T>& scores, T* maximum, T* sum, T* output,
                         int64_t output_leading, int64_t columns);
  // scores = exp(score - log_sum[row]), 0 past the limit.
  void (*weights)(const ScoreTile<T>& scores, const T* log_sum);
  // dweights = weights (dweights - delta[row]), 0 where the weight is 0.
  void (*score_gradient)(const ScoreTile<T>& weights, T* dweights, const T* delta);
};

// For float and double.
template <typename T>
const TileKernels<T>& tile_kernels();

}  // namespace heed::kernels
