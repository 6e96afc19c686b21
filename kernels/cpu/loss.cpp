#include <algorithm>
#include <cmath>

#include "kernels/cpu/cpu_backend.h"
#include "kernels/cpu/rowwise.h"
#include "kernels/cpu/vector_math.h"

namespace heed::kernels {

void CpuBackend::cross_entropy(const Tensor& logits, const Tensor& targets, double smoothing,
                               int64_t ignore, const Tensor& loss, const Tensor& nll,
                               const Tensor& largest, const Tensor& sum) {
  const int64_t classes = logits.dim(1);
  dispatch_floating("cross_entropy", logits.dtype(), [&]<typename T>(T) {
    const auto eps = static_cast<T>(smoothing);
    for_each_row(logits.dim(0), classes, [&](int64_t n) {
      const T* row = logits.data<T>() + n * classes;
      const int32_t target = targets.data<int32_t>()[n];
      if (target == ignore) {
        loss.data<T>()[n] = nll.data<T>()[n] = largest.data<T>()[n] = 0;
        sum.data<T>()[n] = 1;
        return;
      }
      const T top = vector_math::largest_of(row, classes);
      const T total = vector_math::sum_exp_minus(row, top, classes);
      largest.data<T>()[n] = top;
      sum.data<T>()[n] = total;
      const T log_sum = std::log(total);
      // Differences before sums: a large logit would cost the loss its digits.
      const T own = (top - row[target]) + log_sum;
      nll.data<T>()[n] = own;
      T all = 0;
      if (eps != 0) {
        all = vector_math::sum_below(row, top, classes) / static_cast<T>(classes) + log_sum;
      }
      loss.data<T>()[n] = (1 - eps) * own + eps * all;
    });
  });
}

void CpuBackend::cross_entropy_backward(const Tensor& logits, const Tensor& targets,
                                        double smoothing, int64_t ignore, const Tensor& largest,
                                        const Tensor& sum, const Tensor& dloss,
                                        const Tensor& dlogits) {
  const int64_t classes = logits.dim(1);
  dispatch_floating("cross_entropy_backward", logits.dtype(), [&]<typename T>(T) {
    const auto hit = static_cast<T>(1 - smoothing);
    const T spread = static_cast<T>(smoothing) / static_cast<T>(classes);
    for_each_row(logits.dim(0), classes, [&](int64_t n) {
      const T* row = logits.data<T>() + n * classes;
      T* out = dlogits.data<T>() + n * classes;
      const int32_t target = targets.data<int32_t>()[n];
      if (target == ignore) {
        std::fill_n(out, classes, T{0});
        return;
      }
      const T g = dloss.data<T>()[n * dloss.strides()[0]];
      vector_math::exp_minus(row, largest.data<T>()[n], out, classes);
      const T scale = 1 / sum.data<T>()[n];
      for (int64_t v = 0; v < classes; ++v) {
        out[v] = g * (out[v] * scale - spread);
      }
      out[target] -= g * hit;
    });
  });
}

}  // namespace heed::kernels
