#include <algorithm>

#include "kernels/cpu/cpu_backend.h"
#include "kernels/cpu/rowwise.h"
#include "kernels/cpu/vector_math.h"

namespace heed::kernels {

void CpuBackend::additive_score(const Tensor& query, const Tensor& keys, const Tensor& weight,
                                const Tensor& scores) {
  const int64_t positions = keys.dim(1);
  const int64_t width = keys.dim(2);
  dispatch_floating("additive_score", query.dtype(), [&]<typename T>(T) {
    for_each_row(keys.dim(0) * positions, 4 * width, [&](int64_t row) {
      scores.data<T>()[row] =
          vector_math::dot_tanh_of_sum(weight.data<T>(), query.data<T>() + row / positions * width,
                                       keys.data<T>() + row * width, width);
    });
  });
}

// With t = tanh(query + keys), recomputed: dkeys = dscores weight (1 - t^2),
// dquery = sum over positions of dkeys, dweight = sum of dscores t.
void CpuBackend::additive_score_backward(const Tensor& query, const Tensor& keys,
                                         const Tensor& weight, const Tensor& dscores,
                                         const Tensor& dquery, const Tensor& dkeys,
                                         const Tensor& dweight) {
  const int64_t positions = keys.dim(1);
  const int64_t width = keys.dim(2);
  dispatch_floating("additive_score_backward", query.dtype(), [&]<typename T>(T) {
    const T* w = weight.data<T>();
    sum_over_rows(keys.dim(0), width, dweight.data<T>(),
                  [&](int64_t begin, int64_t end, T* partial) {
                    std::vector<T> t(static_cast<size_t>(width));
                    for (int64_t b = begin; b < end; ++b) {
                      const T* q = query.data<T>() + b * width;
                      T* dq = dquery.data<T>() + b * width;
                      std::fill_n(dq, width, T{0});
                      for (int64_t s = 0; s < positions; ++s) {
                        const int64_t row = b * positions + s;
                        const T g = dscores.data<T>()[row];
                        T* dk = dkeys.data<T>() + row * width;
                        if (g == 0) {
                          std::fill_n(dk, width, T{0});
                          continue;
                        }
                        vector_math::tanh_of_sum(q, keys.data<T>() + row * width, t.data(), width);
                        for (int64_t a = 0; a < width; ++a) {
                          const T value = t[static_cast<size_t>(a)];
                          partial[a] += g * value;
                          dk[a] = g * w[a] * (1 - value * value);
                          dq[a] += dk[a];
                        }
                      }
                    }
                  });
  });
}

}  // namespace heed::kernels
