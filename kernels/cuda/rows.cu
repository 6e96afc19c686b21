#include "kernels/cuda/context.h"
#include "kernels/cuda/cuda_backend.h"
#include "kernels/cuda/launch.h"

namespace heed::kernels {
namespace cuda {

constexpr int sorted_at_once = 256;

// A block an id.
template <typename T>
__global__ void gather_rows_kernel(int64_t width, const T* table, int64_t table_stride,
                                   const int32_t* ids, T* y, int64_t y_stride) {
  const T* row = table + int64_t{ids[blockIdx.x]} * table_stride;
  for (int64_t c = threadIdx.x; c < width; c += blockDim.x) {
    y[int64_t{blockIdx.x} * y_stride + c] = row[c];
  }
}

// Sorts ids, equal ones in the order they stand in: the place of each is how many come before it.
// count^2 comparisons of numbers in shared memory, a thread an id.
__global__ void sort_ids_kernel(int64_t count, const int32_t* ids, int32_t* sorted) {
  __shared__ int32_t others[sorted_at_once];
  const int64_t own = int64_t{blockIdx.x} * sorted_at_once + threadIdx.x;
  const int32_t id = own < count ? ids[own] : 0;
  int64_t before = 0;
  for (int64_t begin = 0; begin < count; begin += sorted_at_once) {
    const auto there =
        static_cast<int>(count - begin < sorted_at_once ? count - begin : sorted_at_once);
    __syncthreads();
    if (static_cast<int>(threadIdx.x) < there) {
      others[threadIdx.x] = ids[begin + threadIdx.x];
    }
    __syncthreads();
    for (int i = 0; i < there; ++i) {
      before += others[i] < id || (others[i] == id && begin + i < own) ? 1 : 0;
    }
  }
  if (own < count) {
    sorted[before] = static_cast<int32_t>(own);
  }
}

// A block a place in the sorted order. The first of a run of equal ids adds up the gradients of all
// of them: each row of the table has one writer, and its sum the order of the CPU's.
template <typename T>
__global__ void add_runs_kernel(int64_t count, int64_t width, const T* dy, const int32_t* ids,
                                const int32_t* sorted, int64_t skip, T* dtable) {
  const int64_t first = blockIdx.x;
  const int32_t id = ids[sorted[first]];
  if (id == skip || (first > 0 && ids[sorted[first - 1]] == id)) {
    return;
  }
  for (int64_t c = threadIdx.x; c < width; c += blockDim.x) {
    T sum = dtable[id * width + c];
    for (int64_t i = first; i < count && ids[sorted[i]] == id; ++i) {
      sum += dy[sorted[i] * width + c];
    }
    dtable[id * width + c] = sum;
  }
}

}  // namespace cuda

void CudaBackend::gather_rows(const Tensor& table, const Tensor& ids, const Tensor& y) {
  dispatch_floating("gather_rows", table.dtype(), [&]<typename T>(T) {
    cuda::launch(cuda::gather_rows_kernel<T>, cuda::block_a_row(ids.numel(), table.dim(1)),
                 table.dim(1), table.data<T>(), table.strides()[0], ids.data<int32_t>(),
                 y.data<T>(), y.strides()[0]);
  });
}

void CudaBackend::scatter_add_rows(const Tensor& dy, const Tensor& ids, int64_t skip,
                                   const Tensor& dtable) {
  const int64_t count = ids.numel();
  const int64_t width = dtable.dim(1);
  if (dtable.numel() == 0 || count == 0) {
    return;
  }
  const cuda::Scratch<int32_t> sorted(count);
  cuda::launch(cuda::sort_ids_kernel,
               {dim3(static_cast<unsigned>(cuda::divide_up(count, cuda::sorted_at_once))),
                dim3(cuda::sorted_at_once)},
               count, ids.data<int32_t>(), sorted.data());
  dispatch_floating("scatter_add_rows", dy.dtype(), [&]<typename T>(T) {
    cuda::launch(cuda::add_runs_kernel<T>, cuda::block_a_row(count, width), count, width,
                 dy.data<T>(), ids.data<int32_t>(), sorted.data(), skip, dtable.data<T>());
  });
}

}  // namespace heed::kernels
