#include "kernels/cuda/cuda_backend.h"
#include "kernels/cuda/reduction.h"

namespace heed::kernels {
namespace cuda {

template <typename T>
__global__ void max_pairs_kernel(int64_t count, const T* x, T* y) {
  each_item(count, [&](int64_t i) { y[i] = Larger()(x[2 * i], x[2 * i + 1]); });
}

template <typename T>
__global__ void max_pairs_backward_kernel(int64_t count, const T* x, const T* dy, T* dx) {
  each_item(count, [&](int64_t i) {
    const bool second = x[2 * i + 1] > x[2 * i];
    dx[2 * i] = second ? T{0} : dy[i];
    dx[2 * i + 1] = second ? dy[i] : T{0};
  });
}

}  // namespace cuda

void CudaBackend::max_pairs(const Tensor& x, const Tensor& y) {
  dispatch_floating("max_pairs", x.dtype(), [&]<typename T>(T) {
    cuda::launch(cuda::max_pairs_kernel<T>, cuda::spread(y.numel()), y.numel(), x.data<T>(),
                 y.data<T>());
  });
}

void CudaBackend::max_pairs_backward(const Tensor& x, const Tensor& dy, const Tensor& dx) {
  dispatch_floating("max_pairs_backward", x.dtype(), [&]<typename T>(T) {
    cuda::launch(cuda::max_pairs_backward_kernel<T>, cuda::spread(dy.numel()), dy.numel(),
                 x.data<T>(), dy.data<T>(), dx.data<T>());
  });
}

}  // namespace heed::kernels
