#include <cmath>

#include "core/error.h"
#include "kernels/cuda/cuda_backend.h"
#include "kernels/cuda/launch.h"
#include "kernels/cuda/sigmoid.h"

namespace heed::kernels {
namespace cuda {

// A thread an element of the state.
template <typename T>
__global__ void gru_cell_kernel(int64_t rows, int64_t width, const T* gates_x, int64_t x_stride,
                                const T* gates_h, const T* h, const bool* mask, T* y, T* gates) {
  each_item(rows * width, [&](int64_t item) {
    const int64_t row = item / width;
    const int64_t i = item % width;
    T* own = gates + row * 3 * width + i;
    const T state = h[item];
    if (mask != nullptr && !mask[row]) {
      y[item] = state;
      own[0] = own[width] = own[2 * width] = 0;
      return;
    }
    const T* input = gates_x + row * x_stride + i;
    const T* recurrent = gates_h + row * 3 * width + i;
    const T r = sigmoid(input[0] + recurrent[0]);
    const T z = sigmoid(input[width] + recurrent[width]);
    const T n = std::tanh(input[2 * width] + r * recurrent[2 * width]);
    own[0] = r;
    own[width] = z;
    own[2 * width] = n;
    y[item] = n + z * (state - n);
  });
}

template <typename T>
__global__ void gru_cell_backward_kernel(int64_t rows, int64_t width, const T* gates,
                                         const T* gates_h, const T* h, const bool* mask,
                                         const T* dy, T* dgates_x, T* dgates_h, T* dh) {
  each_item(rows * width, [&](int64_t item) {
    const int64_t row = item / width;
    const int64_t at = row * 3 * width + item % width;
    const T g = dy[item];
    // Before the nonlinearities: n' = 1 - n^2, s' = s (1 - s).
    T dr = 0;
    T dz = 0;
    T dn = 0;
    T dn_h = 0;
    T dstate = g;
    if (mask == nullptr || mask[row]) {
      const T r = gates[at];
      const T z = gates[at + width];
      const T n = gates[at + 2 * width];
      dn = g * (1 - z) * (1 - n * n);
      dz = g * (h[item] - n) * z * (1 - z);
      dr = dn * gates_h[at + 2 * width] * r * (1 - r);
      dn_h = dn * r;
      dstate = g * z;
    }
    dgates_x[at] = dgates_h[at] = dr;
    dgates_x[at + width] = dgates_h[at + width] = dz;
    dgates_x[at + 2 * width] = dn;
    dgates_h[at + 2 * width] = dn_h;
    dh[item] = dstate;
  });
}

}  // namespace cuda

void CudaBackend::gru_cell(const Tensor& gates_x, const Tensor& gates_h, const Tensor& h,
                           const Tensor& mask, const Tensor& y, const Tensor& gates) {
  HEED_ASSERT(gates_x.strides()[1] == 1 || gates_x.numel() == 0, "strides {}",
              gates_x.strides().to_string());
  dispatch_floating("gru_cell", h.dtype(), [&]<typename T>(T) {
    cuda::launch(cuda::gru_cell_kernel<T>, cuda::spread(h.numel()), h.dim(0), h.dim(1),
                 gates_x.data<T>(), gates_x.strides()[0], gates_h.data<T>(), h.data<T>(),
                 cuda::data_or_null<bool>(mask), y.data<T>(), gates.data<T>());
  });
}

void CudaBackend::gru_cell_backward(const Tensor& gates, const Tensor& gates_h, const Tensor& h,
                                    const Tensor& mask, const Tensor& dy, const Tensor& dgates_x,
                                    const Tensor& dgates_h, const Tensor& dh) {
  dispatch_floating("gru_cell_backward", h.dtype(), [&]<typename T>(T) {
    cuda::launch(cuda::gru_cell_backward_kernel<T>, cuda::spread(h.numel()), h.dim(0), h.dim(1),
                 gates.data<T>(), gates_h.data<T>(), h.data<T>(), cuda::data_or_null<bool>(mask),
                 dy.data<T>(), dgates_x.data<T>(), dgates_h.data<T>(), dh.data<T>());
  });
}

}  // namespace heed::kernels
