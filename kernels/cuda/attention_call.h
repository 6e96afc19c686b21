#pragma once

#include "core/tensor.h"
#include "kernels/backend.h"
#include "kernels/cuda/random.h"

// What host and device agree on for attention: pointers, strides and sizes, nothing else.
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
  __device__ bool may(int64_t head, int64_t l, int64_t s) const {
    return l < queries && s < limit(l) && (mask.data == nullptr || mask.from(head, l, s).data[0]);
  }
};

}  // namespace heed::kernels::cuda
