#include "kernels/cpu/cpu_backend.h"
#include "kernels/cpu/rowwise.h"

namespace heed::kernels {

void CpuBackend::max_pairs(const Tensor& x, const Tensor& y) {
  dispatch_floating("max_pairs", x.dtype(), [&]<typename T>(T) {
    const T* px = x.data<T>();
    T* py = y.data<T>();
    for_each_row(y.numel(), 2, [&](int64_t i) {
      const T first = px[2 * i];
      const T second = px[2 * i + 1];
      py[i] = second > first || second != second ? second : first;
    });
  });
}

void CpuBackend::max_pairs_backward(const Tensor& x, const Tensor& dy, const Tensor& dx) {
  dispatch_floating("max_pairs_backward", x.dtype(), [&]<typename T>(T) {
    const T* px = x.data<T>();
    const T* g = dy.data<T>();
    T* out = dx.data<T>();
    for_each_row(dy.numel(), 2, [&](int64_t i) {
      const bool second = px[2 * i + 1] > px[2 * i];
      out[2 * i] = second ? T{0} : g[i];
      out[2 * i + 1] = second ? g[i] : T{0};
    });
  });
}

}  // namespace heed::kernels
