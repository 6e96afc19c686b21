#include <cmath>

#include "kernels/cuda/cuda_backend.h"
#include "kernels/cuda/reduction.h"

namespace heed::kernels {
namespace cuda {

// A block a row.
template <typename T>
__global__ void cross_entropy_kernel(int64_t classes, const T* logits, const int32_t* targets,
                                     T smoothing, int64_t ignore, T* loss, T* nll, T* largest,
                                     T* sum) {
  const int64_t n = blockIdx.x;
  const T* row = logits + n * classes;
  const int32_t target = targets[n];
  if (target == ignore) {
    if (threadIdx.x == 0) {
      loss[n] = nll[n] = largest[n] = 0;
      sum[n] = 1;
    }
    return;
  }
  const T top = reduce_items(classes, lowest<T>(), Larger(), [&](int64_t v) { return row[v]; });
  const T total =
      reduce_items(classes, T{0}, Plus(), [&](int64_t v) { return std::exp(row[v] - top); });
  const T log_sum = std::log(total);
  // Differences before sums: a large logit would cost the loss its digits.
  const T own = (top - row[target]) + log_sum;
  T all = 0;
  if (smoothing != 0) {
    const double distance = reduce_items(
        classes, 0.0, Plus(), [&](int64_t v) { return static_cast<double>(top - row[v]); });
    all = static_cast<T>(distance / static_cast<double>(classes)) + log_sum;
  }
  if (threadIdx.x == 0) {
    largest[n] = top;
    sum[n] = total;
    nll[n] = own;
    loss[n] = (1 - smoothing) * own + smoothing * all;
  }
}

template <typename T>
__global__ void cross_entropy_backward_kernel(int64_t classes, const T* logits,
                                              const int32_t* targets, T hit, T spread,
                                              int64_t ignore, const T* largest, const T* sum,
                                              const T* dloss, int64_t dloss_stride, T* dlogits) {
  const int64_t n = blockIdx.x;
  const int32_t target = targets[n];
  const bool used = target != ignore;
  const T g = used ? dloss[n * dloss_stride] : T{0};
  for (int64_t v = threadIdx.x; v < classes; v += blockDim.x) {
    T value = 0;
    if (used) {
      value = g * (std::exp(logits[n * classes + v] - largest[n]) / sum[n] - spread);
      value -= v == target ? g * hit : T{0};
    }
    dlogits[n * classes + v] = value;
  }
}

}  // namespace cuda

void CudaBackend::cross_entropy(const Tensor& logits, const Tensor& targets, double smoothing,
                                int64_t ignore, const Tensor& loss, const Tensor& nll,
                                const Tensor& largest, const Tensor& sum) {
  dispatch_floating("cross_entropy", logits.dtype(), [&]<typename T>(T) {
    cuda::launch(cuda::cross_entropy_kernel<T>, cuda::block_a_row(logits.dim(0), logits.dim(1)),
                 logits.dim(1), logits.data<T>(), targets.data<int32_t>(),
                 static_cast<T>(smoothing), ignore, loss.data<T>(), nll.data<T>(),
                 largest.data<T>(), sum.data<T>());
  });
}

void CudaBackend::cross_entropy_backward(const Tensor& logits, const Tensor& targets,
                                         double smoothing, int64_t ignore, const Tensor& largest,
                                         const Tensor& sum, const Tensor& dloss,
                                         const Tensor& dlogits) {
  const int64_t classes = logits.dim(1);
  dispatch_floating("cross_entropy_backward", logits.dtype(), [&]<typename T>(T) {
    cuda::launch(cuda::cross_entropy_backward_kernel<T>, cuda::block_a_row(logits.dim(0), classes),
                 classes, logits.data<T>(), targets.data<int32_t>(), static_cast<T>(1 - smoothing),
                 static_cast<T>(smoothing) / static_cast<T>(classes), ignore, largest.data<T>(),
                 sum.data<T>(), dloss.data<T>(), dloss.strides()[0], dlogits.data<T>());
  });
}

}  // namespace heed::kernels
