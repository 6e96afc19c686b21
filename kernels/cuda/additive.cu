#include <cmath>

#include "kernels/cuda/cuda_backend.h"
#include "kernels/cuda/reduction.h"

namespace heed::kernels {
namespace cuda {

// A block a score.
template <typename T>
__global__ void additive_score_kernel(int64_t positions, int64_t width, const T* query,
                                      const T* keys, const T* weight, T* scores) {
  const int64_t row = blockIdx.x;
  const T* q = query + row / positions * width;
  const T* k = keys + row * width;
  const T score = reduce_items(width, T{0}, Plus(),
                               [&](int64_t a) { return weight[a] * std::tanh(q[a] + k[a]); });
  if (threadIdx.x == 0) {
    scores[row] = score;
  }
}

// With t = tanh(query + keys), worked out again: dkeys = dscores weight (1 - t^2), dquery its sum
// over positions, and a sum of dscores t for each row of the batch, dweights (B, A). A thread a
// column of one row goes through the positions.
template <typename T>
__global__ void additive_score_backward_kernel(int64_t rows, int64_t positions, int64_t width,
                                               const T* query, const T* keys, const T* weight,
                                               const T* dscores, T* dquery, T* dkeys, T* dweights) {
  each_item(rows * width, [&](int64_t item) {
    const int64_t b = item / width;
    const int64_t a = item % width;
    T query_sum = 0;
    T weight_sum = 0;
    for (int64_t s = 0; s < positions; ++s) {
      const int64_t row = b * positions + s;
      const T g = dscores[row];
      T dkey = 0;
      if (g != 0) {
        const T t = std::tanh(query[item] + keys[row * width + a]);
        weight_sum += g * t;
        dkey = g * weight[a] * (1 - t * t);
        query_sum += dkey;
      }
      dkeys[row * width + a] = dkey;
    }
    dquery[item] = query_sum;
    dweights[item] = weight_sum;
  });
}

}  // namespace cuda

void CudaBackend::additive_score(const Tensor& query, const Tensor& keys, const Tensor& weight,
                                 const Tensor& scores) {
  dispatch_floating("additive_score", query.dtype(), [&]<typename T>(T) {
    cuda::launch(cuda::additive_score_kernel<T>, cuda::block_a_row(scores.numel(), keys.dim(2)),
                 keys.dim(1), keys.dim(2), query.data<T>(), keys.data<T>(), weight.data<T>(),
                 scores.data<T>());
  });
}

void CudaBackend::additive_score_backward(const Tensor& query, const Tensor& keys,
                                          const Tensor& weight, const Tensor& dscores,
                                          const Tensor& dquery, const Tensor& dkeys,
                                          const Tensor& dweight) {
  const Tensor dweights = Tensor::empty(query.shape(), query.dtype(), query.device());
  dispatch_floating("additive_score_backward", query.dtype(), [&]<typename T>(T) {
    cuda::launch(cuda::additive_score_backward_kernel<T>, cuda::spread(query.numel()), keys.dim(0),
                 keys.dim(1), keys.dim(2), query.data<T>(), keys.data<T>(), weight.data<T>(),
                 dscores.data<T>(), dquery.data<T>(), dkeys.data<T>(), dweights.data<T>());
  });
  sum_rows(dweights, dweight);
}

}  // namespace heed::kernels
