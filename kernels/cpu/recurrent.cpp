#include <algorithm>

#include "kernels/cpu/cpu_backend.h"
#include "kernels/cpu/rowwise.h"
#include "kernels/cpu/vector_math.h"

namespace heed::kernels {

void CpuBackend::gru_cell(const Tensor& gates_x, const Tensor& gates_h, const Tensor& h,
                          const Tensor& mask, const Tensor& y, const Tensor& gates) {
  const int64_t width = h.dim(1);
  HEED_ASSERT(gates_x.strides()[1] == 1 || gates_x.numel() == 0, "strides {}",
              gates_x.strides().to_string());
  dispatch_floating("gru_cell", h.dtype(), [&]<typename T>(T) {
    for_each_row(h.dim(0), 4 * width, [&](int64_t row) {
      const T* state = h.data<T>() + row * width;
      T* next = y.data<T>() + row * width;
      T* r = gates.data<T>() + row * 3 * width;
      if (mask.defined() && !mask.data<bool>()[row]) {
        std::copy_n(state, width, next);
        std::fill_n(r, 3 * width, T{0});
        return;
      }
      const T* input = gates_x.data<T>() + row * gates_x.strides()[0];
      const T* recurrent = gates_h.data<T>() + row * 3 * width;
      T* z = r + width;
      T* n = z + width;
      for (int64_t i = 0; i < 2 * width; ++i) {
        r[i] = input[i] + recurrent[i];
      }
      vector_math::sigmoid(r, r, 2 * width);
      for (int64_t i = 0; i < width; ++i) {
        n[i] = input[2 * width + i] + r[i] * recurrent[2 * width + i];
      }
      vector_math::tanh(n, n, width);
      for (int64_t i = 0; i < width; ++i) {
        next[i] = n[i] + z[i] * (state[i] - n[i]);
      }
    });
  });
}

void CpuBackend::gru_cell_backward(const Tensor& gates, const Tensor& gates_h, const Tensor& h,
                                   const Tensor& mask, const Tensor& dy, const Tensor& dgates_x,
                                   const Tensor& dgates_h, const Tensor& dh) {
  const int64_t width = h.dim(1);
  dispatch_floating("gru_cell_backward", h.dtype(), [&]<typename T>(T) {
    for_each_row(h.dim(0), 4 * width, [&](int64_t row) {
      const T* g = dy.data<T>() + row * width;
      T* dx = dgates_x.data<T>() + row * 3 * width;
      T* drecurrent = dgates_h.data<T>() + row * 3 * width;
      T* dstate = dh.data<T>() + row * width;
      if (mask.defined() && !mask.data<bool>()[row]) {
        std::copy_n(g, width, dstate);
        std::fill_n(dx, 3 * width, T{0});
        std::fill_n(drecurrent, 3 * width, T{0});
        return;
      }
      const T* r = gates.data<T>() + row * 3 * width;
      const T* z = r + width;
      const T* n = z + width;
      const T* state = h.data<T>() + row * width;
      const T* recurrent_n = gates_h.data<T>() + row * 3 * width + 2 * width;
      for (int64_t i = 0; i < width; ++i) {
        // Before the nonlinearities: n' = 1 - n^2, s' = s (1 - s).
        const T dn = g[i] * (1 - z[i]) * (1 - n[i] * n[i]);
        const T dz = g[i] * (state[i] - n[i]) * z[i] * (1 - z[i]);
        const T dr = dn * recurrent_n[i] * r[i] * (1 - r[i]);
        dx[i] = drecurrent[i] = dr;
        dx[width + i] = drecurrent[width + i] = dz;
        dx[2 * width + i] = dn;
        drecurrent[2 * width + i] = dn * r[i];
        dstate[i] = g[i] * z[i];
      }
    });
  });
}

}  // namespace heed::kernels
