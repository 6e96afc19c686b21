#include <algorithm>
#include <cstring>
#include <numeric>
#include <vector>

#include "core/threads.h"
#include "kernels/cpu/cpu_backend.h"
#include "kernels/cpu/strided.h"

namespace heed::kernels {

void CpuBackend::gather_rows(const Tensor& table, const Tensor& ids, const Tensor& y) {
  const int64_t width = table.dim(1);
  dispatch_floating("gather_rows", table.dtype(), [&]<typename T>(T) {
    const T* from = table.data<T>();
    const int64_t from_stride = table.strides()[0];
    const int32_t* pid = ids.data<int32_t>();
    T* to = y.data<T>();
    const int64_t to_stride = y.strides()[0];
    parallel_for(ids.numel(), std::max<int64_t>(1, elementwise_grain / std::max<int64_t>(1, width)),
                 [&](int64_t begin, int64_t end) {
                   for (int64_t i = begin; i < end; ++i) {
                     std::copy_n(from + pid[i] * from_stride, width, to + i * to_stride);
                   }
                 });
  });
}

void CpuBackend::scatter_add_rows(const Tensor& dy, const Tensor& ids, int64_t skip,
                                  const Tensor& dtable) {
  const int64_t width = dtable.dim(1);
  const int64_t count = ids.numel();
  dispatch_floating("scatter_add_rows", dy.dtype(), [&]<typename T>(T) {
    const T* from = dy.data<T>();
    const int32_t* pid = ids.data<int32_t>();
    T* to = dtable.data<T>();
    // Threads take columns, so that each row of the table is added up in order by one of them.
    const int64_t grain = std::max<int64_t>(16, elementwise_grain / std::max<int64_t>(1, count));
    parallel_for(width, grain, [&](int64_t begin, int64_t end) {
      for (int64_t i = 0; i < count; ++i) {
        if (pid[i] == skip) {
          continue;
        }
        const T* row = from + i * width;
        T* sum = to + pid[i] * width;
        for (int64_t c = begin; c < end; ++c) {
          sum[c] += row[c];
        }
      }
    });
  });
}

}  // namespace heed::kernels
