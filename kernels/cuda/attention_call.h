#pragma once

#include <cmath>

#include "core/tensor.h"
#include "kernels/backend.h"
#include "kernels/cuda/random.h"
#include "kernels/cuda/reduction.h"

// What host and device agree on for attention: pointers, strides and sizes, and what becomes of a
// single weight.
namespace heed::kernels::cuda {

// One matrix of a tensor (B, H, rows, columns), any strides.
template <typename T>
struct Rows {
  T* data;
  int64_t row_stride;
  int64_t column_stride;

  __device__ T& at(int64_t row, int64_t column) const {
    return data[row * row_stride + column * column_stride];
  }
};

// All of them; no data when the tensor is undefined.
template <typename T>
struct Heads {
  T* data = nullptr;
  int64_t heads = 1;
  int64_t strides[4] = {};

  Heads() = default;
  explicit Heads(const Tensor& x) {
    if (x.defined()) {
      data = x.data<std::remove_const_t<T>>();
      heads = x.dim(1);
      for (int d = 0; d < 4; ++d) {
        strides[d] = x.strides()[d];
      }
    }
  }

  // From (row, column) on; head counts those of all batches.
  __device__ Rows<T> from(int64_t head, int64_t row, int64_t column = 0) const {
    return {data + head / heads * strides[0] + head % heads * strides[1] + row * strides[2] +
                column * strides[3],
            strides[2], strides[3]};
  }
};

template <typename T>
struct AttentionCall {
  int64_t heads;  // of all batches
  int64_t queries;
  int64_t keys;
  int64_t width;
  int64_t value_width;
  T scale;
  bool causal;
  bool drops;
  Dropout dropout;
  Heads<const T> query;
  Heads<const T> key;
  Heads<const T> value;
  Heads<const bool> mask;
  Heads<const T> bias;

  AttentionCall(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& may_attend,
                const Tensor& added, const AttentionRule& rule)
      : heads(q.dim(0) * q.dim(1)),
        queries(q.dim(2)),
        keys(k.dim(2)),
        width(q.dim(3)),
        value_width(v.dim(3)),
        scale(static_cast<T>(rule.scale)),
        causal(rule.causal),
        drops(rule.dropout > 0),
        dropout(rule.dropout, rule.random),
        query(q),
        key(k),
        value(v),
        mask(may_attend),
        bias(added) {}

  // Keys that come before those query l may not see for its place: bottom-right.
  __device__ int64_t limit(int64_t l) const {
    if (!causal) {
      return keys;
    }
    const int64_t seen = l + 1 + keys - queries;
    return seen < 0 ? 0 : seen > keys ? keys : seen;
  }
  // The first query that may see key s for its place.
  __device__ int64_t first(int64_t s) const {
    return causal && s > keys - queries ? s - (keys - queries) : 0;
  }
  __device__ bool may(int64_t head, int64_t l, int64_t s) const {
    return l < queries && s < limit(l) && (mask.data == nullptr || mask.from(head, l, s).data[0]);
  }
  // From the product of a query and a key; -inf where it may not attend.
  __device__ T score(int64_t head, int64_t l, int64_t s, T product) const {
    if (!may(head, l, s)) {
      return lowest<T>();
    }
    product *= scale;
    return bias.data == nullptr ? product : product + bias.from(head, l, s).data[0];
  }
  // 0 for a weight that dropout takes away, 1 / (1 - p) for the others, by what draw_kept() drew.
  template <int R, int C>
  __device__ T dropout_factor(const bool (&kept)[R][C], int row, int column) const {
    return !drops ? T{1} : kept[row][column] ? static_cast<T>(dropout.scale) : T{0};
  }
};

// Draws which weights of the tile at (l, s) dropout keeps: a row is C numbers on end. For the whole
// block; the barriers of the products around it keep writing and reading apart.
template <typename T, int R, int C>
__device__ void draw_kept(const AttentionCall<T>& call, int64_t head, int64_t l, int64_t s,
                          bool (&kept)[R][C]) {
  if (!call.drops) {
    return;
  }
  constexpr int blocks = C / 4 + 1;
  const auto own = static_cast<int>(threadIdx.y * blockDim.x + threadIdx.x);
  for (int e = own; e < R * blocks; e += static_cast<int>(blockDim.x * blockDim.y)) {
    const int row = e / blocks;
    const auto first = static_cast<uint64_t>((head * call.queries + l + row) * call.keys + s);
    call.dropout.each_of_block(first, C, e % blocks,
                               [&](int64_t column, bool keeps) { kept[row][column] = keeps; });
  }
}

// A row that may attend to nothing has the sum 0; exp(score - inf) is 0 in backward.
template <typename T>
__device__ T log_of_sum(T maximum, T sum) {
  return sum == 0 ? -lowest<T>() : maximum + std::log(sum);
}

// Of a row of weights.
template <typename T>
struct RowSums {
  T log_sum;
  T delta;  // sum(dy y)
};

// Dao et al. 2022, algorithm 4, in two passes so that every gradient has one writer: the weights P
// of each tile are worked out again from the log-sums. With dP = dy value^T, delta = sum(dy y) over
// each row and f the factors of dropout:
//   dS = P (f dP - delta) = dbias
//   dvalue = (f P)^T dy, dkey = scale dS^T query   (a block a tile of keys)
//   dquery = scale dS key                          (a block a tile of queries)
template <typename T>
struct AttentionGradients {
  Heads<const T> dy;
  const T* log_sum;
  const T* delta;
  Heads<T> dquery;
  Heads<T> dkey;
  Heads<T> dvalue;
  Heads<T> dbias;

  __device__ RowSums<T> row(const AttentionCall<T>& call, int64_t head, int64_t l) const {
    const int64_t row = head * call.queries + l;
    return l < call.queries ? RowSums<T>{log_sum[row], delta[row]} : RowSums<T>{-lowest<T>(), 0};
  }
};

// From the product of query and key to f P, from dP to dS, for the factor f of dropout.
template <typename T>
__device__ void weight_gradients(const AttentionCall<T>& call, int64_t head, int64_t l, int64_t s,
                                 const RowSums<T>& row, T factor, T& weight, T& dscore) {
  const T score = call.score(head, l, s, weight);
  // Nothing comes out of a weight of 0, whatever its cotangent holds.
  const T p = score == lowest<T>() ? T{0} : std::exp(score - row.log_sum);
  weight = p * factor;
  dscore = p == 0 ? T{0} : p * (dscore * factor - row.delta);
}

__device__ inline int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }

}  // namespace heed::kernels::cuda
