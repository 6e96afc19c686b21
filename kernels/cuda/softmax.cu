#include "kernels/cuda/cuda_backend.h"
#include "kernels/cuda/softmax.h"

namespace heed::kernels {
namespace cuda {

// A block a row. What a masked entry holds is never read.
template <typename T>
__global__ void softmax_kernel(int64_t width, const T* x, Mask mask, bool logarithm, T* y) {
  const int64_t first = int64_t{blockIdx.x} * width;
  softmax_row<T>(
      width, logarithm, [&](int64_t i) { return mask.at(first + i) ? x[first + i] : lowest<T>(); },
      [&](int64_t i, T result) { y[first + i] = result; });
}

// An entry that takes no part has y = 0; what its cotangent holds must not reach the others.
template <typename T>
__global__ void softmax_backward_kernel(int64_t width, const T* y, const T* dy, T* dx) {
  const int64_t first = int64_t{blockIdx.x} * width;
  const T dot = reduce_items(width, T{0}, Plus(), [&](int64_t i) {
    return y[first + i] == 0 ? T{0} : y[first + i] * dy[first + i];
  });
  for (int64_t i = threadIdx.x; i < width; i += blockDim.x) {
    const T a = y[first + i];
    dx[first + i] = a == 0 ? T{0} : a * (dy[first + i] - dot);
  }
}

template <typename T>
__global__ void log_softmax_backward_kernel(int64_t width, const T* y, const T* dy, T* dx) {
  const int64_t first = int64_t{blockIdx.x} * width;
  const T sum = reduce_items(width, T{0}, Plus(), [&](int64_t i) {
    return y[first + i] == lowest<T>() ? T{0} : dy[first + i];
  });
  for (int64_t i = threadIdx.x; i < width; i += blockDim.x) {
    const T log_p = y[first + i];
    dx[first + i] = log_p == lowest<T>() ? T{0} : dy[first + i] - std::exp(log_p) * sum;
  }
}

// A block for each row along the last dimension.
LaunchConfig rows_of(const Tensor& x) {
  const int64_t width = x.dim(-1);
  return block_a_row(width == 0 ? 0 : x.numel() / width, width);
}

template <typename T>
void softmax_for(const Tensor& x, const Tensor& mask, const Tensor& y, bool logarithm) {
  launch(softmax_kernel<T>, rows_of(x), x.dim(-1), x.data<T>(), Mask(mask), logarithm, y.data<T>());
}

}  // namespace cuda

void CudaBackend::softmax(const Tensor& x, const Tensor& mask, const Tensor& y) {
  dispatch_floating("softmax", x.dtype(),
                    [&]<typename T>(T) { cuda::softmax_for<T>(x, mask, y, false); });
}

void CudaBackend::log_softmax(const Tensor& x, const Tensor& mask, const Tensor& y) {
  dispatch_floating("log_softmax", x.dtype(),
                    [&]<typename T>(T) { cuda::softmax_for<T>(x, mask, y, true); });
}

void CudaBackend::softmax_backward(const Tensor& y, const Tensor& dy, const Tensor& dx) {
  dispatch_floating("softmax_backward", y.dtype(), [&]<typename T>(T) {
    cuda::launch(cuda::softmax_backward_kernel<T>, cuda::rows_of(y), y.dim(-1), y.data<T>(),
                 dy.data<T>(), dx.data<T>());
  });
}

void CudaBackend::log_softmax_backward(const Tensor& y, const Tensor& dy, const Tensor& dx) {
  dispatch_floating("log_softmax_backward", y.dtype(), [&]<typename T>(T) {
    cuda::launch(cuda::log_softmax_backward_kernel<T>, cuda::rows_of(y), y.dim(-1), y.data<T>(),
                 dy.data<T>(), dx.data<T>());
  });
}

}  // namespace heed::kernels
