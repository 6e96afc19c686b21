#include <algorithm>

#include "kernels/cpu/attention_tiles.h"
#include "kernels/cpu/cpu_backend.h"
#include "kernels/cpu/rowwise.h"
#include "kernels/cpu/vector_math.h"

namespace heed::kernels {
namespace {

// x (B, N), dense, as matrices (B, N, 1).
Tensor as_columns(const Tensor& x) {
  const int64_t n = x.dim(1);
  return x.as_strided({x.dim(0), n, 1}, {n, 1, 1}, x.offset());
}

// y[b, s] = factors[b, s] x[b], 0 where the factor is, for factors (B, S), x (B, C), y (B, S, C).
void multiply_rows(const Tensor& factors, const Tensor& x, const Tensor& y) {
  const int64_t positions = y.dim(1);
  const int64_t columns = y.dim(2);
  dispatch_floating("multiply_rows", y.dtype(), [&]<typename T>(T) {
    for_each_row(y.dim(0) * positions, columns, [&](int64_t row) {
      const T factor = factors.data<T>()[row];
      const T* from = x.data<T>() + row / positions * columns;
      T* to = y.data<T>() + row * columns;
      for (int64_t c = 0; c < columns; ++c) {
        to[c] = factor == 0 ? T{0} : factor * from[c];
      }
    });
  });
}

}  // namespace

void CpuBackend::additive_score(const Tensor& query, const Tensor& keys, const Tensor& weight,
                                const Tensor& scores) {
  const int64_t positions = keys.dim(1);
  const int64_t width = keys.dim(2);
  dispatch_floating("additive_score", query.dtype(), [&]<typename T>(T) {
    for_each_row(keys.dim(0) * positions, 4 * width, [&](int64_t row) {
      scores.data<T>()[row] =
          vector_math::dot_tanh_of_sum(weight.data<T>(), query.data<T>() + row / positions * width,
                                       keys.data<T>() + row * width, width);
    });
  });
}

// With t = tanh(query + keys), recomputed: dkeys = dscores weight (1 - t^2),
// dquery = sum over positions of dkeys, dweight = sum of dscores t.
void CpuBackend::additive_score_backward(const Tensor& query, const Tensor& keys,
                                         const Tensor& weight, const Tensor& dscores,
                                         const Tensor& dquery, const Tensor& dkeys,
                                         const Tensor& dweight) {
  const int64_t positions = keys.dim(1);
  const int64_t width = keys.dim(2);
  dispatch_floating("additive_score_backward", query.dtype(), [&]<typename T>(T) {
    const T* w = weight.data<T>();
    sum_over_rows(keys.dim(0), width, dweight.data<T>(),
                  [&](int64_t begin, int64_t end, T* partial) {
                    std::vector<T> t(static_cast<size_t>(width));
                    for (int64_t b = begin; b < end; ++b) {
                      const T* q = query.data<T>() + b * width;
                      T* dq = dquery.data<T>() + b * width;
                      std::fill_n(dq, width, T{0});
                      for (int64_t s = 0; s < positions; ++s) {
                        const int64_t row = b * positions + s;
                        const T g = dscores.data<T>()[row];
                        T* dk = dkeys.data<T>() + row * width;
                        if (g == 0) {
                          std::fill_n(dk, width, T{0});
                          continue;
                        }
                        vector_math::tanh_of_sum(q, keys.data<T>() + row * width, t.data(), width);
                        for (int64_t a = 0; a < width; ++a) {
                          const T value = t[static_cast<size_t>(a)];
                          partial[a] += g * value;
                          dk[a] = g * w[a] * (1 - value * value);
                          dq[a] += dk[a];
                        }
                      }
                    }
                  });
  });
}

void CpuBackend::additive_attention(const Tensor& query, const Tensor& keys, const Tensor& values,
                                    const Tensor& mask, const Tensor& weight, const Tensor& weights,
                                    const Tensor& context) {
  const Tensor scores = Tensor::empty(weights.shape(), weights.dtype(), weights.device());
  additive_score(query, keys, weight, scores);
  softmax(scores, mask, weights);
  const int64_t positions = values.dim(1);
  const int64_t columns = values.dim(2);
  dispatch_floating("additive_attention", values.dtype(), [&]<typename T>(T) {
    for_each_row(values.dim(0), positions * columns, [&](int64_t b) {
      T* sum = context.data<T>() + b * columns;
      std::fill_n(sum, columns, T{0});
      // Values whose weight is 0 are not read.
      tile_kernels<T>().add_rows(weights.data<T>() + b * positions,
                                 {values.data<T>() + b * positions * columns, columns, 1},
                                 positions, columns, sum);
    });
  });
}

void CpuBackend::additive_attention_backward(const Tensor& query, const Tensor& keys,
                                             const Tensor& values, const Tensor& weight,
                                             const Tensor& weights, const Tensor& dweights,
                                             const Tensor& dcontext, const Tensor& dquery,
                                             const Tensor& dkeys, const Tensor& dvalues,
                                             const Tensor& dweight) {
  const auto scratch = [&] {
    return Tensor::empty(weights.shape(), weights.dtype(), weights.device());
  };
  const Tensor all_dweights = scratch();
  const Tensor dscores = scratch();
  copy(dweights, all_dweights);
  matmul(values, as_columns(dcontext), as_columns(all_dweights), 1);
  softmax_backward(weights, all_dweights, dscores);
  multiply_rows(weights, dcontext, dvalues);
  additive_score_backward(query, keys, weight, dscores, dquery, dkeys, dweight);
}

}  // namespace heed::kernels
