#pragma once

#include <algorithm>
#include <vector>

#include "core/tensor.h"
#include "kernels/backend.h"
#include "kernels/cpu/attention_tiles.h"
#include "kernels/cpu/vector_math.h"

// What both directions of attention share: how a call is cut into tiles, and how the scores of one
// come about.
namespace heed::kernels {

// Queries and keys of a tile: both tiles of a backward step and what they are multiplied with stay
// in the second-level cache.
inline constexpr int64_t query_block = 48;
inline constexpr int64_t key_block = 256;

inline int64_t round_up(int64_t n, int64_t step) { return (n + step - 1) / step * step; }

// Scratch memory from the device's allocator, given back when this goes.
template <typename T>
class Scratch {
 public:
  Scratch() : kernels_(tile_kernels<T>()) {}

  T* take(int64_t elements) {
    memory_.push_back(Tensor::empty({elements}, dtype_of<T>(), Device{}));
    return memory_.back().template data<T>();
  }
  // Room for a packed matrix.
  Panels<T> panels(int64_t rows, int64_t columns) {
    const int64_t width =
        std::clamp(round_up(columns, kernels_.lanes), kernels_.lanes, kernels_.panel_width);
    return {take(round_up(columns, width) * rows), width, width * rows};
  }

 private:
  const TileKernels<T>& kernels_;
  std::vector<Tensor> memory_;
};

// The matrices of a tensor (B, H, rows, columns).
template <typename T>
class Heads {
 public:
  explicit Heads(const Tensor& x)
      : data_(x.defined() ? x.data<T>() : nullptr),
        strides_(x.defined() ? x.strides() : Shape{0, 0, 0, 0}),
        heads_(x.defined() ? x.dim(1) : 1) {}

  bool defined() const { return data_ != nullptr; }
  int64_t row_stride() const { return strides_[2]; }
  int64_t column_stride() const { return strides_[3]; }
  T* at(int64_t head, int64_t row, int64_t column = 0) const {
    return data_ + head / heads_ * strides_[0] + head % heads_ * strides_[1] + row * strides_[2] +
           column * strides_[3];
  }
  Strided<T> from(int64_t head, int64_t row, int64_t column = 0) const {
    return {at(head, row, column), strides_[2], strides_[3]};
  }

 private:
  T* data_;
  Shape strides_;
  int64_t heads_;
};

// c += a b without the products of a's zeros: the slow way, for a b that holds inf or NaN, which
// must not get past a weight of 0.
template <typename T>
void add_product_of_nonzeros(int64_t m, int64_t n, int64_t k, const Strided<T>& a,
                             const Panels<T>& b, T* c, int64_t c_leading) {
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t p = 0; p < k; ++p) {
      const T factor = a.data[i * a.row_stride + p * a.column_stride];
      for (int64_t j = 0; j < n && factor != 0; ++j) {
        c[i * c_leading + j] +=
            factor * b.data[j / b.width * b.panel_stride + p * b.width + j % b.width];
      }
    }
  }
}

template <typename T>
struct AttentionProblem {
  AttentionProblem(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& may_attend,
                   const Tensor& added, const AttentionRule& the_rule)
      : kernels(tile_kernels<T>()),
        rule(the_rule),
        heads(q.dim(0) * q.dim(1)),
        queries(q.dim(2)),
        keys(k.dim(2)),
        width(q.dim(3)),
        value_width(v.dim(3)),
        query(q),
        key(k),
        value(v),
        mask(may_attend),
        bias(added),
        ones(static_cast<size_t>(rule.dropout > 0 ? key_block : 0), T{1}) {}

  const TileKernels<T>& kernels;
  AttentionRule rule;
  int64_t heads;  // of all batches
  int64_t queries;
  int64_t keys;
  int64_t width;
  int64_t value_width;
  Heads<T> query;
  Heads<T> key;
  Heads<T> value;
  Heads<bool> mask;
  Heads<T> bias;
  std::vector<T> ones;

  int64_t query_blocks() const { return (queries + query_block - 1) / query_block; }
  int64_t key_blocks() const { return (keys + key_block - 1) / key_block; }
  T scale() const { return static_cast<T>(rule.scale); }

  // Keys that come before those query l may not see for their place.
  int64_t limit(int64_t l) const {
    return rule.causal ? std::clamp<int64_t>(l + 1 + keys - queries, 0, keys) : keys;
  }

  // The tile of queries l.. and keys s.., without keys that none of its queries sees.
  ScoreTile<T> tile(T* data, int64_t l, int64_t s) const {
    const int64_t rows = std::min(query_block, queries - l);
    const int64_t columns = std::min(key_block, limit(l + rows - 1) - s);
    if (!rule.causal) {
      return {data, key_block, rows, columns, columns, 0};
    }
    return {data, key_block, rows, columns, l + 1 + keys - queries - s, 1};
  }

  // scale query key^T + bias, -inf where masked. keys_packed (D, keys of the tile) holds scale key.
  void scores(int64_t head, int64_t l, int64_t s, const Panels<T>& keys_packed,
              const ScoreTile<T>& tile) const {
    kernels.product(tile.rows, tile.keys, width, query.from(head, l), keys_packed, tile.data,
                    tile.leading, false);
    bias_and_mask(head, l, s, tile);
  }

  void bias_and_mask(int64_t head, int64_t l, int64_t s, const ScoreTile<T>& tile) const {
    if (bias.defined()) {
      kernels.add_bias(tile, bias.from(head, l, s));
    }
    if (mask.defined()) {
      kernels.apply_mask(tile, mask.from(head, l, s));
    }
  }

  // 0 for the weights that dropout takes away, 1 / (1 - p) for the others.
  void dropout_factors(int64_t head, int64_t l, int64_t s, const ScoreTile<T>& tile,
                       T* factors) const {
    for (int64_t r = 0; r < tile.rows; ++r) {
      RandomState random = rule.random;
      random.offset += static_cast<uint64_t>((head * queries + l + r) * keys + s);
      vector_math::dropout(random, rule.dropout, ones.data(), factors + r * tile.leading,
                           tile.keys);
    }
  }

  void add_product(int64_t m, int64_t n, int64_t k, const Strided<T>& a, const Panels<T>& b,
                   bool b_finite, T* c, int64_t c_leading) const {
    if (b_finite) {
      kernels.product(m, n, k, a, b, c, c_leading, true);
    } else {
      add_product_of_nonzeros(m, n, k, a, b, c, c_leading);
    }
  }
};

// y = x * factors over a tile.
template <typename T>
void multiply(const ScoreTile<T>& tile, const T* x, const T* factors, T* y) {
  for (int64_t r = 0; r < tile.rows; ++r) {
    const int64_t begin = r * tile.leading;
    for (int64_t j = begin; j < begin + tile.keys; ++j) {
      y[j] = x[j] * factors[j];
    }
  }
}

// Units of work that wake a further thread are at least this many multiplications.
inline int64_t units_a_part(int64_t multiplications_a_unit) {
  constexpr int64_t least = 1 << 16;
  return std::max<int64_t>(1, least / std::max<int64_t>(1, multiplications_a_unit));
}

}  // namespace heed::kernels
