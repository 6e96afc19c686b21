#include <algorithm>
#include <cmath>

#include "kernels/cuda/context.h"
#include "kernels/cuda/cuda_backend.h"
#include "kernels/cuda/reduction.h"

namespace heed::kernels {
namespace cuda {

// A block a row. Without a mean (RMS norm) the rows are not centred.
template <typename T>
__global__ void norm_kernel(int64_t width, const T* x, const T* weight, const T* bias, T epsilon,
                            T* y, T* mean, T* rstd) {
  const int64_t n = blockIdx.x;
  const T* row = x + n * width;
  T centre = 0;
  if (mean != nullptr) {
    centre = reduce_items(width, T{0}, Plus(), [&](int64_t i) { return row[i]; }) /
             static_cast<T>(width);
  }
  const T squares = reduce_items(width, T{0}, Plus(),
                                 [&](int64_t i) { return (row[i] - centre) * (row[i] - centre); });
  const T scale = 1 / std::sqrt(squares / static_cast<T>(width) + epsilon);
  for (int64_t i = threadIdx.x; i < width; i += blockDim.x) {
    const T value = (row[i] - centre) * scale * weight[i];
    y[n * width + i] = bias != nullptr ? value + bias[i] : value;
  }
  if (threadIdx.x == 0) {
    rstd[n] = scale;
    if (mean != nullptr) {
      mean[n] = centre;
    }
  }
}

// With xhat = (x - mean) rstd and h = dy weight: dx = rstd (h - mean(h) - xhat mean(h xhat)), the
// second term only where rows are centred.
template <typename T>
__global__ void norm_backward_kernel(int64_t width, const T* x, const T* weight, const T* mean,
                                     const T* rstd, const T* dy, T* dx) {
  const int64_t n = blockIdx.x;
  const T* row = x + n * width;
  const T* g = dy + n * width;
  const T scale = rstd[n];
  const T centre = mean != nullptr ? mean[n] : T{0};
  const auto xhat = [&](int64_t i) { return (row[i] - centre) * scale; };
  T mean_h = 0;
  if (mean != nullptr) {
    mean_h = reduce_items(width, T{0}, Plus(), [&](int64_t i) { return g[i] * weight[i]; }) /
             static_cast<T>(width);
  }
  const T mean_h_xhat =
      reduce_items(width, T{0}, Plus(), [&](int64_t i) { return g[i] * weight[i] * xhat(i); }) /
      static_cast<T>(width);
  for (int64_t i = threadIdx.x; i < width; i += blockDim.x) {
    dx[n * width + i] = scale * (g[i] * weight[i] - mean_h - xhat(i) * mean_h_xhat);
  }
}

constexpr int columns_a_block = 32;
constexpr int rows_at_once = 8;

// Partial sums of dy xhat (and of dy) over the rows of chunk blockIdx.y: (chunks, width).
template <typename T>
__global__ void norm_weight_kernel(int64_t rows, int64_t width, int64_t rows_a_chunk, const T* x,
                                   const T* mean, const T* rstd, const T* dy, T* weights,
                                   T* biases) {
  __shared__ T weight_sums[rows_at_once][columns_a_block];
  __shared__ T bias_sums[rows_at_once][columns_a_block];
  const int64_t column = int64_t{blockIdx.x} * columns_a_block + threadIdx.x;
  const int64_t begin = int64_t{blockIdx.y} * rows_a_chunk;
  const int64_t end = begin + rows_a_chunk < rows ? begin + rows_a_chunk : rows;
  T weight_sum = 0;
  T bias_sum = 0;
  for (int64_t n = begin + threadIdx.y; column < width && n < end; n += rows_at_once) {
    const T centre = mean != nullptr ? mean[n] : T{0};
    const T g = dy[n * width + column];
    weight_sum += g * (x[n * width + column] - centre) * rstd[n];
    bias_sum += g;
  }
  weight_sums[threadIdx.y][threadIdx.x] = weight_sum;
  bias_sums[threadIdx.y][threadIdx.x] = bias_sum;
  __syncthreads();
  if (threadIdx.y != 0 || column >= width) {
    return;
  }
  for (int r = 1; r < rows_at_once; ++r) {
    weight_sum += weight_sums[r][threadIdx.x];
    bias_sum += bias_sums[r][threadIdx.x];
  }
  weights[blockIdx.y * width + column] = weight_sum;
  if (biases != nullptr) {
    biases[blockIdx.y * width + column] = bias_sum;
  }
}

template <typename T>
void norm_for(const Tensor& x, const Tensor& weight, const Tensor& bias, double epsilon,
              const Tensor& y, const Tensor& mean, const Tensor& rstd) {
  launch(norm_kernel<T>, block_a_row(x.dim(0), x.dim(1)), x.dim(1), x.data<T>(), weight.data<T>(),
         data_or_null<T>(bias), static_cast<T>(epsilon), y.data<T>(), data_or_null<T>(mean),
         rstd.data<T>());
}

template <typename T>
void norm_backward_for(CudaBackend& backend, const Tensor& x, const Tensor& weight,
                       const Tensor& mean, const Tensor& rstd, const Tensor& dy, const Tensor& dx,
                       const Tensor& dweight, const Tensor& dbias) {
  const int64_t rows = x.dim(0);
  const int64_t width = x.dim(1);
  launch(norm_backward_kernel<T>, block_a_row(rows, width), width, x.data<T>(), weight.data<T>(),
         data_or_null<T>(mean), rstd.data<T>(), dy.data<T>(), dx.data<T>());
  constexpr int64_t most_chunks = 64;
  const int64_t rows_a_chunk = std::max(divide_up(rows, most_chunks), int64_t{rows_at_once});
  const int64_t chunks = divide_up(rows, rows_a_chunk);
  const Tensor weights = Tensor::empty({chunks, width}, x.dtype(), x.device());
  const Tensor biases =
      dbias.defined() ? Tensor::empty({chunks, width}, x.dtype(), x.device()) : Tensor();
  launch(norm_weight_kernel<T>,
         {dim3(static_cast<unsigned>(divide_up(width, columns_a_block)),
               static_cast<unsigned>(chunks)),
          dim3(columns_a_block, rows_at_once)},
         rows, width, rows_a_chunk, x.data<T>(), data_or_null<T>(mean), rstd.data<T>(),
         dy.data<T>(), weights.data<T>(), data_or_null<T>(biases));
  backend.sum_rows(weights, dweight);
  if (dbias.defined()) {
    backend.sum_rows(biases, dbias);
  }
}

}  // namespace cuda

void CudaBackend::layer_norm(const Tensor& x, const Tensor& weight, const Tensor& bias,
                             double epsilon, const Tensor& y, const Tensor& mean,
                             const Tensor& rstd) {
  dispatch_floating("layer_norm", x.dtype(), [&]<typename T>(T) {
    cuda::norm_for<T>(x, weight, bias, epsilon, y, mean, rstd);
  });
}

void CudaBackend::layer_norm_backward(const Tensor& x, const Tensor& weight, const Tensor& mean,
                                      const Tensor& rstd, const Tensor& dy, const Tensor& dx,
                                      const Tensor& dweight, const Tensor& dbias) {
  dispatch_floating("layer_norm_backward", x.dtype(), [&]<typename T>(T) {
    cuda::norm_backward_for<T>(*this, x, weight, mean, rstd, dy, dx, dweight, dbias);
  });
}

void CudaBackend::rms_norm(const Tensor& x, const Tensor& weight, double epsilon, const Tensor& y,
                           const Tensor& rstd) {
  dispatch_floating("rms_norm", x.dtype(),
                    [&]<typename T>(T) { cuda::norm_for<T>(x, weight, {}, epsilon, y, {}, rstd); });
}

void CudaBackend::rms_norm_backward(const Tensor& x, const Tensor& weight, const Tensor& rstd,
                                    const Tensor& dy, const Tensor& dx, const Tensor& dweight) {
  dispatch_floating("rms_norm_backward", x.dtype(), [&]<typename T>(T) {
    cuda::norm_backward_for<T>(*this, x, weight, {}, rstd, dy, dx, dweight, {});
  });
}

}  // namespace heed::kernels
