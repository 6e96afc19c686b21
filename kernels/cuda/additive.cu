#include <cmath>

#include "kernels/cuda/cuda_backend.h"
#include "kernels/cuda/softmax.h"

namespace heed::kernels {
namespace cuda {

constexpr int threads = 256;
constexpr int warps = threads / 32;

__device__ inline int own_lane() { return static_cast<int>(threadIdx.x % 32); }
__device__ inline int own_warp() { return static_cast<int>(threadIdx.x / 32); }

// Sizes (B, S, A) of the keys, and what is read of them.
template <typename T>
struct AdditiveCall {
  int64_t batch;
  int64_t positions;
  int64_t width;
  const T* query;
  const T* keys;
  const T* weight;

  AdditiveCall(const Tensor& q, const Tensor& k, const Tensor& w)
      : batch(k.dim(0)),
        positions(k.dim(1)),
        width(k.dim(2)),
        query(q.data<T>()),
        keys(k.data<T>()),
        weight(w.data<T>()) {}

  // Of position s of sentence b, by a warp.
  __device__ T score(int64_t b, int64_t s) const {
    const T* q = query + b * width;
    const T* k = keys + (b * positions + s) * width;
    T sum = 0;
    for (int64_t a = own_lane(); a < width; a += 32) {
      sum += weight[a] * std::tanh(q[a] + k[a]);
    }
    return reduce_lanes(sum, Plus());
  }
};

// A warp a score.
template <typename T>
__global__ void additive_score_kernel(AdditiveCall<T> call, T* scores) {
  const int64_t row = int64_t{blockIdx.x} * warps + own_warp();
  if (row < call.batch * call.positions) {
    const T score = call.score(row / call.positions, row % call.positions);
    if (own_lane() == 0) {
      scores[row] = score;
    }
  }
}

template <typename T>
struct ScoreGradients {
  T* query;
  T* keys;
  T* weights;  // (B, A): of each sentence
};

// With t = tanh(query + keys), worked out again: dkeys = dscores weight (1 - t^2), dquery its sum
// over positions, and the sum of dscores t. A thread goes down column a of sentence b.
template <typename T>
__device__ void add_column(const AdditiveCall<T>& call, int64_t b, int64_t a, const T* dscores,
                           const ScoreGradients<T>& gradients) {
  const int64_t item = b * call.width + a;
  const T q = call.query[item];
  const T w = call.weight[a];
  T query_sum = 0;
  T weight_sum = 0;
  for (int64_t s = 0; s < call.positions; ++s) {
    const int64_t at = (b * call.positions + s) * call.width + a;
    const T g = dscores[b * call.positions + s];
    T dkey = 0;
    if (g != 0) {
      const T t = std::tanh(q + call.keys[at]);
      weight_sum += g * t;
      dkey = g * w * (1 - t * t);
      query_sum += dkey;
    }
    gradients.keys[at] = dkey;
  }
  gradients.query[item] = query_sum;
  gradients.weights[item] = weight_sum;
}

template <typename T>
__global__ void additive_score_backward_kernel(AdditiveCall<T> call, const T* dscores,
                                               ScoreGradients<T> gradients) {
  each_item(call.batch * call.width, [&](int64_t item) {
    add_column(call, item / call.width, item % call.width, dscores, gradients);
  });
}

// A block a sentence: its scores, a warp each, become weights where they lie; then a thread a
// column of the context. Values with the weight 0 are not read.
template <typename T>
__global__ void additive_attention_kernel(AdditiveCall<T> call, Mask mask, int64_t value_width,
                                          const T* values, T* weights, T* context) {
  const int64_t b = blockIdx.x;
  T* own = weights + b * call.positions;
  for (int64_t s = own_warp(); s < call.positions; s += warps) {
    const T score = mask.at(b * call.positions + s) ? call.score(b, s) : lowest<T>();
    if (own_lane() == 0) {
      own[s] = score;
    }
  }
  __syncthreads();
  softmax_row<T>(
      call.positions, false, [&](int64_t s) { return own[s]; },
      [&](int64_t s, T weight) { own[s] = weight; });
  __syncthreads();
  for (int64_t c = threadIdx.x; c < value_width; c += threads) {
    T sum = 0;
    for (int64_t s = 0; s < call.positions; ++s) {
      if (own[s] != 0) {
        sum += own[s] * values[(b * call.positions + s) * value_width + c];
      }
    }
    context[b * value_width + c] = sum;
  }
}

// A block a sentence. With dw = dweights + values dcontext: dscores = w (dw - sum(w dw)), which
// lies in memory of its own, dvalues = w dcontext, and then as the scores alone.
template <typename T>
__global__ void additive_attention_backward_kernel(AdditiveCall<T> call, int64_t value_width,
                                                   const T* values, const T* weights,
                                                   const T* dweights, const T* dcontext, T* dscores,
                                                   T* dvalues, ScoreGradients<T> gradients) {
  const int64_t b = blockIdx.x;
  const int64_t first = b * call.positions;
  const T* g = dcontext + b * value_width;
  for (int64_t s = own_warp(); s < call.positions; s += warps) {
    const T w = weights[first + s];
    const int64_t row = (first + s) * value_width;
    T dot = 0;
    for (int64_t c = own_lane(); c < value_width; c += 32) {
      dvalues[row + c] = w == 0 ? T{0} : w * g[c];
      dot += w == 0 ? T{0} : g[c] * values[row + c];
    }
    dot = reduce_lanes(dot, Plus());
    if (own_lane() == 0) {
      dscores[first + s] = w == 0 ? T{0} : dot + dweights[first + s];
    }
  }
  __syncthreads();
  const T total = reduce_items(call.positions, T{0}, Plus(),
                               [&](int64_t s) { return weights[first + s] * dscores[first + s]; });
  for (int64_t s = threadIdx.x; s < call.positions; s += threads) {
    dscores[first + s] = weights[first + s] * (dscores[first + s] - total);
  }
  __syncthreads();
  for (int64_t a = threadIdx.x; a < call.width; a += threads) {
    add_column(call, b, a, dscores, gradients);
  }
}

inline LaunchConfig block_a_sentence(int64_t batch) {
  return {dim3(static_cast<unsigned>(batch)), dim3(threads)};
}

}  // namespace cuda

void CudaBackend::additive_score(const Tensor& query, const Tensor& keys, const Tensor& weight,
                                 const Tensor& scores) {
  dispatch_floating("additive_score", query.dtype(), [&]<typename T>(T) {
    const int64_t blocks = cuda::divide_up(scores.numel(), cuda::warps);
    cuda::launch(cuda::additive_score_kernel<T>,
                 {dim3(static_cast<unsigned>(blocks)), dim3(cuda::threads)},
                 cuda::AdditiveCall<T>(query, keys, weight), scores.data<T>());
  });
}

void CudaBackend::additive_score_backward(const Tensor& query, const Tensor& keys,
                                          const Tensor& weight, const Tensor& dscores,
                                          const Tensor& dquery, const Tensor& dkeys,
                                          const Tensor& dweight) {
  const Tensor dweights = Tensor::empty(query.shape(), query.dtype(), query.device());
  dispatch_floating("additive_score_backward", query.dtype(), [&]<typename T>(T) {
    cuda::launch(cuda::additive_score_backward_kernel<T>, cuda::spread(query.numel()),
                 cuda::AdditiveCall<T>(query, keys, weight), dscores.data<T>(),
                 cuda::ScoreGradients<T>{dquery.data<T>(), dkeys.data<T>(), dweights.data<T>()});
  });
  sum_rows(dweights, dweight);
}

void CudaBackend::additive_attention(const Tensor& query, const Tensor& keys, const Tensor& values,
                                     const Tensor& mask, const Tensor& weight,
                                     const Tensor& weights, const Tensor& context) {
  dispatch_floating("additive_attention", query.dtype(), [&]<typename T>(T) {
    cuda::launch(cuda::additive_attention_kernel<T>, cuda::block_a_sentence(keys.dim(0)),
                 cuda::AdditiveCall<T>(query, keys, weight), cuda::Mask(mask), values.dim(2),
                 values.data<T>(), weights.data<T>(), context.data<T>());
  });
}

void CudaBackend::additive_attention_backward(const Tensor& query, const Tensor& keys,
                                              const Tensor& values, const Tensor& weight,
                                              const Tensor& weights, const Tensor& dweights,
                                              const Tensor& dcontext, const Tensor& dquery,
                                              const Tensor& dkeys, const Tensor& dvalues,
                                              const Tensor& dweight) {
  const auto scratch = [&](const Shape& shape) {
    return Tensor::empty(shape, query.dtype(), query.device());
  };
  const Tensor dscores = scratch(weights.shape());
  const Tensor weight_sums = scratch(query.shape());
  dispatch_floating("additive_attention_backward", query.dtype(), [&]<typename T>(T) {
    cuda::launch(cuda::additive_attention_backward_kernel<T>, cuda::block_a_sentence(keys.dim(0)),
                 cuda::AdditiveCall<T>(query, keys, weight), values.dim(2), values.data<T>(),
                 weights.data<T>(), dweights.data<T>(), dcontext.data<T>(), dscores.data<T>(),
                 dvalues.data<T>(),
                 cuda::ScoreGradients<T>{dquery.data<T>(), dkeys.data<T>(), weight_sums.data<T>()});
  });
  sum_rows(weight_sums, dweight);
}

}  // namespace heed::kernels
