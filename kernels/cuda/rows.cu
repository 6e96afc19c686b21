#include "kernels/cuda/cuda_backend.h"
#include "kernels/cuda/launch.h"

namespace heed::kernels {
namespace cuda {

template <typename T>
__global__ void gather_rows_kernel(int64_t count, int64_t width, const T* table, const int32_t* ids,
                                   T* y) {
  each_item(count * width, [&](int64_t i) { y[i] = table[ids[i / width] * width + i % width]; });
}

// A block an id. The first one that names a row adds up all of its gradients, in their order;
// those that come later find it named before and have nothing to do.
template <typename T>
__global__ void scatter_add_rows_kernel(int64_t count, int64_t width, const T* dy,
                                        const int32_t* ids, int64_t skip, T* dtable) {
  const int64_t own = blockIdx.x;
  const int32_t id = ids[own];
  if (id == skip) {
    return;
  }
  int named_before = 0;
  for (int64_t i = threadIdx.x; i < own; i += blockDim.x) {
    named_before |= ids[i] == id ? 1 : 0;
  }
  if (__syncthreads_or(named_before) != 0) {
    return;
  }
  for (int64_t c = threadIdx.x; c < width; c += blockDim.x) {
    T sum = dtable[id * width + c];
    for (int64_t i = own; i < count; ++i) {
      if (ids[i] == id) {
        sum += dy[i * width + c];
      }
    }
    dtable[id * width + c] = sum;
  }
}

}  // namespace cuda

void CudaBackend::gather_rows(const Tensor& table, const Tensor& ids, const Tensor& y) {
  dispatch_floating("gather_rows", table.dtype(), [&]<typename T>(T) {
    cuda::launch(cuda::gather_rows_kernel<T>, cuda::spread(y.numel()), ids.numel(), table.dim(1),
                 table.data<T>(), ids.data<int32_t>(), y.data<T>());
  });
}

void CudaBackend::scatter_add_rows(const Tensor& dy, const Tensor& ids, int64_t skip,
                                   const Tensor& dtable) {
  if (dtable.numel() == 0) {
    return;
  }
  dispatch_floating("scatter_add_rows", dy.dtype(), [&]<typename T>(T) {
    cuda::launch(cuda::scatter_add_rows_kernel<T>, cuda::block_a_row(ids.numel(), dtable.dim(1)),
                 ids.numel(), dtable.dim(1), dy.data<T>(), ids.data<int32_t>(), skip,
                 dtable.data<T>());
  });
}

}  // namespace heed::kernels
